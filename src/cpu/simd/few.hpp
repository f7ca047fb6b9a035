// SPDX-License-Identifier: Apache-2.0
/// \file few.hpp
/// Sums of few elements where an instruction names its own rounding and raises no flag (AVX-512): whatever the processor's mode is, nobody has to look
/// at it, which takes longer than the sum.
///
/// A sum that is rounded down and one that is rounded up have the true sum between them. If both round to the same number, that is the answer.
/// Doubles are first cut at an anchor A = 1.5·2^k: t = (A + v) - A and r = v - t are exact for |v| < 2^(k-9), and sums of up to 128 t's are exact
/// too; only the r's, which are at most 2^(k-53), are summed down and up.
///
/// Whether subnormals are flushed is the one thing that an instruction cannot name: elements (but zeros) are 2^-960 or more, so that every number
/// here is a multiple of 2^-1012; floats are not subnormal, nor is the answer. Smaller doubles are lifted to 2^1024 times themselves by their bits:
/// no number is subnormal then, which on many processors takes a hundred times as long as another.
#pragma once

#include <algorithm>

#include "vector.hpp"

#if defined(__AVX512F__)
namespace wf::cpu::WF_TARGET {

inline constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC, near = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
template <int Mode>
WF_INLINE f64s add_as(f64s a, f64s b) { return _mm512_maskz_add_round_pd(0xff, a, b, Mode); }
template <int Mode>
WF_INLINE f64s subtract_as(f64s a, f64s b) { return _mm512_maskz_sub_round_pd(0xff, a, b, Mode); }

/// Each lane, and one of the others: of the other half, of the other pair, of the pair's other.
WF_INLINE f64s other_half(f64s s) { return __builtin_shufflevector(s, s, 4, 5, 6, 7, 0, 1, 2, 3); }
WF_INLINE f64s other_pair(f64s s) { return __builtin_shufflevector(s, s, 2, 3, 0, 1, 6, 7, 4, 5); }
WF_INLINE f64s other_lane(f64s s) { return __builtin_shufflevector(s, s, 1, 0, 3, 2, 5, 4, 7, 6); }

/// In lanes 0 to 3 the sum of the lanes of `low`, rounded down; in lanes 4 to 7 the negative of that of `minus_high`: what is enclosed lies between.
WF_INLINE f64s ends_of(f64s low, f64s minus_high) {
  f64s s = add_as<down>(__builtin_shufflevector(low, minus_high, 0, 1, 2, 3, 8, 9, 10, 11), __builtin_shufflevector(low, minus_high, 4, 5, 6, 7, 12, 13, 14, 15));
  s = add_as<down>(s, other_pair(s));
  s = add_as<down>(s, other_lane(s));
  constexpr std::int64_t sign = INT64_MIN;
  return (f64s)((i64s)s ^ i64s{0, 0, 0, 0, sign, sign, sign, sign});
}

/// What doubles are cut at, and which can be: magnitudes less `least`, as numbers without a sign, below `limit`.
struct few_anchor {
  static constexpr std::int64_t one = std::int64_t{1} << 52, least = 63 * one, most = 2000 * one;  // 2^-960, 2^977
  f64s anchor;
  i64s limit;

  /// For numbers of up to 2^11 times one of this magnitude.
  explicit WF_INLINE few_anchor(i64s magnitude) {
    const i64s field = magnitude & (2047 * one);
    anchor = (f64s)((field + 20 * one) | (one / 2));
    const i64s end = (i64s)_mm512_maskz_min_epu64(0xff, (__m512i)(field + 11 * one), _mm512_set1_epi64(most));
    limit = (i64s)_mm512_maskz_max_epi64(0xff, (__m512i)(end - least), __m512i{});  // 0 where the one magnitude is so small
  }
};

/// Numbers below this magnitude are lifted: v·2^1024, whose field is 1024 more. A sum of at most 128 of them is below 2^-814.
inline constexpr std::int64_t lifted_below = 195 * few_anchor::one;

/// v·2^1024 where |v| is below that: what is subnormal has the field 1025 for 0, and 2^2 taken off.
WF_INLINE f64s lifted_few(f64s v) {
  constexpr std::int64_t one = few_anchor::one;
  const __mmask8 small = _mm512_cmplt_epu64_mask((__m512i)((i64s)v & INT64_MAX), _mm512_set1_epi64(one));
  const i64s up = (i64s)v | 1024 * one;
  const i64s scaled = (i64s)_mm512_mask_add_epi64((__m512i)up, small, (__m512i)up, _mm512_set1_epi64(one));
  return (f64s)_mm512_mask_sub_round_pd((__m512d)scaled, small, (__m512d)scaled, (__m512d)(scaled & -one), near);
}

/// A lifted sum as it is: below 4 it is a multiple of 2^-50, since all elements are multiples of 2^-1074, and so it was not rounded.
WF_INLINE std::int64_t lowered_few(std::int64_t bits) {
  constexpr std::int64_t one = few_anchor::one;
  const std::int64_t magnitude = bits & INT64_MAX;
  if (magnitude >= 1025 * one) return bits - 1024 * one;
  const auto units = _mm_cvttsd_si64(_mm_castsi128_pd(_mm_cvtsi64_si128(magnitude + 50 * one)));
  return static_cast<std::int64_t>(units) | (bits & INT64_MIN);
}

/// Doubles cut at an anchor.
struct few_parts {
  f64s t, low, minus_high;

  /// The sum, rounded to nearest, of at most 128 terms; false if that is uncertain, or zero, whose sign says more.
  WF_INLINE bool round(void* out) const {
    f64s all = add_as<near>(t, other_half(t));
    all = add_as<near>(all, other_pair(all));
    all = add_as<near>(all, other_lane(all));
    const f64s sum = add_as<near>(all, ends_of(low, minus_high));
    const auto a = ((i64s)sum)[0], b = ((i64s)sum)[4];
    if (a != b || a << 1 == 0) return false;
    __builtin_memcpy(out, &a, sizeof a);
    return true;
  }
};

/// The sum of 1 <= n <= most_of_few elements, if it is found: rounded to nearest.
template <class T>
bool few_sum(const void* x, std::int64_t n, void* out);

/// Any such number of doubles, at the anchor of the largest one.
__attribute__((noinline)) inline bool sum_by_largest(const double* x, std::int64_t n, void* out) {
  i64s greatest{}, smallest = i64s{} - 1;  // magnitudes less 1: so zeros are out of the way
  const auto each = [&](auto take) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += 8) take(_mm512_maskz_loadu_pd(static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<unsigned>(n - i))), x + i));
  };
  each([&](f64s v) __attribute__((always_inline)) {
    const i64s m = (i64s)v & INT64_MAX;
    greatest = (i64s)_mm512_maskz_max_epu64(0xff, (__m512i)greatest, (__m512i)m);
    smallest = (i64s)_mm512_maskz_min_epu64(0xff, (__m512i)smallest, (__m512i)(m - 1));
  });
  std::int64_t most = 0;
  for (int k = 0; k < 8; ++k) most = std::max(most, greatest[k]);
  if (most == 0 || most >= few_anchor::most) return false;
  if (_mm512_cmplt_epu64_mask((__m512i)smallest, _mm512_set1_epi64(few_anchor::least - 1)) != 0) return false;
  const few_anchor at(i64s{} + most);
  few_parts p{};
  each([&](f64s v) __attribute__((always_inline)) {
    const f64s t = subtract_as<near>(add_as<near>(at.anchor, v), at.anchor), r = subtract_as<near>(v, t);
    p.t = add_as<near>(p.t, t);
    p.low = add_as<down>(p.low, r);
    p.minus_high = subtract_as<down>(p.minus_high, r);
  });
  return p.round(out);
}

/// Any such number of doubles that are lifted first, at the anchor of the first one, or else of the largest.
__attribute__((noinline)) inline bool sum_of_lifted(const double* x, std::uint64_t first, std::int64_t n, void* out) {
  constexpr std::int64_t one = few_anchor::one;
  std::int64_t most = static_cast<std::int64_t>(first & (2047 * std::uint64_t{one})), limit = most + 11 * one;
  if (most == 0) most = limit = one;  // a subnormal number, or zero: for other subnormal ones
  for (;;) {
    const few_anchor at((i64s)lifted_few((f64s)(i64s{} + most)));
    few_parts p{};
    i64s greatest{};
    for (std::int64_t i = 0; i < n; i += 8) {
      const f64s unlifted = _mm512_maskz_loadu_pd(static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<unsigned>(n - i))), x + i);
      greatest = (i64s)_mm512_maskz_max_epu64(0xff, (__m512i)greatest, (__m512i)((i64s)unlifted & INT64_MAX));
      const f64s v = lifted_few(unlifted), t = subtract_as<near>(add_as<near>(at.anchor, v), at.anchor), r = subtract_as<near>(v, t);
      p.t = add_as<near>(p.t, t);
      p.low = add_as<down>(p.low, r);
      p.minus_high = subtract_as<down>(p.minus_high, r);
    }
    if (_mm512_cmpge_epu64_mask((__m512i)greatest, _mm512_set1_epi64(limit)) == 0) {
      std::int64_t sum;
      if (!p.round(&sum)) return false;
      sum = lowered_few(sum);
      __builtin_memcpy(out, &sum, sizeof sum);
      return true;
    }
    const auto greater = [&](f64s others) __attribute__((always_inline)) { greatest = (i64s)_mm512_maskz_max_epu64(0xff, (__m512i)greatest, (__m512i)others); };
    greater(other_half((f64s)greatest));
    greater(other_pair((f64s)greatest));
    greater(other_lane((f64s)greatest));
    most = greatest[0];
    if (most >= lifted_below) return false;
    limit = lifted_below;
  }
}

/// Up to 16 doubles, if the first one is of ordinary size (or, of what is lifted, all are normal or zero) and none is 2^11 times that. A = 2^k·(1.5 +
/// 2^-9), so that A + v has A's upper bits for |v| < 2^(k-9) and for no other v. The sum T of all t's is exact. r's are at most 2^(k-53), and their
/// sum R, of four additions one after the other, is off by at most 2^(k-100): at each of the four sums of 16·2^(k-53) in all are rounded. What is
/// flushed of numbers below 2^-1022 is less by far, k being above -900. So the sum lies within 2^(k-99) of T + R.
template <bool Lifted>
WF_INLINE bool sum_by_first(const double* p, std::uint64_t first, std::int64_t n, void* out) {
  constexpr std::uint64_t one = std::uint64_t{1} << 52, least = (Lifted ? 1 : 200) * one, most = (Lifted ? 184 : 2000) * one;
  std::uint64_t field = first & (2047 * one);
  if (field - least >= most - least) return false;
  if (Lifted) field += 1024 * one;
  const f64s anchor = (f64s)_mm512_set1_epi64(static_cast<std::int64_t>(field + 20 * one + one / 2 + (one >> 9)));
  const auto here = _bzhi_u32(0xffff, static_cast<unsigned>(n));
  i64s raw{};  // numbers of 2 and more have bit 62, which lifting leaves as it is; what else is too large for the anchor shows in the sums
  unsigned subnormal = 0;  // whether there is one that is not zero
  const auto load = [&](std::uint32_t which, const double* from) __attribute__((always_inline)) {
    const f64s v = _mm512_maskz_loadu_pd(static_cast<__mmask8>(which), from);
    if constexpr (!Lifted) return v;
    raw |= (i64s)v;
    const __mmask8 normal = _mm512_test_epi64_mask((__m512i)v, _mm512_set1_epi64(static_cast<std::int64_t>(2047 * one)));
    subnormal |= _mm512_mask_test_epi64_mask(static_cast<__mmask8>(~normal), (__m512i)v, _mm512_set1_epi64(INT64_MAX));
    return (f64s)_mm512_maskz_or_epi64(normal, (__m512i)v, _mm512_set1_epi64(static_cast<std::int64_t>(1024 * one)));
  };
  const f64s a = load(here, p), s = add_as<near>(anchor, a);
  f64s t = subtract_as<near>(s, anchor), r = subtract_as<near>(a, t);
  i64s changed = (i64s)s ^ (i64s)anchor;
  if (n > 8) {
    const f64s b = load(here >> 8, p + 8), s_b = add_as<near>(anchor, b), t_b = subtract_as<near>(s_b, anchor);
    r = add_as<near>(r, subtract_as<near>(b, t_b));
    t = add_as<near>(t, t_b);
    changed |= (i64s)s_b ^ (i64s)anchor;
  }
  f64s both = add_as<near>(__builtin_shufflevector(t, r, 0, 1, 2, 3, 8, 9, 10, 11), __builtin_shufflevector(t, r, 4, 5, 6, 7, 12, 13, 14, 15));
  both = add_as<near>(both, other_pair(both));
  both = add_as<near>(both, other_lane(both));
  const auto add = [](__m128d x, __m128d y) __attribute__((always_inline)) { return _mm_add_round_sd(x, y, near); };
  const __m128d sum = __builtin_shufflevector(both, both, 0, 1), rest = __builtin_shufflevector(both, both, 4, 5);
  const __m128d off = _mm_set_sd(__builtin_bit_cast(double, field + (20 - 99) * one));
  const __m128d low = add(sum, _mm_sub_round_sd(rest, off, near)), high = add(sum, add(rest, off));
  std::int64_t answer = _mm_cvtsi128_si64(_mm_castpd_si128(low));
  if (answer != _mm_cvtsi128_si64(_mm_castpd_si128(high)) || _mm512_cmpge_epu64_mask((__m512i)changed, _mm512_set1_epi64(std::int64_t{1} << 44)) != 0) return false;
  if constexpr (Lifted) {
    if ((subnormal | _mm512_test_epi64_mask((__m512i)raw, _mm512_set1_epi64(std::int64_t{1} << 62))) != 0) return false;
    answer = lowered_few(answer);
  }
  __builtin_memcpy(out, &answer, sizeof answer);
  return true;
}

template <>
inline bool few_sum<double>(const void* x, std::int64_t n, void* out) {
  const auto* const p = static_cast<const double*>(x);
  double first;
  __builtin_memcpy(&first, x, sizeof first);  // at any address
  const auto first_bits = __builtin_bit_cast(std::uint64_t, first);
  if ((first_bits & INT64_MAX) < 184 * few_anchor::one)  // zero, too
    return (n <= 16 && sum_by_first<true>(p, first_bits, n, out)) || sum_of_lifted(p, first_bits, n, out) || sum_by_largest(p, n, out);
  if (n <= 16 && sum_by_first<false>(p, first_bits, n, out)) return true;
  const few_anchor at((i64s)_mm512_set1_pd(first));  // most data have no number 2^11 times their first
  struct block {
    few_parts sum;
    __mmask8 outside;  // what the anchor is not for
  };
  const auto at_most_16 = [&](const double* from, std::int64_t count) __attribute__((always_inline)) {
    const auto here = _bzhi_u32(0xffff, static_cast<unsigned>(count));
    const auto which_a = static_cast<__mmask8>(here), which_b = static_cast<__mmask8>(here >> 8);
    const f64s a = _mm512_maskz_loadu_pd(which_a, from), b = _mm512_maskz_loadu_pd(which_b, from + 8);
    const auto outside = [&](f64s v, __mmask8 which) __attribute__((always_inline)) {
      return _mm512_mask_cmpge_epu64_mask(which, (__m512i)(((i64s)v & INT64_MAX) - few_anchor::least), (__m512i)at.limit);
    };
    const f64s t_a = subtract_as<near>(add_as<near>(at.anchor, a), at.anchor), t_b = subtract_as<near>(add_as<near>(at.anchor, b), at.anchor);
    const f64s r_b = subtract_as<near>(b, t_b);
    return block{{add_as<near>(t_a, t_b), add_as<down>(subtract_as<near>(a, t_a), r_b), subtract_as<down>(subtract_as<near>(t_a, a), r_b)},
                 _kor_mask8(outside(a, which_a), outside(b, which_b))};
  };
  block all = at_most_16(p, n);
  if (n > 16) {
    std::int64_t i = 16;
    do {
      const block more = at_most_16(p + i, n - i);
      all.sum.t = add_as<near>(all.sum.t, more.sum.t);
      all.sum.low = add_as<down>(all.sum.low, more.sum.low);
      all.sum.minus_high = add_as<down>(all.sum.minus_high, more.sum.minus_high);
      all.outside = _kor_mask8(all.outside, more.outside);
      i += 16;
    } while (i < n);
  }
  if (all.outside == 0 && all.sum.round(out)) return true;
  return sum_by_largest(p, n, out);
}

template <>
inline bool few_sum<float>(const void* x, std::int64_t n, void* out) {
  const auto* const p = static_cast<const float*>(x);
  struct block {
    f64s low, minus_high;
    __mmask16 subnormal;
  };
  const auto at_most_16 = [](const float* from, std::int64_t count) __attribute__((always_inline)) {
    const auto v = (i32s)_mm512_maskz_loadu_ps(static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(count))), from);
    const f64s a = _mm512_maskz_cvt_roundps_pd(0xff, (__m256)__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), _MM_FROUND_NO_EXC);
    const f64s b = _mm512_maskz_cvt_roundps_pd(0xff, (__m256)__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15), _MM_FROUND_NO_EXC);
    return block{add_as<down>(a, b), subtract_as<down>((f64s)((i64s)a ^ INT64_MIN), b),
                 _mm512_cmplt_epu32_mask((__m512i)((v & INT32_MAX) - 1), _mm512_set1_epi32(0x7fffff))};
  };
  block all = at_most_16(p, n);
  if (n > 16) {
    std::int64_t i = 16;
    do {
      const block more = at_most_16(p + i, n - i);
      all.low = add_as<down>(all.low, more.low);
      all.minus_high = add_as<down>(all.minus_high, more.minus_high);
      all.subnormal = _kor_mask16(all.subnormal, more.subnormal);
      i += 16;
    } while (i < n);
  }
  const auto ends = (i32s)_mm512_castps256_ps512((__m256)_mm512_maskz_cvt_roundpd_ps(0xff, ends_of(all.low, all.minus_high), near));
  const auto a = static_cast<std::uint32_t>(ends[0]), b = static_cast<std::uint32_t>(ends[4]);
  if (all.subnormal != 0 || a != b || (a << 1) - 0x01000000u >= 0xfe000000u) return false;  // zeros, subnormals, infinities, NaNs too
  __builtin_memcpy(out, &a, sizeof a);
  return true;
}

}  // namespace wf::cpu::WF_TARGET
#endif
