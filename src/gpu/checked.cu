// SPDX-License-Identifier: Apache-2.0
// sum, norm1, sum_of_squares, dot and prod of integers, and whether the true answer fits 64 bits.
#include <warpfold/detail/gpu/accumulate/checked_folds.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Fold, class... T>
cudaError_t enqueue_checked(const Fold& fold, const device_request& r, workspace& w, cudaStream_t stream) {
  return reduce_with<Fold, T...>(fold, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w, stream);
}

template <int Size>
cudaError_t enqueue_size(const device_request& r, workspace& w, cudaStream_t stream) {
  using word = word_of_size<Size>;
  const auto wide = words_of_64<Size>::of(r.element);
  if (r.what == op::prod) return enqueue_checked<checked_product_fold<Size>, word>({wide}, r, w, stream);
  if (r.what == op::dot) return enqueue_checked<checked_sum_fold<Size, 2>, word, word>({r.what, wide}, r, w, stream);
  return enqueue_checked<checked_sum_fold<Size, 1>, word>({r.what, wide}, r, w, stream);
}

enqueue_function find_checked(op o, dtype t, accuracy) {
  if (!is_checked_on_devices(o, t)) return nullptr;
  switch (info(t).size) {
    case 1: return enqueue_size<1>;
    case 2: return enqueue_size<2>;
    case 4: return enqueue_size<4>;
    default: return enqueue_size<8>;
  }
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(checked, find_checked)
