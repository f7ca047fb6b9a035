// SPDX-License-Identifier: Apache-2.0
/// \file warp.cuh
/// The level of a warp: sums, and whole numbers held one or more 32-bit digits per lane.
/// Every function here is called by all 32 lanes together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>

namespace wf::device::inline WF_BUILD {

// CUDA's own, which wf::min and wf::max would hide.
using ::max;
using ::min;

inline constexpr int warp_lanes = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x / 32); }

/// The sum over the warp, in lane 0, in a fixed order: lane i takes in lane i + 16, 8, 4, 2, 1.
template <class V>
__device__ __forceinline__ V warp_sum(V v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(all_lanes, v, step);
  return v;
}

/// Sum modulo 2^32, union of bits, least and greatest, in every lane. One instruction from CC 8.0 on.
__device__ __forceinline__ std::uint32_t warp_add(std::uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(all_lanes, v, step);
  return v;
#else
  return __reduce_add_sync(all_lanes, v);
#endif
}
__device__ __forceinline__ std::uint32_t warp_or(std::uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int step = 16; step > 0; step /= 2) v |= __shfl_xor_sync(all_lanes, v, step);
  return v;
#else
  return __reduce_or_sync(all_lanes, v);
#endif
}

__device__ __forceinline__ std::uint32_t warp_min(std::uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int step = 16; step > 0; step /= 2) v = min(v, __shfl_xor_sync(all_lanes, v, step));
  return v;
#else
  return __reduce_min_sync(all_lanes, v);
#endif
}
__device__ __forceinline__ std::uint32_t warp_max(std::uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(all_lanes, v, step));
  return v;
#else
  return __reduce_max_sync(all_lanes, v);
#endif
}

/// The exact sum of 32 values within ±2^48, in every lane: the sums of two pieces cost a fifth of five
/// shuffles of 64-bit words.
__device__ __forceinline__ std::int64_t warp_sum_wide(std::int64_t v) {
  const auto low = warp_add(static_cast<std::uint32_t>(v) & 0x3fffffu);
  const auto high = static_cast<std::int32_t>(warp_add(static_cast<std::uint32_t>(v >> 22)));
  return std::int64_t{high} * (1 << 22) + std::int64_t{low};
}

/// The sum of 32 words modulo 2^64, in every lane.
__device__ __forceinline__ std::uint64_t warp_add_wide(std::uint64_t v) {
  constexpr std::uint32_t piece = 0x3fffff;  // 22 bits: of 32 of them the sum has 27
  const std::uint64_t low = warp_add(static_cast<std::uint32_t>(v) & piece), middle = warp_add(static_cast<std::uint32_t>(v >> 22) & piece);
  return low + (middle << 22) + (std::uint64_t{warp_add(static_cast<std::uint32_t>(v >> 44))} << 44);
}
/// The least of 32 words, in every lane.
__device__ __forceinline__ std::uint64_t warp_min_wide(std::uint64_t v) {
  const auto high = static_cast<std::uint32_t>(v >> 32), least = warp_min(high);
  return std::uint64_t{least} << 32 | warp_min(high == least ? static_cast<std::uint32_t>(v) : ~0u);
}

/// Which digits take a carry, given those that send one and those that pass one on (no digit does
/// both): a carry added below a run of passing digits runs through it as in an integer sum.
__device__ __forceinline__ unsigned carries(unsigned sending, unsigned passing) {
  return ((sending << 1) + passing) ^ passing;
}

/// One step of carrying: the same number from carry-save digits within ±2^58, with digits within ±2^33.
template <int PerLane>
__device__ __forceinline__ void settle(std::int64_t (&v)[PerLane]) {
  std::int64_t in = __shfl_up_sync(all_lanes, static_cast<std::int32_t>(v[PerLane - 1] >> 32), 1);
  if (lane_index() == 0) in = 0;
#pragma unroll
  for (int j = 0; j < PerLane; ++j) {
    const std::int64_t high = v[j] >> 32;
    v[j] = (v[j] & 0xffffffff) + in;
    in = high;
  }
}

/// (word + t)·2^exponent, where t = 0, or 0 < t < 1 if `sticky`.
struct leading_word {
  std::int64_t word;
  int exponent;
  bool sticky;
};

/// The leading 31 bits at least, and all there are without `sticky`, of a number in carry-save digits within
/// ±2^60, digit k in lane k with the weight 2^(32k + min_exponent), the last one for the sign. The same in
/// every lane.
__device__ __forceinline__ leading_word leading_word_of(std::int64_t v, int min_exponent) {
  // As warp_number::from; what the carries make of zeros and ones is seen before they are added.
  constexpr std::int64_t lent = std::int64_t{1} << 61, back = lent >> 32;
  const std::int64_t w = v + (lane_index() == 0 ? lent : lent - back);
  std::uint32_t in = __shfl_up_sync(all_lanes, static_cast<std::uint32_t>(w >> 32), 1);
  if (lane_index() == 0) in = 0;
  const auto digit = static_cast<std::uint32_t>(w) + in;
  const unsigned ones = __ballot_sync(all_lanes, digit == 0xffffffffu);
  const unsigned c = carries(__ballot_sync(all_lanes, digit < in), ones);
  const unsigned zeros = __ballot_sync(all_lanes, digit == 0);
  const unsigned nearly_ones = __ballot_sync(all_lanes, digit == 0xfffffffeu);
  const unsigned nonzero = ~((zeros & ~c) | (ones & c)), holes = ~((ones & ~c) | (nearly_ones & c));
  const bool minus = holes >> 31 == 0;
  const int top = 31 - __clz(static_cast<int>((minus ? holes : nonzero) | 1));  // the top of what is not all sign
  const std::uint32_t first = __shfl_sync(all_lanes, digit, top) + (c >> top & 1);
  std::uint32_t second = __shfl_sync(all_lanes, digit, (top - 1) & 31) + (c >> ((top - 1) & 31) & 1);
  if (top == 0) second = 0;
  const bool below = top > 0 && (nonzero & ((1u << (top - 1)) - 1)) != 0;
  const std::uint64_t word = std::uint64_t{minus ? 1u : 0u} << 63 | std::uint64_t{first} << 31 | second >> 1;
  return {static_cast<std::int64_t>(word), 32 * (top - 1) + 1 + min_exponent, below || (second & 1) != 0};
}

/// A number in two's complement, PerLane 32-bit digits per lane: digit k is digit[k % PerLane] of lane
/// k / PerLane, and the whole warp's 32·PerLane digits are significant (the sign fills the top).
template <int PerLane>
struct warp_number {
  std::uint32_t digit[PerLane];

  /// From carry-save digits within ±2^60; the number must fit.
  static __device__ __forceinline__ warp_number from(const std::int64_t (&v)[PerLane]) {
    // 2^61 lent to each digit and taken back as 2^29 from the one above: no digit is negative, so
    // carries are not either, and one look-ahead settles them.
    constexpr std::int64_t lent = std::int64_t{1} << 61, back = lent >> 32;
    std::int64_t w[PerLane];
#pragma unroll
    for (int j = 0; j < PerLane; ++j) w[j] = v[j] + (lent - back);
    if (lane_index() == 0) w[0] += back;
    std::uint32_t in = __shfl_up_sync(all_lanes, static_cast<std::uint32_t>(w[PerLane - 1] >> 32), 1);
    if (lane_index() == 0) in = 0;
    warp_number r;
    std::uint64_t carry = in;
    bool ones = true;
#pragma unroll
    for (int j = 0; j < PerLane; ++j) {
      carry += static_cast<std::uint32_t>(w[j]);
      r.digit[j] = static_cast<std::uint32_t>(carry);
      ones = ones && r.digit[j] == 0xffffffffu;
      carry >>= 32;
      if (j + 1 < PerLane) carry += static_cast<std::uint32_t>(w[j] >> 32);
    }
    std::uint32_t c = carries(__ballot_sync(all_lanes, carry != 0), __ballot_sync(all_lanes, ones)) >>
                          lane_index() & 1;
#pragma unroll
    for (int j = 0; j < PerLane; ++j) {
      r.digit[j] += c;
      c = c != 0 && r.digit[j] == 0 ? 1 : 0;
    }
    return r;
  }

  /// The leading 64 bits, where digit k weighs 2^(32k + min_exponent); the same in every lane, and what
  /// wf::exact::pack rounds.
  __device__ __forceinline__ exact::scaled leading_bits(int min_exponent) const {
    bool any = false, not_ones = false;
#pragma unroll
    for (int j = 0; j < PerLane; ++j) {
      any = any || digit[j] != 0;
      not_ones = not_ones || digit[j] != 0xffffffffu;
    }
    const unsigned nonzero = __ballot_sync(all_lanes, any);
    const unsigned holes = __ballot_sync(all_lanes, not_ones);
    const bool minus = __shfl_sync(all_lanes, static_cast<int>(digit[PerLane - 1]), 31) < 0;
    if (nonzero == 0) return {0, 0, false, false};
    // -x: zeros below the lowest nonzero digit, its negative there, ones' complement above.
    const unsigned lowest = nonzero & (0u - nonzero);
    const unsigned magnitude = minus ? (holes & (0u - lowest)) | lowest : nonzero;
    bool below = ((1u << lane_index()) & (0u - (lowest << 1))) != 0;
    std::uint32_t m[PerLane];
#pragma unroll
    for (int j = 0; j < PerLane; ++j) {
      m[j] = !minus ? digit[j] : below ? ~digit[j] : 0u - digit[j];
      below = below || digit[j] != 0;
    }
    const int top = 31 - __clz(static_cast<int>(magnitude));
    // The top lane's digits and those of the lanes below it: at least three.
    constexpr int lanes = PerLane >= 3 ? 2 : 3;
    constexpr int held = lanes * PerLane;
    std::uint32_t w[held];
#pragma unroll
    for (int i = 0; i < lanes; ++i) {
      const int from = top - (lanes - 1) + i;
#pragma unroll
      for (int j = 0; j < PerLane; ++j) {
        const std::uint32_t d = __shfl_sync(all_lanes, m[j], from & 31);
        w[i * PerLane + j] = from < 0 ? 0u : d;
      }
    }
    int k = top * PerLane + PerLane - 1;  // the place of the highest digit in the window
#pragma unroll
    for (int j = 1; j < PerLane; ++j) {
      if (w[held - 1] == 0) {  // shift up by a digit
        --k;
#pragma unroll
        for (int i = held - 1; i > 0; --i) w[i] = w[i - 1];
        w[0] = 0;
      }
    }
    bool sticky = false;
    if (top >= lanes) sticky = (magnitude & ((1u << (top - lanes + 1)) - 1)) != 0;
#pragma unroll
    for (int i = 0; i < held - 3; ++i) sticky = sticky || w[i] != 0;
    // Three digits, the highest nonzero: 64 leading bits and what they drop.
    const int shift = __clz(static_cast<int>(w[held - 1]));
    const std::uint32_t high = __funnelshift_l(w[held - 2], w[held - 1], shift);
    const std::uint32_t low = __funnelshift_l(w[held - 3], w[held - 2], shift);
    sticky = sticky || (w[held - 3] << shift) != 0;
    return {std::uint64_t{high} << 32 | low, 32 * (k - 1) - shift + min_exponent, sticky, minus};
  }
};

}  // namespace wf::device::inline WF_BUILD
