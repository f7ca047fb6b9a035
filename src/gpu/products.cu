// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2, dot, var, std and mean_var of floats and of complex numbers.
#include <warpfold/gpu/exact_reduce.cuh>
#include <warpfold/gpu/row_sets.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, class Out, int Threads, class... T>
cudaError_t enqueue_rows(const device_request& r, workspace& w, cudaStream_t stream) {
  return exact_reduce<Rows, Out, Threads, T...>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                                r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w, stream);
}

template <class T, terms Terms>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  using P = typename kernel_element_of<T>::number;
  using E = kernel_element<T>;
  constexpr bool two = Terms == terms::products;
  const auto with = [&]<int Threads>() {
    using rows = row_set<T, Terms, Threads>;
    if constexpr (two) return enqueue_rows<rows, P, Threads, E, E>(r, w, stream);
    else return enqueue_rows<rows, P, Threads, E>(r, w, stream);
  };
  constexpr block_sizes threads = sizes_for<T, Terms>();
  if constexpr (threads.most != threads.least) {
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    if (w.block_shared_bytes() >= 227 * 1024) return with.template operator()<threads.most>();
    if (w.block_shared_bytes() < 99 * 1024) return with.template operator()<threads.least>();
  }
  return with.template operator()<threads.middle>();
}

}  // namespace

/// Of complex numbers under either accuracy: there are no faster ones.
enqueue_function find_products(op o, dtype t, accuracy a) {
  if (a != accuracy::exact && !is_complex(t)) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T> || complex_number<T>) {
      if (o == op::dot) return enqueue<T, terms::products>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue<T, terms::squares>;
      if (o == op::var || o == op::std_dev || o == op::mean_var) return enqueue<T, terms::moments>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
