// SPDX-License-Identifier: Apache-2.0
// Rows of complex numbers: exact under either accuracy.
#include "rows_exact.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_complex(op o, dtype t) {
  if (o == op::sum || o == op::mean) return exact_rows_of<terms::sum, c64, c128>(t);
  if (is_spread_or_norm(o)) return exact_rows_of<terms::moments, c64, c128>(t);
  return o == op::dot ? exact_rows_of<terms::products, c64, c128>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
