// SPDX-License-Identifier: Apache-2.0
#include "entry.hpp"
#include "hot.hpp"

namespace wf::library {


using namespace reductions;

WF_ROW(sum_exact, element, sum<T, true>, T);
WF_ROW(sum_fast, element, sum<T, false>, T);
WF_ROW(mean_exact, element, mean<T, true>, T);
WF_ROW(mean_fast, element, mean<T, false>, T);
WF_ROW(norm1_exact, real, norm1<T, true>, T);
WF_ROW(norm1_fast, real, norm1<T, false>, T);
WF_ROW(prod_any, element, prod<T>, T);

}  // namespace wf::library
