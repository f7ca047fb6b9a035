// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix_inexact.cuh
/// Tiles whose sums in doubles are not proved exact (rows_prefix.cuh): they are near, or leave out infinities and NaNs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_joined.cuh>
#include <warpfold/detail/gpu/accumulate/rows_prefix_sums.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_answers.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_walk.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>

namespace wf::device::inline WF_BUILD {

/// The sum of the tile's first `many` elements, finite ones alone if there are Specials. Not inlined: it is asked for in several places.
template <bool Specials, class Acc>
__device__ __attribute__((noinline)) typename prefix_of<Acc>::number sum_before(const prefix_of<Acc>& adds, prefix_room<Acc> room, unsigned stage, unsigned many) {
  return room.sum_of(stage, many, [&](const pack& p, unsigned n) { return adds.sum_of(p, n, Specials); });
}

/// Answers the segments of a tile whose sums in doubles are not exact: by sums that are near, and each by itself where these do not decide the answer. What the tile has of
/// the last segment goes to `open`, or, where it is exact, to `carry`. Returns whether the share has more tiles.
/// Specials: the tile may have infinities or NaNs. These are left out of the sums: they alone decide the answers of their segments.
template <bool Specials, class Acc>
__device__ __attribute__((noinline)) bool add_inexact_tile(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_room<Acc> room, prefix_share<Acc>& share,
                                                           typename room_of<Acc>::type& exact, unsigned char* out) {
  if constexpr (Acc::proves) {
    const unsigned tile = share.tile, stage = share.stage, tile_end = tile + room.tile;
    typename prefix_of<Acc>::facts facts = share.facts;
    unsigned k = share.k;
    bool opens = share.opens;
    using sums = prefix_of<Acc>;
    const sums adds = sums::of(acc);
    const auto lane = static_cast<unsigned>(lane_index());
    using format = exact::format<typename sums::item>;
    if constexpr (Specials) {
      typename sums::part part;
      const typename sums::number all = room.template scan<true>(stage, [&](const pack& p) { return adds.sum_of_all(part, p, true); });
      facts = adds.warp_facts(part, all);
      room.find_specials(stage, !adds.has_signs());
      __syncwarp();
    }
    const auto special = [&](unsigned kinds) {
      return format::from_bits(kinds == 3 ? format::quiet_nan : kinds == 1 ? format::infinity : static_cast<typename format::bits>(format::infinity | format::sign_mask));
    };
    const bool whole = Specials && sums::is_exact(facts), known = whole || sums::is_near(facts);
    const auto sum_of = [&](unsigned before_end) { return sum_before<Specials>(adds, room, stage, before_end); };
    const auto specials_of = [&](unsigned from, unsigned end) {
      if constexpr (Specials) return room.specials_of(from, end);
      else return 0u;
    };
    segment_ends<Acc> to_come{v, room, share.first, static_cast<std::uint32_t>(share.origin), share.many, share.turn, share.asked, share.there};
    unsigned at = share.at;
    typename sums::sum before = sum_of(at);
    bool beginning = true;
    const auto add_piece = [&](const typename sums::sum& value, unsigned elements) {
      if (elements == 0) return;
      opens = true;
      const unsigned kinds = specials_of(at, at + elements);
      if (kinds == 0 && (!known || is_zero(value))) {  // it may be of -0
        keep_apart(acc, v, w, share, share.first + k, tile + at, tile + at + elements);
      } else if (lane == 0) {
        using joins = joined_rows<Acc>;
        typename Acc::state s = kinds == 0 ? adds.state_of(value, facts, !whole) : acc.identity();
        if (kinds != 0) {
          s.pair[0].s = kinds == 3 ? certified::power(1024) - certified::power(1024) : kinds == 1 ? certified::power(1024) : -certified::power(1024);
          s.extent.add_bits(certified::extent_bits(special(1)));
        }
        share.open = joins{acc}.combine(share.open, whole && kinds == 0 ? joins::known(s, value) : joins::near(s));
      }
    };
#pragma unroll 1
    while (true) {
      const unsigned next = to_come.next(k);
      const bool ends = next <= tile_end;
      const auto some = static_cast<unsigned>(__popc(static_cast<int>(__ballot_sync(all_lanes, ends))));
      if (some == 0) break;
      const unsigned my_end = next - tile;
      typename sums::sum upto{};
      if (ends) upto = sum_of(my_end);
      typename sums::sum less = number_from_below(upto, 1);
      unsigned my_begin = __shfl_up_sync(all_lanes, my_end, 1);
      if (lane == 0) {
        less = before;
        my_begin = at;
      }
      const typename sums::sum value = upto - less;
      bool mine = ends;
      if (beginning) {
        add_piece(number_of_lane(value, 0), __shfl_sync(all_lanes, my_end, 0) - at);
        end_open(acc, share, share.first + k);
        __syncwarp();
        answer_ended(acc, v, w, share, exact, out);
        opens = beginning = false;
        mine = ends && lane != 0;
      }
      bool apart = mine;
      unsigned char* const to = out + (share.first + k + lane) * w.answer_bytes;
      const unsigned kinds = mine ? specials_of(my_begin, my_end) : 0;
      if (kinds != 0) {
        *reinterpret_cast<typename sums::item*>(to) = special(kinds);
        apart = false;
      } else if (mine && known && (!is_zero(value) || my_begin == my_end)) {
        if (whole && !adds.asks_count()) {
          adds.answer(value, to);
          apart = false;
        } else {
          apart = !adds.answer(value, my_end - my_begin, facts, to);
        }
      }
      if (apart && my_end - my_begin <= lone_elements) apart = !answer_from_tile(acc, room, stage, my_begin, my_end, to);
      __syncwarp();
      if (__any_sync(all_lanes, apart)) answer_apart(acc, v, w, share, exact, share.first + k, apart, out);
      before = number_of_lane(upto, static_cast<int>(some) - 1);
      at = __shfl_sync(all_lanes, my_end, static_cast<int>(some) - 1);
      k += some;
      if (some < warp_lanes) break;
    }
    const unsigned to = min(share.stop, tile_end) - tile;
    const typename sums::sum rest = sum_of(to) - before;
    const bool carries = whole && !opens && to != at && !is_zero(rest) && specials_of(at, to) == 0;
    if (!carries) add_piece(rest, to - at);
    __syncwarp();
    if (lane == 0) {
      if (carries) {
        share.carry = rest;
        share.facts = facts;
      }
      share.carried = carries;
      share.at = at;
      share.k = k;
      share.opens = opens;
      share.asked = to_come.asked;
      share.there = to_come.there;
    }
    __syncwarp();
    return share.stop > tile_end;
  }
  return false;
}

/// The same of f32 and bf16, whose answers two roundings tell: an array of normal numbers has such a tile among some hundreds (f32) or ten thousands (bf16), whose warp would be late by 10 to 90 µs (bf16) if
/// its answers were made of states, by code that nobody had used before. What the tile has of the last segment goes to `carry`, exact or near: a sum that is near goes no further than to the end of its
/// segment in the next tile, which comes here too. Tiles of other values go on to add_inexact_tile. Inlined, as it is there once in a kernel: a function that kernels share begins late, for it saves registers first.
template <class Acc>
__device__ __forceinline__ bool add_near_tile(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_room<Acc>& room, prefix_share<Acc>& share,
                                                        typename room_of<Acc>::type& exact, unsigned char* out) {
  using sums = prefix_of<Acc>;
  using joins = joined_rows<Acc>;
  const sums adds = sums::of(acc);
  const auto lane = static_cast<unsigned>(lane_index());
  const unsigned tile = share.tile, stage = share.stage, tile_end = tile + room.tile;
  const auto sum_upto = [&](unsigned many) { return room.sum_of(stage, many, [&](const pack& p, unsigned n) { return adds.sum_of(p, n); }); };
  const typename sums::facts facts = share.tile_facts;
  typename sums::facts carry_facts = share.facts;
  double carry = share.carry;
  bool carried = share.carried, opens = share.opens;
  unsigned k = share.k, at = share.at;
  segment_ends<Acc> to_come{v, room, share.first, static_cast<std::uint32_t>(share.origin), share.many, share.turn, share.asked, share.there};
  // Some of segment k is left to `open`.
  const auto keep = [&](double sum, const typename sums::facts& f) {
    if (lane == 0) {
      const bool known = sums::is_exact(f);
      const typename Acc::state t = adds.state_of(sum, f, !known);
      share.open = joins{acc}.combine(share.open, known ? joins::known(t, sum) : joins::near(t));
    }
    opens = true;
  };
  const bool finite = sums::is_near(facts);
  if (carried && (!finite || opens || !__any_sync(all_lanes, to_come.next(k) <= tile_end))) {
    keep(carry, carry_facts);
    carried = false;
  }
  if (!finite) {
    __syncwarp();
    if (lane == 0) {
      share.opens = opens;
      share.facts = facts;
      share.asked = to_come.asked;
      share.there = to_come.there;
    }
    __syncwarp();
    return add_inexact_tile<true>(acc, v, w, room, share, exact, out);
  }
  typename sums::facts joined = carried ? sums::joined(carry_facts, facts) : facts;
  double before = sum_upto(at);
#pragma unroll 1
  while (true) {
    const unsigned next = to_come.next(k);
    const bool ends = next <= tile_end;
    const auto some = static_cast<unsigned>(__popc(static_cast<int>(__ballot_sync(all_lanes, ends))));
    if (some == 0) break;
    const unsigned my_end = next - tile;
    double upto = 0;
    if (ends) upto = sum_upto(my_end);
    double less = number_from_below(upto, 1);
    unsigned my_begin = __shfl_up_sync(all_lanes, my_end, 1);
    if (lane == 0) {
      less = before;
      my_begin = at;
    }
    double value = certified::subtract(upto, less);
    bool known = my_begin == my_end || sums::is_exact(facts);
    if (ends && my_begin != my_end && is_zero(value) && adds.has_signs()) {  // all of them may be -0
      unsigned i = my_begin;
      while (i < my_end && room.is_minus_zero(stage, i)) ++i;
      if (i == my_end) {
        make_minus_zero(value);
        known = true;
      }
    }
    __syncwarp();
    const bool longer = carried && lane == 0;  // than what it has of this tile
    bool apart = ends;
    if (opens) {
      if (__shfl_sync(all_lanes, my_end, 0) != at) keep(number_of_lane(value, 0), facts);
      end_open(acc, share, share.first + k);
      __syncwarp();
      answer_ended(acc, v, w, share, exact, out);
      opens = false;
      apart = ends && lane != 0;
    } else if (longer) {
      value = certified::add(value, carry);
      known = false;
    }
    unsigned char* const to = out + (share.first + k + lane) * sums::answer_bytes;
    if (apart) {
      const typename sums::facts f = longer ? joined : facts;
      if (adds.asks_count()) {
        const std::uint64_t n = longer ? v.first_of(share.first + k + 1) - v.first_of(share.first + k) : my_end - my_begin;
        if (known || !is_zero(value)) apart = !adds.answer(value, n, f, to);
      } else if (known) {
        adds.answer(value, to);
        apart = false;
      } else {
        apart = !adds.answer_near(value, f, to);
      }
    }
    if (apart && !longer && my_end - my_begin <= lone_elements) apart = !answer_from_tile(acc, room, stage, my_begin, my_end, to);
    __syncwarp();
    if (__any_sync(all_lanes, apart)) {
      // A segment that began in an earlier tile may have more elements than are added apart.
      if (__any_sync(all_lanes, apart && longer)) acc.template exactly<wanted::answers>(exact, v, share.first + k, false, out + (share.first + k) * sums::answer_bytes);
      answer_apart(acc, v, w, share, exact, share.first + k, apart && !longer, out);
    }
    carried = false;
    joined = facts;
    before = number_of_lane(upto, static_cast<int>(some) - 1);
    at = __shfl_sync(all_lanes, my_end, static_cast<int>(some) - 1);
    k += some;
    if (some < warp_lanes) break;
  }
  const bool more = share.stop > tile_end;
  if (const unsigned to = min(share.stop, tile_end) - tile; to > at) {
    carry = certified::subtract(sum_upto(to), before);
    if (is_zero(carry) && adds.has_signs() && are_minus_zeros(room, stage, at, to)) make_minus_zero(carry);
    carry_facts = facts;
    if (more) carried = true;
    else keep(carry, carry_facts);
  }
  __syncwarp();
  if (lane == 0) {
    share.carry = carry;
    share.facts = carry_facts;
    share.carried = carried;
    share.at = at;
    share.k = k;
    share.opens = opens;
    share.asked = to_come.asked;
    share.there = to_come.there;
  }
  __syncwarp();
  return more;
}

}  // namespace wf::device::inline WF_BUILD
