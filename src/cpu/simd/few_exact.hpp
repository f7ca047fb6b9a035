// SPDX-License-Identifier: Apache-2.0
/// \file few_exact.hpp
/// Sums of few elements where no instruction names its own rounding (AVX2, SSE2, NEON), whatever the processor's mode is: to look at it takes as long
/// as such a sum, and to look at its flags afterwards as long again. What is not rounded needs neither: no mode changes an exact sum, which raises no
/// flag. So integer operations first tell the range of all magnitudes, then additions of doubles follow of which all partial sums have at most 53
/// bits, in any order, and integers round what they come to.
///
/// Let e and E be the exponents of the least and the greatest magnitude, each less one unit in its last place, and p the number of bits of their
/// fraction. Then all elements are multiples of 2^(e-p), and none is more than 2^(E+1). So no partial sum of N = 2^b of them needs more than E + 1 +
/// b - e + p bits. (A bound that is itself a power of two may be reached.) Floats (p = 23) may be E - e <= 29 - b apart. Doubles are cut in two by
/// their bits: v = t + r, where t lacks the last 27 bits of the fraction. t is a multiple of 2^(e-25). r is a multiple of 2^(e-52) and below 2^(E-25)
/// (where |v| is 2^(E+1), r is 0). Sums of each fit in 53 bits where E - e <= 26 - b.
///
/// A mode may flush subnormal numbers, and a flag tells of each. So none may occur: not among elements (e is that of a normal one), not among r's
/// (nor e - 52), sums and the answer. Doubles near the least normal ones are lifted by a factor. Zeros are left out of the range. Sums of zero, whose
/// sign says more, infinities and NaNs go another way.
#pragma once

#include "vector.hpp"

#if !defined(__AVX512F__)
namespace wf::cpu::WF_TARGET {

/// In words of 4 bytes: none of 8, then all of 8, then none of 8.
alignas(32) inline constexpr std::int32_t taken_words[24] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

/// Elements: whole vectors, `Whole` of them or, where that is -1, any number; and the last 1 to lanes<T> elements, among zeros.
template <class T, int Whole>
struct few_elements {
  using element = T;
  using V = vec<T>;
  static constexpr std::int64_t per = lanes<T>, size = sizeof(T);
  const unsigned char* p;
  std::int64_t whole;
  V first[Whole > 0 ? Whole : 1], last;

  WF_INLINE few_elements(const void* x, std::int64_t n) : p(static_cast<const unsigned char*>(x)), whole(Whole >= 0 ? Whole * per : (n - 1) & -per), first{}, last{} {
    const auto* const all = reinterpret_cast<const unsigned char*>(taken_words + 8);
    WF_UNROLL
    for (int k = 0; k < Whole; ++k) first[k] = load<V>(p + k * width);
    if constexpr (Whole != 0) {  // a vector that ends with the elements
      using I = std::conditional_t<size == 8, i64s, i32s>;
      last = (V)((I)load<V>(p + (n - per) * size) & load<I>(all + (n - whole - per) * size));
    } else {
#if defined(__AVX2__)
      const auto mask = load<__m256i>(all + 32 - n * size);
      if constexpr (size == 8) last = _mm256_maskload_pd(static_cast<const double*>(x), mask);
      else last = _mm256_maskload_ps(static_cast<const float*>(x), mask);
#else
      for (int j = 0; j < per; ++j)
        if (j < n) last[j] = load<T>(p + j * size);
#endif
    }
  }
  /// f(vector, k): k is the least bit of the vector's number.
  template <class F>
  WF_INLINE void each(F f) const {
    if constexpr (Whole < 0) {
      const unsigned char* from = p;
      std::int64_t i = whole;
      for (; i >= 2 * per; i -= 2 * per, from += 2 * width) {
        f(load<V>(from), 0);
        f(load<V>(from + width), 1);
      }
      if (i != 0) f(load<V>(from), 0);
    }
    WF_UNROLL
    for (int k = 0; k < Whole; ++k) f(first[k], k % 2);
    f(last, 1);
  }
  /// No compiler adds what lies behind before it knows that the range allows it: an addition that rounds raises a flag.
  WF_INLINE void range_is_known() {
#if defined(__x86_64__)
    asm volatile("" : "+r"(p), "+x"(last));
    WF_UNROLL
    for (V& v : first) asm volatile("" : "+x"(v));
#else
    asm volatile("" : "+r"(p), "+w"(last));
    WF_UNROLL
    for (V& v : first) asm volatile("" : "+w"(v));
#endif
  }
};

/// f(elements), of whose vectors so few are whole that each number has code of its own.
template <class T, class F>
WF_INLINE bool with_few(const void* x, std::int64_t n, F f) {
  switch ((n - 1) / lanes<T>) {
    case 0: return f(few_elements<T, 0>(x, n));
    case 1: return f(few_elements<T, 1>(x, n));
    case 2: return f(few_elements<T, 2>(x, n));
    case 3: return f(few_elements<T, 3>(x, n));
    default: return f(few_elements<T, -1>(x, n));
  }
}

/// What the greatest and the least magnitude exceed by one unit in their last place, but for zeros: in lane 0 bits of the least, in lane 1 of the
/// greatest, of doubles the upper halves. -1 in both where all are zero.
template <class Elements>
WF_INLINE vec<std::int32_t, 16> range_of_few(const Elements& x) {
  using T = typename Elements::element;
  using I = std::conditional_t<sizeof(T) == 8, i64s, i32s>;
  I magnitudes = sizeof(T) == 8 ? (I)(i64s{} + INT64_MAX) : (I)(i32s{} + INT32_MAX), one = I{} + 1;
  i32s greatest = i32s{} - 1;
  u32s least = u32s{} - 1;
  x.each([&](vec<T> v, int) __attribute__((always_inline)) {
    const auto m = (i32s)(((I)v & magnitudes) - one);  // zeros become -1
    greatest = m > greatest ? m : greatest;
    least = (u32s)m < least ? (u32s)m : least;
  });
  const i32s least_up = (i32s)least ^ INT32_MAX;  // the greatest of these is of the least: one comparison for both
  using four = vec<std::int32_t, 16>;
#if defined(__AVX2__)
  const auto halves = [](i32s v) __attribute__((always_inline)) {
    const auto a = __builtin_shufflevector(v, v, 0, 1, 2, 3), b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return a > b ? a : b;
  };
  const four up = halves(least_up), down = halves(greatest);
#else
  const four up = least_up, down = greatest;
#endif
  four both;
  if constexpr (sizeof(T) == 8) {
    both = __builtin_shufflevector(up, down, 1, 5, 3, 7);
  } else {
    const four a = __builtin_shufflevector(up, down, 0, 4, 1, 5), b = __builtin_shufflevector(up, down, 2, 6, 3, 7);
    both = a > b ? a : b;
  }
  const auto other = __builtin_shufflevector(both, both, 2, 3, 0, 1);
  return (both > other ? both : other) ^ four{INT32_MAX, 0, INT32_MAX, 0};
}

WF_INLINE double sum_of_lanes(f64s v) {
#if defined(__AVX2__)
  const auto half = __builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3);
#else
  const auto half = v;
#endif
  return half[0] + half[1];
}

/// The sum of 1 <= n <= most_of_few elements, if it is found: rounded to nearest.
template <class T>
bool few_sum(const void* x, std::int64_t n, void* out);
static_assert(most_of_few == 1 << 7);

template <class Elements>
WF_INLINE bool sum_of_floats(Elements all, void* out) {
  const auto range = range_of_few(all);
  const int low = range[0] >> 23, high = range[1] >> 23;
  constexpr int apart = 29 - 7;
  // No subnormal number, and less than 2^127 in all.
  if (static_cast<unsigned>(low - 1) >= 246 - apart || high - low > apart) return false;
  all.range_is_known();
  f64s even{}, odd{};
  all.each([&](f32s v, int) __attribute__((always_inline)) {
    half_f32s halves[2];
    __builtin_memcpy(halves, &v, sizeof v);
    even += widen(halves[0]);
    odd += widen(halves[1]);
  });
  const auto sum = __builtin_bit_cast(std::uint64_t, sum_of_lanes(even + odd));
  const std::uint64_t magnitude = sum & INT64_MAX;
  constexpr std::uint64_t rebias = std::uint64_t{1023 - 127} << 23;
  const std::uint64_t rounded = ((magnitude + 0x0fffffff + (magnitude >> 29 & 1)) >> 29) - rebias;
  if (rounded - 0x00800000 >= 0x7f000000) return false;  // zero, or less than a normal number
  const auto bits = static_cast<std::uint32_t>(rounded) | static_cast<std::uint32_t>(sum >> 32 & 0x80000000);
  __builtin_memcpy(out, &bits, sizeof bits);
  return true;
}
template <>
inline bool few_sum<float>(const void* x, std::int64_t n, void* out) {
  return with_few<float>(x, n, [&](auto all) __attribute__((always_inline)) { return sum_of_floats(all, out); });
}

template <bool Lifted, class Elements>
WF_INLINE bool sum_of_near(Elements& x, vec<std::int32_t, 16> range, void* out) {
  x.range_is_known();
  f64s t[2] = {}, rest[2] = {};
  x.each([&](f64s v, int k) __attribute__((always_inline)) {
    if constexpr (Lifted) v *= 0x1p512;
    const f64s upper = (f64s)((i64s)v & -(std::int64_t{1} << 27));
    t[k] += upper;
    rest[k] += v - upper;
  });
  using two = vec<double, 16>;
  using four = vec<std::int32_t, 16>;
  const f64s all_t = t[0] + t[1], all_rest = rest[0] + rest[1];
#if defined(__AVX2__)
  const f64s pairs = __builtin_shufflevector(all_t, all_rest, 0, 4, 2, 6) + __builtin_shufflevector(all_t, all_rest, 1, 5, 3, 7);
  two sums = __builtin_shufflevector(pairs, pairs, 0, 1) + __builtin_shufflevector(pairs, pairs, 2, 3);
#else
  two sums = __builtin_shufflevector(all_t, all_rest, 0, 2) + __builtin_shufflevector(all_t, all_rest, 1, 3);
#endif
  // In units of 2^(E - 54): below 2^62 in all. t is a whole number of them, and rest one of 2^(e - E) of them: times 2^(54 - E) and 2^(54 - e).
  constexpr int by = Lifted ? 512 : 0;
  constexpr std::int32_t field = 0x7ff00000, power = (2046 + 54 - by) << 20;
  sums *= (two)(four{0, power, 0, power} - (__builtin_shufflevector(range, range, 0, 1, 0, 0) & four{0, field, 0, field}));
  const auto whole = static_cast<std::int64_t>(sums[0]), fine = static_cast<std::int64_t>(sums[1]);
  const int high = range[1] >> 20, spread = high - (range[0] >> 20);
  const std::uint64_t below = static_cast<std::uint64_t>(fine) & ((std::uint64_t{1} << spread) - 1);
  const std::int64_t sum = (whole + (fine >> spread)) | (below != 0);  // to odd: two bits or more behind the answer's do
  const std::int64_t sign = sum >> 63;
  const auto magnitude = static_cast<std::uint64_t>((sum ^ sign) - sign);
  if (magnitude >> 54 == 0 && (below != 0 || magnitude == 0)) return false;
  const int bit = 63 - __builtin_clzll(magnitude), exponent = high - 54 + bit;
  if (Lifted && exponent < 1) return false;
  const std::uint64_t shifted = magnitude << (62 - bit), rounded = (shifted + 0x1ff + (shifted >> 10 & 1)) >> 10;  // 53 bits, or the next power of two
  const std::uint64_t bits = (rounded + (static_cast<std::uint64_t>(exponent - 1) << 52)) | (static_cast<std::uint64_t>(sign) & std::uint64_t{1} << 63);
  __builtin_memcpy(out, &bits, sizeof bits);
  return true;
}

template <class Elements>
WF_INLINE bool sum_of_doubles(Elements all, void* out) {
  const auto range = range_of_few(all);
  const int low = range[0] >> 20, high = range[1] >> 20;
  constexpr int apart = 26 - 7, least = 64;
  if (high - low > apart) return false;
  if (static_cast<unsigned>(low - least) < 2000 - least) return sum_of_near<false>(all, range, out);
  return static_cast<unsigned>(low - 1) < least && sum_of_near<true>(all, range, out);
}
template <>
inline bool few_sum<double>(const void* x, std::int64_t n, void* out) {
  return with_few<double>(x, n, [&](auto all) __attribute__((always_inline)) { return sum_of_doubles(all, out); });
}

}  // namespace wf::cpu::WF_TARGET
#endif
