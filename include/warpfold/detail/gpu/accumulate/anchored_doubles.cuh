// SPDX-License-Identifier: Apache-2.0
/// \file anchored_doubles.cuh
/// Exact sums of f64 at the speed of memory. A thread adds what lies near an anchor to two doubles in registers, where no addition rounds. The rest it
/// hands to a row set (row_set_concept.cuh), which takes anything; when the anchor moves, it hands over what the doubles came to.
///
/// s = 1.5·2^k + (a sum) takes x rounded to its last place. (s + x) - s is exact, and so is what it leaves of x. That goes to the next level, whose
/// last place is 42 bits further down (Dekker 1971; Rump, Ogita and Oishi 2008; in bins Demmel and Nguyen 2013). A pack is taken so only if each of its
/// elements is zero or lies between two bounds 31 binades apart: such elements leave nothing below the last level. To compare with the bounds takes two
/// integer operations per element; to look at what is left would take two of FP64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/exact_round.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Rest: sums of f64 alone. A thread has up to Loads packs at once.
template <rest_rows Rest, int Threads, int Loads>
struct anchored_doubles {
  using f = exact::format<double>;
  static constexpr int levels = 2, loads = Loads, warps = Threads / warp_lanes;
  static constexpr int digits0 = Rest::digits0, unit0 = Rest::unit0;
  static constexpr std::size_t shared_bytes = Rest::shared_bytes + sizeof(std::int64_t) * levels * Threads;
  struct room {
    typename Rest::room rest;
    std::int64_t of_warp[warps][2 * levels], digits[digits0];
    std::uint32_t greatest_of_warp[warps];
  };

  /// All threads of the block call it, each with the packs that it has already loaded, the first `present` of `first`: the block has one anchor.
  __device__ __forceinline__ void start(bool doubles, room& r, const pack (&first)[Loads], int present) {
    ordinary_ = 0;
    used_ = false;
    moves_ = misses_ = adds_ = 0;
    greatest_miss_ = 0;
    sums_ = reinterpret_cast<std::int64_t*>(wf_dynamic_shared + Rest::shared_bytes) + threadIdx.x;
#pragma unroll
    for (int l = 0; l < levels; ++l) sums_[l * Threads] = 0;
    if constexpr (cleared_together<Rest>) Rest::clear();
    std::uint32_t most = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < present) most = max(most, finite(sizes_of(first[u]).greatest));
    }
    most = warp_max(most);
    if (lane_index() == 0) r.greatest_of_warp[warp_index()] = most;
    __syncthreads();
    most = warp_max(lane_index() < warps ? r.greatest_of_warp[lane_index()] : 0u);
    anchor(most == 0 ? 1 : limit_of(most));
    block_limit_ = limit_;
    if (!doubles) upper_ = 0;
    int outside = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < present) outside += holds(sizes_of(first[u])) ? -1 : 1;
    }
    if (static_cast<int>(warp_add(static_cast<std::uint32_t>(outside))) > 0) upper_ = 0;
  }

  /// Adds a thread's packs, of which the first `present` are there. They may be moved.
  __device__ __forceinline__ void add(pack (&p)[Loads], int present) {
    if (upper_ == 0) {
      all_to_rest(p, present);
      return;
    }
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u >= present) p[u] = {{0, 0x80000000u, 0, 0x80000000u}};  // -0 changes nothing
    }
    std::uint32_t left = 0;
#pragma unroll
    for (int u = 0; u < Loads; u += group) {
      if (!fits(p + u)) left |= ((1u << group) - 1) << u;
    }
    if (left != 0) one_by_one(p, left & ((1u << present) - 1));
    count(batch);
  }

  __device__ __forceinline__ void finish() {
    empty();
    if (limit_ != block_limit_) spill();
  }
  __device__ __forceinline__ std::uint32_t kinds() const { return (used_ ? rest_.kinds(0) : 0u) | (ordinary_ != 0 ? special::ordinary : 0u); }

  /// Adds the block's sums up to carry-save digits in the first warp, PerLane per lane.
  template <int PerLane>
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t (&v)[PerLane]) {
    constexpr int per_lane = PerLane, halves = 2 * levels;
    // Sums are within ±2^62: the halves of a thousand threads' fit 48 bits.
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = sums_[l * Threads];
      const std::int64_t low = warp_sum_wide(static_cast<std::uint32_t>(sum)), high = warp_sum_wide(sum >> 32);
      if (lane_index() == 0) {
        r.of_warp[warp_index()][2 * l] = low;
        r.of_warp[warp_index()][2 * l + 1] = high;
      }
    }
    const bool rests = __syncthreads_or(used_ ? 1 : 0) != 0;
    if (rests) {
      use_rest();
      rest_.sum_over_block(r.rest, r.digits);
      __syncthreads();
    }
    if (warp_index() != 0) return;
    const int first = lane_index() * per_lane;
#pragma unroll
    for (int j = 0; j < per_lane; ++j) v[j] = rests && first + j < digits0 ? r.digits[first + j] : 0;
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      const std::int64_t total = warp_sum_wide(lane_index() < warps ? r.of_warp[lane_index()][i] : 0);
      const int at = place(block_limit_, i / 2) + 32 * (i % 2);
#pragma unroll
      for (int j = 0; j < per_lane; ++j) {
        const int above = first + j - (at >> 5);
        if (above == 0) v[j] += static_cast<std::uint32_t>(total) << (at & 31);
        if (above == 1) v[j] += total >> (32 - (at & 31));
      }
    }
  }

 private:
  static constexpr int items = 2, batch = Loads * items;
  /// Packs that are looked at together: one branch for all, and their additions overlap where threads are few.
  static constexpr int group = Loads < 4 ? Loads : 4;
  static_assert(Loads % group == 0 && Loads <= 32 && Loads <= Rest::loads);
  /// Elements are below 2^limit; `depth` says how many binades below it are taken.
  static constexpr int reach = 41 + 42, depth = reach - f::mantissa_bits;
  static constexpr int least_limit = -800, most_limit = 1007;  // 1.5·2^(… + 11) is finite
  static_assert(least_limit >= f::min_exponent + reach);
  static constexpr int bias = 1023, fraction = 20;
  static constexpr std::uint32_t infinite = 2047u << fraction;

  double s_[levels];
  std::uint32_t upper_, lower_;  ///< sizes that are taken; upper = 0: nothing is any more
  int limit_, block_limit_;
  std::uint32_t ordinary_;  ///< any bit that -0 has not
  std::int64_t* sums_;  ///< what s came to before, in units of its last places: of level l sums[l·Threads]
  int adds_;  ///< at least the number of additions since s was last emptied; at most 1000
  int misses_;  ///< those of the additions that go to the rest
  std::uint32_t greatest_miss_;  ///< since the last review or move
  int moves_;
  bool used_;  ///< the rest
  Rest rest_;

  /// How large the elements of packs are, as the leading bits of their magnitudes: the greatest, and the least of those that are not zero, less one
  /// (all ones if there is none).
  struct sizes {
    std::uint32_t greatest, least;
  };
  static __device__ __forceinline__ sizes sizes_of(const pack& p) {
    sizes z = {0, 0xffffffffu};
#pragma unroll
    for (int j = 1; j < 4; j += 2) {
      const std::uint32_t m = (p.word[j] & 0x7fffffffu) | (p.word[j - 1] != 0 ? 1u : 0u);  // a tiny number is not zero
      z = {max(z.greatest, m), min(z.least, m - 1)};
    }
    return z;
  }
  static __device__ __forceinline__ std::uint32_t finite(std::uint32_t size) { return size < infinite ? size : 0u; }
  /// The limit for elements of this size: elements up to four times as large are taken as well.
  static __device__ __forceinline__ int limit_of(std::uint32_t size) {
    return min(max(static_cast<int>(size >> fraction) - bias + 3, least_limit), most_limit);
  }
  /// The exponent of the last place of a level, in units of the row.
  static __device__ __forceinline__ int place(int limit, int level) { return limit - 41 - 42 * level - unit0; }

  __device__ __forceinline__ bool holds(const sizes& z) const { return z.greatest < upper_ && z.least >= lower_; }
  __device__ __forceinline__ double anchor_of(int level) const { return __hiloint2double((limit_ + 11 - 42 * level + bias) << 20 | 0x80000, 0); }
  __device__ __forceinline__ void anchor(int limit) {
    limit_ = limit;
    upper_ = min(static_cast<std::uint32_t>(limit + bias) << fraction, infinite);
    const int least = limit - depth + bias;
    lower_ = least > 0 ? (static_cast<std::uint32_t>(least) << fraction) - 1 : 0u;
#pragma unroll
    for (int l = 0; l < levels; ++l) s_[l] = anchor_of(l);
  }
  /// Adds a pack whose elements lie inside the bounds.
  __device__ __forceinline__ void take(const pack& p) {
#pragma unroll
    for (int i = 0; i < items; ++i) {
      double x = item_of<double>(p, i);
      const double next = s_[0] + x;
      x -= next - s_[0];
      s_[0] = next;
      s_[1] += x;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) ordinary_ |= p.word[j] ^ (j % 2 == 1 ? 0x80000000u : 0u);
  }
  /// Adds a group of packs if all of them lie inside the bounds, else nothing.
  __device__ __forceinline__ bool fits(const pack* p) {
    sizes z = {0, 0xffffffffu};
#pragma unroll
    for (int u = 0; u < group; ++u) {
      const sizes one = sizes_of(p[u]);
      z = {max(z.greatest, one.greatest), min(z.least, one.least)};
    }
    if (!holds(z)) return false;
#pragma unroll
    for (int u = 0; u < group; ++u) take(p[u]);
    return true;
  }
  /// Adds the packs that were left, each moved to the place of the first: so their code is there once, away from that of ordinary packs. An index known at
  /// run time would move the packs to local memory.
  __device__ __forceinline__ void one_by_one(pack (&p)[Loads], std::uint32_t left) {
#pragma unroll 1
    for (int u = 0; u < Loads; ++u) {
      if ((left >> u & 1) != 0) {
        const sizes z = sizes_of(p[0]);
        if (upper_ != 0 && holds(z)) take(p[0]);
        else miss(p[0], z.greatest);
      }
#pragma unroll
      for (int j = 1; j < Loads; ++j) p[j - 1] = p[j];
    }
  }
  /// Adds the first `present` packs to the rest, where nothing is taken any more.
  __device__ __forceinline__ void all_to_rest(const pack (&p)[Loads], int present) {
    use_rest();
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < present) add_to_rest(p[u]);
    }
    rest_.after_batch();
  }
  __device__ __forceinline__ void add_to_rest(const pack& p) {
    const pack one[1] = {p};
    rest_.add(one);
  }
  __device__ __forceinline__ void miss(const pack& p, std::uint32_t size) {
    use_rest();
    add_to_rest(p);
    rest_.after_batch();
    misses_ += items;
    greatest_miss_ = max(greatest_miss_, finite(size));
    if (upper_ != 0 && size >= upper_ && size < infinite && limit_ < most_limit && moves_ < 16) {
      empty();
      spill();
      ++moves_;
      anchor(limit_of(size));
      greatest_miss_ = 0;
    }
  }
  __device__ __forceinline__ void use_rest() {
    if (used_) return;
    rest_.start(op::sum);
    used_ = true;
  }
  __device__ __forceinline__ void count(int additions) {
    adds_ += additions;
    if (adds_ > 1000 - batch || (misses_ > 96 && mostly_missed())) review();
  }
  __device__ __forceinline__ bool mostly_missed() const { return misses_ > adds_ / 4 * 3; }
  /// Empties s, which differs from its anchor by a whole number of its last places.
  __device__ __forceinline__ void empty() {
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const double from = anchor_of(l);
      sums_[l * Threads] += __double_as_longlong(s_[l]) - __double_as_longlong(from);
      s_[l] = from;
    }
  }
  /// Called once in a thousand additions, or where most of a thread's first hundred elements miss, since most others will miss too: a bucket of sums for each
  /// thread is quick.
  __device__ __forceinline__ void review() {
    const bool most_missed = mostly_missed();
    empty();
    adds_ = 0;
    bool full = false;
#pragma unroll
    for (int l = 0; l < levels; ++l) full = full || (sums_[l * Threads] + (std::int64_t{1} << 61)) >> 62 != 0;
    if (full || most_missed) spill();
    if (most_missed && upper_ != 0) {
      // An anchor that would have caught them, if it is lower, and not too often; else none.
      const int e = limit_of(greatest_miss_);
      if (e + 5 <= limit_ && moves_ < 16) {
        ++moves_;
        anchor(e);
      } else {
        upper_ = 0;
      }
    }
    misses_ = 0;
    greatest_miss_ = 0;
  }
  __device__ __forceinline__ void spill() {
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = sums_[l * Threads];
      if (sum == 0) continue;
      use_rest();
      rest_.add_scaled(0, sum, place(limit_, l));
      sums_[l * Threads] = 0;
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
