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
#include <warpfold/detail/gpu/kernels/rows_prefix_walk.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>

namespace wf::device::inline WF_BUILD {

/// What a warp keeps in shared memory, beside its registers. Its first lane writes it.
template <class Acc>
struct prefix_share {
  using state = typename joined_rows<Acc>::state;
  state head, tail;                ///< of its first segment, and of the one that it does not end
  state open;                      ///< of the one that is not ended yet, beside a sum that is exact
  std::uint64_t first;             ///< the first segment
  std::uint64_t origin;            ///< the element where its tiles begin; may be below 0
  std::uint64_t low, high;         ///< elements of the array that may be read
  std::uint64_t each, merges;      ///< units of a warp; states that meet one after another, at most
  unsigned many, stop;             ///< segments that end in it, and where its elements end
  // Where the warp is, while it does what most tiles do not ask for.
  state ended;                                ///< of a segment that ended, of which there was more than an exact sum
  std::uint64_t ended_segment;                ///< that segment; or none, all bits
  unsigned asked, there;                      ///< of segment_ends
  unsigned k, tile, stage, at;                ///< the first segment that is not ended; the tile; which stage has it; where in it what is not added yet begins
  bool opens, carried;  ///< something of segment k is in `open`; in `carry`
  typename prefix_of<Acc>::sum carry;
  typename prefix_of<Acc>::facts facts;       ///< of the carry; of a tile that is not exact, its own
};

/// Segments batch + lane of `mine`, which lie in one tile, the way of rows_ragged.cuh. Not inlined: most tiles have none.
template <class Acc>
__device__ __attribute__((noinline)) void answer_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, std::uint64_t batch, bool mine, std::uint64_t from, unsigned length, unsigned char* out) {
  std::uint64_t elements = mine ? length : 0;
  bool sure = true, done = false;
  add_whole_segments(acc, v, w, share.low, share.high, batch, mine, from, elements, elements, sure, done, out);
  for (unsigned todo = __ballot_sync(all_lanes, !sure); todo != 0; todo &= todo - 1) {
    const std::uint64_t uncertain = batch + static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
    acc.template exactly<false>(room, v, uncertain, false, out + uncertain * w.answer_bytes);
  }
  __syncwarp();
}

/// One lane's segment, which lies in a tile from `from` to `end`, added from shared memory: false if that does not decide its answer. Not inlined: most tiles have none.
template <class Acc>
__device__ __attribute__((noinline)) bool answer_from_tile(const Acc& acc, const prefix_room<Acc>& room, unsigned stage, unsigned from, unsigned end, unsigned char* to) {
  using lone = typename lone_of<Acc>::type;
  const lone a = lone_of<Acc>::of(acc);
  typename lone::running r = a.start();
#pragma unroll 1
  for (unsigned i = from; i < end; ++i) a.add_item(r, {room.item_pack(stage, i)}, i - from);
  const std::uint64_t n = end - from;
  const auto facts = a.facts(n, n, 0);
  return a.answer(total_of(a, r, facts), n, facts, to);
}

/// Whether all elements of a tile from `from` to `end` are -0: of a warp.
template <class Acc>
__device__ __forceinline__ bool are_minus_zeros(const prefix_room<Acc>& room, unsigned stage, unsigned from, unsigned end) {
#pragma unroll 1
  for (; from < end; from += warp_lanes) {
    const unsigned i = from + static_cast<unsigned>(lane_index());
    if (!__all_sync(all_lanes, i >= end || room.is_minus_zero(stage, i))) return false;
  }
  return true;
}
/// The segment that ended is answered.
template <class Acc>
__device__ __attribute__((noinline)) void answer_ended(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, unsigned char* out) {
  bool sure = true;
  const std::uint64_t k = share.ended_segment;
  if (lane_index() == 0) {
    if (k == share.first) share.head = share.ended;
    else sure = ragged_answer(joined_rows<Acc>{acc}, v, share.ended, k, v.first_of(k + 1) - v.first_of(k), share.each, share.merges, out + k * w.answer_bytes);
  }
  if constexpr (Acc::proves) {
    if (__any_sync(all_lanes, !sure)) acc.template exactly<false>(room, v, k, false, out + k * w.answer_bytes);
  }
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
/// An exact sum of elements onto `open`.
template <class Acc>
__device__ __forceinline__ void keep_sum(const Acc& acc, prefix_share<Acc>& share, typename prefix_of<Acc>::sum s, const typename prefix_of<Acc>::facts& f) {
  using joins = joined_rows<Acc>;
  if (lane_index() == 0) share.open = joins{acc}.combine(share.open, joins::known(prefix_of<Acc>::of(acc).state_of(s, f), s));
}
/// Elements `from` to `end`, counted from the share's origin, of segment k onto `open`: with all that may lie in them.
template <class Acc>
__device__ __attribute__((noinline)) void keep_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share, std::uint64_t k, unsigned from,
                                                     unsigned end) {
  const std::uint64_t begin = v.first_of(k);
  const typename Acc::state t = add_part(acc, v, w, k, begin, end - from, share.origin + from - begin, static_cast<unsigned>(lane_index()), 5);
  __syncwarp();
  const typename Acc::state s = lanes_total(acc, t, 5);
  if (lane_index() == 0) share.open = joined_rows<Acc>{acc}.combine(share.open, joined_rows<Acc>::near(s));
}

}  // namespace wf::device::inline WF_BUILD
