// SPDX-License-Identifier: Apache-2.0
/// \file rows_of_size.cuh
/// The functions of rows whose accumulators know of an element its size alone.
#pragma once

#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

#include "rows.cuh"

namespace wf::device::inline WF_BUILD {

/// The kernel that learns its operation when it runs makes states, and answers of rows whose elements do not count from 0.
template <template <int> class Acc, int Size>
cudaError_t enqueue_rows_of_size(const rows_request& r, workspace& w, cudaStream_t stream) {
  if (r.state_bytes != 0 || r.first != 0) return enqueue_any_rows(r, w, stream);
  return enqueue_rows(Acc<Size>::of(r), r, w, stream);
}

template <template <int> class Acc>
rows_function rows_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1: return or_by_label<enqueue_rows_of_size<Acc, 1>>;
    case 2: return or_by_label<enqueue_rows_of_size<Acc, 2>>;
    case 4: return or_by_label<enqueue_rows_of_size<Acc, 4>>;
    default: return or_by_label<enqueue_rows_of_size<Acc, 8>>;
  }
}

}  // namespace wf::device::inline WF_BUILD
