// SPDX-License-Identifier: Apache-2.0
// Extremes and their places, what is not zero, count; the sum of bool.
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Fold, class T>
cudaError_t enqueue_order(const Fold& fold, const device_request& r, workspace& w, cudaStream_t stream) {
  return reduce_with<Fold, T>(fold, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                              stream, {0, 0}, {r.states, r.first});
}

/// Answers extremes; the second answer of minmax may go elsewhere than behind the first.
template <class T>
struct extremes_apart : extremes_fold<T> {
  T* greatest = nullptr;

  __device__ __forceinline__ void write(const typename extremes_fold<T>::state& s, std::uint64_t n, void* out) const {
    if (greatest == nullptr) return extremes_fold<T>::write(s, n, out);
    T both[16 / sizeof(T)] = {};  // g++ looks at the eight bytes of norm_inf, which is not asked for here
    extremes_fold<T>::write(s, n, both);
    *static_cast<T*>(out) = both[0];
    *greatest = both[1];
  }
};

/// What tells zero from other values is the same for many types: elements are taken as integers of their size, with a note where they are floats.
template <class T>
struct same_zero { using type = T; };
template <class T>
  requires(integer<T> || floating<T>)
struct same_zero<T> {
  using type = std::conditional_t<sizeof(T) == 1, std::uint8_t,
               std::conditional_t<sizeof(T) == 2, std::uint16_t,
               std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
};

/// Writes the answer, or the state, which needs no word of its own beside n.
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
        return enqueue_order<nonzero_fold<zero>, zero>({r.what, !integer<T>}, r, w, stream);
      };
    }
    if constexpr (real<T>) {
      if (state == state_kind::extremes) {
        return [](const device_request& r, workspace& w, cudaStream_t stream) {
          return enqueue_order<extremes_apart<T>, T>({{r.what}}, r, w, stream);
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

using enqueue_apart_function = cudaError_t (*)(const device_request&, void* greatest, workspace&, cudaStream_t);

template <class T>
cudaError_t enqueue_extremes_apart(const device_request& r, void* greatest, workspace& w, cudaStream_t stream) {
  return enqueue_order<extremes_apart<T>, T>({{r.what}, static_cast<T*>(greatest)}, r, w, stream);
}

enqueue_apart_function find_extremes_apart(dtype t) {
  switch (t) {
    case dtype::f16: return enqueue_extremes_apart<f16>;
    case dtype::bf16: return enqueue_extremes_apart<bf16>;
    case dtype::f32: return enqueue_extremes_apart<float>;
    case dtype::f64: return enqueue_extremes_apart<double>;
    case dtype::i8: return enqueue_extremes_apart<std::int8_t>;
    case dtype::i16: return enqueue_extremes_apart<std::int16_t>;
    case dtype::i32: return enqueue_extremes_apart<std::int32_t>;
    case dtype::i64: return enqueue_extremes_apart<std::int64_t>;
    case dtype::u8: return enqueue_extremes_apart<std::uint8_t>;
    case dtype::u16: return enqueue_extremes_apart<std::uint16_t>;
    case dtype::u32: return enqueue_extremes_apart<std::uint32_t>;
    case dtype::u64: return enqueue_extremes_apart<std::uint64_t>;
    case dtype::boolean: return enqueue_extremes_apart<bool>;
    default: return nullptr;
  }
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(order, find_order)

int wf::array_calls::extremes(const device_request& r, void* greatest, void* scratch, void* stream) {
  const auto f = r.what == op::minmax && greatest != nullptr && !r.states ? device::find_extremes_apart(r.element) : nullptr;
  if (f == nullptr) return cudaErrorNotSupported;
  return f(r, greatest, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}
