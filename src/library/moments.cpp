// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/complex.hpp>

#include "entry.hpp"
#include "hot_complex.hpp"

namespace wf::library {

using namespace reductions;

WF_ROW(var_exact, element, var<T, true>, T);
WF_ROW(var_fast, element, var<T, false>, T);
WF_ROW(std_exact, element, std_dev<T, true>, T);
WF_ROW(std_fast, element, std_dev<T, false>, T);
WF_ROW(mean_var_exact, element, mean_var<T, true>, T);
WF_ROW(mean_var_fast, element, mean_var<T, false>, T);

}  // namespace wf::library
