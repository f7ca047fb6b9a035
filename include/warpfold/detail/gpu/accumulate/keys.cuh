// SPDX-License-Identifier: Apache-2.0
/// \file keys.cuh
/// Least and greatest of the elements of a pack, by integer keys in the order of the numbers, -0 below
/// +0 (the keys of wf::reductions::keys). NaNs lie beyond the infinities, at either end, and so show
/// in the least and the greatest key. Elements of 8 and 16 bits are compared two at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/types.hpp>

namespace wf::device::inline WF_BUILD {

/// Least and greatest of two signed halves of a word. One instruction each from CC 9.0 on.
__device__ __forceinline__ std::uint32_t min_of_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmins2(a, b);
#else
  const auto half = [](std::uint32_t w, int k) { return static_cast<std::int16_t>(w >> (16 * k)); };
  const auto pick = [&](int k) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(half(a, k) < half(b, k) ? half(a, k) : half(b, k)));
  };
  return pick(0) | pick(1) << 16;
#endif
}
__device__ __forceinline__ std::uint32_t max_of_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmaxs2(a, b);
#else
  return ~min_of_halves(~a, ~b);
#endif
}

/// The greater or the lesser of two numbers, a NaN where one of them is. One instruction from CC 8.0 on.
__device__ __forceinline__ float float_of_two(bool greater, float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float r;
  if (greater) asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  else asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  if (a != a || b != b) return __builtin_bit_cast(float, 0x7fffffffu);
  return (a > b) == greater ? a : b;
#endif
}
/// The same of both halves of a word, which are of T.
template <class T>
__device__ __forceinline__ std::uint32_t halves_of_two(bool greater, std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t r;
  if constexpr (exact::format<T>::mantissa_bits == 10) {
    if (greater) asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  } else {
    if (greater) asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  }
  return r;
#else
  constexpr std::uint32_t infinity = exact::format<T>::infinity;
  std::uint32_t r = 0;
  for (int k = 0; k < 32; k += 16) {
    const std::uint32_t x = a >> k & 0xffff, y = b >> k & 0xffff;
    const auto key = [](std::uint32_t h) { return (h & 0x8000) != 0 ? -static_cast<int>(h & 0x7fff) : static_cast<int>(h); };
    const bool nan = (x & 0x7fff) > infinity || (y & 0x7fff) > infinity;
    r |= (nan ? 0x7fffu : (key(x) > key(y)) == greater ? x : y) << k;
  }
  return r;
#endif
}

/// A bit of each byte (its highest) that is not zero.
__device__ __forceinline__ std::uint32_t nonzero_bytes(std::uint32_t w) {
  return (((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u;
}

template <class T>
struct pack_keys {
  static constexpr int size = static_cast<int>(sizeof(T));
  using wide = std::conditional_t<size == 8, std::int64_t, std::int32_t>;  ///< a key
  /// Several keys: two signed halves of a word for small elements, bytes in the upper half's place.
  using word = std::conditional_t<size == 8, std::int64_t, std::conditional_t<size == 4, std::int32_t, std::uint32_t>>;
  static constexpr word greatest_word = size == 8   ? static_cast<word>(INT64_MAX)
                                        : size == 4 ? static_cast<word>(INT32_MAX)
                                                    : static_cast<word>(0x7fff7fff);
  static constexpr word least_word = static_cast<word>(~greatest_word);

  static __device__ __forceinline__ word lesser_of(word a, word b) {
    if constexpr (size <= 2) return min_of_halves(a, b);
    else return b < a ? b : a;
  }
  static __device__ __forceinline__ word greater_of(word a, word b) {
    if constexpr (size <= 2) return max_of_halves(a, b);
    else return b > a ? b : a;
  }
  static __device__ __forceinline__ void take(word& least, word& greatest, word k) {
    least = lesser_of(least, k);
    greatest = greater_of(greatest, k);
  }

  /// Calls f(word) for the keys of a pack.
  template <class F>
  static __device__ __forceinline__ void each(const pack& p, F f) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (size == 1) {
        std::uint32_t w = p.word[j];
        if constexpr (std::is_same_v<T, bool>) w = nonzero_bytes(w) >> 7;
        if constexpr (std::is_same_v<T, std::uint8_t>) w ^= 0x80808080u;
        f(w & 0xff00ff00u);
        f(w << 8 & 0xff00ff00u);
      } else if constexpr (size == 2) {
        std::uint32_t w = p.word[j];
        if constexpr (floating<T>) w ^= (w >> 15 & 0x00010001u) * 0x7fffu;
        if constexpr (std::is_same_v<T, std::uint16_t>) w ^= 0x80008000u;
        f(w);
      } else if constexpr (size == 4) {
        f(of(item_of<T>(p, j)));
      } else if (j < 2) {
        f(of(item_of<T>(p, j)));
      }
    }
  }
  static __device__ __forceinline__ void add(word& least, word& greatest, const pack& p) {
    each(p, [&](word k) { take(least, greatest, k); });
  }

  /// The key of the greatest or the least element of a pack, beyond that of infinity where one is a NaN: above it, or for doubles on either side.
  static __device__ __forceinline__ wide best_of(bool greatest, const pack& p) {
    if constexpr (std::is_same_v<T, float>) {
      const auto best = [&](float a, float b) { return float_of_two(greatest, a, b); };
      return of(best(best(item_of<T>(p, 0), item_of<T>(p, 1)), best(item_of<T>(p, 2), item_of<T>(p, 3))));
    } else if constexpr (floating<T> && size == 2) {
      const auto best = [&](std::uint32_t a, std::uint32_t b) { return halves_of_two<T>(greatest, a, b); };
      const std::uint32_t two = best(best(p.word[0], p.word[1]), best(p.word[2], p.word[3]));
      return of(__builtin_bit_cast(T, static_cast<std::uint16_t>(best(two, two >> 16))));
    } else if constexpr (floating<T>) {
      constexpr auto infinity = static_cast<wide>(exact::format<T>::infinity);
      word least = greatest_word, most = least_word;
      add(least, most, p);
      return greatest ? (least < ~infinity ? least : most) : (most > infinity ? most : least);
    } else {
      word least = greatest_word, most = least_word;
      if (greatest) each(p, [&](word k) { most = greater_of(most, k); });
      else each(p, [&](word k) { least = lesser_of(least, k); });
      return greatest ? greatest_of(most) : least_of(least);
    }
  }

  /// The key of one element, in `wide`.
  static __device__ __forceinline__ wide of(T x) {
    if constexpr (floating<T>) {
      using bits = typename exact::format<T>::bits;
      const auto b = static_cast<wide>(static_cast<std::make_signed_t<bits>>(__builtin_bit_cast(bits, x)));
      return b < 0 ? b ^ static_cast<wide>(exact::format<T>::sign_mask - 1) : b;
    } else if constexpr (size == 8 && !std::is_signed_v<T>) {
      return static_cast<wide>(x ^ (std::uint64_t{1} << 63));
    } else if constexpr (size == 4 && !std::is_signed_v<T>) {
      return static_cast<wide>(x ^ 0x80000000u);
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      return static_cast<wide>(x) - 0x80;
    } else if constexpr (std::is_same_v<T, std::uint16_t>) {
      return static_cast<wide>(x) - 0x8000;
    } else {
      return static_cast<wide>(x);
    }
  }
  /// The element of a key.
  static __device__ __forceinline__ T value(std::int64_t key) {
    if constexpr (floating<T>) {
      using bits = typename exact::format<T>::bits;
      if (key < 0) key ^= static_cast<std::int64_t>(exact::format<T>::sign_mask - 1);
      return __builtin_bit_cast(T, static_cast<bits>(key));
    } else if constexpr (std::is_same_v<T, bool>) {
      return key != 0;
    } else if constexpr (!std::is_signed_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(key) ^ (std::uint64_t{1} << (8 * size - 1)));
    } else {
      return static_cast<T>(key);
    }
  }

  /// The keys of the words of least and greatest keys.
  static __device__ __forceinline__ wide least_of(word w) {
    if constexpr (size > 2) return w;
    else return narrow(min_of_halves(w, w >> 16 | w << 16));
  }
  static __device__ __forceinline__ wide greatest_of(word w) {
    if constexpr (size > 2) return w;
    else return narrow(max_of_halves(w, w >> 16 | w << 16));
  }
  /// Whether keys between these two are of numbers alone.
  static __device__ __forceinline__ bool has_nan(std::int64_t least, std::int64_t greatest) {
    if constexpr (floating<T>) {
      constexpr auto infinity = static_cast<std::int64_t>(exact::format<T>::infinity);
      return greatest > infinity || least < ~infinity;
    } else {
      return false;
    }
  }

 private:
  static __device__ __forceinline__ wide narrow(std::uint32_t halves) {
    const auto h = static_cast<std::int16_t>(halves);
    return size == 1 ? h >> 8 : h;
  }
};

}  // namespace wf::device::inline WF_BUILD
