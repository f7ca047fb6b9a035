// SPDX-License-Identifier: Apache-2.0
/// \file short_sum.hpp
/// Exact sums of at most a tile of f32 or f64, where a state of 68 digits would cost more than the
/// sum: the bins of one extraction are one 128-bit integer, rounded at once.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include <warpfold/exact/format.hpp>

#include "dispatch.hpp"
#include "environment.hpp"

namespace wf::cpu {

/// Two numbers whose sum is that of the elements: the two bins of extract.hpp, in two lanes, which every
/// architecture has, and in two streams of them; so few elements are not worth a call and its checks. Each
/// lane of each stream stays below 2^51 of its unit, so all four of them fit the 53 bits of a double.
template <class T>
inline bool extract_few(const void* p, std::int64_t n, double (&parts)[2]) {
  constexpr int log2_adds = 4;  // n / 2 < 16, one stream with the odd ones
  typedef double f64x2 __attribute__((vector_size(16)));
  typedef std::int64_t i64x2 __attribute__((vector_size(16)));
  const auto* bytes = static_cast<const unsigned char*>(p);
  const auto pair = [bytes](std::int64_t i) {
    T v[2];
    std::memcpy(v, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof v);
    return f64x2{static_cast<double>(v[0]), static_cast<double>(v[1])};
  };
  const auto last = [bytes, n] {
    T v;
    std::memcpy(&v, bytes + (n - 1) * static_cast<std::int64_t>(sizeof(T)), sizeof v);
    return f64x2{static_cast<double>(v), 0.0};
  };
  const auto magnitude = [](f64x2 v) { return (f64x2)((i64x2)v & INT64_MAX); };
  f64x2 most = n % 2 != 0 ? magnitude(last()) : f64x2{};
  for (std::int64_t i = 0; i + 2 <= n; i += 2) {
    const f64x2 m = magnitude(pair(i));
    most = m > most ? m : most;  // NaNs are left out, and leave a rest below
  }
  const double largest = most[0] > most[1] ? most[0] : most[1];
  const auto field = static_cast<int>(__builtin_bit_cast(std::uint64_t, largest) >> 52);
  if (!(largest > 0) || field > 2000) return false;  // the sign of zero, infinities, NaNs, the huge
  double anchors[2];
  int k = field - 1022 + log2_adds + 2;
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
  for (; i + 4 <= n; i += 4) {
    even.add(pair(i), left);
    odd.add(pair(i + 2), left);
  }
  if (i + 2 <= n) even.add(pair(i), left);
  if (n % 2 != 0) odd.add(last(), left);
  if (((left[0] | left[1]) & INT64_MAX) != 0) return false;  // more than two bins hold, or a NaN
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

template <class T>
inline bool short_exact_sum(const void* x, std::int64_t n, rounding mode, void* out) {
  using f = exact::format<T>;
  constexpr std::int64_t few = 28;  // from here on the kernels win
  if (n == 1) {  // itself, but for a NaN
    typename f::bits bits;
    std::memcpy(&bits, x, sizeof bits);
    if (f::is_nan(bits)) return false;
    std::memcpy(out, &bits, sizeof bits);
    return true;
  }
  const ieee_environment environment;
  if (n <= few && mode == rounding::nearest) {
    double parts[2];
    if (n == 0 || !extract_few<T>(x, n, parts)) return false;
    const T sum = rounded_sum<T>(parts[0], parts[1]);
    std::memcpy(out, &sum, sizeof sum);
    return true;
  }
  std::int64_t sums[2] = {0, 0};
  int exponents[2] = {0, 0};
  extraction e;
  kernels().extract[static_cast<int>(term::value)][sizeof(T) == 8][0](x, nullptr, n, measure_first, e);
  if (!e.exact || e.largest == 0) return false;
  for (int k = 0; k < e.bins; ++k) {
    sums[k] = e.sums[0][k];
    exponents[k] = e.exponents[0][k];
  }
  if (e.bins == 1) exponents[1] = exponents[0];
  __extension__ typedef __int128 i128;
  const i128 total = (static_cast<i128>(sums[0]) << (exponents[0] - exponents[1])) + sums[1];
  if (total == 0) {
    const T zero = 0;
    std::memcpy(out, &zero, sizeof zero);
    return true;
  }
  const bool negative = total < 0;
  const auto magnitude = static_cast<exact::u128>(negative ? -total : total);
  const auto bits = exact::pack<typename f::layout>(
      exact::leading_bits(magnitude, exponents[1], false, negative), mode);
  std::memcpy(out, &bits, sizeof bits);
  return true;
}

}  // namespace wf::cpu
