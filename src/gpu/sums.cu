// SPDX-License-Identifier: Apache-2.0
// Exact sum, mean and norm1 of floats; sum and mean of complex numbers.
#include <warpfold/detail/gpu/kernels/certified_reduce.cuh>
#include <warpfold/detail/gpu/kernels/exact_state.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

/// The types of f16 and bf16 that kernels of sums use.
template <class T>
struct kernel_type { using type = T; };
template <>
struct kernel_type<f16> { using type = __half; };
template <>
struct kernel_type<bf16> { using type = __nv_bfloat16; };

/// Makes states: that of a long array of floats as its answer is made, and by bins where special values spoil it; other states by bins alone.
template <class T>
cudaError_t enqueue_state(const device_request& r, workspace& w, cudaStream_t stream) {
  const auto n = static_cast<std::uint64_t>(r.n);
  if constexpr (floating<T>) {
    using K = typename kernel_type<T>::type;
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    if (r.what != op::norm1 && r.stride[0] == 1 && has_sum_state<K>(n, w))
      return exact_sum_state<K, kernel_element<T>>(r.what, static_cast<const K*>(r.x[0]), n, static_cast<std::int64_t*>(r.out), w, stream);
  }
  return binned_state<terms::sum, typename kernel_element_of<T>::number, kernel_element<T>>(r.what, r.x.data(), r.stride.data(), n, r.out, w, stream);
}

/// An answer by certificate.
template <class T>
cudaError_t enqueue_certified(const device_request& r, workspace& w, cudaStream_t stream) {
  if (r.states) return enqueue_state<T>(r, w, stream);
  return certified_reduce<terms::sum, typename kernel_element_of<T>::number, kernel_element<T>>(
      {r.what, r.options.rounding, r.options.correction}, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
      stream);
}

template <class T>
cudaError_t enqueue_sum(const device_request& r, workspace& w, cudaStream_t stream) {
  if (!r.states && r.options.rounding == rounding::nearest && (r.stride[0] == 1 || r.n <= 1)) {
    using K = typename kernel_type<T>::type;
    const auto* const x = static_cast<const K*>(r.x[0]);
    auto* const out = static_cast<K*>(r.out);
    const auto n = static_cast<std::uint64_t>(r.n);
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    if constexpr (!std::is_same_v<T, float>) {
      // Where memory is fast a certificate first, at the speed of reading, which is faster there than what adds all digits of f64, f16 and bf16. That comes behind, and not the kernel that adds in
      // bins: with that, a sum of f64 that cancels takes more than six times as long as an ordinary one.
      if (certified_streams(x, n * sizeof(T), w)) {
        return certified_reduce_before<terms::sum, typename kernel_element_of<T>::number, kernel_element<T>>(
            {r.what, r.options.rounding, r.options.correction}, r.x.data(), r.stride.data(), n, r.out, w, stream, [&] {
              const sum_to<K> to{out, nullptr, w.verdict()};
              if constexpr (std::is_same_v<T, double>) return exact_sum_of_many_doubles(x, n, to, w, stream);
              else return exact_sum_of_blocks(x, n, to, w, stream);
            });
      }
    }
    if constexpr (std::is_same_v<T, double>) {  // on an H100 all digits of any data take no longer than reading
      const std::uint64_t bytes = n * sizeof(T);
      if (w.block_shared_bytes() >= 227 * 1024 && w.bulk_copies() && bytes > w.l2_bytes() / 4 * 3 && bytes > 1 << 20) {
        if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
        return exact_sum_of_many_doubles(x, n, sum_to<T>{out}, w, stream);
      }
    } else {
      return exact_sum(x, n, out, w, stream);
    }
  }
  return enqueue_certified<T>(r, w, stream);
}

enqueue_function find_sums(op o, dtype t, accuracy a) {
  if (a != accuracy::exact) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T>) {
      if (o == op::sum) return enqueue_sum<T>;
      if (o == op::mean || o == op::norm1) return enqueue_certified<T>;
    } else if constexpr (complex_number<T>) {
      if (o == op::sum || o == op::mean) return enqueue_certified<T>;
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(sums, find_sums)
