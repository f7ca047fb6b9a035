// SPDX-License-Identifier: Apache-2.0
// Extremes and their places, what is not zero, count; the sum of bool.
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Fold, class T>
cudaError_t enqueue_order(const Fold& fold, const device_request& r, workspace& w, cudaStream_t stream) {
  return reduce_with<Fold, T>(fold, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                              stream, {0, 0}, {r.states, r.first});
}

/// What tells zero from other values is the same for many types.
template <class T>
struct same_zero { using type = T; };
template <integer T>
struct same_zero<T> {
  using type = std::conditional_t<sizeof(T) == 1, std::uint8_t,
               std::conditional_t<sizeof(T) == 2, std::uint16_t,
               std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
};
template <>
struct same_zero<bf16> { using type = f16; };

/// The answer, or the state, whose own word is not needed beside n.
__global__ void write_count(std::int64_t n, bool state, std::int64_t* out) {
  out[0] = n;
  if (state) out[1] = n;
}

cudaError_t enqueue_count(const device_request& r, workspace&, cudaStream_t stream) {
  return launch(write_count, {1, 1, 0, stream}, r.n, r.states, static_cast<std::int64_t*>(r.out));
}

enqueue_function find_order(op o, dtype t, accuracy) {
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    using zero = typename same_zero<T>::type;
    const state_kind state = operation_of(o).state;
    if (state == state_kind::count) return enqueue_count;
    if (state == state_kind::nonzeros ||
        (std::is_same_v<T, bool> && (o == op::sum || o == op::norm1 || o == op::sum_of_squares))) {
      return [](const device_request& r, workspace& w, cudaStream_t stream) {
        return enqueue_order<nonzero_fold<zero>, zero>({r.what}, r, w, stream);
      };
    }
    if constexpr (real<T>) {
      if (state == state_kind::extremes) {
        return [](const device_request& r, workspace& w, cudaStream_t stream) {
          return enqueue_order<extremes_fold<T>, T>({r.what}, r, w, stream);
        };
      }
      if (state == state_kind::places) {
        return [](const device_request& r, workspace& w, cudaStream_t stream) {
          return enqueue_order<arg_fold<T>, T>({r.what == op::argmax}, r, w, stream);
        };
      }
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(order, find_order)
