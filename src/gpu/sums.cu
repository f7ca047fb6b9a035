// SPDX-License-Identifier: Apache-2.0
// Exact sum, mean and norm1 of floats; sum and mean of complex numbers.
#include <warpfold/gpu/certified_reduce.cuh>
#include <warpfold/gpu/exact_reduce.cuh>
#include <warpfold/gpu/exact_sum.cuh>
#include <warpfold/gpu/row_sets.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, class Out, int Threads, class T>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream, const std::uint32_t* verdict) {
  return exact_reduce<Rows, Out, Threads, T>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                             r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                                             stream, verdict);
}

/// As kernels of sums know f16 and bf16.
template <class T>
struct kernel_type { using type = T; };
template <>
struct kernel_type<f16> { using type = __half; };
template <>
struct kernel_type<bf16> { using type = __nv_bfloat16; };

/// Of complex numbers too. f32 keeps up in columns, whatever the data. The others are too many a byte, or their columns
/// too large.
template <class T>
cudaError_t enqueue_exact(const device_request& r, workspace& w, cudaStream_t stream, const std::uint32_t* verdict) {
  if constexpr (std::is_same_v<T, float>) {
    return enqueue<sum_rows<T, 512>, T, 512, T>(r, w, stream, verdict);
  } else {
    using P = typename kernel_element_of<T>::number;
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    return with_block_size<T, terms::sum>(w.block_shared_bytes(), [&]<int Threads, shared_room Room>() {
      return enqueue<rows_with_room<row_set<T, terms::sum, Threads>, Room>, P, Threads, kernel_element<T>>(r, w, stream, verdict);
    });
  }
}

/// By certificate.
template <class T>
cudaError_t enqueue_row(const device_request& r, workspace& w, cudaStream_t stream) {
  return certified_reduce<terms::sum, typename kernel_element_of<T>::number, kernel_element<T>>(
      {r.what, r.options.rounding, r.options.correction}, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
      stream, [&](const std::uint32_t* verdict) { return enqueue_exact<T>(r, w, stream, verdict); });
}

template <class T>
cudaError_t enqueue_sum(const device_request& r, workspace& w, cudaStream_t stream) {
  bool direct = r.options.rounding == rounding::nearest && (r.stride[0] == 1 || r.n <= 1);
  if constexpr (std::is_same_v<T, double>) {  // large arrays come by bulk copies, of any data at the speed of reading
    if (direct) {
      if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
      direct = w.bulk_copies() && w.block_shared_bytes() >= 227 * 1024 &&
               bulk_pays(static_cast<std::uint64_t>(r.n) * sizeof(T), w.l2_bytes());
    }
  }
  if (direct) {
    using K = typename kernel_type<T>::type;
    return exact_sum(static_cast<const K*>(r.x[0]), static_cast<std::uint64_t>(r.n), static_cast<K*>(r.out), w,
                     stream);
  }
  return enqueue_row<T>(r, w, stream);
}

}  // namespace

enqueue_function find_sums(op o, dtype t, accuracy a) {
  if (a != accuracy::exact) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T>) {
      if (o == op::sum) return enqueue_sum<T>;
      if (o == op::mean || o == op::norm1) return enqueue_row<T>;
    } else if constexpr (complex_number<T>) {
      if (o == op::sum || o == op::mean) return enqueue_row<T>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
