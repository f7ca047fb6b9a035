// SPDX-License-Identifier: Apache-2.0
// Rows' var, std, mean_var, norm2 and sum_of_squares of floats: exact under either accuracy.
#include "rows_exact.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_moments(op o, dtype t) {
  return is_spread_or_norm(o) ? exact_rows_of_floats<terms::moments>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
