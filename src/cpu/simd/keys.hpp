// SPDX-License-Identifier: Apache-2.0
/// \file keys.hpp
/// Minima, maxima, counts and integer sums. Floats are compared by keys: integers in the order of the
/// numbers, -0 below +0, so that no order of comparing can change the bits of the answer.
#pragma once

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

/// Of an element type seen as integers: the lane, and for floats the bits of infinity.
template <class Lane, std::int64_t Infinity = 0>
struct lane_type {
  using element = Lane;
  static constexpr bool floating = Infinity != 0;
  static constexpr Lane infinity = static_cast<Lane>(Infinity);
  static constexpr Lane greatest = static_cast<Lane>(
      static_cast<Lane>(-1) < 0 ? ~(std::uint64_t{1} << (8 * sizeof(Lane) - 1)) : ~std::uint64_t{0});
};
using lane_f16 = lane_type<std::int16_t, 0x7c00>;
using lane_bf16 = lane_type<std::int16_t, 0x7f80>;
using lane_f32 = lane_type<std::int32_t, 0x7f800000>;
using lane_f64 = lane_type<std::int64_t, 0x7ff0000000000000>;

template <class L>
WF_INLINE auto key_of(vec<typename L::element> bits) {
  if constexpr (L::floating) {
    using V = vec<typename L::element>;
    return (V)(bits ^ ((V)(bits < 0) & L::greatest));
  } else {
    return bits;
  }
}

/// Zeros of either sign are one.
template <class L>
WF_INLINE auto equal_key_of(vec<typename L::element> bits) {
  using V = vec<typename L::element>;
  const V key = key_of<L>(bits);
  if constexpr (L::floating) return (V)(key - (V)(key == -1));
  else return key;
}

template <class L>
WF_INLINE auto nan_mask(vec<typename L::element> bits) {
  using V = vec<typename L::element>;
  return (V)((bits & L::greatest) > L::infinity);
}

/// Calls f(vector, stream) on all of x, n > 0, the rest padded with copies of the first element. Four
/// streams: a minimum waits three cycles for the one before it.
template <class L, class F>
WF_INLINE void for_vectors(const void* x, std::int64_t n, F f) {
  using T = typename L::element;
  using V = vec<T>;
  const auto* p = static_cast<const unsigned char*>(x);
  constexpr std::int64_t per = lanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * per <= n; i += 4 * per) {
    const unsigned char* at = p + i * static_cast<std::int64_t>(sizeof(T));
    prefetch_lines<4 * width>(at);
    WF_UNROLL
    for (int s = 0; s < 4; ++s) f(load<V>(at + s * width), s);
  }
  for (; i + per <= n; i += per) f(load<V>(p + i * static_cast<std::int64_t>(sizeof(T))), 0);
  if (i < n) {
    alignas(64) T rest[per];
    T first;
    __builtin_memcpy(&first, p, sizeof(T));
    for (T& r : rest) r = first;
    __builtin_memcpy(rest, p + i * static_cast<std::int64_t>(sizeof(T)),
                     static_cast<std::size_t>(n - i) * sizeof(T));
    f(load<V>(rest), 0);
  }
}

/// n > 0. The keys of NaNs lie beyond those of the infinities, so they need no look of their own.
template <class L>
extremes extremes_of(const void* x, std::int64_t n) {
  using T = typename L::element;
  using V = vec<T>;
  T first;
  __builtin_memcpy(&first, x, sizeof(T));
  const V start = key_of<L>(all_lanes<V>(first));
  V least[4] = {start, start, start, start}, greatest[4] = {start, start, start, start};
  for_vectors<L>(x, n, [&](V bits, int s) __attribute__((always_inline)) {
    const V key = key_of<L>(bits);
    least[s] = key < least[s] ? key : least[s];
    greatest[s] = key > greatest[s] ? key : greatest[s];
  });
  WF_UNROLL
  for (int s = 1; s < 4; ++s) {
    least[0] = least[s] < least[0] ? least[s] : least[0];
    greatest[0] = greatest[s] > greatest[0] ? greatest[s] : greatest[0];
  }
  T a = least[0][0], b = greatest[0][0];
  for (int j = 0; j < lanes<T>; ++j) {
    a = least[0][j] < a ? least[0][j] : a;
    b = greatest[0][j] > b ? greatest[0][j] : b;
  }
  const bool nan = L::floating && (b > L::infinity || a < static_cast<T>(~L::infinity));
  return {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), nan};
}

/// The same of f32 and f64, which are compared as such: half the instructions, and a look at NaNs for every
/// two vectors. A block in which zeros win, or with NaNs, is looked at again by keys, from L1.
template <class T>
extremes float_extremes(const void* x, std::int64_t n) {
  using L = std::conditional_t<sizeof(T) == 8, lane_f64, lane_f32>;
  using V = vec<T>;
  constexpr std::int64_t size = sizeof(T), turn = 4 * lanes<T>, block = 32768 / size;
  const auto* p = static_cast<const unsigned char*>(x);
  extremes all = extremes_of<L>(p, 1);
  for (std::int64_t start = 0; start < n; start += block, p += block * size) {
    const std::int64_t m = n - start < block ? n - start : block;
    bool decided = m >= turn;
    T a = 0, b = 0;
    if (decided) {
      V least[4], greatest[4];
      for (int s = 0; s < 4; ++s) least[s] = greatest[s] = load<V>(p + s * width);
      nan_check nan;
      const auto look = [&](const unsigned char* at) __attribute__((always_inline)) {
        V v[4];
        WF_UNROLL
        for (int s = 0; s < 4; ++s) {
          v[s] = load<V>(at + s * width);
          least[s] = min(v[s], least[s]);
          greatest[s] = max(v[s], greatest[s]);
        }
        nan.look_at(v[0], v[1]);
        nan.look_at(v[2], v[3]);
      };
      for (std::int64_t i = 0; i + turn <= m; i += turn) {
        prefetch_lines<4 * width>(p + i * size);
        look(p + i * size);
      }
      look(p + (m - turn) * size);  // some of them again
      const V low = min(min(least[0], least[1]), min(least[2], least[3]));
      const V high = max(max(greatest[0], greatest[1]), max(greatest[2], greatest[3]));
      a = low[0], b = high[0];
      for (int j = 1; j < lanes<T>; ++j) {
        a = low[j] < a ? low[j] : a;
        b = high[j] > b ? high[j] : b;
      }
      decided = !nan.any() && a != 0 && b != 0;
    }
    const auto key = [](T v) {
      const auto bits = __builtin_bit_cast(typename L::element, v);
      return static_cast<std::int64_t>(bits < 0 ? bits ^ L::greatest : bits);
    };
    const extremes here = decided ? extremes{key(a), key(b), false} : extremes_of<L>(p, m);
    all.least = here.least < all.least ? here.least : all.least;
    all.greatest = here.greatest > all.greatest ? here.greatest : all.greatest;
    all.nan = all.nan || here.nan;
  }
  return all;
}

/// The first index where `matches(vector)` has a lane set, or n.
template <class L, class F>
WF_INLINE std::int64_t first_match(const void* x, std::int64_t n, F matches) {
  using T = typename L::element;
  using V = vec<T>;
  const auto* p = static_cast<const unsigned char*>(x);
  constexpr std::int64_t per = lanes<T>;
  for (std::int64_t i = 0; i < n; i += per) {
    alignas(64) T rest[per] = {};
    const std::int64_t here = n - i < per ? n - i : per;
    const unsigned char* from = p + i * static_cast<std::int64_t>(sizeof(T));
    if (here < per) {
      __builtin_memcpy(rest, from, static_cast<std::size_t>(here) * sizeof(T));
      from = reinterpret_cast<const unsigned char*>(rest);
    }
    const V found = matches(load<V>(from));
    if (or_lanes((i64s)found) == 0) continue;
    for (std::int64_t j = 0; j < here; ++j)
      if (found[j] != 0) return i + j;
  }
  return n;
}

template <class L>
std::int64_t find(const void* x, std::int64_t n, std::int64_t key) {
  using T = typename L::element;
  using V = vec<T>;
  const V wanted = all_lanes<V>(static_cast<T>(key));
  return first_match<L>(x, n, [&](V bits) __attribute__((always_inline)) {
    return (V)(equal_key_of<L>(bits) == wanted);
  });
}

template <class L>
std::int64_t find_nan(const void* x, std::int64_t n) {
  if constexpr (L::floating) {
    using V = vec<typename L::element>;
    return first_match<L>(x, n, [](V bits) __attribute__((always_inline)) {
      return nan_mask<L>(bits);
    });
  } else {
    return n;
  }
}

/// NaN counts as nonzero, -0 does not.
template <class L>
std::int64_t count_nonzero(const void* x, std::int64_t n) {
  using T = typename L::element;
  using V = vec<T>;
  constexpr std::int64_t per = lanes<T>;
  constexpr std::int64_t vectors = sizeof(T) == 1 ? 127 : 16384;  // before a lane overflows
  const auto* p = static_cast<const unsigned char*>(x);
  std::int64_t total = 0;
  std::int64_t i = 0;
  while (i + per <= n) {
    V count{};
    for (std::int64_t k = 0; k < vectors && i + per <= n; ++k, i += per) {
      V v = load<V>(p + i * static_cast<std::int64_t>(sizeof(T)));
      if constexpr (L::floating) v &= L::greatest;
      count -= (V)(v != 0);
    }
    for (int j = 0; j < lanes<T>; ++j) total += static_cast<std::int64_t>(count[j]);
  }
  for (; i < n; ++i) {
    T v;
    __builtin_memcpy(&v, p + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    if constexpr (L::floating) v = static_cast<T>(v & L::greatest);
    total += v != 0;
  }
  return total;
}

/// Calls f(place, stream) for each of `count` vectors, in four streams.
template <class F>
WF_INLINE void in_streams(const unsigned char* p, std::int64_t count, F f) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    prefetch_lines<4 * width>(p + i * width);
    WF_UNROLL
    for (int s = 0; s < 4; ++s) f(p + (i + s) * width, s);
  }
  for (; i < count; ++i) f(p + i * width, 0);
}

/// Mod 2^64. On x86-64 instructions add neighbouring lanes of 8 and 16 bits. Other lanes are added two at a
/// time, as lanes twice as wide: all = Σ(odd·2^bits + even) wraps, but with Σodd beside it Σeven = all -
/// 2^bits·Σodd does not. Where the sign is in the way it is flipped, which adds half the range, taken off at
/// the end.
template <class T>
std::uint64_t integer_sum(const void* x, std::int64_t n) {
  const auto* p = static_cast<const unsigned char*>(x);
  constexpr std::int64_t per = lanes<T>;
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  const std::int64_t full = n / per;  // vectors
  std::uint64_t total = 0;
  if constexpr (sizeof(T) == 8) {
    u64s a[4] = {};
    in_streams(p, full, [&](const unsigned char* at, int s) __attribute__((always_inline)) { a[s] += load<u64s>(at); });
    total = static_cast<std::uint64_t>(sum_lanes((i64s)(a[0] + a[1] + a[2] + a[3])));
#if defined(__x86_64__)
  } else if constexpr (sizeof(T) == 1) {
    constexpr std::uint8_t flip = is_signed ? 0x80 : 0;
    u64s a[4] = {};
    in_streams(p, full, [&](const unsigned char* at, int s) __attribute__((always_inline)) {
      a[s] += sums_of_bytes(load<vec<std::uint8_t>>(at) ^ flip);
    });
    total = static_cast<std::uint64_t>(sum_lanes((i64s)(a[0] + a[1] + a[2] + a[3])));
    total -= static_cast<std::uint64_t>(full * per) * flip;
  } else if constexpr (sizeof(T) == 2) {
    constexpr std::uint16_t flip = is_signed ? 0 : 0x8000;  // here what has no sign gets one
    constexpr std::int64_t most = 65536;  // a quarter of them a stream, each -2^16 at least, in 32 bits
    for (std::int64_t i = 0; i < full; i += most) {
      i32s a[4] = {};
      in_streams(p + i * width, full - i < most ? full - i : most,
                 [&](const unsigned char* at, int s) __attribute__((always_inline)) {
        a[s] += sums_of_pairs((vec<std::int16_t>)(load<vec<std::uint16_t>>(at) ^ flip));
      });
      for (int s = 0; s < 4; ++s)
        for (int j = 0; j < lanes<std::int32_t>; ++j) total += static_cast<std::uint64_t>(std::int64_t{a[s][j]});
    }
    total += static_cast<std::uint64_t>(full * per) * flip;
#endif
  } else {
    using wide = std::conditional_t<sizeof(T) == 1, std::uint16_t,
                 std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>>;
    using narrow = std::make_unsigned_t<T>;
    using W = vec<wide>;
    constexpr int bits = 8 * sizeof(T);
    constexpr auto flip = static_cast<narrow>(is_signed ? 1u << (bits - 1) : 0u);
    // 2^bits - 1 at most each time: 257, 65537 and 2^32 + 1 times fit.
    constexpr std::int64_t most = sizeof(T) == 1 ? 256 : 65536;
    for (std::int64_t i = 0; i < full; i += most) {
      W all[4] = {}, odd[4] = {};
      in_streams(p + i * width, full - i < most ? full - i : most,
                 [&](const unsigned char* at, int s) __attribute__((always_inline)) {
        const W v = (W)(load<vec<narrow>>(at) ^ flip);
        all[s] += v;
        odd[s] += v >> bits;
      });
      // The sums of four streams wrap like the rest, but those of odd lanes have all streams' elements.
      const W odds = odd[0] + odd[1] + odd[2] + odd[3];
      const W even = all[0] + all[1] + all[2] + all[3] - (W)(odds << bits);
      for (int j = 0; j < lanes<wide>; ++j) total += std::uint64_t{even[j]} + odds[j];
    }
    total -= static_cast<std::uint64_t>(full * per) * flip;
  }
  std::int64_t i = full * per;
  for (; i < n; ++i) {
    T v;
    __builtin_memcpy(&v, p + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    total += static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  }
  return total;
}

}  // namespace wf::cpu::WF_TARGET
