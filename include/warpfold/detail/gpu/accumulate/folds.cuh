// SPDX-License-Identifier: Apache-2.0
/// \file folds.cuh
/// The library's own reductions as folds (fold.cuh): what plain_fold does for any reduction, with
/// fewer instructions per element. At the full speed of an H100's memory a multiprocessor has 18
/// operations of integer or FP64 units for each 4 bytes, so elements of 8 bits leave 4 each.
///
/// One fold serves all operations that differ in their last step alone; `what` names the operation.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fold.cuh>
#include <warpfold/detail/gpu/accumulate/keys.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

template <class To>
__device__ __forceinline__ void write_as(void* out, To value) {
  *static_cast<To*>(out) = value;
}

/// Counts elements that are not zero, for count_nonzero, any, all, and the sum of bool. An integer's type also stands for floats of its size.
template <class T>
struct nonzero_fold {
  using state = std::int64_t;
  using running = std::int64_t;
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  op what;
  bool floats = !integer<T>;  ///< the elements are floats, whose signs do not count

  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ state reduce_warp(state s) const { return warp_sum_wide(s); }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    std::uint32_t n = 0;
    if constexpr (item_size < 4) {
#pragma unroll
      for (int j = 0; j < 4; ++j) n += __popc(static_cast<int>(marks(p[0].word[j])));
    } else {
      constexpr int words = item_size / 4;
#pragma unroll
      for (int i = 0; i < 16 / item_size; ++i) {
        std::uint32_t any = 0;
#pragma unroll
        for (int j = 0; j < words; ++j) any |= p[0].word[i * words + j] & significant(j);
        n += any != 0 ? 1 : 0;
      }
    }
    s += n;
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    pack p[1] = {};
    __builtin_memcpy(p[0].word, &x, sizeof x);
    add(s, p, 0);
  }
  __device__ __forceinline__ state total(running s, const arrays<1>&) const { return s; }
  __device__ __forceinline__ void write(state s, std::uint64_t n, void* out) const {
    if (what == op::any) write_as<bool>(out, s != 0);
    else if (what == op::all) write_as<bool>(out, static_cast<std::uint64_t>(s) == n);
    else write_as<std::int64_t>(out, s);
  }

 private:
  /// A bit for each element of a word that is not zero.
  __device__ __forceinline__ std::uint32_t marks(std::uint32_t w) const {
    if constexpr (item_size == 1) return nonzero_bytes(w);
    const std::uint32_t m = (w & 0x7fff7fffu) + 0x7fff7fffu;
    return (floats ? m : m | w) & 0x80008000u;
  }
  /// Which bits of word j of an element tell it from zero: not the signs of floats.
  __device__ __forceinline__ std::uint32_t significant(int j) const {
    constexpr int signs_every = complex_number<T> ? item_size / 8 : item_size / 4;  // words
    return floats && j % signs_every == signs_every - 1 ? 0x7fffffffu : 0xffffffffu;
  }
};

/// Integers modulo 2^64: Term is sum, norm1, sum_of_squares, dot or prod. Bytes are added four at a time.
template <class T, op Term>
struct integer_fold {
  using state = std::uint64_t;
  using running = std::uint64_t;
  static constexpr int inputs = Term == op::dot ? 2 : 1;
  static constexpr int item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  static constexpr bool product = Term == op::prod;

  __device__ __forceinline__ state identity() const { return product ? 1 : 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return product ? a * b : a + b; }
  __device__ __forceinline__ state reduce_warp(state s) const
    requires(!product)
  {
    return warp_add_wide(s);
  }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ void add(running& s, const pack (&p)[inputs], std::uint64_t) const {
    constexpr int items = 16 / item_size;
    if constexpr (item_size == 1 && !std::is_same_v<T, bool> &&
                  (Term == op::sum || Term == op::norm1 || Term == op::sum_of_squares || Term == op::dot)) {
      using narrow = std::conditional_t<std::is_signed_v<T>, int, unsigned>;
      narrow part = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto a = static_cast<narrow>(p[0].word[j]);
        const auto b = static_cast<narrow>(Term == op::sum     ? 0x01010101u
                                           : Term == op::norm1 ? signs_of_bytes(p[0].word[j])
                                                               : p[inputs - 1].word[j]);
        part = __dp4a(a, b, part);
      }
      s += static_cast<std::uint64_t>(part);
    } else if constexpr (product || item_size >= 4) {
      // Products of four bytes or two halves fit 32 bits; they join 64 together.
      constexpr int group = product ? (item_size == 1 ? 4 : item_size == 2 ? 2 : 1) : 1;
#pragma unroll
      for (int i = 0; i < items; i += group) {
        auto part = term(p, i);
        if constexpr (group > 1) {
          auto few = static_cast<std::uint32_t>(part);
#pragma unroll
          for (int j = 1; j < group; ++j) few *= static_cast<std::uint32_t>(term(p, i + j));
          part = std::is_signed_v<T> ? static_cast<std::uint64_t>(static_cast<std::int32_t>(few)) : few;
        }
        s = combine(s, part);
      }
    } else {
      // Sums of the terms of one pack fit 32 bits, but for products of halves.
      using part_type = std::conditional_t<
          item_size == 2 && (Term == op::dot || Term == op::sum_of_squares), std::int64_t, std::int32_t>;
      part_type part = 0;
#pragma unroll
      for (int i = 0; i < items; ++i) part += static_cast<part_type>(term(p, i));
      s += static_cast<std::uint64_t>(std::int64_t{part});
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    s = combine(s, lift(x, x));
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x, const T& y) const {
    s = combine(s, lift(x, y));
  }
  __device__ __forceinline__ state total(running s, const arrays<inputs>&) const { return s; }
  __device__ __forceinline__ void write(state s, std::uint64_t, void* out) const {
    write_as<std::uint64_t>(out, s);
  }

 private:
  /// The sign of each byte, taken as a signed number: 1 or -1.
  static __device__ __forceinline__ std::uint32_t signs_of_bytes(std::uint32_t w) {
    std::uint32_t minus = 0;  // 0xff where a byte is negative
#if defined(__CUDA_ARCH__)
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(minus) : "r"(w));
#else
    minus = (w >> 7 & 0x01010101u) * 0xffu;
#endif
    return minus | 0x01010101u;
  }
  static __device__ __forceinline__ std::uint64_t lift(T x, T y) {
    if constexpr (Term == op::norm1) {
      const auto u = static_cast<std::uint64_t>(x);
      return std::is_signed_v<T> && static_cast<std::int64_t>(u) < 0 ? ~u + 1 : u;
    } else if constexpr (Term == op::dot || Term == op::sum_of_squares) {
      if constexpr (item_size <= 4) {  // one wide multiplication
        using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
        return static_cast<std::uint64_t>(wide{x} * wide{y});
      } else {
        return static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
      }
    } else {
      return static_cast<std::uint64_t>(x);
    }
  }
  static __device__ __forceinline__ std::uint64_t term(const pack (&p)[inputs], int i) {
    return lift(item_of<T>(p[0], i), item_of<T>(p[inputs - 1], i));
  }
};

/// Turns keys of `wide` into unsigned words in the same order, and back. Keys that are beyond them, as those of no element are, become the greatest.
template <class Wide>
__device__ __forceinline__ auto order_of_key(std::int64_t key) {
  if constexpr (sizeof(Wide) == 8) return static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63;
  else return static_cast<std::uint32_t>(key > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(key)) ^ 0x80000000u;
}
__device__ __forceinline__ std::int64_t key_of_order(std::uint64_t order) { return static_cast<std::int64_t>(order ^ std::uint64_t{1} << 63); }
__device__ __forceinline__ std::int64_t key_of_order(std::uint32_t order) { return static_cast<std::int32_t>(order ^ 0x80000000u); }
__device__ __forceinline__ std::uint64_t warp_least(std::uint64_t order) { return warp_min_wide(order); }
__device__ __forceinline__ std::uint32_t warp_least(std::uint32_t order) { return warp_min(order); }

/// min, max, minmax, norm_inf.
template <class T>
struct extremes_fold {
  struct state {
    std::int64_t least, greatest;
  };
  using keys = pack_keys<T>;
  struct running {
    typename keys::word least, greatest;
  };
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  op what;

  __device__ __forceinline__ state identity() const { return {INT64_MAX, INT64_MIN}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    return {a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest : b.greatest};
  }
  __device__ __forceinline__ state reduce_warp(const state& s) const {
    using wide = typename keys::wide;
    return {key_of_order(warp_least(order_of_key<wide>(s.least))), ~key_of_order(warp_least(order_of_key<wide>(~s.greatest)))};
  }
  __device__ __forceinline__ running start() const { return {keys::greatest_word, keys::least_word}; }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    keys::add(s.least, s.greatest, p[0]);
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    const auto k = keys::of(x);
    if constexpr (item_size <= 2) {
      const std::uint32_t half = static_cast<std::uint16_t>(item_size == 1 ? k * 256 : k);
      keys::take(s.least, s.greatest, half | half << 16);
    } else {
      keys::take(s.least, s.greatest, k);
    }
  }
  /// The total of no elements: the least and greatest of all keys of `wide`, which any element's lie between.
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    return {keys::least_of(s.least), keys::greatest_of(s.greatest)};
  }
  __device__ __forceinline__ void write(state s, std::uint64_t n, void* out) const {
    T least, greatest;
    if constexpr (floating<T>) {
      using f = exact::format<T>;
      using bits = typename f::bits;
      if (n == 0) {
        least = f::from_bits(what == op::norm_inf ? bits{0} : f::infinity);
        greatest = f::from_bits(static_cast<bits>(f::infinity | f::sign_mask));
      } else if (keys::has_nan(s.least, s.greatest)) {
        least = greatest = f::from_bits(f::quiet_nan);
      } else {
        least = keys::value(s.least);
        greatest = keys::value(s.greatest);
        if (what == op::norm_inf) {
          const std::int64_t a = s.least < 0 ? ~s.least : s.least;
          const std::int64_t b = s.greatest < 0 ? ~s.greatest : s.greatest;
          least = keys::value(a > b ? a : b);
        }
      }
    } else {
      constexpr std::uint64_t top = std::uint64_t{1} << (8 * item_size - 1);
      constexpr bool flag = std::is_same_v<T, bool>;
      least = n == 0 ? static_cast<T>(flag ? 1 : std::is_signed_v<T> ? top - 1 : ~std::uint64_t{0})
                     : keys::value(s.least);
      greatest = n == 0 ? static_cast<T>(std::is_signed_v<T> ? top : 0) : keys::value(s.greatest);
    }
    if constexpr (integer<T>) {
      if (what == op::norm_inf) {
        const auto magnitude = [](T x) {
          const auto u = static_cast<std::uint64_t>(x);
          return std::is_signed_v<T> && static_cast<std::int64_t>(u) < 0 ? ~u + 1 : u;
        };
        const std::uint64_t a = magnitude(least), b = magnitude(greatest);
        write_as<std::uint64_t>(out, n == 0 ? 0 : a > b ? a : b);
        return;
      }
    }
    if (what == op::minmax) {
      static_cast<T*>(out)[0] = least;
      static_cast<T*>(out)[1] = greatest;
    } else {
      write_as<T>(out, what == op::max ? greatest : least);
    }
  }
  /// Writes keys as the host has them: for unsigned numbers below 64 bits the numbers themselves. Where there was a NaN, no other key is left.
  __device__ __forceinline__ void write_state(const state& s, std::uint64_t n, std::int64_t, std::uint64_t* words) const {
    std::int64_t least, greatest;
    const bool nan = n != 0 && keys::has_nan(s.least, s.greatest);
    if constexpr (floating<T>) {
      constexpr auto infinity = static_cast<std::int64_t>(exact::format<T>::infinity);
      least = n == 0 || nan ? infinity : s.least;
      greatest = n == 0 || nan ? ~infinity : s.greatest;
    } else {
      constexpr bool flag = std::is_same_v<T, bool>;
      constexpr std::int64_t bias = std::is_signed_v<T> || flag || item_size == 8 ? 0 : std::int64_t{1} << (8 * item_size % 64 - 1);
      constexpr std::int64_t top = item_size == 8 ? INT64_MAX : (std::int64_t{1} << (8 * item_size % 64 - 1)) - 1;
      least = n == 0 ? (flag ? 1 : top + bias) : s.least + bias;
      greatest = n == 0 ? (flag ? 0 : ~top + bias) : s.greatest + bias;
    }
    words[0] = static_cast<std::uint64_t>(least);
    words[1] = static_cast<std::uint64_t>(greatest);
    words[2] = nan ? 1 : 0;
  }
};

/// argmin and argmax. While it adds, a thread keeps the best key and the pack that had it first, in which it
/// looks for the element at the end. So an element costs what it costs in extremes_fold.
template <class T>
struct arg_fold {
  using keys = pack_keys<T>;
  using wide = typename keys::wide;
  /// The least key so far, flipped for argmax; NaNs are below all others. Of equal keys the lower index counts.
  struct state {
    std::int64_t key, index;
  };
  struct running {
    wide key;
    std::uint64_t number;  ///< the pack's, + 1; 0: none
    pack best;
    state item;            ///< for the elements outside packs
  };
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4, ahead = std::is_same_v<T, double> ? 4 : 0;
  static constexpr bool packs = true;
  bool greatest;

  __device__ __forceinline__ state identity() const { return {INT64_MAX, -1}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    if (a.index < 0 || b.index < 0) return b.index < 0 ? a : b;
    return b.key < a.key || (b.key == a.key && b.index < a.index) ? b : a;
  }
  __device__ __forceinline__ state reduce_warp(const state& s) const {
    const auto order = order_of_key<wide>(s.key), least = warp_least(order);
    const auto index = static_cast<std::int64_t>(warp_min_wide(order == least ? static_cast<std::uint64_t>(s.index) : ~std::uint64_t{0}));
    return {key_of_order(least), index};
  }
  __device__ __forceinline__ running start() const { return {0, 0, {}, identity()}; }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t v) const {
    const wide k = rank(keys::best_of(greatest, p[0]));
    if (k < s.key || s.number == 0) {
      s.key = k;
      s.number = v + 1;
      s.best = p[0];
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t i, const T& x) const {
    s.item = combine(s.item, {rank(keys::of(x)), static_cast<std::int64_t>(i)});
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    if (s.number == 0) return s.item;
    constexpr int items = 16 / item_size;
    int first = 0;
#pragma unroll
    for (int i = items - 1; i >= 0; --i) {
      if (rank(keys::of(item_of<T>(s.best, i))) == s.key) first = i;
    }
    return combine(s.item, {s.key, static_cast<std::int64_t>((s.number - 1) * items) + first});
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t, std::int64_t start, void* out) const {
    write_as<std::int64_t>(out, s.index < 0 ? s.index : s.index + start);
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void* out) const { write(s, n, 0, out); }
  __device__ __forceinline__ void write_state(const state& s, std::uint64_t, std::int64_t start, std::uint64_t* words) const {
    std::int64_t key = greatest ? ~s.key : s.key;
    bool nan = false;
    if constexpr (floating<T>) nan = s.index >= 0 && s.key == (item_size == 8 ? INT64_MIN : std::int64_t{INT32_MIN});
    else if constexpr (!std::is_signed_v<T> && !std::is_same_v<T, bool> && item_size < 8) key += s.index < 0 ? 0 : std::int64_t{1} << (8 * item_size % 64 - 1);
    words[0] = static_cast<std::uint64_t>(s.index < 0 || nan ? 0 : key);
    words[1] = static_cast<std::uint64_t>(s.index < 0 ? s.index : s.index + start);
    words[2] = nan ? 1 : 0;
  }

 private:
  /// The rank of an element with this key: less is better. Zeros are equal.
  __device__ __forceinline__ wide rank(wide k) const {
    if constexpr (floating<T>) {
      if (keys::has_nan(k, k)) return static_cast<wide>(item_size == 8 ? INT64_MIN : INT32_MIN);
      if (k == -1) k = 0;
    }
    return greatest ? ~k : k;
  }
};

}  // namespace wf::device::inline WF_BUILD
