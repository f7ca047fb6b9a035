// SPDX-License-Identifier: Apache-2.0
/// \file exact_anchored.cuh
/// The level of a thread for exact sums of f64 at the speed of memory: two doubles take what lies near the
/// anchor, without rounding, and the column of exact_thread.cuh the rest.
///
/// s = 1.5·2^k + (a sum): as long as the sum is small, s + x rounds x to a multiple of s's last place,
/// and (s + x) - s and what it leaves of x are exact (Dekker 1971). What is left goes to the next level,
/// whose last place is 42 bits further down. A pack that leaves something after the last one, or holds
/// more than the anchor allows, goes to the column as it is. So any data is summed exactly; only the
/// time depends on it. What lies from 31 binades below the anchor to 3 above the largest element seen is
/// free. Anchored extraction is due to Rump, Ogita and Oishi (2008), its use in bins to Demmel and Nguyen
/// (2013).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/exact_thread.cuh>
#include <warpfold/gpu/thread.cuh>
#include <warpfold/gpu/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Packs of T as doubles. `size` is the upper word of the largest magnitude as a double, or `infinite`.
template <class T>
struct anchored_items;

inline constexpr std::uint32_t infinite_size = 0x7ff00000u;

template <>
struct anchored_items<double> {
  static __device__ __forceinline__ std::uint32_t size(const pack& p) {
    return max(p.word[1] & 0x7fffffffu, p.word[3] & 0x7fffffffu);
  }
  static __device__ __forceinline__ double value(const pack& p, int i) {
    return __hiloint2double(static_cast<int>(p.word[2 * i + 1]), static_cast<int>(p.word[2 * i]));
  }
  /// The greatest upper word, as a signed number: that of -0 is the least of all.
  using signs = std::int32_t;
  static constexpr signs all_minus_zero = static_cast<std::int32_t>(0x80000000u);
  static __device__ __forceinline__ signs greatest(signs g, const pack& p) {
    return max(g, max(static_cast<std::int32_t>(p.word[1]), static_cast<std::int32_t>(p.word[3])));
  }
};

/// Column: where what is not anchored goes.
template <class T, int Levels, class Column, int Threads>
struct anchored {
  using items = anchored_items<T>;
  static constexpr int unit = Column::unit;
  static constexpr int digits = Column::digits;
  static constexpr int per_lane = digits > 32 ? 3 : 1;
  static constexpr std::size_t shared_bytes = Column::shared_bytes;
  static constexpr int warps = Threads / 32;
  static constexpr bool looks_ahead = true;  ///< start() wants the first packs
  struct room {
    typename Column::room columns;
    std::int64_t of_warp[warps][2 * Levels];
    std::uint32_t greatest_of_warp[warps];
  };

  /// Elements below 2^(field - 1023) are anchored. A level holds 1024 of them: its last place is 41 bits
  /// below the field, and the next level begins 42 bits below.
  static constexpr int least_place = 1064 + 42 * (Levels - 1) + unit;
  static constexpr std::uint32_t least_field = least_place > 200 ? least_place : 200;
  static constexpr std::uint32_t most_field = 2030;
  static __device__ __forceinline__ int place(std::uint32_t field, int level) {
    return static_cast<int>(field) - 1023 - 41 - 42 * level - unit;
  }

  double s[Levels];
  std::int64_t sum[Levels];  ///< in units of the last places of s
  typename items::signs greatest;
  std::uint32_t limit;  ///< upper words of what is anchored are below; 0: nothing is any more
  int adds;             ///< since s was last emptied: at most 1000
  bool used;            ///< the column
  int misses;           ///< elements that went to the column since s was last emptied
  std::uint32_t greatest_miss;
  int moves, empties;
  std::uint32_t block_limit;
  Column rest;

  /// By all threads of the block, with the packs that a thread has already loaded: the anchor is common.
  template <int Loads>
  __device__ __forceinline__ void start(room& r, const pack (&first)[Loads], int count) {
    std::uint32_t most = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < count) most = max(most, finite(items::size(first[u])));
    }
    most = warp_max(most);
    if constexpr (Threads > 32) {
      if (lane_index() == 0) r.greatest_of_warp[warp_index()] = most;
      __syncthreads();
      most = warp_max(lane_index() < warps ? r.greatest_of_warp[lane_index()] : 0u);
    }
#pragma unroll
    for (int l = 0; l < Levels; ++l) sum[l] = 0;
    greatest = items::all_minus_zero;
    used = false;
    rest.saw_nothing();
    moves = 0;
    anchor(most != 0 ? most : 0x3ff00000u);
    block_limit = limit;
  }

  __device__ __forceinline__ void add(const pack& p) {
    const std::uint32_t size = items::size(p);
    double a[Levels];
#pragma unroll
    for (int l = 0; l < Levels; ++l) a[l] = s[l];
    bool lost = false;
#pragma unroll
    for (int i = 0; i < pack_items<T>; ++i) {
      double x = items::value(p, i);
#pragma unroll
      for (int l = 0; l < Levels; ++l) {
        const double next = a[l] + x;
        x -= next - a[l];
        a[l] = next;
      }
      lost = lost || x != 0;
    }
    if (size < limit && !lost) {
#pragma unroll
      for (int l = 0; l < Levels; ++l) s[l] = a[l];
      greatest = items::greatest(greatest, p);
    } else {
      miss(p, size);
    }
  }

  __device__ __forceinline__ void after_batch(int packs) {
    adds += pack_items<T> * packs;
    if (adds > 1000 - pack_items<T> * packs) review();
  }

  __device__ __forceinline__ void finish() {
    empty();
    if (limit != block_limit) spill();
  }

  __device__ __forceinline__ std::uint32_t kinds() const {
    return rest.kinds() | (greatest != items::all_minus_zero ? special::ordinary : 0u);
  }

  /// In warp 0: digits per_lane·l … in lane l.
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[per_lane]) {
    // Sums are within ±2^62: the halves of a thousand threads' fit 48 bits.
#pragma unroll
    for (int l = 0; l < Levels; ++l) {
      const std::int64_t low = warp_sum_wide(static_cast<std::uint32_t>(sum[l]));
      const std::int64_t high = warp_sum_wide(sum[l] >> 32);
      if (lane_index() == 0) {
        r.of_warp[warp_index()][2 * l] = low;
        r.of_warp[warp_index()][2 * l + 1] = high;
      }
    }
#pragma unroll
    for (int j = 0; j < per_lane; ++j) v[j] = 0;
    if (__syncthreads_or(used ? 1 : 0) != 0) {
      if (!used) rest.start();
      rest.sum_over_block(r.columns, v);
    }
    if (warp_index() != 0) return;
#pragma unroll
    for (int i = 0; i < 2 * Levels; ++i) {
      const std::int64_t total = warp_sum_wide(lane_index() < warps ? r.of_warp[lane_index()][i] : 0);
      const int at = place(block_limit >> 20, i / 2) + 32 * (i % 2);
#pragma unroll
      for (int j = 0; j < per_lane; ++j) {
        const int above = per_lane * lane_index() + j - (at >> 5);
        if (above == 0) v[j] += static_cast<std::uint32_t>(total) << (at & 31);
        if (above == 1) v[j] += total >> (32 - (at & 31));
      }
    }
  }

 private:
  static __device__ __forceinline__ std::uint32_t finite(std::uint32_t size) {
    return size < infinite_size ? size : 0u;
  }

  /// 1.5·2^(e + 11 - 42·level), where what is anchored is below 2^e.
  __device__ __forceinline__ double anchor_of(int level) const {
    return __hiloint2double(static_cast<int>(limit + (11u << 20) - (42u << 20) * level + 0x80000u), 0);
  }

  /// So that elements up to eight times as large as `size` are anchored, where there is room for it.
  __device__ __forceinline__ void anchor(std::uint32_t size) {
    limit = min(max((size >> 20) + 4, least_field), most_field) << 20;
#pragma unroll
    for (int l = 0; l < Levels; ++l) s[l] = anchor_of(l);
    adds = empties = 0;
    misses = 0;
    greatest_miss = 0;
  }

  /// s differs from its anchor by a whole number of its last places.
  __device__ __forceinline__ void empty() {
    if (limit != 0) {
#pragma unroll
      for (int l = 0; l < Levels; ++l) {
        const double from = anchor_of(l);
        sum[l] += __double_as_longlong(s[l]) - __double_as_longlong(from);
        s[l] = from;
      }
    }
    adds = 0;
  }

  /// Once in a thousand elements.
  __device__ __forceinline__ void review() {
    empty();
    if (++empties == 1024) {  // the sums are within 1024·2^51
      spill();
      empties = 0;
    }
    if (limit != 0 && misses > 700) {
      // Most missed. If a lower anchor would have caught them, and not too often yet, take it.
      spill();
      if ((greatest_miss >> 20) + 8 < limit >> 20 && moves < 16) {
        ++moves;
        anchor(greatest_miss);
      } else {
        limit = 0;
      }
    }
    misses = 0;
    greatest_miss = 0;
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
    misses += pack_items<T>;
    greatest_miss = max(greatest_miss, finite(size));
    if (limit != 0 && finite(size) >= limit && limit < most_field << 20 && moves < 16) {
      empty();
      spill();
      ++moves;
      anchor(finite(size));
    }
  }

  __device__ __forceinline__ void spill() {
#pragma unroll
    for (int l = 0; l < Levels; ++l) {
      if (sum[l] != 0) {
        use_column();
        rest.add_scaled(sum[l], place(limit >> 20, l));
        sum[l] = 0;
      }
    }
  }
};

template <int Threads>
using anchored_doubles = anchored<double, 2, double_column<Threads>, Threads>;

}  // namespace wf::device::inline WF_BUILD
