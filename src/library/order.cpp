// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/logsumexp.hpp>

#include "entry.hpp"
#include "hot.hpp"

namespace wf::library {

using namespace reductions;

WF_ROW(min_any, real, min<T>, T);
WF_ROW(max_any, real, max<T>, T);
WF_ROW(minmax_any, real, minmax<T>, T);
WF_ROW(norm_inf_any, real, norm_inf<T>, T);
WF_ROW(argmin_any, real, argmin<T>, T);
WF_ROW(argmax_any, real, argmax<T>, T);
WF_ROW(any_any, element, any<T>, T);
WF_ROW(all_any, element, all<T>, T);
WF_ROW(count_any, element, count<T>, T);
WF_ROW(count_nonzero_any, element, count_nonzero<T>, T);
WF_ROW(logsumexp_any, real, logsumexp<T>, T);

}  // namespace wf::library
