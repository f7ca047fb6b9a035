// SPDX-License-Identifier: Apache-2.0
/// \file anchored_rest.cuh
/// What anchored rows (exact_levels.cuh) do not take goes to a row set that takes anything; so does what the doubles came to when
/// their anchor moves.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_levels.cuh>

namespace wf::device::inline WF_BUILD {

/// The way to the rest, and when an anchor moves.
template <rest_rows Rest, class T, terms Terms, int Threads, int Loads, int ProductLevels>
struct anchored_rest : anchored_levels<Rest, T, Terms, Threads, Loads, ProductLevels> {
  using levels_type = anchored_levels<Rest, T, Terms, Threads, Loads, ProductLevels>;
  using levels_type::inputs, levels_type::items, levels_type::share, levels_type::levels, levels_type::infinite;
  using levels_type::fixed, levels_type::least_limit, levels_type::most_limit, levels_type::adds_an_item;
  using levels_type::batch, levels_type::gives_up, levels_type::finite, levels_type::row_of, levels_type::products;
  using levels_type::limit_of, levels_type::place, levels_type::s, levels_type::upper, levels_type::lower;
  using levels_type::limit, levels_type::ordinary, levels_type::holds, levels_type::anchor_of, levels_type::anchor;

  std::int64_t* sums;  ///< what s came to before, in units of its last places: of level l sums[l·Threads]
  int adds;  ///< no fewer than since s was last emptied: at most 1000
  int misses;  ///< of those, to the rest
  std::uint32_t greatest_miss;  ///< since the last review or move
  int moves;
  op what;
  bool used;  ///< the rest
  Rest rest;

 protected:
  __device__ __forceinline__ void count(int additions) {
    adds += additions;
    if (adds > 1000 - batch || (gives_up && misses > 96 && mostly_missed())) review();
  }

  /// s differs from its anchor by a whole number of its last places.
  __device__ __forceinline__ void empty() {
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const double from = anchor_of(l);
      sums[l * Threads] += __double_as_longlong(s[l]) - __double_as_longlong(from);
      s[l] = from;
    }
  }

  __device__ __forceinline__ bool mostly_missed() const { return misses * adds_an_item > adds / 4 * 3; }
  /// Once in a thousand additions.
  __device__ __forceinline__ void review() {
    const bool most_missed = mostly_missed();
    empty();
    adds = 0;
    bool full = false;
#pragma unroll
    for (int l = 0; l < levels; ++l) full = full || (sums[l * Threads] + (std::int64_t{1} << 61)) >> 62 != 0;
    spill(full || most_missed);
    if (most_missed && upper != 0) {
      if constexpr (gives_up) {
        // An anchor that would have caught them, if it is lower, and not too often; else none.
        const int e = limit_of(greatest_miss);
        if (e + 5 <= limit && moves < 16) {
          ++moves;
          anchor(e);
        } else {
          upper = 0;
        }
      } else {
        // The next element that is larger than the least anchor allows moves it; not too often.
        anchor(least_limit);
        if (moves >= 16 || fixed) upper = 0;
      }
    }
    misses = 0;
    greatest_miss = 0;
  }

  /// Whether something holds for this thread, or for any of its warp where lanes share columns.
  static __device__ __forceinline__ bool any_sharer(bool mine) {
    if constexpr (share == 1) return mine;
    else return __any_sync(all_lanes, mine) != 0;
  }
  /// f() by those threads that are meant, no two at a column at once.
  template <class F>
  static __device__ __forceinline__ void in_turns(bool mine, F f) {
    if constexpr (share == 1) {
      if (mine) f();
    } else {
#pragma unroll 1
      for (int turn = 0; turn < share; ++turn) {
        if (mine && lane_index() / (32 / share) == turn) f();
        __syncwarp();
      }
    }
  }
  __device__ __forceinline__ void use_rest() {
    if (used) return;
    in_turns(true, [&] { rest.start(what); });
    used = true;
  }

  /// Adds packs that all are inside the bounds, or nothing.
  template <int Count>
  __device__ __forceinline__ bool fits(const pack (*p)[inputs]) {
    [[maybe_unused]] double d[Count][products(items)];
    pack_sizes z = {0, 0xffffffffu};
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      const pack_sizes one = levels_type::template look<items>(p[u], d[u]);
      z = {max(z.greatest, one.greatest), min(z.least, one.least)};
    }
    if (!holds(z)) return false;
#pragma unroll
    for (int u = 0; u < Count; ++u) this->template take<items>(p[u], d[u]);
    return true;
  }
  template <int Items>
  __device__ __forceinline__ void add_or_miss(const pack (&p)[inputs], bool mine) {
    double d[products(Items)];
    pack_sizes z = {0, 0xffffffffu};
    bool left = mine;
    if (mine) {
      z = levels_type::template look<Items>(p, d);
      left = upper == 0 || !holds(z);
      if (!left) this->template take<Items>(p, d);
    }
    if (any_sharer(left)) miss<Items>(p, z.greatest, left);
  }
  /// Packs that were left, each in the place of the first: their code is there once, away from that of
  /// ordinary ones. An index known at run time would move the packs to local memory (moments of random f64 bits: 1.6 times the time).
  __device__ __forceinline__ void one_by_one(pack (&p)[Loads][inputs], std::uint32_t left) {
#pragma unroll 1
    for (int u = 0; u < Loads; ++u) {
      add_or_miss<items>(p[0], (left >> u & 1) != 0);
#pragma unroll
      for (int j = 1; j < Loads; ++j) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[j - 1][k] = p[j][k];
      }
    }
  }
  /// The first `present` packs, where nothing is taken any more.
  __device__ __forceinline__ void all_to_rest(const pack (&p)[Loads][inputs], int present) {
    static_assert(Loads <= Rest::loads);
    use_rest();
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < present) rest.add(p[u]);
    }
    rest.after_batch();
  }
  template <int Items>
  __device__ __forceinline__ void miss(const pack (&p)[inputs], std::uint32_t size, bool mine) {
    use_rest();
    in_turns(mine, [&] {
      if constexpr (Items == items) rest.add(p);
      else rest.add_item(item_of<parts<T>>(p[0], 0), item_of<parts<T>>(p[1], 0));
      rest.after_batch();
    });
    if (mine) {
      misses += items;
      greatest_miss = max(greatest_miss, finite(size));
    }
    const bool moving = mine && !fixed && upper != 0 && size >= upper && size < infinite && limit < most_limit && moves < 16;
    if (moving) empty();
    spill(moving);
    if (moving) {
      ++moves;
      anchor(limit_of(size));
      greatest_miss = 0;
    }
  }
  __device__ __forceinline__ void spill(bool mine) {
    if (!any_sharer(mine)) return;
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = mine ? sums[l * Threads] : 0;
      if (any_sharer(sum != 0)) {
        use_rest();
        in_turns(sum != 0, [&] { rest.add_scaled(row_of(l), sum, place(limit, l)); });
        if (sum != 0) sums[l * Threads] = 0;
      }
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
