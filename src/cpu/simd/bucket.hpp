// SPDX-License-Identifier: Apache-2.0
/// \file bucket.hpp
/// Exact sums of numbers of any exponents: the tile that no window fits.
///
/// The top seven bits of the exponent choose a bucket; a bucket spans 16 exponents. v splits into
/// hi, its leading 27 bits, and lo = v - hi, 26 bits, exact. In units of the last bit that hi can
/// have in its bucket, hi is below 2^(27+15); so 2^11 of them add in f64 without rounding, and of lo
/// 2^12. Four copies take turns, so a bucket that repeats does not wait for itself, and the tile of
/// `bucket_capacity` fits. Values are scaled by 2^-64 from bucket 64 on (|v| >= 2), by 2^64 below: exact.
#pragma once

#include <utility>

#include "extract.hpp"

namespace wf::cpu::WF_TARGET {

static_assert(bucket_capacity / buckets::copies <= 1 << 11);

using f64x2 = vec<double, 16>;

/// {a0, b0, a2, b2, …} for Odd = 0 and {a1, b1, a3, b3, …} for Odd = 1.
template <int Odd, int... J>
WF_INLINE f64s interleave(f64s a, f64s b, std::integer_sequence<int, J...>) {
  return __builtin_shufflevector(a, b, (J % 2 == 0 ? J + Odd : step + J - 1 + Odd)...);
}

template <class Source>
struct bucket_pass {
  static constexpr int parts = Source::parts;
  i64s special{}, lost{};

  /// `first`: the number of the first element, by which copies take turns.
  template <class Lanes>
  WF_INLINE void add(const void* x, const void* y, std::int64_t i, std::int64_t first, buckets& out,
                     const Lanes& kept) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(typename Source::element));
    prefetch(static_cast<const unsigned char*>(x) + i * size);
    f64s part[parts];
    Source::at(x, y, i, part, lost, kept);
    WF_UNROLL
    for (int p = 0; p < parts; ++p) {
      constexpr std::int64_t infinity = 0x7ff0000000000000;
      const i64s magnitude = (i64s)part[p] & INT64_MAX;
      const i64s not_finite = (i64s)(magnitude >= infinity);
      special |= not_finite;
      const i64s large = (i64s)(magnitude >= std::int64_t{1024} << 52);
      const f64s scale = (f64s)((large & (i64s)all_lanes<f64s>(0x1p-64)) |
                                (~large & (i64s)all_lanes<f64s>(0x1p64)));
      const i64s finite = (i64s)part[p] & ~not_finite;
      const f64s hi = (f64s)(finite & ~((std::int64_t{1} << 26) - 1)) * scale;
      const f64s lo = (f64s)finite * scale - hi;
      constexpr std::make_integer_sequence<int, step> numbers;
      alignas(64) double halves[2 * step];  // hi and lo of an element side by side
      alignas(64) std::int64_t offsets[step];
      store(halves, interleave<0>(hi, lo, numbers));
      store(halves + step, interleave<1>(hi, lo, numbers));
      store(offsets, (i64s)(((u64s)magnitude >> 56) << 4));
      WF_UNROLL
      for (int j = 0; j < step; ++j) {
        auto* copy = reinterpret_cast<unsigned char*>(out.sums[p][(first + j) % buckets::copies]);
        unsigned char* sums = copy + offsets[j];
        store(sums, load<f64x2>(sums) + load<f64x2>(halves + j / 2 * 2 + j % 2 * step));
      }
    }
  }
};

template <class Source>
bool bucket(const void* x, const void* y, std::int64_t n, buckets& out) {
  bucket_pass<Source> pass;
  std::int64_t i = 0;
  for (; i + step <= n; i += step) pass.add(x, y, i, i, out, every_lane());
  for_tail<Source>(x, y, i, n, [&](const void* tx, const void* ty, std::int64_t at, const auto& kept)
                   __attribute__((always_inline)) { pass.add(tx, ty, at, i, out, kept); });
  return or_lanes(pass.special) != 0;
}

}  // namespace wf::cpu::WF_TARGET
