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

  static __device__ __forceinline__ void take(word& least, word& greatest, word k) {
    if constexpr (size <= 2) {
      least = min_of_halves(least, k);
      greatest = max_of_halves(greatest, k);
    } else {
      least = k < least ? k : least;
      greatest = k > greatest ? k : greatest;
    }
  }

  static __device__ __forceinline__ void add(word& least, word& greatest, const pack& p) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (size == 1) {
        std::uint32_t w = p.word[j];
        if constexpr (std::is_same_v<T, bool>) w = nonzero_bytes(w) >> 7;
        if constexpr (std::is_same_v<T, std::uint8_t>) w ^= 0x80808080u;
        take(least, greatest, w & 0xff00ff00u);
        take(least, greatest, w << 8 & 0xff00ff00u);
      } else if constexpr (size == 2) {
        std::uint32_t w = p.word[j];
        if constexpr (floating<T>) w ^= (w >> 15 & 0x00010001u) * 0x7fffu;
        if constexpr (std::is_same_v<T, std::uint16_t>) w ^= 0x80008000u;
        take(least, greatest, w);
      } else if constexpr (size == 4) {
        take(least, greatest, of(item_of<T>(p, j)));
      } else if (j < 2) {
        take(least, greatest, of(item_of<T>(p, j)));
      }
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
