// SPDX-License-Identifier: Apache-2.0
/// \file keys.hpp
/// Minima, maxima, counts and integer sums. Floats are compared by keys: integers in the order of the
/// numbers, -0 below +0, so that no order of comparing can change the bits of the answer.
#pragma once

#include <utility>

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

/// An element type seen as integers: the lane, and for floats the bits of infinity.
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

/// Elements of a cache line.
template <class T>
inline constexpr std::int64_t line = 64 / sizeof(T);

/// Calls f(vector, k) on all elements of the runs, or of the one if `apart` is 0, and on some of them twice; not if
/// there is less than a turn. One run is not asked for: a loop as short as that of extremes keeps enough loads in flight by itself.
template <class T, class F>
WF_INLINE bool for_vectors(const unsigned char* p, std::int64_t n, std::int64_t apart, F f) {
  constexpr std::int64_t size = sizeof(T);
  const walk w = walk_of(apart * size);
  const auto look = [&](const unsigned char* at, int k) __attribute__((always_inline)) { f(load<vec<T>>(at), k); };
  if (n * size < w.step) return false;
  const unsigned char* last = p + (n * size - w.step);
  const auto all = [&]<bool Asks>(std::bool_constant<Asks>) __attribute__((always_inline)) {
    for (; p < last; p += w.step) for_turn<Asks>(p, w, look);
    for_turn<Asks>(last, w, look);
  };
  if (apart == 0) {
    // From the next cache line on: vectors that lie in two of them take a third longer.
    if (const auto before = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(p) % 64); before != 0 && before % size == 0) {
      for_turn<false>(p, w, look);
      p += before;
    }
    all(std::false_type());
  } else {
    all(std::true_type());
  }
  return true;
}

/// What f makes of all lanes: of halves, and then of lanes turned by half, a quarter, … of them.
template <class T, int Bytes, class F, int... J>
WF_INLINE vec<T, Bytes / 2> both_halves(vec<T, Bytes> v, F f, std::integer_sequence<int, J...>) {
  return f(vec<T, Bytes / 2>(__builtin_shufflevector(v, v, J...)), vec<T, Bytes / 2>(__builtin_shufflevector(v, v, (J + lanes<T, Bytes> / 2)...)));
}
template <int By, class T, class F, int... J>
WF_INLINE vec<T, 16> turned(vec<T, 16> v, F f, std::integer_sequence<int, J...> numbers) {
  const vec<T, 16> all = f(v, vec<T, 16>(__builtin_shufflevector(v, v, ((J + By) % lanes<T, 16>)...)));
  if constexpr (By > 1) return turned<By / 2, T>(all, f, numbers);
  else return all;
}
template <class T, int Bytes, class F>
WF_INLINE T of_all_lanes(vec<T, Bytes> v, F f) {
  if constexpr (Bytes > 16) return of_all_lanes<T, Bytes / 2>(both_halves<T, Bytes>(v, f, std::make_integer_sequence<int, lanes<T, Bytes> / 2>()), f);
  else return turned<lanes<T, 16> / 2, T>(v, f, std::make_integer_sequence<int, lanes<T, 16>>())[0];
}
inline constexpr auto lesser_of = [](auto a, auto b) __attribute__((always_inline)) { return a < b ? a : b; };
inline constexpr auto greater_of = [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; };

/// n > 0. The keys of NaNs lie beyond those of the infinities, so they need no look of their own.
template <class L>
extremes extremes_of(const void* x, std::int64_t n, std::int64_t apart) {
  using T = typename L::element;
  using V = vec<T>;
  constexpr std::int64_t size = sizeof(T);
  const auto* p = static_cast<const unsigned char*>(x);
  T first;
  __builtin_memcpy(&first, p, sizeof(T));
  const V start = key_of<L>(all_lanes<V>(first));
  V least[4] = {start, start, start, start}, greatest[4] = {start, start, start, start};
  const auto look = [&](V bits, int k) __attribute__((always_inline)) {
    const V key = key_of<L>(bits);
    least[k % 4] = key < least[k % 4] ? key : least[k % 4];
    greatest[k % 4] = key > greatest[k % 4] ? key : greatest[k % 4];
  };
  if (!for_vectors<T>(p, n, apart, look)) {
    for (int run = 0; run < (apart != 0 ? runs : 1); ++run, p += apart * size) {
      std::int64_t i = 0;
      for (; i + lanes<T> <= n; i += lanes<T>) look(load<V>(p + i * size), 0);
      if (i == n) continue;
      alignas(64) T rest[lanes<T>];  // padded with copies of the first element
      for (T& v : rest) v = first;
      __builtin_memcpy(rest, p + i * size, static_cast<std::size_t>((n - i) * size));
      look(load<V>(rest), 0);
    }
  }
  WF_UNROLL
  for (int s = 1; s < 4; ++s) {
    least[0] = lesser_of(least[s], least[0]);
    greatest[0] = greater_of(greatest[s], greatest[0]);
  }
  const T a = of_all_lanes<T, width>(least[0], lesser_of), b = of_all_lanes<T, width>(greatest[0], greater_of);
  const bool nan = L::floating && (b > L::infinity || a < static_cast<T>(~L::infinity));
  return {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), nan};
}

/// The same of f32 and f64, which are compared as such: half the instructions, and a look at NaNs for every
/// two vectors. Where zeros win, or with NaNs, keys decide.
template <class T>
extremes float_extremes(const void* x, std::int64_t n, std::int64_t apart) {
  using L = std::conditional_t<sizeof(T) == 8, lane_f64, lane_f32>;
  using V = vec<T>;
  const auto* p = static_cast<const unsigned char*>(x);
  T first;
  __builtin_memcpy(&first, p, sizeof(T));
  V least[4], greatest[4], before{};
  for (int s = 0; s < 4; ++s) least[s] = greatest[s] = all_lanes<V>(first);
  nan_check nan;
  const bool seen = for_vectors<T>(p, n, apart, [&](V v, int k) __attribute__((always_inline)) {
    least[k % 4] = min(v, least[k % 4]);
    greatest[k % 4] = max(v, greatest[k % 4]);
    if (k % 2 == 0) before = v;
    else nan.look_at(before, v);
  });
  if (seen) {
    const V low = min(min(least[0], least[1]), min(least[2], least[3]));
    const V high = max(max(greatest[0], greatest[1]), max(greatest[2], greatest[3]));
    const T a = of_all_lanes<T, width>(low, lesser_of), b = of_all_lanes<T, width>(high, greater_of);
    const auto key = [](T v) {
      const auto bits = __builtin_bit_cast(typename L::element, v);
      return static_cast<std::int64_t>(bits < 0 ? bits ^ L::greatest : bits);
    };
    if (!nan.any() && a != 0 && b != 0) return {key(a), key(b), false};
  }
  return extremes_of<L>(x, n, apart);
}

/// The first index where `matches(vector)` has a lane set, or n.
template <class L, class F>
WF_INLINE std::int64_t first_match(const void* x, std::int64_t n, F matches) {
  using T = typename L::element;
  using V = vec<T>;
  const auto* p = static_cast<const unsigned char*>(x);
  constexpr std::int64_t per = lanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * per <= n; i += 4 * per) {
    V found{};
    WF_UNROLL
    for (int k = 0; k < 4; ++k) found |= matches(load<V>(p + (i + k * per) * static_cast<std::int64_t>(sizeof(T))));
    if (any_lane((i64s)found)) break;
  }
  for (; i < n; i += per) {
    alignas(64) T rest[per] = {};
    const std::int64_t here = n - i < per ? n - i : per;
    const unsigned char* from = p + i * static_cast<std::int64_t>(sizeof(T));
    if (here < per) {
      __builtin_memcpy(rest, from, static_cast<std::size_t>(here) * sizeof(T));
      from = reinterpret_cast<const unsigned char*>(rest);
    }
    const V found = matches(load<V>(from));
    if (!any_lane((i64s)found)) continue;
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

/// Mod 2^64. On x86-64 instructions add neighbouring lanes of 8 and 16 bits. Other lanes are added two at a
/// time, as lanes twice as wide: all = Σ(odd·2^bits + even) wraps, but with Σodd beside it Σeven = all -
/// 2^bits·Σodd does not. Where the sign is in the way it is flipped, which adds half the range, taken off at
/// the end.
template <class T>
std::uint64_t integer_sum(const void* x, std::int64_t n) {
#if defined(__x86_64__)
  constexpr bool bytes = sizeof(T) == 1, pairs = sizeof(T) == 2;
#else
  constexpr bool bytes = false, pairs = false;
#endif
  using narrow = std::make_unsigned_t<T>;
  constexpr int bits = 8 * sizeof(T);
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  constexpr bool flips = sizeof(T) < 8 && is_signed != pairs;  // for pairs what has no sign gets one
  constexpr auto flip = static_cast<narrow>(flips ? std::uint64_t{1} << (bits - 1) : 0);
  // Turns before lanes are folded. Pairs: each is -2^16 at least, in 32 bits. Halves of a lane: 2^bits - 1 at most, of
  // which 257, 65537 and 2^32 + 1 fit.
  constexpr std::int64_t most = sizeof(T) == 1 && !bytes ? 16 : 4096;
  const auto* p = static_cast<const unsigned char*>(x);
  const std::int64_t turns = n / (runs * line<T>);
  const walk w = walk_of(n * static_cast<std::int64_t>(sizeof(T)) < least_for_runs ? 0 : turns * 64);
  std::uint64_t total = 0;
  for (std::int64_t turn = 0; turn < turns; turn += most) {
    const std::int64_t end = turns - turn < most ? turns : turn + most;
    const auto add = [&](auto f) __attribute__((always_inline)) {
      for (std::int64_t t = turn; t < end; ++t)
        for_turn(p + t * w.step, w, [&](const unsigned char* at, int k) __attribute__((always_inline)) {
          f(load<vec<narrow>>(at) ^ flip, k % 4);
        });
    };
    if constexpr (sizeof(T) == 8) {
      u64s a[4] = {};
      add([&](auto v, int s) __attribute__((always_inline)) { a[s] += (u64s)v; });
      total += static_cast<std::uint64_t>(sum_lanes((i64s)(a[0] + a[1] + a[2] + a[3])));
#if defined(__x86_64__)
    } else if constexpr (bytes) {
      u64s a[4] = {};
      add([&](auto v, int s) __attribute__((always_inline)) { a[s] += sums_of_bytes(v); });
      total += static_cast<std::uint64_t>(sum_lanes((i64s)(a[0] + a[1] + a[2] + a[3])));
    } else if constexpr (pairs) {
      i32s a[4] = {};
      add([&](auto v, int s) __attribute__((always_inline)) { a[s] += sums_of_pairs((vec<std::int16_t>)v); });
      for (int s = 0; s < 4; ++s)
        for (int j = 0; j < lanes<std::int32_t>; ++j) total += static_cast<std::uint64_t>(std::int64_t{a[s][j]});
#endif
    } else {
      using wide = std::conditional_t<sizeof(T) == 1, std::uint16_t,
                   std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>>;
      using W = vec<wide>;
      W all[4] = {}, odd[4] = {};
      add([&](auto v, int s) __attribute__((always_inline)) {
        all[s] += (W)v;
        odd[s] += (W)v >> bits;
      });
      // The four sums wrap like the rest, but that of odd lanes has all elements.
      const W odds = odd[0] + odd[1] + odd[2] + odd[3];
      const W even = all[0] + all[1] + all[2] + all[3] - (W)(odds << bits);
      for (int j = 0; j < lanes<wide>; ++j) total += std::uint64_t{even[j]} + odds[j];
    }
  }
  std::int64_t i = turns * runs * line<T>;
  if constexpr (pairs) total += static_cast<std::uint64_t>(i) * flip;
  else total -= static_cast<std::uint64_t>(i) * flip;
  for (; i < n; ++i) {
    T v;
    __builtin_memcpy(&v, p + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    total += static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  }
  return total;
}

}  // namespace wf::cpu::WF_TARGET
