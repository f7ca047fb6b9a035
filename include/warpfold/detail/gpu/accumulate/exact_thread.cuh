// SPDX-License-Identifier: Apache-2.0
/// \file exact_thread.cuh
/// Exact sums of a thread (thread_sum.cuh): of f32 buckets of its own, of f16 registers; and how buckets of a block are summed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/special.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// The pieces of a block's sum on their way from its warps to warp 0.
template <int Slots>
struct piece_room {
  std::int64_t low[Slots], high[Slots];
};

/// Sums of Slots words per thread, laid out [slot][thread] in shared memory, by the whole block: the
/// halves of the words apart, since the words themselves may be at the end of their range. Of the threads whose
/// places in a warp are those of lanes that are `meant`.
template <int Threads, int Slots, int Sets = Threads>
__device__ __forceinline__ void sum_buckets(const std::int64_t* buckets0, piece_room<Slots>& room, bool meant = true) {
  static_assert(Sets % 32 == 0);
  __syncthreads();
  for (int slot = warp_index(); slot < Slots; slot += Threads / 32) {
    std::int64_t low = 0, high = 0;
#pragma unroll
    for (int i = 0; i < Sets / 32; ++i) {
      const std::int64_t v = meant ? buckets0[slot * Sets + i * 32 + lane_index()] : 0;
      low += static_cast<std::uint32_t>(v);
      high += v >> 32;
    }
    low = warp_sum_wide(low);
    high = warp_sum_wide(high);
    if (lane_index() == 0) {
      room.low[slot] = low;
      room.high[slot] = high;
    }
  }
  __syncthreads();
}

/// f32: a private set of eight int64 slots per thread in shared memory. Slot p >> 5
/// takes mantissa·2^(p & 31), where the element is ±mantissa·2^(p - 149). No two threads share a
/// bank's word in one access, no data is faster or slower than other data, no atomics. Few: there are at most most_adds elements, which make no carries.
template <int Threads, bool Few = false>
struct float_buckets {
  static constexpr int unit = exact::format<float>::min_exponent;
  static constexpr int digits = exact::format<float>::digits;
  static constexpr int slots = Few ? 8 : 9;  // the last one of nine takes carries only
  /// 24 bits shifted by at most 31: 224·2^55 and a carry stay below 2^63.
  static constexpr int adds_between_carries = 224, most_adds = 255;
  static constexpr std::size_t shared_bytes = sizeof(std::int64_t) * slots * Threads;
  using room = piece_room<slots>;

  std::int64_t* bucket;  ///< slot k is bucket[k * Threads]
  std::int32_t greatest;
  std::uint32_t greatest_bits;
  int adds;

  __device__ __forceinline__ void start() {
    bucket = reinterpret_cast<std::int64_t*>(wf_dynamic_shared) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < slots; ++k) bucket[k * Threads] = 0;
    adds = 0;
    greatest = static_cast<std::int32_t>(0x80000000u);  // -0 is the least of all, as an integer
    greatest_bits = 0;
  }

  __device__ __forceinline__ void add(const pack& p) {
#pragma unroll
    for (int i = 0; i < 4; ++i) add_bits(p.word[i]);
  }

  __device__ __forceinline__ void after_batch(int packs) {
    if constexpr (Few) return;
    adds += packs * pack_items<float>;
    if (adds > adds_between_carries - packs * pack_items<float>) carry();
  }

  __device__ __forceinline__ void finish() {}

  __device__ __forceinline__ std::uint32_t kinds() const {
    std::uint32_t k = greatest == static_cast<std::int32_t>(0x80000000u) ? 0 : special::ordinary;
    if (greatest > 0x7f800000 || greatest_bits > 0xff800000u) k |= special::nan;
    if (greatest == 0x7f800000) k |= special::pos_inf;
    if (greatest_bits == 0xff800000u) k |= special::neg_inf;
    return k;
  }

  /// In warp 0: digit k in lane k.
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[1]) {
    sum_buckets<Threads, slots>(reinterpret_cast<std::int64_t*>(wf_dynamic_shared), r);
    if (warp_index() == 0) {
      const int k = lane_index();
      v[0] = (k < slots ? r.low[k] : 0) + (k > 0 && k <= slots ? r.high[k - 1] : 0);
    }
  }

 private:
  /// An infinity or a NaN is added as if it were finite: it spoils digits that nobody will read.
  __device__ __forceinline__ void add_bits(std::uint32_t b) {
    const std::uint32_t magnitude = b & 0x7fffffffu;
    const auto signed_bits = static_cast<std::int32_t>(b);
    greatest = max(greatest, signed_bits);
    greatest_bits = max(greatest_bits, b);
    const int p = max(static_cast<int>(magnitude >> 23) - 1, 0);
    // The exponent is taken off, but for the leading one where there is one.
    const auto mantissa = static_cast<std::int32_t>(magnitude - (static_cast<std::uint32_t>(p) << 23));
    // (-m)·(-2^s) is one wide multiply-add; +2^31 would not fit its signed factor.
    const std::int32_t minus = signed_bits < 0 ? mantissa : -mantissa;
    const auto weight = static_cast<std::int32_t>(__funnelshift_l(0, 0xffffffffu, p));
    std::int64_t& slot = bucket[(p >> 5) * Threads];
    slot += std::int64_t{minus} * weight;
  }

  __device__ __forceinline__ void carry() {
    std::int64_t c = 0;
#pragma unroll
    for (int k = 0; k < slots - 1; ++k) {
      const std::int64_t v = bucket[k * Threads] + c;
      bucket[k * Threads] = v & 0xffffffff;
      c = v >> 32;
    }
    bucket[(slots - 1) * Threads] += c;
    adds = 0;
  }
};

/// f16: every value is a multiple of 2^-24 below 2^16. Split at 2^-3 by an addition that rounds, sums
/// of 16 upper and of 16 lower parts are exact in f32; then they join two 64-bit words. Nothing is
/// kept in shared memory, and nothing is asked of the FP64 units.
template <int Threads>
struct half_registers {
  static constexpr int unit = exact::format<__half>::min_exponent;
  static constexpr int digits = exact::format<__half>::digits;
  static constexpr int slots = 2;
  static constexpr std::size_t shared_bytes = 0;
  /// |upper| sums: 16·65504 = 2^20 - … in units of 2^-3; |lower| sums: 16·2^-4 in units of 2^-24.
  static constexpr int packs_between_carries = 4;
  struct room {
    std::int64_t of_warp[Threads / 32][slots];
  };

  float upper[2], lower[2];
  std::int64_t low, high;  ///< low + high·2^32, in units of 2^-24
  std::uint32_t kinds_seen, not_minus_zero;
  int packs;

  __device__ __forceinline__ void start() {
    clear();
    low = high = 0;
    kinds_seen = not_minus_zero = 0;
    packs = 0;
  }

  __device__ __forceinline__ void add(const pack& p) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      not_minus_zero |= p.word[i] ^ 0x80008000u;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float v =
            __half2float(__ushort_as_half(static_cast<unsigned short>(p.word[i] >> (16 * j))));
        constexpr float split = 1572864.0f;  // 1.5·2^20: the sum's last place is 2^-3
        const float u = (v + split) - split;
        upper[j] += u;
        lower[j] += v - u;
      }
    }
    if (++packs == packs_between_carries) carry();
  }
  __device__ __forceinline__ void after_batch(int) {}
  __device__ __forceinline__ void finish() { carry(); }

  __device__ __forceinline__ std::uint32_t kinds() {
    return kinds_seen | (not_minus_zero != 0 ? special::ordinary : 0u);
  }

  /// In warp 0: digit k in lane k.
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[1]) {
    const std::int64_t a = warp_sum_wide(low), b = warp_sum_wide(high);
    if (lane_index() == 0) {
      r.of_warp[warp_index()][0] = a;
      r.of_warp[warp_index()][1] = b;
    }
    __syncthreads();
    if (warp_index() == 0) {
      v[0] = 0;
      if (lane_index() < slots) {
#pragma unroll
        for (int w = 0; w < Threads / 32; ++w) v[0] += r.of_warp[w][lane_index()];
      }
      __syncwarp();  // what follows is a warp's, on simt too
    }
  }

  __device__ __forceinline__ void carry() {
    packs = 0;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, upper[j]);
      if ((bits & 0x7f800000u) == 0x7f800000u) {  // an infinity or a NaN passed: it shows here
        kinds_seen |= (bits & 0x7fffffu) != 0 ? special::nan
                      : bits >> 31 != 0       ? special::neg_inf
                                              : special::pos_inf;
      } else {
        low += std::int64_t{static_cast<std::int32_t>(upper[j] * 8)} * (1 << 21);
        low += static_cast<std::int32_t>(lower[j] * 16777216);
      }
    }
    const std::int64_t c = low >> 32;
    high += c;
    low &= 0xffffffff;
    clear();
  }

 private:
  __device__ __forceinline__ void clear() { upper[0] = upper[1] = lower[0] = lower[1] = 0; }
};

}  // namespace wf::device::inline WF_BUILD
