// SPDX-License-Identifier: Apache-2.0
// Rows' sums of integers, extremes and their places of real numbers, and numbers of elements that are not 0: a kernel a size.
#include <warpfold/detail/gpu/accumulate/rows_nonzeros.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>

#include "rows_of_size.cuh"

namespace wf::device::inline WF_BUILD {

rows_function find_rows_words(op o, dtype t) {
  if (is_complex(t)) return nullptr;
  const std::size_t size = element_size(t);
  if (operation_of(o).state == state_kind::nonzeros || (o == op::sum && t == dtype::boolean)) return rows_of_size<nonzero_rows>(size);
  if (t == dtype::boolean) return nullptr;
  if (o == op::sum && is_integer(t)) return rows_of_size<whole_sum_rows>(size);
  if (operation_of(o).state == state_kind::extremes) return rows_of_size<extreme_rows>(size);
  return operation_of(o).state == state_kind::places ? rows_of_size<arg_rows>(size) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
