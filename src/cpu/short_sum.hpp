// SPDX-License-Identifier: Apache-2.0
/// \file short_sum.hpp
/// Exact sums of at most a tile of f32 or f64, where a state of 68 digits would cost more than the
/// sum: the levels of one extraction are one 128-bit integer, rounded at once. Its callers have set the
/// processor (environment.hpp).
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include <warpfold/detail/exact/format.hpp>

#include "dispatch.hpp"

namespace wf::cpu {

typedef double f64x2 __attribute__((vector_size(16)));
typedef std::int64_t i64x2 __attribute__((vector_size(16)));

inline f64x2 magnitude(f64x2 v) { return (f64x2)((i64x2)v & INT64_MAX); }

/// v·2^1024, as in simd/sources.hpp.
inline f64x2 lifted(f64x2 v) {
  constexpr std::int64_t binade = std::int64_t{1} << 52;
  const i64x2 small = (i64x2)(magnitude(v) < 0x1p-1022);
  const i64x2 scaled = ((i64x2)v | 1024 * binade) + (small & binade);
  return (f64x2)scaled - (f64x2)(scaled & small & -binade);
}
/// v / 2^1024. Of less than 2^-1022 v must be a multiple of the least number's 2^-1074.
inline double lowered(double v) {
  const auto bits = __builtin_bit_cast(std::int64_t, v);
  if (__builtin_fabs(v) >= 4) return __builtin_bit_cast(double, bits - (std::int64_t{1024} << 52));
  return __builtin_bit_cast(double, static_cast<std::int64_t>(__builtin_fabs(v) * 0x1p50) | (bits & INT64_MIN));
}

/// Elements as doubles, in pairs and the odd one at last.
template <class T, bool Lifted>
struct few_elements {
  const unsigned char* bytes;
  std::int64_t n;

  f64x2 pair(std::int64_t i) const {
    T v[2];
    std::memcpy(v, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof v);
    return taken(f64x2{static_cast<double>(v[0]), static_cast<double>(v[1])});
  }
  f64x2 last() const {
    T v;
    std::memcpy(&v, bytes + (n - 1) * static_cast<std::int64_t>(sizeof(T)), sizeof v);
    return taken(f64x2{static_cast<double>(v), 0.0});
  }

 private:
  static f64x2 taken(f64x2 v) { return Lifted ? lifted(v) : v; }
};

/// The largest magnitude; NaNs are left out, or are the answer.
template <class T>
inline double largest_of_few(const few_elements<T, false>& x) {
  f64x2 most = x.n % 2 != 0 ? magnitude(x.last()) : f64x2{};
  for (std::int64_t i = 0; i + 2 <= x.n; i += 2) {
    const f64x2 m = magnitude(x.pair(i));
    most = m > most ? m : most;
  }
  return most[0] > most[1] ? most[0] : most[1];
}

/// Two numbers whose sum is that of the elements: the two levels of extract.hpp, in two lanes, which every
/// architecture has, and in two streams of them; so few elements are not worth a call and its checks. Each
/// lane of each stream stays below 2^51 of its unit, so all four of them fit the 53 bits of a double. Elements are
/// below 2^bound.
template <class T, bool Lifted>
inline bool extract_few(const few_elements<T, Lifted>& x, int bound, double (&parts)[2]) {
  constexpr int log2_adds = 4;  // n / 2 < 16, one stream with the odd ones
  double anchors[2];
  int k = bound + log2_adds + 2;
  for (int j = 0; j < 2; ++j) {
    k = std::max(k, -1022);
    anchors[j] = 1.5 * __builtin_bit_cast(double, static_cast<std::uint64_t>(k + 1023) << 52);
    k += log2_adds - 51;
  }
  struct stream {
    f64x2 t0, t1;
    void add(f64x2 v, i64x2& left) {
      const f64x2 s0 = t0 + v;
      const f64x2 r0 = v - (s0 - t0);
      t0 = s0;
      const f64x2 s1 = t1 + r0;
      left |= (i64x2)(r0 - (s1 - t1));
      t1 = s1;
    }
  };
  const stream none{{anchors[0], anchors[0]}, {anchors[1], anchors[1]}};
  stream even = none, odd = none;
  i64x2 left{};
  std::int64_t i = 0;
  for (; i + 4 <= x.n; i += 4) {
    even.add(x.pair(i), left);
    odd.add(x.pair(i + 2), left);
  }
  if (i + 2 <= x.n) even.add(x.pair(i), left);
  if (x.n % 2 != 0) odd.add(x.last(), left);
  if (((left[0] | left[1]) & INT64_MAX) != 0) return false;  // more than two levels hold, or a NaN
  const f64x2 s0 = (even.t0 - none.t0) + (odd.t0 - none.t0);
  const f64x2 s1 = (even.t1 - none.t1) + (odd.t1 - none.t1);
  parts[0] = s0[0] + s0[1];
  parts[1] = s1[0] + s1[1];
  return true;
}

/// a + b, rounded once to T, to nearest. Of f32 by way of the double rounded to odd: Boldo and Melquiond,
/// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
template <class T>
inline T rounded_sum(double a, double b) {
  const double sum = a + b;
  if constexpr (sizeof(T) == 8) return sum;
  const double b_there = sum - a;
  const double lost = (a - (sum - b_there)) + (b - b_there);  // Knuth's two-sum
  auto bits = __builtin_bit_cast(std::uint64_t, sum);
  if (lost != 0 && bits % 2 == 0) bits += (lost > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
  return static_cast<T>(__builtin_bit_cast(double, bits));
}

/// The sum rounded to nearest, of 2 to 28 elements, if it is that simple. f64 below 2^-922 are lifted, as in extract.hpp.
template <class T>
inline bool sum_of_few(const void* p, std::int64_t n, T& sum) {
  const auto* bytes = static_cast<const unsigned char*>(p);
  const few_elements<T, false> x{bytes, n};
  const double largest = largest_of_few(x);
  const auto field = static_cast<int>(__builtin_bit_cast(std::uint64_t, largest) >> 52);
  if (!(largest > 0) || field > 2000) return false;  // the sign of zero, infinities, NaNs, the huge
  double parts[2];
  if (sizeof(T) == 8 && field < 100) {
    if (!extract_few(few_elements<T, true>{bytes, n}, field - 1022 + 1024, parts)) return false;
    sum = static_cast<T>(lowered(parts[0] + parts[1]));
  } else {
    if (!extract_few(x, field - 1022, parts)) return false;
    sum = rounded_sum<T>(parts[0], parts[1]);
  }
  return true;
}

/// Whatever the processor's mode is, which takes longer to see than such a sum: false where another way must be tried.
template <class T>
inline bool few_exact_sum(const void* x, std::int64_t n, rounding mode, void* out) {
  using f = exact::format<T>;
  if (n == 1) {  // itself, but for a NaN
    typename f::bits bits;
    std::memcpy(&bits, x, sizeof bits);
    if (f::is_nan(bits)) return false;
    std::memcpy(out, &bits, sizeof bits);
    return true;
  }
  if (n < 1 || n > most_of_few || mode != rounding::nearest) return false;
  const auto few_sum = kernels().few_sum[sizeof(T) == 8];
  return few_sum != nullptr && few_sum(x, n, out);
}

template <class T>
inline bool short_exact_sum(const void* x, std::int64_t n, rounding mode, void* out) {
  using f = exact::format<T>;
  constexpr std::int64_t few = 28;  // from here on the kernels win
  if (n < 2) return false;  // nothing, or a NaN: few_exact_sum
  if (n <= few && mode == rounding::nearest) {
    T sum;
    if (!sum_of_few(x, n, sum)) return false;
    std::memcpy(out, &sum, sizeof sum);
    return true;
  }
  std::int64_t sums[2] = {0, 0};
  int exponents[2] = {0, 0};
  extraction e;
  kernels().extract[0][static_cast<int>(term::value)][sizeof(T) == 8][0](x, nullptr, n, measure_first, e);
  if (!e.exact || e.largest == 0) return false;
  for (int k = 0; k < e.levels; ++k) {
    sums[k] = e.sums[0][k];
    exponents[k] = e.exponents[0][k];
  }
  if (e.levels == 1) exponents[1] = exponents[0];
  __extension__ typedef __int128 i128;
  const i128 total = (static_cast<i128>(sums[0]) << (exponents[0] - exponents[1])) + sums[1];
  if (total == 0) {
    const T zero = 0;
    std::memcpy(out, &zero, sizeof zero);
    return true;
  }
  const bool negative = total < 0;
  const auto magnitude_of = static_cast<exact::u128>(negative ? -total : total);
  const auto bits = exact::pack<typename f::layout>(
      exact::leading_bits(magnitude_of, exponents[1], false, negative), mode);
  std::memcpy(out, &bits, sizeof bits);
  return true;
}

}  // namespace wf::cpu
