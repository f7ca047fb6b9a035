// SPDX-License-Identifier: Apache-2.0
#include <warpfold/reductions/checked.hpp>

#include "entry.hpp"
#include "hot.hpp"

namespace wf::library {

using namespace reductions;

WF_ROW(squares_exact, real, sum_of_squares<T, true>, T);
WF_ROW(squares_fast, real, sum_of_squares<T, false>, T);
WF_ROW(norm2_exact, real, norm2<T, true>, T);
WF_ROW(norm2_fast, real, norm2<T, false>, T);
WF_ROW(dot_exact, real, dot<T, true>, T, T);
WF_ROW(dot_fast, real, dot<T, false>, T, T);

}  // namespace wf::library
