// SPDX-License-Identifier: Apache-2.0
/// \file column_sums.hpp
/// What a vector of columns keeps of its elements: sums by two-sums, anchored sums and what these leave, and sums of f32 in doubles.
#pragma once

#include "error_terms.hpp"
#include "walk_columns.hpp"

namespace wf::cpu::WF_TARGET {

/// Sums of columns, a vector of them: s + c, and the magnitudes of what c lost. T. Ogita, S. Rump, S. Oishi, Accurate Sum and Dot Product
/// (SISC 2005), Sum3. Where terms have few bits c is left as it is, and `lost` has the errors of s: mostly there are none.
struct column_sums {
  f64s s, c, lost, one;

  WF_INLINE column_sums(f64s sum, f64s rest, f64s of_rest) : s(sum), c(rest), lost(of_rest), one(unknown_one()) {}
  WF_INLINE column_sums(const double* s_at, const double* c_at, const double* lost_at) : s(load<f64s>(s_at)), c(load<f64s>(c_at)), lost(load<f64s>(lost_at)), one(unknown_one()) {}
  WF_INLINE void give(double* s_at, double* c_at, double* lost_at) const {
    store(s_at, s);
    store(c_at, c);
    store(lost_at, lost);
  }
  /// Every second addition by an FMA, as in error_terms.hpp.
  WF_INLINE f64s two_sum(f64s& a, f64s b) const {
    const f64s t = a + b, z = subtract_by_fma(t, a, one), error = add_by_fma(a - (t - z), subtract_by_fma(b, z, one), one);
    a = t;
    return error;
  }
  template <bool Wide>
  WF_INLINE void add(f64s v) {
    f64s error = two_sum(s, v);
    if constexpr (Wide) error = two_sum(c, error);
    lost += abs(error);
  }
  /// Where a square is so small that its low half may underflow, the element itself counts as lost.
  template <class T>
  WF_INLINE void add_square(f64s v) {
    if constexpr (sizeof(T) == 4) {
      add<false>(v * v);
    } else {
      f64s low;
      const f64s p = two_product(v, v, low);
      add<true>(p);
      lost += abs(two_sum(c, low));
      lost += (f64s)((i64s)abs(v) & (i64s)(p < 0x1p-960));
    }
  }
};

/// Lane k of the answer is the sum of vector k's lanes.
template <class F>
WF_INLINE f64s sums_of_lanes(const f64s (&v)[step], F add) {
#if defined(__AVX512F__)
  f64s pairs[4], fours[2];
  for (int k = 0; k < 4; ++k)
    pairs[k] = add(__builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14), __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15));
  for (int k = 0; k < 2; ++k)
    fours[k] = add(__builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13),
                   __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15));
  return add(__builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11), __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15));
#elif defined(__AVX2__)
  f64s pairs[2];
  for (int k = 0; k < 2; ++k) pairs[k] = add(__builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 4, 2, 6), __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 5, 3, 7));
  return add(__builtin_shufflevector(pairs[0], pairs[1], 0, 1, 4, 5), __builtin_shufflevector(pairs[0], pairs[1], 2, 3, 6, 7));
#else
  return add(__builtin_shufflevector(v[0], v[1], 0, 2), __builtin_shufflevector(v[0], v[1], 1, 3));
#endif
}

struct ends {
  f64s low, high;
};
WF_INLINE f64s where(i64s which, f64s a, f64s b) { return (f64s)(((i64s)a & which) | ((i64s)b & ~which)); }
#if defined(__AVX512F__)
/// What anchored sums leave of their terms, enclosed.
struct enclosed_rests : enclosed {
  WF_INLINE void add_lanes(const enclosed_rests (&of)[step]) {
    f64s lows[step], highs[step];
    for (int k = 0; k < step; ++k) {
      lows[k] = of[k].low;
      highs[k] = of[k].high;
    }
    low = sums_of_lanes(lows, add_down);
    high = sums_of_lanes(highs, add_up);
  }
  WF_INLINE f64s sum() const { return high; }
  WF_INLINE f64s lost(f64s, double) const { return high - low; }
  WF_INLINE ends between(f64s, double) const { return {low, high}; }
  WF_INLINE i64s nothing() const { return (i64s)(low == 0.0) & (i64s)(high == 0.0); }
  WF_INLINE void take(const double* lows, const double* highs, std::int64_t at) {
    low = load<f64s>(lows + at);
    high = load<f64s>(highs + at);
  }
  WF_INLINE void give(double* lows, double* highs, std::int64_t at) const {
    store(lows + at, low);
    store(highs + at, high);
  }
};
using rests = enclosed_rests;
#else
struct plain_rests;
using rests = plain_rests;
#endif
/// The same by a plain sum, which is one operation less, but is not known to be exact where it is. Each term is at most 2^(k-53) where the anchor is
/// 1.5·2^k, so of n of them a sum loses at most 2^-53·2^(k-53)·n(n + 1)/2, and what is made of it here a little more.
struct plain_rests {
  f64s all{};
  WF_INLINE void add(f64s v, f64s one) { all = add_by_fma(v, all, one); }
  WF_INLINE void add(const plain_rests& more) { all += more.all; }
  WF_INLINE void add_lanes(const plain_rests (&of)[step]) {
    f64s sums[step];
    for (int k = 0; k < step; ++k) sums[k] = of[k].all;
    all = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; });
  }
  WF_INLINE f64s sum() const { return all; }
  WF_INLINE f64s lost(f64s anchor, double n) const { return anchor * (0x1p-106 / 1.5 * 1.01 * (n / 2 + 4) * (n + 1)); }
  WF_INLINE ends between(f64s anchor, double n) const { return {all - lost(anchor, n), all + lost(anchor, n)}; }
  WF_INLINE i64s nothing() const { return (i64s)(all == 0.0); }
  WF_INLINE void take(const double* sums, const double*, std::int64_t at) { all = load<f64s>(sums + at); }
  WF_INLINE void give(double* sums, double*, std::int64_t at) const { store(sums + at, all); }
};

/// Anchored sums of f64. t begins at 1.5·2^k and takes multiples of 2^(k-52) while it stays in [2^k, 2^(k+1)): between two such numbers
/// lies less than 2^k, so that what t does not take of a term v is exact, and goes to `rest`.
template <class Rest>
struct anchored_sums_and {
  static constexpr std::int64_t most = 1024;  // terms; so many never leave, if none is greater than the anchor was made for
  f64s t;
  Rest rest;
  i64s left{};  // bits of t that changed: those of sign and exponent tell that it left
  f64s one = unknown_one();

  static WF_INLINE f64s anchor(f64s greatest) {
    const f64s room = max(greatest * (8.0 * most), all_lanes<f64s>(0x1p-900));
    return anchor_of(room);  // NaN where there is no room
  }
  /// The anchor of a sum t that has not left.
  static WF_INLINE f64s anchor_of(f64s t) { return (f64s)(((i64s)t & 0x7ff0000000000000) | 0x0008000000000000); }
  WF_INLINE void begin(f64s sum) {
    t = sum;
    rest = {};
    left = i64s{};
  }
  WF_INLINE void add(f64s v, f64s anchor) {
    in_register(v);
    const f64s before = t;
    t = before + v;
    rest.add(v - subtract_by_fma(t, before, one), one);
    left |= (i64s)t ^ (i64s)anchor;
  }
#if defined(__AVX512F__)
  using flags = __mmask8;
  static WF_INLINE flags is_small(f64s square) { return _mm512_cmp_pd_mask(square, all_lanes<f64s>(0x1p-960), _CMP_LT_OQ); }
  static WF_INLINE bool any(flags which) { return which != 0; }
  static WF_INLINE f64s add_where(flags which, f64s a, f64s b) { return (f64s)_mm512_mask_add_pd(a, which, a, b); }
#else
  using flags = i64s;
  static WF_INLINE flags is_small(f64s square) { return (i64s)(square < 0x1p-960); }
  static WF_INLINE bool any(flags which) { return any_lane(which); }
  static WF_INLINE f64s add_where(flags which, f64s a, f64s b) { return a + (f64s)((i64s)b & which); }
#endif
  /// v·v; where that is so small that its lower half may underflow, as zeros are, too, the answer says so.
  WF_INLINE flags add_square(f64s v, f64s anchor) {
    f64s low;
    const f64s square = two_product(v, v, low);
    add(square, anchor);
    rest.add(low, one);
    return is_small(square);
  }
  WF_INLINE i64s has_left() const { return ~(i64s)((u64s)left < 0x0010000000000000u); }
  WF_INLINE i64s nothing(f64s anchor) const { return (i64s)(t == anchor) & rest.nothing(); }
};
using anchored_sums = anchored_sums_and<rests>;

#if !defined(__AVX512F__)
/// Magnitudes of f32 as numbers: the greatest, and one less than the least but for zeros.
struct bits_range {
  i32s greatest{};
  u32s below_least = ~u32s{};

  WF_INLINE void look_at(f32s v) {
    const i32s m = (i32s)abs(v);
    const u32s below = (u32s)m - 1;
    greatest = m > greatest ? m : greatest;
    below_least = below < below_least ? below : below_least;
  }
  /// Is every sum of n such elements in doubles exact, and none infinite or a NaN?
  WF_INLINE bool nothing_lost(std::int64_t n) const {
    const int log2_n = 64 - __builtin_clzll(static_cast<unsigned long long>(n));
    const i32s field = (i32s)((below_least + 1) >> 23), apart = (greatest >> 23) - (field > 1 ? field : all_lanes<i32s>(1));
    return !any_lane((i64s)((i32s)(apart > 29 - log2_n) | (i32s)(greatest >= 0x7f800000)));
  }
  /// What sums of n such elements in doubles lost at most. Partial sums are multiples of the least one's last place, so nothing is lost where the
  /// exponents are no further apart than the 53 bits allow; else at most u·greatest·n(n + 1)/2 is.
  WF_INLINE void lost(std::int64_t n, f64s (&to)[2]) const {
    const auto terms = static_cast<double>(n);
    const int log2_n = 64 - __builtin_clzll(static_cast<unsigned long long>(n));
    // Both fields of zeros alone are 0; subnormals have the last place of field 1.
    const i32s field = (i32s)((below_least + 1) >> 23), apart = (greatest >> 23) - (field > 1 ? field : all_lanes<i32s>(1));
    const f32s away = (f32s)(greatest & (i32s)(apart > 29 - log2_n));
    half_f32s halves[2];
    __builtin_memcpy(halves, &away, sizeof away);
    for (int part = 0; part < 2; ++part) to[part] = widen(halves[part]) * (0x1p-53 * 1.01 * (terms / 2 + 4) * (terms + 1));
  }
};
#endif

/// The halves of v, which lies there. To take one out of a register waits for a unit that conversions need, and memory does not.
WF_INLINE void halves_of([[maybe_unused]] f32s v, [[maybe_unused]] const unsigned char* at, half_f32s (&to)[2]) {
#if defined(__x86_64__)
  asm("" : "+r"(at));
  for (int k = 0; k < 2; ++k) to[k] = load<half_f32s>(at + k * (width / 2));
#else
  __builtin_memcpy(to, &v, sizeof v);
#endif
}

/// Sums of columns of f32, a vector of them, in two vectors of doubles.
struct narrow_sums {
  static constexpr bool squared = false;
  static constexpr int parts = 2;
#if defined(__AVX512F__)
  enclosed all[parts];

  WF_INLINE void add(f32s v, f64s one, const unsigned char* = nullptr) {
    half_f32s halves[parts];
    __builtin_memcpy(halves, &v, sizeof v);
    all[0].add(widen(halves[0]), one);
    all[1].add_by_fmas(widen(halves[1]), one);
  }
  WF_INLINE void take(const double* lows, const double* highs, std::int64_t at) {
    for (int k = 0; k < parts; ++k) all[k] = {load<f64s>(lows + at + k * step), load<f64s>(highs + at + k * step)};
  }
  WF_INLINE void give(double* lows, double* highs, std::int64_t at) const {
    for (int k = 0; k < parts; ++k) {
      store(lows + at + k * step, all[k].low);
      store(highs + at + k * step, all[k].high);
    }
  }
  /// A row's.
  using row = enclosed;
  WF_INLINE row together(const narrow_sums& more) const {
    enclosed sum = all[0];
    sum.add(all[1]);
    sum.add(more.all[0]);
    sum.add(more.all[1]);
    return sum;
  }
  static WF_INLINE void of_rows(const row (&rows)[step], std::int64_t, f64s& sum, f64s& lost) {
    f64s low[step], high[step];
    for (int k = 0; k < step; ++k) {
      low[k] = rows[k].low;
      high[k] = rows[k].high;
    }
    sum = sums_of_lanes(high, add_up);
    lost = sum - sums_of_lanes(low, add_down);
  }
  /// Ends whose zeros have the sum's sign; of n terms.
  WF_INLINE void between(std::int64_t, ends (&to)[parts]) const {
    for (int k = 0; k < parts; ++k) to[k] = {all[k].low, all[k].high};
  }
#else
  f64s all[parts] = {all_lanes<f64s>(-0.0), all_lanes<f64s>(-0.0)};
  bits_range range;

  WF_INLINE void add(f32s v, f64s one) {
    half_f32s halves[parts];
    __builtin_memcpy(halves, &v, sizeof v);
    add(v, halves, one);
  }
  /// v, which lies there.
  WF_INLINE void add(f32s v, f64s one, const unsigned char* at) {
    half_f32s halves[parts];
    halves_of(v, at, halves);
    add(v, halves, one);
  }
  WF_INLINE void add(f32s v, const half_f32s (&halves)[parts], f64s one) {
    range.look_at(v);
    all[0] += widen(halves[0]);
    all[1] = add_by_fma(widen(halves[1]), all[1], one);
  }
  WF_INLINE void take(const double* sums, const double* ranges, std::int64_t at) {
    for (int k = 0; k < parts; ++k) all[k] = load<f64s>(sums + at + k * step);
    range = {load<i32s>(ranges + at), load<u32s>(ranges + at + step)};
  }
  WF_INLINE void give(double* sums, double* ranges, std::int64_t at) const {
    for (int k = 0; k < parts; ++k) store(sums + at + k * step, all[k]);
    store(ranges + at, range.greatest);
    store(ranges + at + step, range.below_least);
  }
  /// A row's.
  struct row {
    f64s all{};
    bits_range range{};
  };
  WF_INLINE row together(const narrow_sums& more) const {
    return {(all[0] + all[1]) + (more.all[0] + more.all[1]), {range.greatest > more.range.greatest ? range.greatest : more.range.greatest,
                                                             range.below_least < more.range.below_least ? range.below_least : more.range.below_least}};
  }
  static WF_INLINE void of_rows(const row (&rows)[step], std::int64_t n, f64s& sum, f64s& lost) {
    f64s sums[step];
    bits_range range;
    for (int k = 0; k < step; ++k) {
      sums[k] = rows[k].all;
      std::int32_t greatest = 0;
      std::uint32_t below_least = ~std::uint32_t{};
      for (int j = 0; j < lanes<float>; ++j) {
        greatest = rows[k].range.greatest[j] > greatest ? rows[k].range.greatest[j] : greatest;
        below_least = rows[k].range.below_least[j] < below_least ? rows[k].range.below_least[j] : below_least;
      }
      range.greatest[k] = greatest;
      range.below_least[k] = below_least;
    }
    f64s both[parts];
    range.lost(n, both);
    sum = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; });
    lost = both[0];
  }
  WF_INLINE bool nothing_lost(std::int64_t n) const { return range.nothing_lost(n); }
  WF_INLINE void between(std::int64_t n, ends (&to)[parts]) const {
    f64s lost[parts];
    range.lost(n, lost);
    for (int k = 0; k < parts; ++k) to[k] = {all[k] - lost[k], where((i64s)(lost[k] == 0.0), all[k], all[k] + lost[k])};
  }
#endif
};

#if !defined(__AVX512F__)
/// The same with the sum of their squares in f32, which takes one operation where the range takes four. Sum k of so many elements is at most the root of
/// k times their squares, and 2^-53 of it is lost at most. So n of them lose 2^-53 of 2/3·(n + 1)^1.5 times the root of all squares, and what is made
/// of it here a little more. Squares lose 2^-24 of themselves in each addition, and what is below 2^-149.
struct squared_sums {
  static constexpr bool squared = true;
  static constexpr int parts = narrow_sums::parts;
  static constexpr std::int64_t least = most_at_once + 1, most = 1 << 16;  // rows; sums of fewer are ties more often
  f64s all[parts] = {all_lanes<f64s>(-0.0), all_lanes<f64s>(-0.0)};
  f32s squares{};

  /// Do squares of the first rows' elements neither over- nor underflow, and has each column one that is not zero?
  static WF_INLINE bool suit(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count) {
    if (rows < least || rows > most) return false;
    i32s wrong{};
    const auto* at = static_cast<const unsigned char*>(x);
    for (std::int64_t j = 0; j + lanes<float> <= count; j += lanes<float>, at += width) {
      i32s greatest{};
      for (std::int64_t k = 0; k < most_at_once; ++k) {
        const i32s m = (i32s)abs(load<f32s>(at + k * stride));
        greatest = m > greatest ? m : greatest;
      }
      wrong |= (i32s)(greatest < (127 - 50) << 23) | (i32s)(greatest > (127 + 50) << 23);
    }
    return !any_lane((i64s)wrong);
  }
  WF_INLINE void add(f32s v, f64s one, const unsigned char* at) {
    squares = multiply_add(v, v, squares);
    half_f32s halves[parts];
    halves_of(v, at, halves);
    all[0] += widen(halves[0]);
    all[1] = add_by_fma(widen(halves[1]), all[1], one);
  }
  WF_INLINE void take(const double* sums, const double* of_squares, std::int64_t at) {
    for (int k = 0; k < parts; ++k) all[k] = load<f64s>(sums + at + k * step);
    squares = load<f32s>(of_squares + at);
  }
  WF_INLINE void give(double* sums, double* of_squares, std::int64_t at) const {
    for (int k = 0; k < parts; ++k) store(sums + at + k * step, all[k]);
    store(of_squares + at, squares);
  }
  WF_INLINE bool nothing_lost(std::int64_t) const { return false; }
  WF_INLINE void between(std::int64_t n, ends (&to)[parts]) const {
    const auto terms = static_cast<double>(n);
    const f64s of_all = square_roots(all_lanes<f64s>(terms + 1)) * ((terms + 1) * (0x1p-53 * 0.7));
    half_f32s halves[parts];
    __builtin_memcpy(halves, &squares, sizeof squares);
    for (int k = 0; k < parts; ++k) {
      const f64s lost = square_roots(widen(halves[k]) + terms * 0x1p-148) * of_all;
      to[k] = {all[k] - lost, all[k] + lost};
    }
  }
};
#endif

}  // namespace wf::cpu::WF_TARGET
