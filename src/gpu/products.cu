// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2, dot, var, std and mean_var of floats.
#include <warpfold/gpu/exact_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, class Out, int Threads, class... T>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  return exact_reduce<Rows, Out, Threads, T...>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                                r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                                                stream);
}

template <class T>
inline constexpr int product_threads = sizeof(T) == 8 ? 128 : 256;
template <class T>
inline constexpr int moment_threads = sizeof(T) == 8 ? 96 : 256;

}  // namespace

enqueue_function find_products(op o, dtype t, accuracy a) {
  if (a != accuracy::exact) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T>) {
      constexpr int threads = product_threads<T>, moments = moment_threads<T>;
      if (o == op::dot) return enqueue<product_rows<T, threads, 2>, T, threads, T, T>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue<product_rows<T, threads, 1>, T, threads, T>;
      if (o == op::var || o == op::std_dev || o == op::mean_var)
        return enqueue<moment_rows<T, moments>, T, moments, T>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
