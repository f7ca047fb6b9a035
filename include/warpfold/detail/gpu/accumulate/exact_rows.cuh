// SPDX-License-Identifier: Apache-2.0
/// \file exact_rows.cuh
/// Row sets (row_set_concept.cuh) of floats: columns of exact digits, which take any element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_column.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

/// The column of sums of T, and of products of two.
template <class T, int Threads>
using sum_column =
    std::conditional_t<sizeof(T) == 8, double_column<Threads>,
                       slot_column<exact::format<T>::mantissa_bits + 1, exact::format<T>::max_shift + 1, 32, Threads>>;
template <class T, int Threads>
using product_column = slot_column<2 * exact::format<T>::mantissa_bits + 2,
                                   2 * exact::format<T>::max_shift + 2, sizeof(T) >= 4 ? 53 : 32, Threads>;

template <class T>
inline constexpr int sum_spacing = sizeof(T) == 8 ? 51 : 32;
template <class T>
inline constexpr int product_spacing = sizeof(T) >= 4 ? 53 : 32;

template <class T, int Columns>
__device__ __forceinline__ void add_sum(sum_column<T, Columns>& to, T x) {
  if constexpr (sizeof(T) == 8) {
    to.add(x);
  } else {
    const decoded<T> d(x);
    to.add(d.mantissa, d.p, d.negative);
  }
}
template <class T, class Column>
__device__ __forceinline__ void add_product(Column& to, T x, T y) {
  using mantissa = typename Column::mantissa;
  const decoded<T> a(x), b(y);
  if constexpr (sizeof(T) == 8) {
    to.add(mantissa{a.mantissa} * b.mantissa, a.p + b.p, a.negative != b.negative);
  } else {  // one wide multiplication
    to.add(std::uint64_t{static_cast<std::uint32_t>(a.mantissa)} * static_cast<std::uint32_t>(b.mantissa),
           a.p + b.p, a.negative != b.negative);
  }
}

/// Two columns' pieces go through one room, one after the other.
template <int Spacing, int Count, int Threads, int Share = 1, int Slots>
__device__ __forceinline__ void digits_of_columns(const unsigned char* shared, piece_room<Slots>& room,
                                                  std::int64_t* digits, bool meant = true) {
  sum_columns<Threads, Slots, Threads / Share>(reinterpret_cast<const std::int64_t*>(shared), room, meant);
  for (int k = static_cast<int>(threadIdx.x); k < Count; k += Threads) {
    digits[k] = digit_of_pieces<Spacing, Slots, Count>(room, k);
  }
}

/// Σx of floats, or Σ|x| where the question is norm1.
template <class T, int Threads>
struct sum_rows {
  using column_type = sum_column<T, Threads>;
  static constexpr int inputs = 1, rows = 1, watches = 1, loads = 4;
  static constexpr int resident_threads = 1536;
  static constexpr int item_size = static_cast<int>(sizeof(T));
  static constexpr int digits0 = exact::format<T>::digits, digits1 = 0;
  static constexpr int unit0 = exact::format<T>::min_exponent, unit1 = 0;
  static constexpr std::size_t shared_bytes = column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type column;
  special_watch<T> watch;
  std::uint32_t mask;  ///< of a word of elements: without signs for norm1
  int adds;

  __device__ __forceinline__ void start(op what) {
    column.start(wf_dynamic_shared);
    watch.start();
    mask = what == op::norm1 ? (sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu) : 0xffffffffu;
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
    constexpr int items = 16 / item_size;
    pack q = p[0];
#pragma unroll
    for (int j = 0; j < 4; ++j) q.word[j] &= sizeof(T) == 8 && j % 2 == 0 ? 0xffffffffu : mask;
#pragma unroll
    for (int i = 0; i < items; ++i) add_one(item_of<T>(q, i));
    adds += items;
  }
  __device__ __forceinline__ void add_item(T x) {
    using f = exact::format<T>;
    if (mask != 0xffffffffu) x = f::from_bits(static_cast<typename f::bits>(f::to_bits(x) & ~f::sign_mask));
    add_one(x);
    ++adds;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries - loads * 16 / item_size) {
      column.carry();
      adds = 0;
    }
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int, std::int64_t v, int place) {
    column.add_scaled(v, place);
    ++adds;
    after_batch();
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to, bool meant = true) {
    digits_of_columns<sum_spacing<T>, digits0, Threads>(wf_dynamic_shared, r, to, meant);
  }

 private:
  __device__ __forceinline__ void add_one(T x) {
    add_sum<T, Threads>(column, x);
    watch.add(x);
  }
};

/// Σx·y, or Σx² of one input.
template <class T, int Threads, int Inputs, int Share = 1>
struct product_rows {
  using column_type = product_column<T, Threads / Share>;
  static constexpr int inputs = Inputs, rows = 1, watches = 1, loads = sizeof(T) == 2 ? 2 : 4;
  static constexpr int share = Share;
  static constexpr int item_size = static_cast<int>(sizeof(T));
  static constexpr int digits0 = exact::format<T>::product_digits, digits1 = 0;
  static constexpr int unit0 = 2 * exact::format<T>::min_exponent, unit1 = 0;
  static constexpr std::size_t shared_bytes = column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type column;
  special_watch<T> watch;
  int adds;

  __device__ __forceinline__ void start(op) {
    column.start(wf_dynamic_shared, own_column<Share>());
    watch.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[Inputs]) {
    constexpr int items = 16 / item_size;
#pragma unroll
    for (int i = 0; i < items; ++i) add_one(item_of<T>(p[0], i), item_of<T>(p[Inputs - 1], i));
    adds += items;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries / Share - loads * 16 / item_size) {
      column.carry();
      adds = 0;
    }
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int, std::int64_t v, int place) {
    column.add_scaled(v, place);
    ++adds;
    after_batch();
  }
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<product_spacing<T>, digits0, Threads, Share>(wf_dynamic_shared, r, to);
  }

 private:
  __device__ __forceinline__ void add_one(T x, T y) {
    wf::device::add_product<T>(column, x, y);
    if constexpr (Inputs == 1) watch.add_square(x);
    else watch.add_product(x, y);
  }
};

/// Σx and Σx² of floats. Two columns leave room for few threads: bf16 takes the narrower one of products.
template <class T, int Threads, int Share = 1>
struct moment_rows {
  using first_type = sum_column<T, Threads / Share>;
  static constexpr int second_spacing = exact::format<T>::mantissa_bits == 7 ? 53 : product_spacing<T>;
  using second_type = slot_column<2 * exact::format<T>::mantissa_bits + 2, 2 * exact::format<T>::max_shift + 2,
                                  second_spacing, Threads / Share>;
  static constexpr int inputs = 1, rows = 2, watches = 1, loads = sizeof(T) == 2 ? 2 : 4;
  static constexpr int share = Share;
  static constexpr int item_size = static_cast<int>(sizeof(T));
  static constexpr int digits0 = exact::format<T>::digits, digits1 = exact::format<T>::product_digits;
  static constexpr int unit0 = exact::format<T>::min_exponent, unit1 = 2 * exact::format<T>::min_exponent;
  static constexpr std::size_t shared_bytes = first_type::shared_bytes + second_type::shared_bytes;
  struct room {
    piece_room<first_type::slots> first;
    piece_room<second_type::slots> second;
  };

  first_type first;
  second_type second;
  special_watch<T> watch;
  int adds;

  __device__ __forceinline__ void start(op) {
    first.start(wf_dynamic_shared, own_column<Share>());
    second.start(wf_dynamic_shared + first_type::shared_bytes, own_column<Share>());
    watch.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
    constexpr int items = 16 / item_size;
#pragma unroll
    for (int i = 0; i < items; ++i) add_one(item_of<T>(p[0], i));
    adds += items;
  }
  static constexpr int most_adds = (first_type::adds_between_carries < second_type::adds_between_carries
                                        ? first_type::adds_between_carries
                                        : second_type::adds_between_carries) / Share - loads * 16 / item_size;
  __device__ __forceinline__ void after_batch() {
    if (adds > most_adds) {
      first.carry();
      second.carry();
      adds = 0;
    }
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int row, std::int64_t v, int place) {
    if (row == 0) first.add_scaled(v, place);
    else second.add_scaled(v, place);
    ++adds;
    after_batch();
  }
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<sum_spacing<T>, digits0, Threads, Share>(wf_dynamic_shared, r.first, to);
    digits_of_columns<second_spacing, digits1, Threads, Share>(wf_dynamic_shared + first_type::shared_bytes, r.second,
                                                               to + digits0);
  }

 private:
  __device__ __forceinline__ void add_one(T x) {
    add_sum<T, Threads / Share>(first, x);
    wf::device::add_product<T>(second, x, x);
    watch.add(x);
  }
};

/// Σx, Σ|x| and Σx² of floats.
template <class T, int Threads, int Share = 1>
struct norm1_moment_rows : moment_rows<T, Threads, Share> {
  using base = moment_rows<T, Threads, Share>;
  using typename base::first_type, typename base::room;
  static constexpr bool magnitudes = true;
  static constexpr int rows = 3, digits1 = base::digits0, digits2 = base::digits1;
  static constexpr int unit1 = base::unit0, unit2 = base::unit1;
  static constexpr std::size_t shared_bytes = base::shared_bytes + first_type::shared_bytes;

  first_type magnitude;

  __device__ __forceinline__ void start(op what) {
    base::start(what);
    magnitude.start(wf_dynamic_shared + base::shared_bytes, own_column<Share>());
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
    using f = exact::format<T>;
    base::add(p);
#pragma unroll
    for (int i = 0; i < 16 / base::item_size; ++i) {
      const auto bits = f::to_bits(item_of<T>(p[0], i));
      add_sum<T, Threads / Share>(magnitude, f::from_bits(static_cast<typename f::bits>(bits & ~f::sign_mask)));
    }
  }
  __device__ __forceinline__ void after_batch() {
    if (this->adds > base::most_adds) magnitude.carry();
    base::after_batch();
  }
  __device__ __forceinline__ void add_scaled(int row, std::int64_t v, int place) {
    if (row == 0) this->first.add_scaled(v, place);
    else if (row == 1) magnitude.add_scaled(v, place);
    else this->second.add_scaled(v, place);
    ++this->adds;
    after_batch();
  }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    digits_of_columns<sum_spacing<T>, base::digits0, Threads, Share>(wf_dynamic_shared, r.first, to);
    digits_of_columns<base::second_spacing, digits2, Threads, Share>(wf_dynamic_shared + first_type::shared_bytes, r.second,
                                                                     to + 2 * base::digits0);
    __syncthreads();
    digits_of_columns<sum_spacing<T>, base::digits0, Threads, Share>(wf_dynamic_shared + base::shared_bytes, r.first,
                                                                     to + base::digits0);
  }
};

}  // namespace wf::device::inline WF_BUILD
