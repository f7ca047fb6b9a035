// SPDX-License-Identifier: Apache-2.0
// Rows' products, norms and moments of integers: a kernel a size.
#include <warpfold/detail/gpu/accumulate/rows_integers.cuh>

#include "rows_of_size.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_integers(op o, dtype t) {
  if (!is_integer(t) || t == dtype::boolean) return nullptr;
  const std::size_t size = info(t).size;
  switch (o) {
    case op::dot: return rows_of_size<whole_dot_rows>(size);
    case op::sum_of_squares: case op::norm1: return rows_of_size<whole_square_rows>(size);
    case op::mean: return rows_of_size<whole_mean_rows>(size);
    case op::norm2: case op::var: case op::std_dev: case op::mean_var: return rows_of_size<whole_spread_rows>(size);
    default: return nullptr;
  }
}

}  // namespace wf::device::inline WF_BUILD
