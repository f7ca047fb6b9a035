// SPDX-License-Identifier: Apache-2.0
// Rows' sum, mean and norm1 of f32 and f64: exact under either accuracy.
#include "rows_exact.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_sums(op o, dtype t) {
  return operation_of(o).state == state_kind::sums ? exact_rows_of<terms::sum, float, double>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
