// SPDX-License-Identifier: Apache-2.0
// Rows' sums of integers, and extremes and their places of real numbers: a kernel a size.
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>
#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

#include "rows.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <template <int> class Acc, int Size>
cudaError_t enqueue(const rows_request& r, workspace& w, cudaStream_t stream) {
  if (r.state_bytes != 0 || r.first != 0) return enqueue_any_rows(r, w, stream);
  return enqueue_rows(Acc<Size>::of(r), r, w, stream);
}

template <template <int> class Acc>
rows_function of_size(std::size_t bytes) {
  switch (bytes) {
    case 1: return or_by_label<enqueue<Acc, 1>>;
    case 2: return or_by_label<enqueue<Acc, 2>>;
    case 4: return or_by_label<enqueue<Acc, 4>>;
    default: return or_by_label<enqueue<Acc, 8>>;
  }
}

}  // namespace

rows_function find_rows_words(op o, dtype t) {
  if (is_complex(t) || t == dtype::boolean) return nullptr;
  const std::size_t size = info(t).size;
  if (o == op::sum && is_integer(t)) return of_size<whole_sum_rows>(size);
  if (operation_of(o).state == state_kind::extremes) return of_size<extreme_rows>(size);
  return operation_of(o).state == state_kind::places ? of_size<arg_rows>(size) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
