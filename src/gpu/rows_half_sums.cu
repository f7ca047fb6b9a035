// SPDX-License-Identifier: Apache-2.0
// Rows' sum, mean and norm1 of f16 and bf16: exact under either accuracy.
#include "rows_exact.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_half_sums(op o, dtype t) {
  return operation_of(o).state == state_kind::sums ? exact_rows_of<terms::sum, f16, bf16>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
