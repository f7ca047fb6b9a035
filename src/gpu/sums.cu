// SPDX-License-Identifier: Apache-2.0
// Exact sum, mean and norm1 of floats; sum and mean of complex numbers.
#include <warpfold/gpu/exact_reduce.cuh>
#include <warpfold/gpu/exact_sum.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, class Out, int Threads, class T>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  return exact_reduce<Rows, Out, Threads, T>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                             r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                                             stream);
}

/// As kernels of sums know f16 and bf16.
template <class T>
struct kernel_type { using type = T; };
template <>
struct kernel_type<f16> { using type = __half; };
template <>
struct kernel_type<bf16> { using type = __nv_bfloat16; };

/// f32 keeps up in columns, whatever the data. The others are too many a byte, or their columns too large.
template <class T>
cudaError_t enqueue_row(const device_request& r, workspace& w, cudaStream_t stream) {
  const auto with = [&]<int Threads>() {
    using rows = anchored_rows<sum_rows<T, Threads>, T, terms::sum, Threads, 4, 0, true>;
    return enqueue<rows, T, Threads, T>(r, w, stream);
  };
  if constexpr (std::is_same_v<T, float>) {
    return enqueue<sum_rows<T, 512>, T, 512, T>(r, w, stream);
  } else if constexpr (sizeof(T) == 8) {
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    return w.block_shared_bytes() >= 227 * 1024 ? with.template operator()<608>() : with.template operator()<128>();
  } else {
    return with.template operator()<256>();
  }
}

template <class T>
cudaError_t enqueue_sum(const device_request& r, workspace& w, cudaStream_t stream) {
  if (r.options.rounding == rounding::nearest && (r.stride[0] == 1 || r.n <= 1)) {
    using K = typename kernel_type<T>::type;
    return exact_sum(static_cast<const K*>(r.x[0]), static_cast<std::uint64_t>(r.n), static_cast<K*>(r.out), w,
                     stream);
  }
  return enqueue_row<T>(r, w, stream);
}

/// Of complex numbers with parts of P.
template <class P>
cudaError_t enqueue_parts(const device_request& r, workspace& w, cudaStream_t stream) {
  const auto with = [&]<int Threads>() {
    using numbers = anchored_rows<sum_rows<P, Threads>, P, terms::sum, Threads, 4, 0, true>;
    return enqueue<complex_rows<P, Threads, numbers>, P, Threads, parts<P>>(r, w, stream);
  };
  if constexpr (sizeof(P) == 8) {
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    return w.block_shared_bytes() >= 227 * 1024 ? with.template operator()<608>() : with.template operator()<128>();
  } else {
    return with.template operator()<256>();
  }
}

}  // namespace

enqueue_function find_sums(op o, dtype t, accuracy a) {
  if (a != accuracy::exact) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T>) {
      if (o == op::sum) return enqueue_sum<T>;
      if (o == op::mean || o == op::norm1) return enqueue_row<T>;
    } else if constexpr (complex_number<T>) {
      using P = typename T::value_type;
      if (o == op::sum || o == op::mean) return enqueue_parts<P>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
