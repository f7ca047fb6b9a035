// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2, dot, var, std and mean_var of floats.
#include <warpfold/gpu/exact_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, int Threads, class T, class... U>
cudaError_t enqueue_rows(const device_request& r, workspace& w, cudaStream_t stream) {
  return exact_reduce<Rows, T, Threads, T, U...>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                                 r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w,
                                                 stream);
}

template <class T, terms Terms, int Threads>
struct rest_of;
template <class T, int Threads>
struct rest_of<T, terms::squares, Threads> { using type = product_rows<T, Threads, 1>; };
template <class T, int Threads>
struct rest_of<T, terms::products, Threads> { using type = product_rows<T, Threads, 2>; };
template <class T, int Threads>
struct rest_of<T, terms::moments, Threads> { using type = moment_rows<T, Threads>; };

/// Threads and loads chosen from runs on an H100: see the log of docs/gpu.md.
template <class T, terms Terms>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  constexpr bool two = Terms == terms::products;
  const auto with = [&]<int Threads, int Loads>() {
    using rest = typename rest_of<T, Terms, Threads>::type;
    using rows = anchored_rows<rest, T, Terms, Threads, Loads, levels_of_products<T>, true>;
    if constexpr (two) return enqueue_rows<rows, Threads, T, T>(r, w, stream);
    else return enqueue_rows<rows, Threads, T>(r, w, stream);
  };
  if constexpr (sizeof(T) == 8) {
    // Columns of 640 bytes a thread and more: as many as there is room for, in one or two blocks.
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    if constexpr (Terms == terms::moments) return with.template operator()<96, 8>();
    else if (w.block_shared_bytes() >= 227 * 1024) return with.template operator()<320, two ? 4 : 8>();
    else return with.template operator()<96, two ? 4 : 8>();
  } else {
    return with.template operator()<256, two ? 2 : 4>();
  }
}

}  // namespace

enqueue_function find_products(op o, dtype t, accuracy a) {
  if (a != accuracy::exact) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T>) {
      if (o == op::dot) return enqueue<T, terms::products>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue<T, terms::squares>;
      if (o == op::var || o == op::std_dev || o == op::mean_var) return enqueue<T, terms::moments>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
