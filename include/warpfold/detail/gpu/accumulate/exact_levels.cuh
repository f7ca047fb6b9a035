// SPDX-License-Identifier: Apache-2.0
/// \file exact_levels.cuh
/// Exact sums, sums of squares and of products at the speed of memory: a thread adds what lies near an
/// anchor to a few doubles in registers, where no addition rounds, and hands the rest to a row set of
/// exact_rows.cuh, which takes anything.
///
/// s = 1.5·2^k + (a sum) takes x rounded to its last place; (s + x) - s is exact, and so is what it
/// leaves of x, which goes to the next level, whose last place is 42 bits further down (Dekker 1971;
/// Rump, Ogita and Oishi 2008; in bins Demmel and Nguyen 2013). A pack is taken so only if all its
/// elements are zero or between two bounds, which leave nothing below the last level: two integer
/// operations an element, where a look at what is left would be two of FP64. Products of two f32 (or
/// less) are doubles; of f64, an FMA gives the product's low half, which joins a level further down.
/// Parts of complex numbers are elements of their own, and a product of two is four.
/// At the speed of an H100's memory a multiprocessor has 19 FP64 operations for 4 bytes; these are used:
///
///     elements      Σx   Σx²   both   Σxy (of twice the bytes)
///     f16            1     4      5     4      taken: every finite element
///     bf16           1     4      5     5      33 binades below the largest
///     f32            4     7     11     8      38
///     f64            4    16     20    19      30
///
/// anchored_plan.cuh has the places of the levels, anchored_levels.cuh the doubles, anchored_rest.cuh what they do not take; this file
/// the row set made of them, and the sum over a block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_rest.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Rest: the row set of the same terms, for what is not taken. Where lanes share its columns, a warp stays
/// together: all its lanes call what adds, and hand things to the rest in turns. T is the type of an element,
/// or of its parts where it is complex.
template <rest_rows Rest, class T, terms Terms, int Threads, int Loads = Rest::loads,
          int ProductLevels = levels_of_products<T>, bool Ahead = false>
struct anchored_rows : anchored_rest<Rest, T, Terms, Threads, Loads, ProductLevels> {
  using base = anchored_rest<Rest, T, Terms, Threads, Loads, ProductLevels>;
  using typename base::bits, typename base::f, typename base::room;
  using base::inputs, base::rows, base::items, base::item_parts, base::sums_only, base::levels, base::warps;
  using base::fixed, base::least_limit, base::adds_an_item, base::batch, base::gives_up, base::group, base::finite;
  using base::row_of, base::first_digit, base::products, base::limit_of, base::place, base::pack_of, base::s;
  using base::upper, base::limit, base::ordinary, base::mask, base::holds, base::anchor, base::sums, base::adds;
  using base::misses, base::greatest_miss, base::moves, base::what, base::used, base::rest, base::count, base::empty;
  using base::any_sharer, base::use_rest, base::all_to_rest, base::one_by_one, base::spill;
  static constexpr bool ahead = Ahead;  ///< the next packs are loaded before the last ones are added

  int block_limit;

  /// All threads of the block call it, with the packs that a thread has already loaded: the anchor is common.
  __device__ __forceinline__ void start(op o, bool doubles, room& r, const pack (&first)[Loads][inputs], int present) {
    what = o;
    mask = o != op::norm1 || sums_only ? 0xffffffffu : sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu;
    for (std::uint32_t& bits_seen : ordinary) bits_seen = Terms == terms::products ? 0x80000000u : 0u;
    used = false;
    moves = 0;
    misses = adds = 0;
    greatest_miss = 0;
    sums = reinterpret_cast<std::int64_t*>(wf_dynamic_shared + Rest::shared_bytes) + threadIdx.x;
#pragma unroll
    for (int l = 0; l < levels; ++l) sums[l * Threads] = 0;
    if constexpr (cleared_together<Rest>) Rest::clear();
    if constexpr (fixed) {
      anchor(least_limit);
    } else {
      std::uint32_t most = 0;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        double d[products(items)];
        if (u < present) most = max(most, finite(base::template look<items>(first[u], d).greatest));
      }
      most = warp_max(most);
      if (lane_index() == 0) r.greatest_of_warp[warp_index()] = most;
      __syncthreads();
      most = warp_max(lane_index() < warps ? r.greatest_of_warp[lane_index()] : 0u);
      anchor(most == 0 ? 1 : limit_of(most));
    }
    block_limit = limit;
    if (!doubles) upper = 0;
    if constexpr (gives_up) {
      int outside = 0;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        double d[products(items)];
        if (u < present) outside += holds(base::template look<items>(first[u], d)) ? -1 : 1;
      }
      if (static_cast<int>(warp_add(static_cast<std::uint32_t>(outside))) > 0) upper = 0;
    }
  }

  /// Those of a thread's packs that are there: the first `present`. They may be moved.
  __device__ __forceinline__ void add(pack (&p)[Loads][inputs], int present) {
    if constexpr (gives_up) {
      if (upper == 0) {
        all_to_rest(p, present);
        return;
      }
    }
    if constexpr (Terms == terms::sum) {  // the others as if there were all
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        if (u >= present) p[u][0] = pack_of(f::from_bits(f::sign_mask), f::sign_mask);
      }
      present = Loads;
    }
    std::uint32_t left = 0;
    if (present == Loads && (sizeof(T) == 2 || upper != 0)) {  // `upper` only spares work where nothing is taken any more
#pragma unroll
      for (int u = 0; u < Loads; u += group) {
        if (!this->template fits<group>(p + u)) left |= ((1u << group) - 1) << u;
      }
    } else {
      left = (1u << Loads) - 1;
    }
    if (any_sharer(left != 0)) one_by_one(p, left & ((1u << present) - 1));
    count(batch);
  }
  /// A pack of its own, beside what changes nothing: -0, of products -0·0. Of complex products nothing is such.
  template <class X, class... Y>
  __device__ __forceinline__ void add_item(bool mine, X x, Y... y) {
    const X given[inputs] = {x, y...};
    pack p[1][inputs];
#pragma unroll
    for (int k = 0; k < inputs; ++k) p[0][k] = pack_of(given[k], k == 0 ? f::sign_mask : bits{0});
    this->template add_or_miss<Terms == terms::products && item_parts == 2 ? 1 : items>(p[0], mine);
    count(items * adds_an_item);
  }

  __device__ __forceinline__ void finish() {
    empty();
    spill(limit != block_limit);
  }
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    const bool any = ordinary[watch] != (Terms == terms::products ? 0x80000000u : 0u);
    return (used ? rest.kinds(watch) : 0u) | (any ? special::ordinary : 0u);
  }

  /// The sums of the lanes that are `meant`, in each warp: may be called for some of them and then for others.
  template <class... Meant>
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to, Meant... meant) {
    // Sums are within ±2^62: the halves of a thousand threads' fit 48 bits.
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = (true && ... && meant) ? sums[l * Threads] : 0;
      const std::int64_t low = warp_sum_wide(static_cast<std::uint32_t>(sum));
      const std::int64_t high = warp_sum_wide(sum >> 32);
      if (lane_index() == 0) {
        r.of_warp[warp_index()][2 * l] = low;
        r.of_warp[warp_index()][2 * l + 1] = high;
      }
    }
    const bool rests = __syncthreads_or(used ? 1 : 0) != 0;
    if (threadIdx.x < 2 * levels) {
      std::int64_t total = 0;
#pragma unroll
      for (int w = 0; w < warps; ++w) total += r.of_warp[w][threadIdx.x];
      r.total[threadIdx.x] = total;
    }
    if (rests) {
      use_rest();
      rest.sum_over_block(r.rest, to, meant...);
    }
    __syncthreads();
    const int e = block_limit;
    for (int k = static_cast<int>(threadIdx.x); k < first_digit(rows); k += Threads) {
      std::int64_t v = rests ? to[k] : 0;
#pragma unroll
      for (int i = 0; i < 2 * levels; ++i) {
        const int row = row_of(i / 2), at = place(e, i / 2) + 32 * (i % 2);
        const int above = k - first_digit(row) - (at >> 5);
        const bool mine = k >= first_digit(row) && k < first_digit(row + 1);
        const std::int64_t total = r.total[i];
        if (mine && above == 0) v += static_cast<std::uint32_t>(total) << (at & 31);
        if (mine && above == 1) v += total >> (32 - (at & 31));
      }
      to[k] = v;
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
