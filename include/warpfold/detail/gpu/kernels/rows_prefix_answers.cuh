// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix_answers.cuh
/// Segments whose answer is not one difference of prefix sums (rows_prefix.cuh): those of several tiles, whose parts are merged into a state that the warp
/// keeps in shared memory, and those that a tile's sums do not decide.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_joined.cuh>
#include <warpfold/detail/gpu/accumulate/rows_prefix_sums.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_shares.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_walk.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>

namespace wf::device::inline WF_BUILD {

/// A share as a warp walks it. Elements count from where its tiles begin, segments from its first one.
struct prefix_stretch {
  std::uint64_t first;             ///< the first segment
  std::uint64_t origin;            ///< the element where its tiles begin; may be below 0
  std::uint32_t index;             ///< which share it is
  unsigned many, stop;             ///< segments that end in it, and where its elements end
  unsigned at;                     ///< the first element
  unsigned turn, asked;            ///< for segment_ends
  bool cut;                        ///< the first tile reaches before the array
  bool late, early;                ///< the first segment began before the share; the last one ends behind it
};

/// What a warp keeps in shared memory, beside its registers. Its first lane writes it.
template <class Acc>
struct prefix_share : prefix_stretch {
  using state = typename joined_rows<Acc>::state;
  state head;                      ///< for a first segment that began before the share
  state open;                      ///< the one that is not ended yet, beside a sum that is exact
  state pending;                   ///< for a segment that is not ended, in shares that the warp is done with
  std::uint64_t pending_segment;
  std::uint32_t pending_shares, pending_index;  ///< how many shares; one of them
  std::uint64_t low;               ///< the array's first element
  std::uint64_t quantum;           ///< units of a share of weight 1
  std::uint64_t each, merges;      ///< units of a share, and how many states are merged one after another in it, at most
  std::uint64_t run, run_merges;   ///< the same for the shares that `pending` holds
  prefix_stretch next;
  // Where the warp is while it does work that most tiles do not need.
  state ended;                                ///< a segment that ended and had more than an exact sum
  std::uint64_t ended_segment;                ///< that segment; or none, all bits
  unsigned there;                             ///< for segment_ends
  unsigned k, tile, stage;                    ///< the first segment that is not ended; the tile; which stage has it. `at`: where in it what is not added yet begins
  bool opens, carried;  ///< something of segment k is in `open`; in `carry`
  typename prefix_of<Acc>::sum carry;
  typename prefix_of<Acc>::facts facts;       ///< the carry's; in a tile that is not exact, its own
  typename prefix_of<Acc>::facts tile_facts;  ///< the tile's, where both are needed (add_near_tile)
};

/// Adds `many` elements of segment k from its element `index` on, by a warp, whatever values they have. Not inlined: most tiles need it for no segment.
template <class Acc>
__device__ __attribute__((noinline)) typename Acc::state add_by_warp(const Acc& acc, const row_view<1>& v, const ragged_walk& w, std::uint64_t k, std::uint64_t index, std::uint64_t many) {
  const typename Acc::state t = add_part_of_segment(acc, v, w, v.first_of(k), many, index, static_cast<unsigned>(lane_index()), 5);
  __syncwarp();
  return lanes_total(acc, t, 5);
}

/// Answers segments batch + lane of `mine`, which lie in one tile, by the warp, one after the other. Not inlined: most tiles have no such segment.
template <class Acc>
__device__ __attribute__((noinline)) void answer_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, std::uint64_t batch, bool mine, unsigned char* out) {
#pragma unroll 1
  for (unsigned todo = __ballot_sync(all_lanes, mine); todo != 0; todo &= todo - 1) {
    const std::uint64_t k = batch + static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1), n = v.first_of(k + 1) - v.first_of(k);
    const typename Acc::state s = add_by_warp(acc, v, w, k, 0, n);
    unsigned char* const to = out + k * w.answer_bytes;
    bool sure = true;
    if (lane_index() == 0) sure = ragged_answer(acc, v, s, k, n, share.each, 0, to);
    if (__any_sync(all_lanes, !sure)) acc.template exactly<wanted::answers>(room, v, k, false, to);
  }
  __syncwarp();
}

/// Adds one lane's segment, which lies in a tile from `from` to `end`, from shared memory: false if that does not decide its answer. Not inlined: most tiles have no such segment.
template <class Acc>
__device__ __attribute__((noinline)) bool answer_from_tile(const Acc& acc, prefix_room<Acc> room, unsigned stage, unsigned from, unsigned end, unsigned char* to) {
  using lone = typename lone_of<Acc>::type;
  const lone a = lone_of<Acc>::of(acc);
  typename lone::running r = a.start();
#pragma unroll 1
  for (unsigned i = from; i < end; ++i) a.add_item(r, {room.item_pack(stage, i)}, i - from);
  const std::uint64_t n = end - from;
  const auto facts = a.facts(n, n, 0);
  return a.answer(total_of(a, r, facts), n, facts, to);
}

/// Whether all elements of a tile from `from` to `end` are -0. All lanes of a warp call it.
template <class Acc>
__device__ __forceinline__ bool are_minus_zeros(const prefix_room<Acc>& room, unsigned stage, unsigned from, unsigned end) {
#pragma unroll 1
  for (; from < end; from += warp_lanes) {
    const unsigned i = from + static_cast<unsigned>(lane_index());
    if (!__all_sync(all_lanes, i >= end || room.is_minus_zero(stage, i))) return false;
  }
  return true;
}
/// The segment that ended, which began in this share, is answered.
template <class Acc>
__device__ __attribute__((noinline)) void answer_ended_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, unsigned char* out) {
  bool sure = true;
  const std::uint64_t k = share.ended_segment;
  if (lane_index() == 0) sure = ragged_answer(joined_rows<Acc>{acc}, v, share.ended, k, v.first_of(k + 1) - v.first_of(k), share.each, share.merges, out + k * w.answer_bytes);
  if constexpr (Acc::proves) {
    if (__any_sync(all_lanes, !sure)) acc.template exactly<wanted::answers>(room, v, k, false, out + k * w.answer_bytes);
  }
  __syncwarp();
}
/// The segment that ended is answered, or waits for what comes before the share.
template <class Acc>
__device__ __forceinline__ void answer_ended(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share, typename room_of<Acc>::type& room, unsigned char* out) {
  if (share.ended_segment != share.first || !share.late) answer_ended_apart(acc, v, w, share, room, out);
  else if (lane_index() == 0) share.head = share.ended;
  __syncwarp();
  if (lane_index() == 0) share.ended_segment = ~std::uint64_t{0};
  __syncwarp();
}
/// The open segment k ends.
template <class Acc>
__device__ __forceinline__ void end_open(const Acc& acc, prefix_share<Acc>& share, std::uint64_t k) {
  if (lane_index() == 0) {
    share.ended = share.open;
    share.ended_segment = k;
    share.open = joined_rows<Acc>{acc}.identity();
  }
}
/// Adds an exact sum of elements to `open`.
template <class Acc>
__device__ __forceinline__ void keep_sum(const Acc& acc, prefix_share<Acc>& share, typename prefix_of<Acc>::sum s, const typename prefix_of<Acc>::facts& f) {
  using joins = joined_rows<Acc>;
  if (lane_index() == 0) share.open = joins{acc}.combine(share.open, joins::known(prefix_of<Acc>::of(acc).state_of(s, f), s));
}
/// Adds elements `from` to `end` of segment k, counted from the share's origin, to `open`, whatever values they have.
template <class Acc>
__device__ __forceinline__ void keep_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share, std::uint64_t k, unsigned from, unsigned end) {
  const typename Acc::state s = add_by_warp(acc, v, w, k, share.origin + from - v.first_of(k), end - from);
  if (lane_index() == 0) share.open = joined_rows<Acc>{acc}.combine(share.open, joined_rows<Acc>::near(s));
}

/// How many shares of a segment a warp takes one after the other before it leaves their state where others find it.
inline constexpr std::uint32_t pending_most = 16;

/// Whether a share from `a` to `b` has nothing.
__device__ __forceinline__ bool is_empty(const prefix_border& a, const prefix_border& b) { return a.segment == b.segment && ((a.element ^ b.element) & ~prefix_border::cut) == 0; }

/// Makes share k, which lies from `a` to `b`, `next`, and asks for its first tile and ends, of which there is room beside `waiting` others. All lanes call it. What a warp does for each share is inlined once, and what it
/// does at most once a function beside that: a function that kernels share reads their parameters from memory.
template <class Acc>
__device__ __forceinline__ void begin_share_here(const row_view<1>& v, const prefix_room<Acc>& room, prefix_share<Acc>& share, std::uint32_t k, const prefix_border a, const prefix_border b,
                                                      unsigned stage, unsigned waiting, unsigned turn) {
  constexpr unsigned size = Acc::fixed_size;
  const std::uint64_t from = a.element & ~prefix_border::cut, end = b.element & ~prefix_border::cut;
  prefix_stretch t;
  t.first = a.segment;
  t.index = k;
  t.late = (a.element & prefix_border::cut) != 0;
  t.early = (b.element & prefix_border::cut) != 0;
  t.at = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(v.x[0] + from * size) % 128) / size;
  t.origin = from - t.at;
  t.many = static_cast<unsigned>(b.segment - a.segment);
  t.stop = static_cast<unsigned>(end - t.origin);
  t.cut = static_cast<std::int64_t>(t.origin) < static_cast<std::int64_t>(share.low);
  t.turn = turn % prefix_ends;
  ask_tile<Acc>(v, room, stage, t.origin, 0, t.stop, t.cut, share.low);
  segment_ends<Acc> to_come{v, room, t.first, static_cast<std::uint32_t>(t.origin), t.many, t.turn};
  to_come.ask_upto(min(t.many, prefix_ahead - min(prefix_ahead, waiting)));
  t.asked = to_come.asked;
  if (lane_index() == 0) share.next = t;
  __syncwarp();
}
template <class Acc>
__device__ __attribute__((noinline)) void begin_share(const row_view<1>& v, prefix_room<Acc> room, prefix_share<Acc>& share, std::uint32_t k, const prefix_border a, const prefix_border b) {
  begin_share_here(v, room, share, k, a, b, 0, 0, 0);
}
/// The same for share k or, if that is empty, for the next one that is not: false if there is none.
template <class Acc>
__device__ __forceinline__ bool prepare_share_here(const row_view<1>& v, const prefix_shares& s, const prefix_room<Acc>& room, prefix_share<Acc>& share, std::uint32_t k,
                                                        unsigned stage, unsigned waiting, unsigned turn) {
  prefix_border a, b;
  while (true) {
    if (k >= s.all) return false;
    a = s.borders[k];
    b = s.borders[k + 1];
    if (!is_empty(a, b)) break;
    if (lane_index() == 0) k = atomicAdd(s.next(), 1u);
    k = __shfl_sync(all_lanes, k, 0);
  }
  begin_share_here(v, room, share, k, a, b, stage, waiting, turn);
  return true;
}
template <class Acc>
__device__ __attribute__((noinline)) bool prepare_share(const row_view<1>& v, const prefix_shares& s, prefix_room<Acc> room, prefix_share<Acc>& share, std::uint32_t k) {
  return prepare_share_here(v, s, room, share, k, 0, 0, 0);
}

/// Leaves parts of a segment that other warps share, from `shares` shares of which `index` is one: the last warp to come answers the segment. All lanes call it.
template <class Acc>
__device__ __forceinline__ void put_part_here(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_shares& s, const prefix_share<Acc>& share,
                                              typename room_of<Acc>::type& room, const typename joined_rows<Acc>::state& part, std::uint64_t segment, std::uint32_t index,
                                              std::uint32_t shares, unsigned char* out) {
  using state = typename joined_rows<Acc>::state;
  const joined_rows<Acc> joins{acc};
  const auto lane = static_cast<unsigned>(lane_index());
  const std::uint64_t begin = v.first_of(segment), n = v.first_of(segment + 1) - begin, unit = begin - share.low + segment * segment_units<Acc>;
  const std::uint32_t from = s.of(share.quantum, unit), all = s.of(share.quantum, unit + n - 1) - from + 1;
  std::uint32_t parts = 1;
  state total = part;
  if (shares != all) {
    auto* const box = reinterpret_cast<state*>(s.boxes);
    const auto box_of = [&](std::uint32_t k) { return k == 0 ? 2 * from + 1 : 2 * (from + k); };
    std::uint32_t told = 0;  // how many shares; above 16 bits, of how many parts
    if (lane == 0) {
      const std::uint32_t mine = all == 2 ? index - from : atomicAdd(s.tickets + from, 1u << 16) >> 16;
      box[box_of(mine)] = part;
      __threadfence();
      told = atomicAdd(s.tickets + from, shares) + shares;
    }
    told = __shfl_sync(all_lanes, told, 0);
    if ((told & 0xffff) != all) return;
    __threadfence();
    __syncwarp();
    if (all == 2) {
      if (lane == 0) total = joins.combine(box[box_of(0)], box[box_of(1)]);
      parts = 2;
    } else {
      parts = told >> 16;
      total = joins.identity();
#pragma unroll 1
      for (std::uint32_t k = lane; k < parts; k += 4 * warp_lanes) {
        state some[4];
#pragma unroll
        for (std::uint32_t j = 0; j < 4; ++j) some[j] = k + j * warp_lanes < parts ? box[box_of(k + j * warp_lanes)] : joins.identity();
#pragma unroll
        for (std::uint32_t j = 0; j < 4; ++j) total = joins.combine(total, some[j]);
      }
      __syncwarp();
      total = lanes_total(joins, total, 5);
    }
  }
  bool sure = true;
  unsigned char* const to = out + segment * w.answer_bytes;
  if (lane == 0) sure = ragged_answer(joins, v, total, segment, n, share.run, parts / warp_lanes + 16 + share.run_merges, to);
  if (__any_sync(all_lanes, !sure)) {
    bool told = false;
    if (lane == 0 && s.verdicts != nullptr) {
      const std::uint32_t k = atomicAdd(s.verdicts_told(), 1u);
      told = k < s.verdict_room;
      if (told) s.verdicts[k] = segment + 1;  // rows_again.cuh adds it
    }
    if (!__any_sync(all_lanes, told)) acc.template exactly<wanted::answers>(room, v, segment, false, to);
  }
  __syncwarp();
}

template <class Acc>
__device__ __attribute__((noinline)) void put_part(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_shares& s, const prefix_share<Acc>& share,
                                                   typename room_of<Acc>::type& room, const typename joined_rows<Acc>::state& part, std::uint64_t segment, std::uint32_t index,
                                                   std::uint32_t shares, unsigned char* out) {
  put_part_here(acc, v, w, s, share, room, part, segment, index, shares, out);
}

/// The share is done. What it has of the last segment is in `open`, and stays with the warp until that has a part of another segment: what warps of a block have at their end they put together first.
/// All lanes call it.
template <class Acc>
__device__ __forceinline__ void end_share(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_shares& s, prefix_share<Acc>& share,
                                          typename room_of<Acc>::type& room, unsigned char* out) {
  const joined_rows<Acc> joins{acc};
  const auto lane = static_cast<unsigned>(lane_index());
  std::uint32_t shares = share.pending_shares;
  const std::uint64_t segment = share.pending_segment, tail = share.first + share.many;
  if (share.late && share.many != 0) {
    const bool both = shares != 0 && segment == share.first;
    if (both && lane == 0) share.head = joins.combine(share.pending, share.head);
    __syncwarp();
    put_part_here(acc, v, w, s, share, room, share.head, share.first, share.index, both ? shares + 1 : 1, out);
    if (both) shares = 0;
  }
  if (share.early) {
    const bool both = shares != 0 && segment == tail && shares < pending_most;
    if (shares != 0 && !both) put_part(acc, v, w, s, share, room, share.pending, segment, share.pending_index, shares, out);
    __syncwarp();
    shares = both ? shares + 1 : 1;
    if (lane == 0) {
      share.pending = both ? joins.combine(share.pending, share.open) : share.open;
      share.open = joins.identity();
      share.pending_segment = tail;
      share.pending_index = share.index;
    }
  }
  __syncwarp();
  if (lane == 0) share.pending_shares = shares;
  __syncwarp();
}

/// Puts together what the warps of a block have left, once all are done. All lanes of each call it.
template <class Acc>
__device__ __attribute__((noinline)) void put_pending(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_shares& s, prefix_share<Acc> (&all)[ragged_warps],
                                                      typename room_of<Acc>::type& room, unsigned char* out) {
  const joined_rows<Acc> joins{acc};
  const int me = warp_index();
  prefix_share<Acc>& share = all[me];
  if (share.pending_shares == 0) return;
  const std::uint64_t segment = share.pending_segment;
  for (int k = 0; k < me; ++k) {
    if (all[k].pending_shares != 0 && all[k].pending_segment == segment) return;
  }
  std::uint32_t shares = share.pending_shares;
  if (lane_index() == 0) share.head = share.pending;
  for (int k = me + 1; k < ragged_warps; ++k) {
    if (all[k].pending_shares == 0 || all[k].pending_segment != segment) continue;
    shares += all[k].pending_shares;
    if (lane_index() == 0) share.head = joins.combine(share.head, all[k].pending);
  }
  __syncwarp();
  put_part(acc, v, w, s, share, room, share.head, segment, share.pending_index, shares, out);
}

}  // namespace wf::device::inline WF_BUILD
