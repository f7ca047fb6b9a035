// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2, dot, var, std and mean_var of floats and of complex numbers.
#include <complex>

#include <warpfold/gpu/exact_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Rows, class Out, int Threads, class... T>
cudaError_t enqueue_rows(const device_request& r, workspace& w, cudaStream_t stream) {
  return exact_reduce<Rows, Out, Threads, T...>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                                r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w, stream);
}

template <class T, terms Terms, int Threads, int Share>
struct rest_of;
template <class T, int Threads, int Share>
struct rest_of<T, terms::squares, Threads, Share> { using type = product_rows<T, Threads, 1, Share>; };
template <class T, int Threads, int Share>
struct rest_of<T, terms::products, Threads, Share> { using type = product_rows<T, Threads, 2, Share>; };
template <class T, int Threads, int Share>
struct rest_of<T, terms::moments, Threads, Share> { using type = moment_rows<T, Threads, Share>; };
template <class P, int Threads, int Share>
struct rest_of<std::complex<P>, terms::squares, Threads, Share> { using type = complex_square_rows<P, Threads, Share>; };
template <class P, int Threads, int Share>
struct rest_of<std::complex<P>, terms::products, Threads, Share> { using type = complex_product_rows<P, Threads, Share>; };
template <class P, int Threads, int Share>
struct rest_of<std::complex<P>, terms::moments, Threads, Share> { using type = complex_moment_rows<P, Threads, Share>; };

/// Threads a block where one may have 227 KiB of shared memory, 99, or less.
struct block_sizes {
  int most, middle, least;
};

/// Chosen from runs on an H100: see the log of docs/gpu.md.
template <class T, terms Terms>
constexpr block_sizes sizes_for() {
  constexpr bool moments = Terms == terms::moments, squares = Terms == terms::squares;
  if (complex_number<T>) return {sizeof(T) == 16 || moments ? 512 : 320, 128, 128};
  if (sizeof(T) == 8) return {moments ? 256 : squares ? 576 : 512, 256, 128};
  return {sizeof(T) == 4 && moments ? 384 : 256, 256, 256};
}

template <class T, terms Terms>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  using P = typename kernel_element_of<T>::number;
  using E = kernel_element<T>;
  constexpr bool two = Terms == terms::products;
  constexpr int loads = two ? 2 : 4;
  // Columns of f64 are 648 bytes, those of an element up to 1300: shared by lanes, there is room for the 16 warps or
  // more that keep the memory busy. With a column a thread, the moments had 6.
  constexpr int share = sizeof(P) < 8 ? 1 : Terms == terms::moments || (two && complex_number<T>) ? 4 : 2;
  const auto with = [&]<int Threads>() {
    using rest = typename rest_of<T, Terms, Threads, share>::type;
    using rows = anchored_rows<rest, P, Terms, Threads, loads, levels_of_products<P>, true>;
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
