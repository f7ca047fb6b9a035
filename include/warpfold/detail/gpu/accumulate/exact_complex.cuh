// SPDX-License-Identifier: Apache-2.0
/// \file exact_complex.cuh
/// Row sets (see exact_rows.cuh) of complex numbers: their parts are elements of their own, in columns that
/// take any data. P is the type of a part. They stand behind anchored_rows, but for complex_rows, which stands before.
#pragma once

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_rows.cuh>

namespace wf::device::inline WF_BUILD {

/// A column and a watch for each part: the first two rows of a set, of Digits digits each. Column: of a type of
/// columns for Threads / Share.
template <class P, class Column, int Spacing, int Digits, int Threads, int Share>
struct part_columns {
  static constexpr int share = Share;
  static constexpr int item_size = static_cast<int>(sizeof(parts<P>)), items = 16 / item_size;
  static constexpr int digits0 = Digits, digits1 = Digits;
  static constexpr std::size_t parts_bytes = 2 * Column::shared_bytes;

  Column re, im;
  special_watch<P> watch_re, watch_im;
  int adds;  ///< to a column, by this thread

  __device__ __forceinline__ void start(op) {
    re.start(wf_dynamic_shared, own_column<Share>());
    im.start(wf_dynamic_shared + Column::shared_bytes, own_column<Share>());
    watch_re.start();
    watch_im.start();
    adds = 0;
  }
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    return watch == 0 ? watch_re.kinds() : watch_im.kinds();
  }

 protected:
  __device__ __forceinline__ void carry_parts() {
    re.carry();
    im.carry();
    adds = 0;
  }
  __device__ __forceinline__ void scaled_part(int row, std::int64_t v, int place) {
    if (row == 0) re.add_scaled(v, place);
    else im.add_scaled(v, place);
  }
  __device__ __forceinline__ void sum_parts(piece_room<Column::slots>& r, std::int64_t* to) {
    digits_of_columns<Spacing, Digits, Threads, Share>(wf_dynamic_shared, r, to);
    __syncthreads();
    digits_of_columns<Spacing, Digits, Threads, Share>(wf_dynamic_shared + Column::shared_bytes, r, to + Digits);
  }
};

template <class P, int Threads, int Share>
using sums_of_parts =
    part_columns<P, sum_column<P, Threads / Share>, sum_spacing<P>, exact::format<P>::digits, Threads, Share>;
template <class P, int Threads, int Share>
using products_of_parts =
    part_columns<P, product_column<P, Threads / Share>, product_spacing<P>, exact::format<P>::product_digits, Threads, Share>;

/// Σre and Σim. Two lanes exchange parts, so that one adds real parts only and the other imaginary ones: each has one
/// column, as for real numbers. Rows: anchored_rows of sums of P.
template <class P, int Threads, class Rows>
struct complex_rows {
  static constexpr int inputs = 1, rows = 2, watches = 2, loads = Rows::loads;
  static constexpr int resident_threads = Rows::resident_threads;
  static constexpr int item_size = static_cast<int>(sizeof(parts<P>));
  static constexpr int digits0 = Rows::digits0, digits1 = digits0;
  static constexpr int unit0 = Rows::unit0, unit1 = unit0;
  static constexpr std::size_t shared_bytes = Rows::shared_bytes;
  static constexpr bool looks_ahead = true, together = true, ahead = Rows::ahead;
  using room = typename Rows::room;

  Rows numbers;

  __device__ __forceinline__ void start(op what, bool doubles, room& r, const pack (&first)[loads][1], int count) {
    numbers.start(what, doubles, r, first, count);
  }
  __device__ __forceinline__ void add(pack (&p)[loads][1], int present) {
    constexpr int words = static_cast<int>(sizeof(P)) / 4;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      if (u >= present) p[u][0] = nothing();
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (j / words % 2 != 0) continue;  // words of real parts, and with them the imaginary ones'
        std::uint32_t &re = p[u][0].word[j], &im = p[u][0].word[j + words];
        const std::uint32_t other = __shfl_xor_sync(all_lanes, real() ? im : re, 1);
        (real() ? im : re) = other;
      }
    }
    numbers.add(p, loads);
  }
  __device__ __forceinline__ void add_item(bool mine, parts<P> x) {
    using f = exact::format<P>;
    using bits = typename f::bits;
    const auto own = mine ? f::to_bits(real() ? x.re : x.im) : f::sign_mask;
    const auto other = mine ? f::to_bits(real() ? x.im : x.re) : f::sign_mask;
    numbers.add_item(true, f::from_bits(own));
    numbers.add_item(true, f::from_bits(static_cast<bits>(__shfl_xor_sync(all_lanes, other, 1))));
  }
  __device__ __forceinline__ void finish() { numbers.finish(); }
  __device__ __forceinline__ std::uint32_t kinds(int watch) const { return real() == (watch == 0) ? numbers.kinds(0) : 0u; }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    numbers.sum_over_block(r, to, real());
    __syncthreads();
    numbers.sum_over_block(r, to + digits0, !real());
  }

 private:
  static __device__ __forceinline__ bool real() { return lane_index() % 2 == 0; }
  static __device__ __forceinline__ pack nothing() {  // -0
    constexpr std::uint32_t low = sizeof(P) == 8 ? 0u : 0x80000000u;
    return {{low, 0x80000000u, low, 0x80000000u}};
  }
};

/// Σ|x|²: the squares of twice as many numbers.
template <class P, int Threads, int Share = 1>
struct complex_square_rows : product_rows<P, Threads, 1, Share> {
  static constexpr int item_size = static_cast<int>(sizeof(parts<P>));
};

/// Σxy, nothing conjugated: Σ(xr·yr - xi·yi) and Σ(xr·yi + xi·yr).
template <class P, int Threads, int Share = 1>
struct complex_product_rows : products_of_parts<P, Threads, Share> {
  using base = products_of_parts<P, Threads, Share>;
  using column_type = product_column<P, Threads / Share>;
  static constexpr int inputs = 2, rows = 2, watches = 2, loads = 2;
  static constexpr int unit0 = 2 * exact::format<P>::min_exponent, unit1 = unit0;
  static constexpr std::size_t shared_bytes = base::parts_bytes;
  using room = piece_room<column_type::slots>;

  __device__ __forceinline__ void add(const pack (&p)[2]) {
#pragma unroll
    for (int i = 0; i < base::items; ++i) add_item(item_of<parts<P>>(p[0], i), item_of<parts<P>>(p[1], i));
  }
  __device__ __forceinline__ void add_item(parts<P> x, parts<P> y) {
    using f = exact::format<P>;
    const P minus = f::from_bits(static_cast<typename f::bits>(f::to_bits(x.im) ^ f::sign_mask));
    add_to(this->re, this->watch_re, x.re, y.re);
    add_to(this->re, this->watch_re, minus, y.im);
    add_to(this->im, this->watch_im, x.re, y.im);
    add_to(this->im, this->watch_im, x.im, y.re);
    this->adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    if (this->adds > column_type::adds_between_carries / Share - 2 * loads * base::items) this->carry_parts();
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int row, std::int64_t v, int place) {
    this->scaled_part(row, v, place);
    ++this->adds;
    after_batch();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) { this->sum_parts(r, to); }

 private:
  static __device__ __forceinline__ void add_to(column_type& column, special_watch<P>& watch, P x, P y) {
    wf::device::add_product<P>(column, x, y);
    watch.add_product(x, y);
  }
};

/// Σre, Σim and Σ|x|².
template <class P, int Threads, int Share = 1>
struct complex_moment_rows : sums_of_parts<P, Threads, Share> {
  using base = sums_of_parts<P, Threads, Share>;
  using sum_type = sum_column<P, Threads / Share>;
  using square_type = product_column<P, Threads / Share>;
  static constexpr int inputs = 1, rows = 3, watches = 2, loads = 2;
  static constexpr int digits2 = exact::format<P>::product_digits;
  static constexpr int unit0 = exact::format<P>::min_exponent, unit1 = unit0, unit2 = 2 * unit0;
  static constexpr std::size_t shared_bytes = base::parts_bytes + square_type::shared_bytes;
  struct room {
    piece_room<sum_type::slots> sums;
    piece_room<square_type::slots> squares;
  };

  square_type squares;  ///< two adds for one to each of the others

  __device__ __forceinline__ void start(op what) {
    base::start(what);
    squares.start(wf_dynamic_shared + base::parts_bytes, own_column<Share>());
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < base::items; ++i) add_one(item_of<parts<P>>(p[0], i));
  }
  __device__ __forceinline__ void after_batch() {
    constexpr int a = sum_type::adds_between_carries, b = square_type::adds_between_carries;
    if (this->adds > (a < b ? a : b) / Share - 2 * loads * base::items) {
      this->carry_parts();
      squares.carry();
    }
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int row, std::int64_t v, int place) {
    if (row == 2) squares.add_scaled(v, place);
    else this->scaled_part(row, v, place);
    ++this->adds;
    after_batch();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    this->sum_parts(r.sums, to);
    digits_of_columns<product_spacing<P>, digits2, Threads, Share>(wf_dynamic_shared + base::parts_bytes, r.squares,
                                                                   to + 2 * base::digits0);
  }

 private:
  __device__ __forceinline__ void add_one(parts<P> x) {
    add_sum<P, Threads / Share>(this->re, x.re);
    add_sum<P, Threads / Share>(this->im, x.im);
    wf::device::add_product<P>(squares, x.re, x.re);
    wf::device::add_product<P>(squares, x.im, x.im);
    this->watch_re.add(x.re);
    this->watch_im.add(x.im);
    this->adds += 2;
  }
};

}  // namespace wf::device::inline WF_BUILD
