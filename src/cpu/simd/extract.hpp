// SPDX-License-Identifier: Apache-2.0
/// \file extract.hpp
/// Exact sums by anchored error-free extraction: plain f64 additions that provably never round.
///
/// A level is an f64 T that starts at 1.5·2^k. To add v:
///
///     t = T + v   rounds v to a multiple of u = ulp(T) = 2^(k-52)
///     q = t - T   exact: the difference of two multiples of u, below 2^k
///     r = v - q   exact: |r| <= u/2, |r| <= |v|, and a multiple of v's last bit: at most 53 bits
///
/// and r goes to the next level, anchored lower. What the last level leaves must be zero, or the tile is
/// refused. No step rounds, because T never leaves [2^k, 2^(k+1)), where its ulp is u: with
/// |v| < 2^B, at most 2^b additions per lane and k = B + b + 2, it moves by at most 2^(k-2). The next
/// level takes |r| <= 2^(k-53), so k' = k - 51 + b. An anchor below 2^-1022 is raised to it: there u is
/// the least subnormal, and nothing can be left. Windows that reach below 2^-1022 are those of numbers lifted by
/// 2^1024 (sources.hpp), or every addition would be one of subnormals. B + b + 2 <= 1023 is demanded, so nothing overflows.
///
/// The levels' bit patterns less the anchor's count units u as plain integers, so a tile ends in one
/// int64 for each level. Sources: Zielke and Drygalla 2003; Ogita, Rump, Oishi, "Accurate floating-point
/// summation", 2008; Demmel and Nguyen, "Fast reproducible floating-point summation", 2013.
///
/// Products: hi + lo are exact unless lo underflows, which takes |hi| < 2^-968. Then hi is no
/// multiple of the unit of a last level above 2^-968, and is refused with the residual (`floor_of_hi`
/// checks that the level is that high), or hi is zero, which the source reports as lost.
#pragma once

#include "sources.hpp"

namespace wf::cpu::WF_TARGET {

/// Vectors of elements in flight: levels wait 4 cycles for themselves, so as many as registers allow.
template <int Levels>
inline constexpr int streams = (registers / 2) / Levels >= 8   ? 8
                               : (registers / 2) / Levels >= 4 ? 4
                               : (registers / 2) / Levels >= 2 ? 2
                                                             : 1;

constexpr int log2_of(std::int64_t n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

WF_INLINE constexpr double power_of_two(int e) {  // normal ones
  const std::uint64_t bits = static_cast<std::uint64_t>(e + 1023) << 52;
  return __builtin_bit_cast(double, bits);
}

/// B with |x| < 2^B; of 0, the least.
WF_INLINE int bound_of(double x) {
  const auto field = static_cast<int>(__builtin_bit_cast(std::uint64_t, x) >> 52 & 0x7ff);
  return field == 0 ? -1022 : field - 1022;
}

template <class Source>
WF_INLINE double largest_in(const void* x, const void* y, std::int64_t n);

template <class Source, int Levels>
struct levels {
  static constexpr int parts = Source::parts;
  static constexpr int in_flight = streams<parts * Levels>;
  static constexpr int group = in_flight * step;
  static constexpr int log2_adds = log2_of(tile / group) + 1;  // twice as many: the first gets the tail
  static_assert(in_flight <= tile / group);

  f64s t[parts][Levels][in_flight];
  f64s largest[2];
  i64s left, lost;

  /// `Streams` vectors of elements, each to levels of its own.
  template <int Streams, class Lanes = every_lane>
  WF_INLINE void add(const void* x, const void* y, std::int64_t i, const Lanes& kept = {}) {
    if constexpr (Streams == in_flight) {
      constexpr auto size = static_cast<std::int64_t>(sizeof(typename Source::element));
      prefetch_lines<group * size>(static_cast<const unsigned char*>(x) + i * size);
      if constexpr (Source::pairs)
        prefetch_lines<group * size>(static_cast<const unsigned char*>(y) + i * size);
    }
    WF_UNROLL
    for (int s = 0; s < Streams; ++s) {
      f64s part[parts];
      const f64s measured = Source::at(x, y, i + s * step, part, lost, kept);
      largest[s & 1] = max(abs(measured), largest[s & 1]);
      WF_UNROLL
      for (int p = 0; p < parts; ++p) {
        f64s v = part[p];
        WF_UNROLL
        for (int k = 0; k < Levels; ++k) {
          const f64s before = t[p][k][s];
          const f64s after = before + v;
          v -= after - before;
          t[p][k][s] = after;
        }
        left |= (i64s)v;
      }
    }
  }
};

/// f(x, y, index, lanes) for what is left from i on, less than a vector: the last vector of the run
/// with the lanes that were done masked out, or where there is none, a copy with zeros. (A copy of
/// odd length read back as a vector waits 15 ns for its stores.)
template <class Source, class F>
WF_INLINE void for_tail(const void* x, const void* y, std::int64_t i, std::int64_t n, F f) {
  if (i >= n) return;
  if (n >= step) {
    f(x, y, n - step, last_lanes(n - i));
    return;
  }
  constexpr auto size = static_cast<std::int64_t>(sizeof(typename Source::element));
  alignas(64) unsigned char px[step * size] = {};
  alignas(64) unsigned char py[Source::pairs ? step * size : 1] = {};
  const auto bytes = static_cast<std::size_t>((n - i) * size);
  __builtin_memcpy(px, static_cast<const unsigned char*>(x) + i * size, bytes);
  if constexpr (Source::pairs)
    __builtin_memcpy(py, static_cast<const unsigned char*>(y) + i * size, bytes);
  f(static_cast<const void*>(px), static_cast<const void*>(py), std::int64_t{0}, every_lane());
}

/// The extraction by a window below `bound`, in numbers as the source takes them.
template <class Source, int Levels>
WF_INLINE void extract_below(const void* x, const void* y, std::int64_t n, int bound, extraction& out) {
  using state = levels<Source, Levels>;
  constexpr int parts = state::parts;
  out.levels = Levels;
  double anchors[parts][Levels];
  bool representable = true;
  WF_UNROLL
  for (int p = 0; p < parts; ++p) {
    const int least = Source::raised(p) == lift ? lift - 1022 : -1022;  // the unit is then the least subnormal's
    int k = Source::bound(p, bound) + state::log2_adds + 2;
    representable = representable && k <= 1023;
    WF_UNROLL
    for (int j = 0; j < Levels; ++j) {
      if (k < least) k = least;
      if (k > 1023) k = 1023;
      anchors[p][j] = 1.5 * power_of_two(k);
      out.exponents[p][j] = k - 52 - Source::raised(p);
      k += state::log2_adds - 51;
    }
    constexpr bool has_low = sizeof(typename Source::element) == 8 && parts > 1;
    const bool is_high = has_low && p == parts - 2;
    if (is_high) representable = representable && out.exponents[p][Levels - 1] + Source::raised(p) >= -967;
  }

  state s;
  for (int p = 0; p < parts; ++p)
    for (int j = 0; j < Levels; ++j)
      for (int l = 0; l < state::in_flight; ++l) s.t[p][j][l] = all_lanes<f64s>(anchors[p][j]);
  s.largest[0] = s.largest[1] = f64s{};
  s.left = s.lost = i64s{};

  std::int64_t i = 0;
  for (; i + state::group <= n; i += state::group) s.template add<state::in_flight>(x, y, i);
  for (; i + step <= n; i += step) s.template add<1>(x, y, i);
  for_tail<Source>(x, y, i, n, [&](const void* tx, const void* ty, std::int64_t at, const auto& kept)
                   __attribute__((always_inline)) { s.template add<1>(tx, ty, at, kept); });

  const f64s m = max(s.largest[0], s.largest[1]);
  double largest = 0;
  for (int j = 0; j < step; ++j) largest = m[j] > largest ? m[j] : largest;
  for (int p = 0; p < parts; ++p) {
    for (int j = 0; j < Levels; ++j) {
      u64s total{};  // unsigned: those of a refused tile are anything
      const auto anchor = __builtin_bit_cast(std::uint64_t, anchors[p][j]);
      WF_UNROLL
      for (int l = 0; l < state::in_flight; ++l) total += (u64s)s.t[p][j][l] - anchor;
      out.sums[p][j] = sum_lanes((i64s)total);
    }
  }
  // -0 is left where -0 came in. A NaN or an infinity leaves a NaN.
  const bool residual = (or_lanes(s.left) & INT64_MAX) != 0 || or_lanes(s.lost) != 0;
  out.largest = largest;
  out.exact = representable && !residual && bound_of(largest) <= bound;
  out.special = false;
  if (!residual) return;
  i64s endless{};
  WF_UNROLL
  for (int l = 0; l < state::in_flight; ++l) endless |= (i64s)(s.t[0][0][l] - s.t[0][0][l] != 0.0);
  out.special = or_lanes(endless) != 0;
}

template <class Source, int Levels>
void extract(const void* x, const void* y, std::int64_t n, int bound, extraction& out) {
  if (bound == measure_first) bound = bound_of(largest_in<Source>(x, y, n)) + 1;
  if constexpr (Source::lifted_below != INT32_MIN)
    if (bound <= Source::lifted_below) return extract_below<typename Source::lifting, Levels>(x, y, n, bound, out);
  extract_below<Source, Levels>(x, y, n, bound, out);
}

/// The largest of what the source measures, NaNs left out.
template <class Source>
WF_INLINE double largest_in(const void* x, const void* y, std::int64_t n) {
  f64s m[4] = {};
  i64s lost{};
  f64s part[max_parts];
  std::int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    WF_UNROLL
    for (int s = 0; s < 4; ++s) m[s] = max(abs(Source::at(x, y, i + s * step, part, lost, every_lane())), m[s]);
  }
  for (; i + step <= n; i += step)
    m[0] = max(abs(Source::at(x, y, i, part, lost, every_lane())), m[0]);
  for_tail<Source>(x, y, i, n, [&](const void* tx, const void* ty, std::int64_t at, const auto& kept)
                   __attribute__((always_inline)) {
    m[1] = max(abs(Source::at(tx, ty, at, part, lost, kept)), m[1]);
  });
  const f64s all = max(max(m[0], m[1]), max(m[2], m[3]));
  double largest = 0;
  for (int j = 0; j < step; ++j) largest = all[j] > largest ? all[j] : largest;
  return largest;
}

}  // namespace wf::cpu::WF_TARGET
