// SPDX-License-Identifier: Apache-2.0
/// \file exact_complex.cuh
/// Row sets (see exact_rows.cuh) of complex numbers: their parts are elements of their own, in columns that
/// take any data. P is the type of a part.
#pragma once

#include <warpfold/config.hpp>
#include <warpfold/gpu/exact_rows.cuh>

namespace wf::device::inline WF_BUILD {

/// Re and im of complex numbers apart.
template <class P, int Threads>
struct complex_rows {
  using T = parts<P>;
  using column_type = sum_column<P, Threads>;
  static constexpr int inputs = 1, rows = 2, watches = 2, loads = 4;
  static constexpr int resident_threads = 1280;
  static constexpr int item_size = static_cast<int>(sizeof(T));
  static constexpr int digits0 = exact::format<P>::digits, digits1 = exact::format<P>::digits;
  static constexpr int unit0 = exact::format<P>::min_exponent, unit1 = exact::format<P>::min_exponent;
  static constexpr std::size_t shared_bytes = 2 * column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type re, im;
  special_watch<P> watch_re, watch_im;
  int adds;

  __device__ __forceinline__ void start(op) {
    re.start(wf_dynamic_shared);
    im.start(wf_dynamic_shared + column_type::shared_bytes);
    watch_re.start();
    watch_im.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 16 / item_size; ++i) add_item(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(T x) {
    add_sum<P, Threads>(re, x.re);
    add_sum<P, Threads>(im, x.im);
    watch_re.add(x.re);
    watch_im.add(x.im);
    ++adds;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries - loads * 16 / item_size) {
      re.carry();
      im.carry();
      adds = 0;
    }
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    return watch == 0 ? watch_re.kinds() : watch_im.kinds();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<sum_spacing<P>, digits0, Threads>(wf_dynamic_shared, r, to);
    __syncthreads();
    digits_of_columns<sum_spacing<P>, digits1, Threads>(wf_dynamic_shared + column_type::shared_bytes, r,
                                                          to + digits0);
  }
};

/// What row sets of products of parts share. `adds` counts those into a column: two an element.
template <class P>
struct complex_batches {
  using T = parts<P>;
  static constexpr int loads = 2;
  static constexpr int resident_threads = 1280;
  static constexpr int item_size = static_cast<int>(sizeof(T));
  static constexpr int adds_a_batch = 2 * loads * 16 / item_size;
};

/// Σ|x|² = Σre² + Σim².
template <class P, int Threads>
struct complex_square_rows : complex_batches<P> {
  using typename complex_batches<P>::T;
  using column_type = product_column<P, Threads>;
  static constexpr int inputs = 1, rows = 1, watches = 1;
  static constexpr int digits0 = exact::format<P>::product_digits, digits1 = 0;
  static constexpr int unit0 = 2 * exact::format<P>::min_exponent, unit1 = 0;
  static constexpr std::size_t shared_bytes = column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type column;
  special_watch<P> watch;
  int adds;

  __device__ __forceinline__ void start(op) {
    column.start(wf_dynamic_shared);
    watch.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 16 / this->item_size; ++i) add_item(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(T x) {
    wf::device::add_product<P>(column, x.re, x.re);
    wf::device::add_product<P>(column, x.im, x.im);
    watch.add_square(x.re);
    watch.add_square(x.im);
    adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries - this->adds_a_batch) {
      column.carry();
      adds = 0;
    }
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<product_spacing<P>, digits0, Threads>(wf_dynamic_shared, r, to);
  }
};

/// Σxy, nothing conjugated: Σ(xr·yr - xi·yi) and Σ(xr·yi + xi·yr).
template <class P, int Threads>
struct complex_product_rows : complex_batches<P> {
  using typename complex_batches<P>::T;
  using column_type = product_column<P, Threads>;
  static constexpr int inputs = 2, rows = 2, watches = 2;
  static constexpr int digits0 = exact::format<P>::product_digits, digits1 = digits0;
  static constexpr int unit0 = 2 * exact::format<P>::min_exponent, unit1 = unit0;
  static constexpr std::size_t shared_bytes = 2 * column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type re, im;
  special_watch<P> watch_re, watch_im;
  int adds;

  __device__ __forceinline__ void start(op) {
    re.start(wf_dynamic_shared);
    im.start(wf_dynamic_shared + column_type::shared_bytes);
    watch_re.start();
    watch_im.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[2]) {
#pragma unroll
    for (int i = 0; i < 16 / this->item_size; ++i) add_item(item_of<T>(p[0], i), item_of<T>(p[1], i));
  }
  __device__ __forceinline__ void add_item(T x, T y) {
    using f = exact::format<P>;
    const P minus = f::from_bits(static_cast<typename f::bits>(f::to_bits(x.im) ^ f::sign_mask));
    add_to(re, watch_re, x.re, y.re);
    add_to(re, watch_re, minus, y.im);
    add_to(im, watch_im, x.re, y.im);
    add_to(im, watch_im, x.im, y.re);
    adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries - this->adds_a_batch) {
      re.carry();
      im.carry();
      adds = 0;
    }
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    return watch == 0 ? watch_re.kinds() : watch_im.kinds();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<product_spacing<P>, digits0, Threads>(wf_dynamic_shared, r, to);
    __syncthreads();
    digits_of_columns<product_spacing<P>, digits1, Threads>(wf_dynamic_shared + column_type::shared_bytes, r,
                                                            to + digits0);
  }

 private:
  static __device__ __forceinline__ void add_to(column_type& column, special_watch<P>& watch, P x, P y) {
    wf::device::add_product<P>(column, x, y);
    watch.add_product(x, y);
  }
};

/// Σre, Σim and Σ|x|².
template <class P, int Threads>
struct complex_moment_rows : complex_batches<P> {
  using typename complex_batches<P>::T;
  using sum_type = sum_column<P, Threads>;
  using square_type = product_column<P, Threads>;
  static constexpr int inputs = 1, rows = 3, watches = 2;
  static constexpr int digits0 = exact::format<P>::digits, digits1 = digits0;
  static constexpr int digits2 = exact::format<P>::product_digits;
  static constexpr int unit0 = exact::format<P>::min_exponent, unit1 = unit0;
  static constexpr int unit2 = 2 * exact::format<P>::min_exponent;
  static constexpr std::size_t shared_bytes = 2 * sum_type::shared_bytes + square_type::shared_bytes;
  struct room {
    piece_room<sum_type::slots> sums;
    piece_room<square_type::slots> squares;
  };

  sum_type re, im;
  square_type squares;
  special_watch<P> watch_re, watch_im;
  int adds;

  __device__ __forceinline__ void start(op) {
    re.start(wf_dynamic_shared);
    im.start(wf_dynamic_shared + sum_type::shared_bytes);
    squares.start(wf_dynamic_shared + 2 * sum_type::shared_bytes);
    watch_re.start();
    watch_im.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 16 / this->item_size; ++i) add_item(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(T x) {
    add_sum<P, Threads>(re, x.re);
    add_sum<P, Threads>(im, x.im);
    wf::device::add_product<P>(squares, x.re, x.re);
    wf::device::add_product<P>(squares, x.im, x.im);
    watch_re.add(x.re);
    watch_im.add(x.im);
    adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    constexpr int a = sum_type::adds_between_carries, b = square_type::adds_between_carries;
    if (adds > (a < b ? a : b) - this->adds_a_batch) {
      re.carry();
      im.carry();
      squares.carry();
      adds = 0;
    }
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    return watch == 0 ? watch_re.kinds() : watch_im.kinds();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<sum_spacing<P>, digits0, Threads>(wf_dynamic_shared, r.sums, to);
    digits_of_columns<product_spacing<P>, digits2, Threads>(wf_dynamic_shared + 2 * sum_type::shared_bytes, r.squares,
                                                            to + digits0 + digits1);
    __syncthreads();
    digits_of_columns<sum_spacing<P>, digits1, Threads>(wf_dynamic_shared + sum_type::shared_bytes, r.sums,
                                                        to + digits0);
  }
};

}  // namespace wf::device::inline WF_BUILD
