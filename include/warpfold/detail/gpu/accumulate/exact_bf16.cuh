// SPDX-License-Identifier: Apache-2.0
/// \file exact_bf16.cuh
/// The level of a thread for exact sums of bf16 at the speed of memory, whatever the data: two elements
/// are what f32 takes one for, in the same time.
///
/// A private set of 32 floats a thread in shared memory. Slot e >> 3, where e is the exponent's field,
/// takes the elements of eight binades as they are: integers below 2^15 in units of the slot, of which f32
/// adds 512 without rounding. An element is six instructions, two of them 32-bit accesses that no two
/// threads make to one bank; an H100 has time for nineteen and for five. What is special shows in the last
/// slot, and costs nothing: an infinity or a NaN stays one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_thread.cuh>
#include <warpfold/detail/gpu/epilogue/exact_round.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

template <int Threads>
struct bf16_buckets {
  static constexpr int slots = 32;
  /// Slot j holds multiples of 2^(8j + unit) of the sum, scaled by 2^-16: 2^16 of the largest stay finite,
  /// and the least still is a subnormal number of f32.
  static constexpr int unit = exact::format<__nv_bfloat16>::min_exponent - 1;
  static constexpr int digits = exact::format<__nv_bfloat16>::digits;
  static constexpr float scale = 0x1p-16f;
  /// 512 elements below 255·2^7, or 504, 2^16 from the slot below and 2^7 from before, are below 2^24.
  static constexpr int adds_between_carries = 504;
  static constexpr int warps = Threads / 32;
  /// So that f32 adds a slot of a thread of each warp without rounding; the last pack is not counted.
  static constexpr int adds_of_a_sum = 512 / warps - 8;
  static constexpr std::size_t shared_bytes = sizeof(float) * slots * Threads;
  static_assert((Threads & (Threads - 1)) == 0 && Threads <= 1024);  // an address is made by two operations
  struct room {
    std::int64_t of_slot[slots], top_of_warp[warps];
  };

  std::int64_t top;  ///< the sum in the last slot, in its units
  std::uint32_t not_minus_zero, kinds_seen;
  int adds;

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int j = 0; j < slots; ++j) slot(j) = 0;
    top = 0;
    not_minus_zero = kinds_seen = 0;
    adds = 0;
  }

  __device__ __forceinline__ void add(const pack& p) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t w = p.word[i];
      not_minus_zero |= w ^ 0x80008000u;
      add_bits(w << 16, w >> 10);
      add_bits(w & 0xffff0000u, w >> 26);
    }
  }
  __device__ __forceinline__ void after_batch(int packs) {
    adds += packs * pack_items<__nv_bfloat16>;
    if (adds > adds_between_carries - packs * pack_items<__nv_bfloat16>) carry();
  }
  __device__ __forceinline__ void finish() { empty_top(0); }

  __device__ __forceinline__ std::uint32_t kinds() const {
    return kinds_seen | (not_minus_zero != 0 ? special::ordinary : 0u);
  }

  /// In warp 0: digit k in lane k.
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[1]) {
    const std::int64_t of_warp = warp_sum_wide(top);
    if (lane_index() == 0) r.top_of_warp[warp_index()] = of_warp;
    if (__syncthreads_or(adds > adds_of_a_sum ? 1 : 0) != 0) {
      sum_slots<true>(r);
    } else {
      sum_slots<false>(r);
    }
    __syncthreads();
    if (warp_index() != 0) return;
    const std::int64_t above = warp_sum_wide(lane_index() < warps ? r.top_of_warp[lane_index()] : 0);
    const int k = lane_index();
    v[0] = 0;
    if (k < slots / 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) v[0] += r.of_slot[4 * k + i] * (1 << 8 * i);
    }
    if (k == slots / 4 - 1) v[0] += (above & 0xff) << 24;
    if (k == slots / 4) v[0] = above >> 8;
  }

 private:
  static __device__ __forceinline__ float* bucket() { return reinterpret_cast<float*>(wf_dynamic_shared); }
  static __device__ __forceinline__ float& slot(std::uint32_t j) {
    return *reinterpret_cast<float*>(wf_dynamic_shared + (j * (4 * Threads) | threadIdx.x * 4));
  }
  /// It takes an element's bits in an f32, and its exponent's upper five bits below others.
  __device__ __forceinline__ void add_bits(std::uint32_t bits, std::uint32_t exponent) {
    float& s = slot(exponent & 31);
    s = plus_scaled(s, __uint_as_float(bits), scale);
  }

  /// Adding it and taking it away rounds what a slot holds to 2^8 of its units.
  static __device__ __forceinline__ float rounder(int j) {
    return __uint_as_float(static_cast<std::uint32_t>(127 + 31 - 16 + unit + 8 * j) << 23 | 0x400000u);
  }
  /// What the lanes of each warp have in a slot is added in f32, which does not round it; of Many additions
  /// multiples of 2^8 units and the rest apart.
  template <bool Many>
  __device__ __forceinline__ void sum_slots(room& r) {
#pragma unroll
    for (int k = 0; k < slots / warps; ++k) {
      const int j = warp_index() + k * warps;
      float low = 0, high = 0;
#pragma unroll
      for (int i = 0; i < warps; ++i) {
        float x = bucket()[j * Threads + i * 32 + lane_index()];
        if constexpr (Many) {  // the last slot is empty, and its rounder not finite
          const float h = j < slots - 1 ? plus_scaled(plus_scaled(rounder(j), x, 1), rounder(j), -1) : 0;
          high = plus_scaled(high, h, 1);
          x = plus_scaled(x, h, -1);
        }
        low = plus_scaled(low, x, 1);
      }
      // To units in two steps, of which neither leaves the range of f32.
      const float half_way = __uint_as_float(static_cast<std::uint32_t>(127 + (16 - unit) / 2 - 4 * j) << 23);
      const auto units = [&](float x) {
        return static_cast<std::int32_t>(plus_scaled(0, plus_scaled(0, x, half_way), half_way));
      };
      const std::int64_t total = warp_sum_wide(Many ? std::int64_t{units(low)} + units(high) : units(low));
      if (lane_index() == 0) r.of_slot[j] = total;
    }
  }

  /// 2^8 units of a slot are one of the next.
  __device__ __forceinline__ void carry() {
    float up = 0;
#pragma unroll 4
    for (int j = 0; j < slots - 1; ++j) {
      float& s = slot(j);
      const float high = plus_scaled(plus_scaled(rounder(j), s, 1), rounder(j), -1);
      s = plus_scaled(up, plus_scaled(s, high, -1), 1);
      up = high;
    }
    empty_top(up);
    adds = 0;
  }

  __device__ __forceinline__ void empty_top(float up) {
    float& s = slot(slots - 1);
    const float v = s + up;
    s = 0;
    const std::uint32_t bits = __float_as_uint(v);
    if ((bits & 0x7f800000u) == 0x7f800000u) {
      kinds_seen |= (bits & 0x7fffffu) != 0 ? special::nan : bits >> 31 != 0 ? special::neg_inf : special::pos_inf;
    } else {
      constexpr float to_units = 0x1p-98f;
      static_assert(8 * (slots - 1) - 16 + unit == 98);
      top += static_cast<std::int32_t>(v * to_units);
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
