// SPDX-License-Identifier: Apache-2.0
// sum, norm1, sum_of_squares, dot and prod of integers, modulo 2^64.
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class T, op Term>
cudaError_t enqueue_integers(const device_request& r, workspace& w, cudaStream_t stream) {
  using fold = integer_fold<T, Term>;
  const auto n = static_cast<std::uint64_t>(r.n);
  if constexpr (Term == op::dot) {
    return reduce_with<fold, T, T>({}, r.x.data(), r.stride.data(), n, r.out, w, stream, {0, 0}, {r.states, r.first});
  } else {
    return reduce_with<fold, T>({}, r.x.data(), r.stride.data(), n, r.out, w, stream, {0, 0}, {r.states, r.first});
  }
}

enqueue_function find_integers(op o, dtype t, accuracy) {
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (integer<T>) {
      // Modulo 2^64 the sign of 64 bits does not matter.
      using same = std::conditional_t<sizeof(T) == 8, std::uint64_t, T>;
      if (o == op::dot) return enqueue_integers<same, op::dot>;
      if (o == op::prod) return enqueue_integers<same, op::prod>;
      if constexpr (!std::is_same_v<T, bool>) {
        if (o == op::sum) return enqueue_integers<same, op::sum>;
        if (o == op::sum_of_squares) return enqueue_integers<same, op::sum_of_squares>;
        if (o == op::norm1) {
          if constexpr (std::is_signed_v<T>) return enqueue_integers<T, op::norm1>;
          else return enqueue_integers<T, op::sum>;
        }
      }
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(integers, find_integers)
