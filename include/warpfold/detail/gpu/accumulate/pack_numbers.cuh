// SPDX-License-Identifier: Apache-2.0
/// \file pack_numbers.cuh
/// The elements of a pack of floats: as doubles, and how large they are.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/device/thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Subnormal numbers come through, whatever nvcc was told of floats.
__device__ __forceinline__ double widened(float f) {
#if defined(__CUDA_ARCH__)
  double d;
  asm("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(f));
  return d;
#else
  return static_cast<double>(f);
#endif
}

template <class T>
__device__ __forceinline__ double double_of(const pack& p, int i) {
  if constexpr (sizeof(T) == 8) {
    return __hiloint2double(static_cast<int>(p.word[2 * i + 1]), static_cast<int>(p.word[2 * i]));
  } else if constexpr (sizeof(T) == 4) {
    return widened(__uint_as_float(p.word[i]));
  } else if constexpr (exact::format<T>::mantissa_bits == 7) {
    const std::uint32_t w = p.word[i / 2];
    return widened(__uint_as_float(i % 2 == 0 ? w << 16 : w & 0xffff0000u));
  } else {
    return widened(__half2float(__ushort_as_half(static_cast<unsigned short>(p.word[i / 2] >> (16 * (i % 2))))));
  }
}

/// The greater of each pair of halves.
__device__ __forceinline__ std::uint32_t max_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmaxu2(a, b);
#else
  return max(a & 0xffff0000u, b & 0xffff0000u) | max(a & 0xffffu, b & 0xffffu);
#endif
}

/// The least of each pair of halves less one.
__device__ __forceinline__ std::uint32_t min_halves_less_one(std::uint32_t least, std::uint32_t a) {
#if defined(__CUDA_ARCH__)
  return __viaddmin_u16x2(a, 0xffffffffu, least);
#else
  const std::uint32_t high = min(((a >> 16) + 0xffffu) & 0xffffu, least >> 16);
  return high << 16 | min(((a & 0xffffu) + 0xffffu) & 0xffffu, least & 0xffffu);
#endif
}

/// How large the elements of a pack are, as the leading bits of their magnitudes: the greatest, and the
/// least of those that are not zero, less one (all ones if there is none).
struct pack_sizes {
  std::uint32_t greatest, least;
};

template <class T>
__device__ __forceinline__ pack_sizes sizes_of(const pack& p) {
  std::uint32_t m[4], greatest = 0, least = 0xffffffffu;
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      m[j] = p.word[j] & 0x7fff7fffu;
      greatest = max_halves(greatest, m[j]);
      least = min_halves_less_one(least, m[j]);
    }
    return {max(greatest & 0xffffu, greatest >> 16), min(least & 0xffffu, least >> 16)};
  } else {
    constexpr int step = sizeof(T) / 4;
#pragma unroll
    for (int j = step - 1; j < 4; j += step) {
      m[j] = p.word[j] & 0x7fffffffu;
      if constexpr (step == 2) m[j] |= p.word[j - 1] != 0 ? 1u : 0u;  // a tiny number is not zero
      greatest = max(greatest, m[j]);
      least = min(least, m[j] - 1);
    }
    return {greatest, least};
  }
}

}  // namespace wf::device::inline WF_BUILD
