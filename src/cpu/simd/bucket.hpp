// SPDX-License-Identifier: Apache-2.0
/// \file bucket.hpp
/// Exact sums of numbers of any exponents: the tile that no window fits.
///
/// The top bits of the exponent choose a bucket. The number, its exponent's low bits kept and the
/// rest set to a constant, is cut by the anchors of extract.hpp into integer words of a fixed unit,
/// which are added to those of the bucket: one load, addition and store of 8, 16 or 32 bytes an
/// element. Words have 17 bits or more to spare (kernels.hpp has the units), so buckets are emptied
/// every `bucket_capacity` elements. Copies of the buckets take turns: a bucket that repeats would
/// wait for its own last store.
///
/// The idea is that of the "large superaccumulator" of R. Neal, "Fast exact summation using small and
/// large superaccumulators", 2015; vectors do all but the addition, and few buckets stay in L1.
#pragma once

#include <utility>

#include "extract.hpp"
#include "specials.hpp"

namespace wf::cpu::WF_TARGET {

/// Elements are cut this far ahead of being added. Picked from registers, lanes wait for the one port
/// that shuffles; from memory just written, for the store: 1.3 ns an f64 then, and 0.54 so.
inline constexpr std::int64_t bucket_block = 64;

/// Is any lane of vectors infinite or NaN?
class finite_check {
#if defined(__AVX512DQ__)
 public:
  WF_INLINE void look_at(f64s v) {
    constexpr int infinite_or_nan = 0x01 | 0x08 | 0x10 | 0x80;
    seen_ = _kor_mask8(seen_, _mm512_fpclass_pd_mask(v, infinite_or_nan));
  }
  WF_INLINE bool all() const { return seen_ == 0; }

 private:
  __mmask8 seen_ = 0;
#else
 public:
  /// An exponent field of all ones overflows into the sign.
  WF_INLINE void look_at(f64s v) { seen_ |= (i64s)(((u64s)v & exponent_bits) + binade); }
  WF_INLINE bool all() const { return (or_lanes(seen_) >> 63) == 0; }

 private:
  i64s seen_{};
#endif
};

/// A word: v in units of 2^Unit, rounded; `rest` is what is left of v.
template <int Unit>
WF_INLINE i64s take_word(f64s v, f64s& rest) {
  constexpr double anchor = 1.5 * power_of_two(Unit + 52);
  const f64s t = v + anchor;
  rest = v - (t - anchor);
  return (i64s)t - __builtin_bit_cast(std::int64_t, anchor);
}
template <int Unit>
WF_INLINE i64s last_word(f64s v) {
  constexpr double anchor = 1.5 * power_of_two(Unit + 52);
  return (i64s)(v + anchor) - __builtin_bit_cast(std::int64_t, anchor);
}

/// Words and byte offsets of their buckets, on the way from vectors to single elements.
template <bucket_kind Kind, int Words>
struct cut_block {
  static constexpr bucket_kind kind = Kind;
  alignas(64) std::int64_t words[Words * bucket_block];  // those of an element side by side
  alignas(64) std::int64_t offsets[bucket_block];
};

using wide_block = cut_block<bucket_kind::wide, 2>;
using product_block = cut_block<bucket_kind::product, 4>;

/// {a0, b0, a2, b2, …} for Odd = 0 and {a1, b1, a3, b3, …} for Odd = 1.
template <int Odd, int... J>
WF_INLINE i64s interleave(i64s a, i64s b, std::integer_sequence<int, J...>) {
  return __builtin_shufflevector(a, b, (J % 2 == 0 ? J + Odd : step + J - 1 + Odd)...);
}
/// Pairs of words: {a0, a1, b0, b1, a4, …} of the even pairs for Odd = 0, of the odd ones for 1.
template <int Odd, int... J>
WF_INLINE i64s join_pairs(i64s a, i64s b, std::integer_sequence<int, J...>) {
  constexpr int n = step < 4 ? 4 : step;
  return __builtin_shufflevector(a, b, ((J % 4 < 2 ? 0 : n) + J / 4 * 4 + J % 2 + 2 * Odd) % (2 * step)...);
}

/// f64: 53 bits within 32 exponents, two words of 42 bits.
WF_INLINE void cut_wide(f64s v, wide_block& to, std::int64_t at) {
  constexpr std::make_integer_sequence<int, step> numbers;
  const i64s bits = (i64s)v;
  const small_lanes small(v);
  const f64s scaled = small.less_one(
      small.raise((bits & (sign_bit | mantissa_bits | 31 * binade)) | 992 * binade));
  f64s rest;
  const i64s high = take_word<-41>(scaled, rest);
  const i64s low = last_word<-83>(rest);
  store(to.words + 2 * at, interleave<0>(high, low, numbers));
  store(to.words + 2 * at + step, interleave<1>(high, low, numbers));
  store(to.offsets + at, (i64s)((u64s)bits >> 53) & 0x3f0);
}

/// A product of two f64: 106 bits within 32 exponents of it, three words of 46 bits.
WF_INLINE void cut_product(f64s a, f64s b, product_block& to, std::int64_t at) {
  constexpr std::make_integer_sequence<int, step> numbers;
  const i64s x = (i64s)a, y = (i64s)b;
  const small_lanes small_x(a), small_y(b);
  const u64s exponents = (u64s)small_x.raise(x & exponent_bits) + (u64s)small_y.raise(y & exponent_bits);
  const f64s sx = small_x.less_one((x & (sign_bit | mantissa_bits)) | 1023 * binade);
  const f64s sy = small_y.less_one(
      ((y & (sign_bit | mantissa_bits)) | ((i64s)exponents & 31 * binade)) + 992 * binade);
  f64s lo;
  f64s hi = two_product(sx, sy, lo);
  const i64s first = take_word<-44>(hi, hi);
  const i64s second = take_word<-90>(hi, hi) + take_word<-90>(lo, lo);
  const i64s third = last_word<-135>(hi + lo);
  store(to.offsets + at, (i64s)((u64s)exponents >> 52) & ~std::int64_t{31});
  std::int64_t* words = to.words + 4 * at;
  const i64s none{};
  const i64s even = interleave<0>(first, second, numbers), odd = interleave<1>(first, second, numbers);
  const i64s even_low = interleave<0>(third, none, numbers), odd_low = interleave<1>(third, none, numbers);
  if constexpr (step == 2) {
    store(words, even), store(words + 2, even_low), store(words + 4, odd), store(words + 6, odd_low);
  } else {
    store(words, join_pairs<0>(even, even_low, numbers));
    store(words + step, join_pairs<0>(odd, odd_low, numbers));
    store(words + 2 * step, join_pairs<1>(even, even_low, numbers));
    store(words + 3 * step, join_pairs<1>(odd, odd_low, numbers));
  }
}

/// In which place of cut_wide's (Words = 2) or cut_product's (4) output element j of a vector is.
template <int Words>
WF_INLINE constexpr int place(int j) {
  if (Words == 2) return j / step * step * 2 + j % step / 2 * 2 + j % 2 * step;
  if (step == 2) return 4 * j;
  const int k = j % step;
  return j / step * step * 4 + k / 4 * 4 + k % 2 * step + k / 2 % 2 * 2 * step;
}

/// Adds elements first … first + 7 to their buckets.
template <bucket_kind Kind, int Words>
WF_INLINE void add_eight(const cut_block<Kind, Words>& from, std::int64_t first, std::int64_t* sums) {
  constexpr bucket_shape shape = bucket_shapes[static_cast<int>(Kind)];
  static_assert(shape.stride == Words && 8 % shape.copies == 0);
  using V = vec<std::int64_t, 8 * Words>;
  WF_UNROLL
  for (int j = 0; j < 8; ++j) {
    unsigned char* to = reinterpret_cast<unsigned char*>(sums + j % shape.copies * shape.count * Words) +
                        from.offsets[first + j];
    const std::int64_t* word = from.words + Words * first + place<Words>(j);
    if constexpr (8 * Words <= width) {
      store(to, load<V>(to) + load<V>(word));
    } else {
      store(to, load<i64s>(to) + load<i64s>(word));
      store(to + 16, load<i64s>(to + 16) + load<i64s>(word + 2));
    }
  }
}

template <class T, bool Pairs>
struct bucket_pass {
  static constexpr bool is_f64 = sizeof(T) == 8;
  static_assert(is_f64 || Pairs);
  using block = std::conditional_t<is_f64 && Pairs, product_block, wide_block>;
  static constexpr int unit = 8;  // elements cut at once: a turn of all copies

  static constexpr std::int64_t size = sizeof(T);
  using bytes = const unsigned char*;

  /// Elements k … k + unit - 1 of a block's.
  template <taking How = taking{}>
  static WF_INLINE void cut(bytes x, bytes y, std::int64_t k, block& to, finite_check& finite) {
    prefetch_lines<unit * size>(x + k * size);
    if constexpr (Pairs) prefetch_lines<unit * size>(y + k * size);
    WF_UNROLL
    for (int j = 0; j < unit; j += step) {
      const std::int64_t i = k + j;
      if constexpr (is_f64 && Pairs) {
        const f64s a = take_f64<How, T>(x, i), b = take_f64<How, T>(y, i);
        finite.look_at(a);
        finite.look_at(b);
        cut_product(a, b, to, i);
      } else {
        f64s v = take_f64<How, T>(x, i);
        if constexpr (Pairs) v *= take_f64<How, T>(y, i);
        finite.look_at(v);
        cut_wide(v, to, i);
      }
    }
  }

  /// A whole block. False if something was not finite.
  __attribute__((noinline)) static bool cut_block(bytes x, bytes y, block& to) {
    finite_check finite;
    for (std::int64_t k = 0; k < bucket_block; k += unit) cut(x, y, k, to, finite);
    return finite.all();
  }

  /// n elements of a block; zeros take the place of the rest and of all that is not finite.
  __attribute__((noinline)) static void cut_finite(bytes x, bytes y, std::int64_t n, block& to) {
    alignas(64) T a[bucket_block] = {};
    alignas(64) T b[Pairs ? bucket_block : 1] = {};
    const auto here = static_cast<std::size_t>(n * size);
    __builtin_memcpy(a, x, here);
    if constexpr (Pairs) __builtin_memcpy(b, y, here);
    finite_check finite;
    for (std::int64_t k = 0; k < bucket_block; k += unit)
      cut<taking{false, true}>(reinterpret_cast<bytes>(a), reinterpret_cast<bytes>(b), k, to, finite);
  }
};

/// Returns what was left out.
template <class T, bool Pairs>
special_counts bucket(const void* from_x, const void* from_y, std::int64_t n, std::int64_t* sums) {
  using pass = bucket_pass<T, Pairs>;
  const auto* x = static_cast<const unsigned char*>(from_x);
  const auto* y = static_cast<const unsigned char*>(Pairs ? from_y : from_x);
  typename pass::block blocks[2];
  bool special = false;
  const auto without_specials = [&](std::int64_t i, auto& to) {
    special = true;
    pass::cut_finite(x + i * pass::size, y + i * pass::size, n - i < bucket_block ? n - i : bucket_block, to);
  };
  const auto next = [&](std::int64_t i, auto& to) {
    if (n - i < bucket_block || !pass::cut_block(x + i * pass::size, y + i * pass::size, to)) without_specials(i, to);
  };
  int current = 0;
  next(0, blocks[0]);
  std::int64_t i = bucket_block;
  for (; i + bucket_block <= n; i += bucket_block) {
    const auto& ready = blocks[current];
    auto& to = blocks[current ^= 1];
    finite_check finite;
#pragma GCC unroll 1
    for (std::int64_t k = 0; k < bucket_block; k += pass::unit) {
      pass::cut(x + i * pass::size, y + i * pass::size, k, to, finite);
      asm("" : "+m"(to));  // lanes are to come from memory
      add_eight(ready, k, sums);
    }
    if (!finite.all()) without_specials(i, to);
  }
  for (;; i += bucket_block) {
    for (std::int64_t k = 0; k < bucket_block; k += pass::unit) add_eight(blocks[current], k, sums);
    if (i >= n) break;
    next(i, blocks[current]);
  }
  return special ? specials<T, Pairs>(from_x, from_y, n) : special_counts{};
}

}  // namespace wf::cpu::WF_TARGET
