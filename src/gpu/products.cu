// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2, dot, var, std and mean_var of floats and of complex numbers.
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

template <class T, terms Terms, int Threads, int Share>
struct rest_of;
template <class T, int Threads, int Share>
struct rest_of<T, terms::squares, Threads, Share> { using type = product_rows<T, Threads, 1, Share>; };
template <class T, int Threads, int Share>
struct rest_of<T, terms::products, Threads, Share> { using type = product_rows<T, Threads, 2, Share>; };
template <class T, int Threads, int Share>
struct rest_of<T, terms::moments, Threads, Share> { using type = moment_rows<T, Threads, Share>; };

/// Threads and loads chosen from runs on an H100: see the log of docs/gpu.md.
template <class T, terms Terms>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  constexpr bool two = Terms == terms::products;
  constexpr int loads = two ? 2 : 4;
  const auto with = [&]<int Threads, int Share>() {
    using rest = typename rest_of<T, Terms, Threads, Share>::type;
    using rows = anchored_rows<rest, T, Terms, Threads, loads, levels_of_products<T>, true>;
    if constexpr (two) return enqueue_rows<rows, Threads, T, T>(r, w, stream);
    else return enqueue_rows<rows, Threads, T>(r, w, stream);
  };
  if constexpr (sizeof(T) == 8) {
    // A column is 648 bytes, for moments 976: shared by lanes, there is room for the 16 warps or more that
    // keep the memory busy. With a column a thread, the moments had 6.
    if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
    constexpr int share = Terms == terms::moments ? 4 : 2;
    if (w.block_shared_bytes() < 99 * 1024) return with.template operator()<128, share>();
    if constexpr (Terms != terms::moments) {
      if (w.block_shared_bytes() >= 227 * 1024) return with.template operator()<two ? 512 : 576, share>();
    }
    return with.template operator()<256, share>();
  } else {
    if constexpr (sizeof(T) == 4 && Terms == terms::moments) {
      if (const cudaError_t e = w.prepare(stream); e != cudaSuccess) return e;
      if (w.block_shared_bytes() >= 227 * 1024) return with.template operator()<384, 1>();
    }
    return with.template operator()<256, 1>();
  }
}

template <template <class, int> class Rows, class P, int Inputs>
cudaError_t enqueue_complex(const device_request& r, workspace& w, cudaStream_t stream) {
  constexpr int threads = sizeof(P) == 8 ? 32 : 128;  // columns of up to 1.3 KB and 250 bytes a thread
  const exact_question q{r.what, r.options.rounding, r.options.correction};
  const auto n = static_cast<std::uint64_t>(r.n);
  using T = parts<P>;
  if constexpr (Inputs == 2) {
    return exact_reduce<Rows<P, threads>, P, threads, T, T>(q, r.x.data(), r.stride.data(), n, r.out, w, stream);
  } else {
    return exact_reduce<Rows<P, threads>, P, threads, T>(q, r.x.data(), r.stride.data(), n, r.out, w, stream);
  }
}

}  // namespace

/// Of complex numbers under either accuracy: there are no faster ones.
enqueue_function find_products(op o, dtype t, accuracy a) {
  if (a != accuracy::exact && !is_complex(t)) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (complex_number<T>) {
      using P = typename T::value_type;
      if (o == op::dot) return enqueue_complex<complex_product_rows, P, 2>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue_complex<complex_square_rows, P, 1>;
      if (o == op::var || o == op::std_dev || o == op::mean_var) return enqueue_complex<complex_moment_rows, P, 1>;
    } else if constexpr (floating<T>) {
      if (o == op::dot) return enqueue<T, terms::products>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue<T, terms::squares>;
      if (o == op::var || o == op::std_dev || o == op::mean_var) return enqueue<T, terms::moments>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
