// SPDX-License-Identifier: Apache-2.0
/// \file exact_anchored.cuh
/// The level of a thread for exact sums of f64 at the speed of memory: two registers take what lies
/// near the anchor, without rounding, and the column of exact_thread.cuh the rest.
///
/// s1 = 1.5·2^k + (a sum): as long as the sum is small, s1 + x rounds x to a multiple of s1's last
/// place, and (s1 + x) - s1 and what it leaves of x are exact (Dekker 1971). The remainder goes to s2,
/// whose last place is 42 bits further down. A pack that leaves a remainder there too, or is larger
/// than the anchor allows, goes to the column as it is. So any data is summed exactly; only the time
/// depends on it: 31 binades below the anchor and 3 above the largest element seen are free. Anchored
/// extraction is due to Rump, Ogita and Oishi (2008), its use in bins to Demmel and Nguyen (2013).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/exact_thread.cuh>
#include <warpfold/gpu/thread.cuh>
#include <warpfold/gpu/warp.cuh>

namespace wf::gpu::inline WF_BUILD {

template <int Threads>
struct anchored_doubles {
  using column = double_column<Threads>;
  static constexpr int unit = column::unit;
  static constexpr int digits = column::digits;
  static constexpr std::size_t shared_bytes = column::shared_bytes;
  static constexpr int warps = Threads / 32;
  static constexpr bool looks_ahead = true;  ///< start() wants the first packs
  struct room {
    typename column::room columns;
    std::int64_t of_warp[warps][4];
    std::uint32_t greatest_of_warp[warps];
  };

  /// Elements below 2^(field - 1023) are anchored. Weights, over 2^unit, of the last places of s1, s2.
  static constexpr std::uint32_t least_field = 200, most_field = 2030;
  static __device__ __forceinline__ int place1(std::uint32_t field) { return static_cast<int>(field) + 10; }
  static __device__ __forceinline__ int place2(std::uint32_t field) { return static_cast<int>(field) - 32; }

  double s1, s2;
  std::int64_t sum1, sum2;   ///< in units of the last places of s1 and s2
  std::int32_t greatest;     ///< of the elements' upper words: tells whether all were -0
  std::uint32_t limit;       ///< upper words of what is anchored are below; 0: nothing is any more
  int adds;                  ///< to s1 since it was last emptied: at most 1024
  bool used;                 ///< the column
  std::uint32_t misses;      ///< packs that went to the column since s1 was last emptied
  std::uint32_t greatest_miss;
  int moves, empties;
  std::uint32_t block_limit;
  column rest;

  /// By all threads of the block, with the packs that a thread has already loaded: the anchor is common.
  template <int Loads>
  __device__ __forceinline__ void start(room& r, const pack (&first)[Loads], int count) {
    std::uint32_t most = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < count) most = max(most, max(finite_size(first[u].word[1]), finite_size(first[u].word[3])));
    }
    most = warp_max(most);
    if constexpr (Threads > 32) {
      if (lane_index() == 0) r.greatest_of_warp[warp_index()] = most;
      __syncthreads();
      most = warp_max(lane_index() < warps ? r.greatest_of_warp[lane_index()] : 0u);
    }
    sum1 = sum2 = 0;
    greatest = static_cast<std::int32_t>(0x80000000u);
    used = false;
    rest.kinds_seen = rest.not_minus_zero = 0;
    moves = 0;
    anchor(most != 0 ? most : 0x3ff00000u);
    block_limit = limit;
  }

  __device__ __forceinline__ void add(const pack& p) {
    const auto h0 = static_cast<std::int32_t>(p.word[1]), h1 = static_cast<std::int32_t>(p.word[3]);
    const std::uint32_t size = max(p.word[1] & 0x7fffffffu, p.word[3] & 0x7fffffffu);
    const double x0 = value(p.word[0], p.word[1]), x1 = value(p.word[2], p.word[3]);
    const double a0 = s1 + x0;
    const double left0 = x0 - (a0 - s1);
    const double a1 = a0 + x1;
    const double left1 = x1 - (a1 - a0);
    const double b0 = s2 + left0;
    const double lost0 = left0 - (b0 - s2);
    const double b1 = b0 + left1;
    const double lost1 = left1 - (b1 - b0);
    if (size < limit && lost0 == 0 && lost1 == 0) {
      s1 = a1;
      s2 = b1;
      greatest = max(greatest, max(h0, h1));
    } else {
      miss(p, size);
    }
  }

  __device__ __forceinline__ void after_batch(int packs) {
    adds += 2 * packs;
    if (adds > 1000 - 2 * packs) review();
  }

  __device__ __forceinline__ void finish() {
    empty();
    if (limit != block_limit && (sum1 | sum2) != 0) spill();
  }

  __device__ __forceinline__ std::uint32_t kinds() const {
    return rest.kinds() | (greatest != static_cast<std::int32_t>(0x80000000u) ? special::ordinary : 0u);
  }

  /// In warp 0: digits 3 l, 3 l + 1 and 3 l + 2 in lane l.
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[3]) {
    // Sums are within ±2^62: the halves of a thousand threads' fit 48 bits.
    const std::int64_t piece[4] = {warp_sum_wide(static_cast<std::uint32_t>(sum1)), warp_sum_wide(sum1 >> 32),
                                   warp_sum_wide(static_cast<std::uint32_t>(sum2)), warp_sum_wide(sum2 >> 32)};
    if (lane_index() < 4) {
      r.of_warp[warp_index()][lane_index()] = lane_index() == 0   ? piece[0]
                                              : lane_index() == 1 ? piece[1]
                                              : lane_index() == 2 ? piece[2]
                                                                  : piece[3];
    }
    if (__syncthreads_or(used ? 1 : 0) != 0) {
      if (!used) rest.start();
      rest.sum_over_block(r.columns, v);
    } else {
      v[0] = v[1] = v[2] = 0;
    }
    if (warp_index() != 0) return;
    const auto field = block_limit >> 20;
    const int place[4] = {place1(field), place1(field) + 32, place2(field), place2(field) + 32};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t total = warp_sum_wide(lane_index() < warps ? r.of_warp[lane_index()][i] : 0);
      const int k = place[i] >> 5, at = place[i] & 31;
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        const int here = 3 * lane_index() + j;
        if (here == k) v[j] += static_cast<std::uint32_t>(total) << at;
        if (here == k + 1) v[j] += total >> (32 - at);
      }
    }
  }

 private:
  static __device__ __forceinline__ double value(std::uint32_t low, std::uint32_t high) {
    return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
  }
  static __device__ __forceinline__ std::uint32_t finite_size(std::uint32_t high) {
    const std::uint32_t size = high & 0x7fffffffu;
    return size < 0x7ff00000u ? size : 0u;
  }
  /// 1.5·2^(e + 11) and 1.5·2^(e - 31), where what is anchored is below 2^e.
  __device__ __forceinline__ double anchor1() const { return value(0, limit + (11u << 20) + 0x80000u); }
  __device__ __forceinline__ double anchor2() const { return value(0, limit - (31u << 20) + 0x80000u); }

  /// So that elements up to eight times as large as `size` are anchored, where there is room for it.
  __device__ __forceinline__ void anchor(std::uint32_t size) {
    limit = min(max((size >> 20) + 4, least_field), most_field) << 20;
    s1 = anchor1();
    s2 = anchor2();
    adds = empties = 0;
    misses = greatest_miss = 0;
  }

  /// s1 and s2 differ from their anchors by whole numbers of their last places.
  __device__ __forceinline__ void empty() {
    if (limit != 0) {
      const double at1 = anchor1(), at2 = anchor2();
      sum1 += __double_as_longlong(s1) - __double_as_longlong(at1);
      sum2 += __double_as_longlong(s2) - __double_as_longlong(at2);
      s1 = at1;
      s2 = at2;
    }
    adds = 0;
  }

  /// Rare: once in 500 packs.
  __device__ __forceinline__ void review() {
    empty();
    if (++empties == 1024) {  // the sums are within 1024·2^51
      spill();
      empties = 0;
    }
    if (limit != 0 && misses > 350) {
      // Most packs missed. If a lower anchor would have caught them, and not too often yet, take it.
      const bool lower = (greatest_miss >> 20) + 8 < limit >> 20 && moves < 16;
      spill();
      if (lower) {
        ++moves;
        anchor(greatest_miss);
      } else {
        limit = 0;
      }
    }
    misses = greatest_miss = 0;
  }

  __device__ __forceinline__ void use_column() {
    if (!used) {
      rest.start();
      used = true;
    }
  }

  __device__ __forceinline__ void miss(const pack& p, std::uint32_t size) {
    use_column();
    rest.add(p);
    rest.after_batch(1);
    ++misses;
    const std::uint32_t finite = size < 0x7ff00000u ? size : 0u;
    greatest_miss = max(greatest_miss, finite);
    if (limit != 0 && finite >= limit && limit < most_field << 20 && moves < 16) {
      empty();
      spill();
      ++moves;
      anchor(finite);
    }
  }

  __device__ __forceinline__ void spill() {
    use_column();
    if (limit != 0) {
      rest.add_scaled(sum1, place1(limit >> 20));
      rest.add_scaled(sum2, place2(limit >> 20));
    }
    sum1 = sum2 = 0;
  }
};

}  // namespace wf::gpu::inline WF_BUILD
