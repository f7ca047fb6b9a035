// SPDX-License-Identifier: Apache-2.0
// Rows' dot of floats: exact under either accuracy.
#include "rows_exact.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_products(op o, dtype t) {
  return o == op::dot ? exact_rows_of_floats<terms::products>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
