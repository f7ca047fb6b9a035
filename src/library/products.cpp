// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/checked.hpp>
#include <warpfold/detail/reductions/complex.hpp>

#include "entry.hpp"
#include "hot_complex.hpp"

namespace wf::library {

using namespace reductions;

WF_ROW(squares_exact, element, sum_of_squares<T, true>, T);
WF_ROW(squares_fast, element, sum_of_squares<T, false>, T);
WF_ROW(norm2_exact, element, norm2<T, true>, T);
WF_ROW(norm2_fast, element, norm2<T, false>, T);
WF_ROW(dot_exact, element, dot<T, true>, T, T);
WF_ROW(dot_fast, element, dot<T, false>, T, T);

}  // namespace wf::library
