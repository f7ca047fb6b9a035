// SPDX-License-Identifier: Apache-2.0
/// \file exact_round.cuh
/// The last step of an exact sum on a GPU: rounds an integer that lies on a warp to the answer's type.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>
#include <warpfold/detail/gpu/epilogue/special.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// x·scale + to, subnormal numbers included, whatever nvcc's options for floats are. Scale is a power of two and
/// the product exact.
__device__ __forceinline__ float plus_scaled(float to, float x, float scale) {
#if defined(__CUDA_ARCH__)
  return __fmaf_ieee_rn(x, scale, to);
#else
  return to + x * scale;
#endif
}

/// Rounds a sum once to an answer of up to 32 bits. It is a multiple of the least number of T, so that a
/// subnormal answer is exact.
template <class T>
__device__ __forceinline__ T round_word(leading_word s) {
  if (s.sticky) s.word |= 1;  // as good as what lies below: 31 bits of the word are significant
  if constexpr (std::is_same_v<T, float>) {
    const auto power = [](int e) { return __uint_as_float(static_cast<std::uint32_t>(127 + e) << 23); };
    const int half = s.exponent / 2;  // neither step leaves the range of f32 where the answer does not
    return plus_scaled(0, plus_scaled(0, static_cast<float>(s.word), power(half)), power(s.exponent - half));
  } else if constexpr (exact::format<T>::mantissa_bits == 7) {
    const int drop = max(0, 40 - exact::leading_zeros(static_cast<std::uint64_t>(s.word < 0 ? ~s.word : s.word) | 1));
    const std::int64_t kept = s.word >> drop | ((s.word & ((std::int64_t{1} << drop) - 1)) != 0 ? 1 : 0);
    const std::uint32_t b = __float_as_uint(round_word<float>({kept, s.exponent + drop, false}));
    return exact::format<T>::from_bits(static_cast<std::uint16_t>((b + 0x7fffu + (b >> 16 & 1u)) >> 16));
  } else {
    if ((s.word + (std::int64_t{1} << 52)) >> 53 != 0) {  // to 53 bits
      s.word = s.word >> 11 | ((s.word & 0x7ff) != 0 ? 1 : 0);
      s.exponent += 11;
    }
    return __double2half(static_cast<double>(s.word) * __hiloint2double((1023 + s.exponent) << 20, 0));
  }
}

/// The sum where special values decide it: exact::special_bits.
template <class U>
__device__ __forceinline__ bool special_answer(std::uint32_t kinds, U& answer) {
  using f = exact::format<U>;
  using bits = typename f::bits;
  constexpr std::uint32_t both = special::pos_inf | special::neg_inf;
  if ((kinds & special::nan) != 0 || (kinds & both) == both) answer = f::from_bits(f::quiet_nan);
  else if ((kinds & special::pos_inf) != 0) answer = f::from_bits(f::infinity);
  else if ((kinds & special::neg_inf) != 0) answer = f::from_bits(static_cast<bits>(f::infinity | f::sign_mask));
  else if (kinds == 0) answer = f::from_bits(f::sign_mask);
  else return false;
  return true;
}

/// A whole warp calls it: turns digits and kinds into the answer.
template <class T, int PerLane>
__device__ __forceinline__ T round_by_warp(const std::int64_t (&v)[PerLane], std::uint32_t kinds,
                                           int unit) {
  using f = exact::format<T>;
  using bits = typename f::bits;
  T answer;
  if (special_answer(kinds, answer)) return answer;
  if constexpr (PerLane == 1) return round_word<T>(leading_word_of(v[0], unit));
  const exact::scaled x = warp_number<PerLane>::from(v).leading_bits(unit);
  // The bulk of wf::exact::pack, with shifts that the compiler knows: a normal number that is finite.
  constexpr int drop = 63 - f::mantissa_bits;
  const int place = x.exponent + drop - f::min_exponent;
  if (x.significand == 0 || place < 0 || place >= f::max_shift) {
    return f::from_bits(exact::pack<typename f::layout>(x, rounding::nearest));
  }
  const std::uint64_t kept = x.significand >> drop;
  const auto half = static_cast<std::uint32_t>(x.significand >> (drop - 1)) & 1;
  const bool rest = x.sticky || (x.significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
  const std::uint64_t up = half & (rest ? 1u : static_cast<std::uint32_t>(kept));
  const auto field = static_cast<std::uint64_t>(place) << f::mantissa_bits;
  const auto sign = x.negative ? f::sign_mask : bits{0};
  return f::from_bits(static_cast<bits>(sign | static_cast<bits>(field + kept + (up & 1))));
}

}  // namespace wf::device::inline WF_BUILD
