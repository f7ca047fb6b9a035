// SPDX-License-Identifier: Apache-2.0
/// \file hot.hpp
/// Reductions of reductions/ on the kernels of cpu/: overloads that fold a run into a state.
#pragma once

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/detail/reductions/extrema.hpp>
#include <warpfold/detail/reductions/logical.hpp>
#include <warpfold/detail/reductions/moments.hpp>

#include "../cpu/exact_sinks.hpp"
#include "../cpu/short_sum.hpp"

namespace wf::reductions {

using cpu::kernels;

/// Those whose extremes, zeros and places kernels of the CPU find; others have the reductions' own loops.
template <class T>
concept has_lane = integer<T> || std::same_as<T, f16> || std::same_as<T, bf16> || std::same_as<T, float> || std::same_as<T, double>;
template <has_lane T>
constexpr int lane_of() {
  using cpu::lane;
  constexpr lane of_dtype[] = {lane::f16, lane::bf16, lane::f32, lane::f64, lane::i8,
                               lane::i16, lane::i32,  lane::i64, lane::u8,  lane::u16,
                               lane::u32, lane::u64,  lane::u8};
  return static_cast<int>(of_dtype[static_cast<int>(dtype_of<T>)]);
}
template <integer T>
constexpr int integer_lane() {
  return static_cast<int>(dtype_of<T>) - static_cast<int>(dtype::i8);
}

template <floating T, bool Absolute>
void hot(const exact_fold<T, Absolute>&, exact::sum_state<T>& s, const void* const* x, std::int64_t n,
         std::int64_t) {
  cpu::exact_values<T>(s, x, n, Absolute);
}

template <floating T, bool Absolute>
void hot(const fast_fold<T, Absolute>&, double& s, const void* const* x, std::int64_t n, std::int64_t) {
  using C = cpu::carrier<T>;
  const auto add = [&](const void* p, std::int64_t m) { s += kernels().fast_sum[sizeof(C) == 8](p, m); };
  cpu::for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) {
    if (Absolute) cpu::for_magnitudes<C>(p, m, add);
    else add(p, m);
  });
}

template <class R, integer T>
std::uint64_t sum_of_integers(const void* x, std::int64_t n) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<std::uint64_t>(kernels().count_nonzero[lane_of<T>()](x, n));
  else return kernels().integer_sum[integer_lane<T>()](x, n);
}

template <integer T, bool Exact>
void hot(const sum<T, Exact>&, std::uint64_t& s, const void* const* x, std::int64_t n, std::int64_t) {
  s += sum_of_integers<void, T>(x[0], n);
}

template <integer T>
void hot(const wide_fold<T>&, integer_fold_state& s, const void* const* x, std::int64_t n, std::int64_t) {
  const std::int64_t before = s.seen.count;
  s.seen.count += n;
  if constexpr (sizeof(T) < 8) {
    constexpr std::int64_t most = std::int64_t{1} << 30;  // a sum of so many fits int64
    for (std::int64_t i = 0; i < n; i += most) {
      const void* p = static_cast<const unsigned char*>(x[0]) + i * static_cast<std::int64_t>(sizeof(T));
      s.sum.add_signed(static_cast<std::int64_t>(sum_of_integers<void, T>(p, std::min(most, n - i))), 0);
    }
  } else {
    for (std::int64_t i = 0; i < n; i += std::int64_t{1} << 30) {
      std::uint64_t low = 0;
      std::int64_t high = 0;
      for (std::int64_t j = i; j < std::min(n, i + (std::int64_t{1} << 30)); ++j) {
        const T v = cpu::load_one<T>(x[0], j);
        low += static_cast<std::uint64_t>(v) & 0xffffffff;
        high += static_cast<std::int64_t>(v >> 32);
      }
      s.sum.add(low, 0, false);
      s.sum.add_signed(high, 32);
    }
  }
  cpu::carry(s.sum, before, s.seen.count);
}

template <class C, class F>
void for_parts(const void* x, std::int64_t n, F f) {
  alignas(64) C re[cpu::tile], im[cpu::tile];
  for (std::int64_t i = 0; i < n; i += cpu::tile) {
    const std::int64_t m = std::min(cpu::tile, n - i);
    for (std::int64_t j = 0; j < m; ++j) {
      re[j] = cpu::load_one<C>(x, 2 * (i + j));
      im[j] = cpu::load_one<C>(x, 2 * (i + j) + 1);
    }
    f(static_cast<const void*>(re), static_cast<const void*>(im), m);
  }
}

template <complex_number T, bool Exact, bool Mean>
void hot(const complex_fold<T, Exact, Mean>&, typename complex_fold<T, Exact, Mean>::state& s,
         const void* const* x, std::int64_t n, std::int64_t) {
  using of_part = typename complex_fold<T, Exact, Mean>::of_part;
  for_parts<typename T::value_type>(x[0], n, [&](const void* re, const void* im, std::int64_t m) {
    hot(of_part(), s.re, &re, m, 0);
    hot(of_part(), s.im, &im, m, 0);
  });
}

template <floating T>
void hot(const exact_moments<T>&, exact::moments_state<T>& s, const void* const* x, std::int64_t n,
         std::int64_t) {
  cpu::exact_moments<T>(s, x, n);
}

/// Integers below 64 bits are f64 numbers.
template <integer T>
  requires(sizeof(T) < 8 && !std::is_same_v<T, bool>)
void hot(const exact_moments<T>&, exact::moments_state<double>& s, const void* const* x, std::int64_t n,
         std::int64_t) {
  alignas(64) double wide[cpu::tile];
  for (std::int64_t i = 0; i < n; i += cpu::tile) {
    const std::int64_t m = std::min(cpu::tile, n - i);
    for (std::int64_t j = 0; j < m; ++j) wide[j] = static_cast<double>(cpu::load_one<T>(x[0], i + j));
    const void* p = wide;
    cpu::exact_moments<double>(s, &p, m);
  }
}

/// Those of 64 bits have squares of 128, whose halves are added apart.
template <integer T>
  requires(sizeof(T) == 8)
void hot(const exact_moments<T>& r, exact::moments_state<double>& s, const void* const* x, std::int64_t n, std::int64_t) {
  exact::u128 above = 0, below = 0, low = 0, high = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = cpu::load_one<T>(x[0], i);
    const std::uint64_t m = magnitude(v);
    const exact::u128 square = exact::u128{m} * m;
    (v < T{} ? below : above) += m;
    low += static_cast<std::uint64_t>(square);
    high += static_cast<std::uint64_t>(square >> 64);
  }
  auto part = r.identity();  // integers, in units of 2^-1074 and of 2^-2148
  part.first.seen.count = n;
  part.first.sum.add_wide(above, 1074, false);
  part.first.sum.add_wide(below, 1074, true);
  part.second.add_wide(low, 2148, false);
  part.second.add_wide(high, 2148 + 64, false);
  s.merge(part);
}

template <floating T>
void hot(const fast_moments<T>& r, typename fast_moments<T>::state& s, const void* const* x, std::int64_t n,
         std::int64_t) {
  using C = cpu::carrier<T>;
  constexpr bool wide = sizeof(C) == 8;
  cpu::for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) {
    // Blocks of a tile: its mean, then the deviations from it, while it is in L1.
    for (std::int64_t i = 0; i < m; i += cpu::tile) {
      const std::int64_t k = std::min(cpu::tile, m - i);
      const void* q = static_cast<const unsigned char*>(p) + i * static_cast<std::int64_t>(sizeof(C));
      const auto count = static_cast<double>(k);
      const C centre = static_cast<C>(kernels().fast_sum[wide](q, k) / count);
      const cpu::moments d = kernels().fast_moments[wide](q, k, static_cast<double>(centre));
      s = r.combine(s, {count, static_cast<double>(centre) + d.mean_error / count,
                        d.squares - d.mean_error * d.mean_error / count});
    }
  });
}

template <floating T>
void hot(const exact_squares<T>&, exact::squares_state<T>& s, const void* const* x, std::int64_t n,
         std::int64_t) {
  cpu::exact_squares<T>(s, x, n);
}
template <floating T>
void hot(const fast_squares<T>&, double& s, const void* const* x, std::int64_t n, std::int64_t) {
  cpu::for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) {
    s += kernels().fast_dot[sizeof(T) == 8](p, p, m);
  });
}
template <floating T>
void hot(const dot<T, true>&, exact::dot_state<T>& s, const void* const* x, std::int64_t n, std::int64_t) {
  cpu::exact_products<T>(s, x, n);
}
template <floating T>
void hot(const dot<T, false>&, double& s, const void* const* x, std::int64_t n, std::int64_t) {
  cpu::for_carriers<T>(x, n, true, [&](const void* p, const void* q, std::int64_t m) {
    s += kernels().fast_dot[sizeof(T) == 8](p, q, m);
  });
}

/// All of n elements of a size as four runs, which overlap by at most three, or as one; and how many of each are a
/// block, which is in L1 to be looked at again.
struct in_runs {
  std::int64_t apart, length, block;
  in_runs(std::int64_t n, std::int64_t size, std::int64_t least = cpu::least_for_runs)
      : apart(n * size < least ? 0 : n / cpu::runs),
        length(n - (cpu::runs - 1) * apart),
        block(32768 / size / (apart != 0 ? cpu::runs : 1)) {}
};

template <has_lane T>
cpu::extremes extremes_in(const void* x, std::int64_t n, std::int64_t apart) {
  const cpu::ieee_environment environment;  // floats are compared as such, subnormals too
  cpu::extremes e = kernels().extremes_of[lane_of<T>()](x, n, apart);
  if constexpr (std::is_same_v<T, bool>) {
    e.least = e.least != 0;
    e.greatest = e.greatest != 0;
  } else if constexpr (integer<T> && sizeof(T) == 8 && !std::is_signed_v<T>) {
    e.least ^= INT64_MIN;
    e.greatest ^= INT64_MIN;
  }
  return e;
}

template <has_lane T>
void hot(const extreme_fold<T>& r, typename extreme_fold<T>::state& s, const void* const* x,
         std::int64_t n, std::int64_t) {
  if (n == 0) return;
  constexpr std::int64_t size = sizeof(T);
  const in_runs all(n, size, std::int64_t{1} << 20);  // less is read best by one stream, unasked
  const std::int64_t block = floating<T> ? 4 * all.block : all.length;  // floats may be looked at again, from L2; reading halts at the end of each block
  for (std::int64_t i = 0; i < all.length; i += block) {
    const cpu::extremes e = extremes_in<T>(static_cast<const unsigned char*>(x[0]) + i * size,
                                           std::min(block, all.length - i), all.apart);
    if (e.nan) s.nan = 1;  // the keys hold NaNs too
    else s = r.combine(s, {e.least, e.greatest, 0});
  }
}

template <has_lane T, bool Least>
  requires(!std::is_same_v<T, bool>)
void hot(const arg_fold<T, Least>& r, typename arg_fold<T, Least>::state& s, const void* const* x,
         std::int64_t n, std::int64_t first) {
  // The extreme of each block of a MiB, and then where it is: in a block that has the best of them.
  constexpr std::int64_t size = sizeof(T), blocks = 32, piece = blocks * 32768 / size;
  const auto at = [x](std::int64_t i) { return static_cast<const unsigned char*>(x[0]) + i * size; };
  for (std::int64_t i = 0; i < n && !s.nan; i += piece) {
    const std::int64_t m = std::min(piece, n - i);
    const in_runs all(m, size);
    const auto in_block = [&](std::int64_t k) { return std::min(all.block, all.length - k * all.block); };
    std::int64_t of_block[blocks + 1];  // the last of three elements
    std::int64_t best = 0, key = 0;
    for (std::int64_t k = 0; in_block(k) > 0; ++k) {
      const cpu::extremes e = extremes_in<T>(at(i + k * all.block), in_block(k), all.apart);
      if (e.nan) {
        s = r.combine(s, {0, first + i + kernels().find_nan[lane_of<T>()](at(i), m), 1});
        return;
      }
      of_block[k] = r.equal_key(Least ? e.least : e.greatest);
      if (k > 0 && (Least ? of_block[k] >= key : of_block[k] <= key)) continue;
      best = k;
      key = of_block[k];
    }
    if (s.index >= 0 && (Least ? key >= s.key : key <= s.key)) continue;
    const std::int64_t bits = integer<T> && sizeof(T) == 8 && !std::is_signed_v<T> ? key ^ INT64_MIN : key;
    std::int64_t place = m;
    for (std::int64_t run = 0; run < cpu::runs && place == m; ++run) {  // in the order of elements
      for (std::int64_t k = best; in_block(k) > 0 && place == m; ++k) {
        if (of_block[k] != key) continue;
        const std::int64_t from = run * all.apart + k * all.block;
        const std::int64_t found = kernels().find[lane_of<T>()](at(i + from), in_block(k), bits);
        if (found < in_block(k)) place = from + found;
      }
    }
    s = {key, first + i + place, 0};
  }
}

template <has_lane T>
void hot(const nonzero_fold<T>&, std::int64_t& s, const void* const* x, std::int64_t n, std::int64_t) {
  s += kernels().count_nonzero[lane_of<T>()](x[0], n);
}
template <element T>
void hot(const count<T>&, std::int64_t& s, const void* const*, std::int64_t n, std::int64_t) {
  s += n;
}

/// Places among few elements, one after the other: the kernels of many take longer to be called than this does. False where that does not do.
template <class T, bool Least>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
bool short_hot(const arg_fold<T, Least>&, const void* const* x, std::int64_t n, void* out) {
  if (n < 1 || n > 24) return false;
  std::int64_t place = 0;
  T best = cpu::detail::load_any<T>(x[0], 0);
  bool nan = best != best;
  for (std::int64_t i = 1; i < n; ++i) {
    const T one = cpu::detail::load_any<T>(x[0], i);
    const bool better = Least ? one < best : one > best;
    place = better ? i : place;
    best = better ? one : best;
    nan = nan || one != one;
  }
  if (nan) return false;
  std::memcpy(out, &place, sizeof place);
  return true;
}

/// Short sums of f32 and f64: one extraction, no state. False where that does not do.
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool short_hot(const sum<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  return cpu::short_exact_sum<T>(x[0], n, r.rounding, out);
}

/// The same, whatever the processor's mode is.
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const sum<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  return cpu::few_exact_sum<T>(x[0], n, r.rounding, out);
}

/// Means, sums of squares and variances of fewer, and their roots.
inline bool few_can(std::int64_t n, rounding mode) {
  return n >= 1 && n <= cpu::most_of_few_moments && mode == rounding::nearest;
}
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const mean<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  if (!few_can(n, r.rounding)) return false;
  const cpu::ieee_environment environment;
  return kernels().few_mean[sizeof(T) == 8](x[0], n, out);
}
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const sum_of_squares<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  if (!few_can(n, r.rounding)) return false;
  const cpu::ieee_environment environment;
  return kernels().few_squares[sizeof(T) == 8][0](x[0], n, 0, out);
}
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const norm2<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  if (!few_can(n, r.rounding)) return false;
  const cpu::ieee_environment environment;
  return kernels().few_squares[sizeof(T) == 8][1](x[0], n, 0, out);
}
template <bool Root, class T>
bool few_spread(const options& o, const void* x, std::int64_t n, void* out) {
  constexpr std::int64_t most = 1 << 20;  // what divides is a double
  if (!few_can(n, o.rounding) || o.correction >= n || o.correction < -most) return false;
  const cpu::ieee_environment environment;
  return kernels().few_squares[sizeof(T) == 8][Root](x, n, static_cast<double>(n * (n - o.correction)), out);
}
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const var<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  return few_spread<false, T>(r, x[0], n, out);
}
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
bool few_hot(const std_dev<T, true>& r, const void* const* x, std::int64_t n, void* out) {
  return few_spread<true, T>(r, x[0], n, out);
}

}  // namespace wf::reductions
