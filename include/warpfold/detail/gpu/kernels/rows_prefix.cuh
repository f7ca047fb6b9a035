// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix.cuh
/// Sums of segments of any lengths as differences of prefix sums. Shares are those of rows_ragged.cuh. A warp brings a tile of 1024 or 2048 elements
/// to shared memory, and before it the places where segments end. Each lane adds 64 to 256 bytes that lie side by side, and keeps the sum before each
/// 16 bytes. A scan gives each lane the sum before its first element. A segment's sum is then the difference of two such sums: a warp has 32 segments at once, whatever their lengths.
///
/// What the sums are, and when they are exact, is in rows_prefix_sums.cuh. In other tiles they are near (rows_prefix_inexact.cuh); where that does not decide an
/// answer, a lane adds a short segment from shared memory, and others are added as in rows_ragged.cuh (rows_prefix_answers.cuh). rows_prefix_walk.cuh has the tiles.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_joined.cuh>
#include <warpfold/detail/gpu/accumulate/rows_prefix_sums.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_answers.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_inexact.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_shares.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix_walk.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

/// How many blocks a multiprocessor of 228 KiB holds, such that their threads have enough registers: where a loop would put some values into memory, fewer blocks are faster.
template <class Acc>
inline constexpr int prefix_resident = [] {
  constexpr int room = (224 << 10) / (ragged_warps * (prefix_room<Acc>::bytes + sizeof(typename room_of<Acc>::type) + sizeof(prefix_share<Acc>)) + 1408);
  constexpr int most = Acc::proves ? 3 : 7;
  return room < most ? room : most;
}();

/// Floats' warps take shares one after the other (rows_prefix_shares.cuh). Integers wait for memory alone, so they would only pay for that: a warp of theirs has one share.
template <class Acc>
inline constexpr bool takes_shares = Acc::proves;

/// Finds the share of a warp that has only one, and makes it `next`, with its first tile and ends on their way. False if it is empty.
template <class Acc>
__device__ __forceinline__ bool only_share(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_room<Acc>& room, prefix_share<Acc>& share) {
  const auto lane = static_cast<unsigned>(lane_index());
  const unit_line<Acc> line(v, w.segments);
  const std::uint64_t my_warp = blockIdx.x * std::uint64_t{ragged_warps} + static_cast<unsigned>(warp_index());
  const std::uint64_t begin = line.of_warp(my_warp), end = line.of_warp(my_warp + 1);
  std::uint64_t ended[2];
  line.ended({begin, end}, ended);
  const std::uint64_t low = line.base;
  const bool active = ended[0] < w.segments && begin < end;
  prefix_stretch t{};
  t.first = ended[0];
  t.late = true;
  if (active) {
    const std::uint64_t unit = line.begin(t.first), length = v.first_of(t.first + 1) - v.first_of(t.first);
    const std::uint64_t from = v.first_of(t.first) + (begin > unit ? min(length, begin - unit) : 0);
    std::uint64_t last = end + line.base - ended[1] * segment_units<Acc>;
    if (ended[1] < w.segments) last = min(last, v.first_of(ended[1] + 1));
    t.at = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(v.x[0] + from * Acc::fixed_size) % 128) / Acc::fixed_size;
    t.origin = from - t.at;
    t.many = static_cast<unsigned>(ended[1] - t.first);
    t.stop = static_cast<unsigned>(last - t.origin);
    t.cut = static_cast<std::int64_t>(t.origin) < static_cast<std::int64_t>(low);
    ask_tile<Acc>(v, room, 0, t.origin, 0, t.stop, t.cut, low);
    segment_ends<Acc> to_come{v, room, t.first, static_cast<std::uint32_t>(t.origin), t.many, 0};
    to_come.ask(0);
    t.asked = to_come.asked;
  }
  if (lane == 0) {
    share.head = share.open = share.pending = joined_rows<Acc>{acc}.identity();
    share.low = low;
    share.first = t.first;
    share.next = t;
  }
  __syncwarp();
  return active;
}

/// Counts: answers may ask how many elements a segment has. Sums of floats have a kernel without that, which takes 0.93 to 0.97 of the other's time.
template <class Acc, bool Counts>
__global__ void __launch_bounds__(ragged_threads, resident_blocks(ragged_threads, prefix_resident<Acc>))
    prefix_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ ragged_walk w, const __grid_constant__ Acc acc, const __grid_constant__ prefix_shares s,
                  unsigned char* out) {
  if constexpr (!has_bulk_copies) return;
  if constexpr (!takes_shares<Acc>) await_stream();
  using joins = joined_rows<Acc>;
  using sums = prefix_of<Acc>;
  using number = typename sums::number;
  using sum = typename sums::sum;
  using facts_type = typename sums::facts;
  using shared = prefix_room<Acc>;
  constexpr unsigned tile_size = shared::tile;
  constexpr bool takes = takes_shares<Acc>;
  __shared__ prefix_share<Acc> shares[ragged_warps];
  __shared__ typename room_of<Acc>::type rooms[ragged_warps];
  const auto lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const shared room{wf_dynamic_shared + (0 - reinterpret_cast<std::uintptr_t>(wf_dynamic_shared)) % 128 + warp * shared::bytes};
  const sums adds = sums::of(acc);
  [[maybe_unused]] const bool counts = Acc::proves || adds.asks_count();
  auto& share = shares[warp];
  bool more;
  if constexpr (takes) {
    // What the stream did before is done (prefix_borders_kernel); that kernel is not.
    const std::uint32_t mine = blockIdx.x * ragged_warps + warp;
    std::uint64_t quantum;
    const prefix_border border = find_border<segment_units<Acc>>(v, w.segments, s, mine + lane / border_lanes, quantum);
    const auto border_of_lane = [&](int from) { return prefix_border{__shfl_sync(all_lanes, border.segment, from), __shfl_sync(all_lanes, border.element, from)}; };
    const prefix_border a = border_of_lane(0), b = border_of_lane(border_lanes);
    if (lane == 0) share.low = v.first_of(0);
    __syncwarp();
    more = !is_empty(a, b);
    if (more) begin_share<Acc>(v, room, share, mine, a, b);
    if (lane == 0) {
      share.head = share.open = share.pending = joins{acc}.identity();
      share.quantum = quantum;
      share.each = 2 * share.quantum * s.weight_of(0);
      share.merges = 4 * (share.each / tile_size + 2) + 64;
      share.run = share.each + 2 * pending_most * share.quantum * s.weight_of(1);
      share.run_merges = 4 * (share.run / tile_size + 2 * pending_most) + 64;
      share.pending_segment = 0;
      share.pending_shares = share.pending_index = 0;
      share.ended_segment = ~std::uint64_t{0};
    }
    __syncwarp();
    await_stream();
    if (!more) {
      std::uint32_t k = 0;
      if (lane == 0) k = atomicAdd(s.next(), 1u);
      more = prepare_share<Acc>(v, s, room, share, __shfl_sync(all_lanes, k, 0));
    }
  } else {
    more = only_share(acc, v, w, room, share);
  }
  end_of_copies();
  bool working = false, asked_share = false, prepared = false;
  unsigned k = 0, at = 0, stage = 0, tile = 0, asked = 0, there = 0;  // `at`: where in the tile that comes next what was not added yet begins
  [[maybe_unused]] std::uint32_t ticket = 0;
  bool carried = false, open = false;
  [[maybe_unused]] bool near_carry = false;  // `carry` is near, not exact
  [[maybe_unused]] unsigned began = 0;  // where segment k begins
  sum carry{};
  facts_type carry_facts{};
#pragma unroll 1
  while (working || more) {
    // Nothing is needed here but what the share keeps, so the code between two rounds takes no registers from them.
    if (!working) {
      if (lane == 0) static_cast<prefix_stretch&>(share) = share.next;
      __syncwarp();
      working = true;
      more = asked_share = prepared = carried = false;
      open = share.late;
      k = tile = there = 0;
      at = share.at;
      asked = share.asked;
      if constexpr (Counts) began = at;
    }
    const std::uint64_t here = share.first, origin = share.origin;
    const unsigned many = share.many, stop = share.stop;
    const bool cut = share.cut;
    if constexpr (takes) {
      if (!asked_share && tile + 2 * tile_size >= stop) {  // as late as possible, but before it is needed
        asked_share = true;
        if (lane == 0) ticket = atomicAdd(s.next(), 1u);
      }
      if (!prepared && tile + tile_size >= stop) {  // the next share's first tile comes with what this tile asks for
        prepared = true;
        more = prepare_share_here<Acc>(v, s, room, share, __shfl_sync(all_lanes, ticket, 0), stage ^ 1, many - k, share.turn + many);
      }
    }
    segment_ends<Acc> to_come{v, room, here, static_cast<std::uint32_t>(origin), many, share.turn, asked, there};
    const auto keep = [&] {
      keep_sum(acc, share, carry, carry_facts);
      carried = false;
      open = true;
    };
    bool inexact = false, ended = false;
#pragma unroll 1
    while (true) {
      const unsigned tile_end = tile + tile_size, soon = to_come.asked;
      if (tile_end < stop) ask_tile<Acc>(v, room, stage ^ 1, origin, tile_end, stop, cut, share.low);
      to_come.ask(k);
      end_of_copies();
      await_copies<1>();
      __syncwarp();
      to_come.there = soon;
      typename sums::part part;
      const number all = room.scan(stage, [&](const pack& p) { return adds.sum_of_all(part, p); });
      const facts_type facts = adds.warp_facts(part, all);
      __syncwarp();
      facts_type joined = facts;
      if constexpr (Acc::proves) {
        inexact = near_carry || !sums::is_exact(facts);
        if constexpr (sums::near_answers) {
          if (inexact) {
            if (lane == 0) share.tile_facts = facts;
            break;
          }
        }
        if (carried) {
          joined = sums::joined(carry_facts, facts);
          if (inexact || !sums::is_exact(joined)) {
            keep();
            joined = facts;
          }
        }
        if (inexact) {
          carry_facts = facts;
          break;
        }
      }
      const auto sum_of = [&](unsigned before_end) { return room.sum_of(stage, before_end, [&](const pack& p, unsigned n) { return adds.sum_of(p, n); }); };
      number before{};
      if (at != 0) before = sum_of(at);
      bool beginning = true;  // no segment ended in this tile yet
      // Adds the next `elements` elements of segment k, whose sum is `value`.
      const auto add_to_carry = [&](const sum& value, unsigned elements) {
        if (elements == 0) return;
        carry = carried ? carry + value : value;
        carry_facts = joined;
        carried = true;
      };
#pragma unroll 1
      while (true) {
        const unsigned next = to_come.next(k);
        const bool ends = next <= tile_end;
        const auto some = static_cast<unsigned>(__popc(static_cast<int>(__ballot_sync(all_lanes, ends))));
        if (some == 0) break;
        const unsigned my_end = next - tile;
        number upto{};
        if (ends) upto = sum_of(my_end);
        number less = number_from_below(upto, 1);
        unsigned my_begin = __shfl_up_sync(all_lanes, my_end, 1);
        if (lane == 0) {
          less = before;
          my_begin = at;
        }
        auto value = static_cast<sum>(static_cast<number>(upto - less));
        if constexpr (Acc::proves) {  // all of them may be -0
          if (is_zero(value) && ends && my_begin != my_end && adds.has_signs()) {
            unsigned i = my_begin;
            while (i < my_end && room.is_minus_zero(stage, i)) ++i;
            if (i == my_end) make_minus_zero(value);
          }
          __syncwarp();
        }
        bool answers = ends;
        const bool longer = beginning && carried && lane == 0;  // than what it has of this tile
        if (beginning && open) {
          add_to_carry(number_of_lane(value, 0), __shfl_sync(all_lanes, my_end, 0) - at);
          if (carried) keep();
          end_open(acc, share, here + k);
          open = false;
          ended = true;
          answers = ends && lane != 0;
        } else if (longer) {
          value += carry;
        }
        [[maybe_unused]] bool apart = false;
        if (answers) {
          unsigned char* const to = out + (here + k + lane) * sums::answer_bytes;
          if constexpr (Counts) {
            if (counts) apart = !adds.answer(value, longer ? next - began : my_end - my_begin, joined, to);
            else adds.answer(value, to);
          } else {
            adds.answer(value, to);
          }
        }
        if constexpr (Acc::proves && Counts) {
          if (__any_sync(all_lanes, apart)) {
            // A segment that began in an earlier tile may have more elements than are added apart.
            if (__shfl_sync(all_lanes, apart && longer, 0)) acc.template exactly<wanted::answers>(rooms[warp], v, here + k, false, out + (here + k) * sums::answer_bytes);
            answer_apart(acc, v, w, share, rooms[warp], here + k, apart && !longer, out);
          }
        }
        carried = beginning = false;
        joined = facts;
        before = number_of_lane(upto, static_cast<int>(some) - 1);
        at = __shfl_sync(all_lanes, my_end, static_cast<int>(some) - 1);
        k += some;
        if constexpr (Counts) began = tile + at;
        if (some < warp_lanes) break;
      }
      // Elements of segment k, which this tile does not end.
      if (const unsigned to = min(stop, tile_end) - tile; to > at) {
        auto value = static_cast<sum>(static_cast<number>((to == tile_size ? all : sum_of(to)) - before));
        if constexpr (Acc::proves) {
          if (is_zero(value) && adds.has_signs() && are_minus_zeros(room, stage, at, to)) make_minus_zero(value);
        }
        add_to_carry(value, to - at);
      }
      working = stop > tile_end;
      __syncwarp();
      tile = tile_end;
      stage ^= 1;
      at = 0;
      if (ended || !working || (takes && tile + 2 * tile_size >= stop)) break;
    }
    if constexpr (Acc::proves) {
      if (lane == 0) {
        share.k = k;
        share.tile = tile;
        share.stage = stage;
        share.at = at;
        share.opens = open;
        share.carried = carried;
        share.carry = carry;
        share.facts = carry_facts;
        share.asked = to_come.asked;
        share.there = to_come.there;
      }
      __syncwarp();
      if (ended) answer_ended(acc, v, w, share, rooms[warp], out);
      if (inexact) {
        if constexpr (sums::near_answers) working = add_near_tile(acc, v, w, room, share, rooms[warp], out);
        else if (!sums::may_be_inexact || sums::is_infinite(carry_facts)) working = add_inexact_tile<true>(acc, v, w, room, share, rooms[warp], out);
        else if constexpr (sums::may_be_inexact) working = add_inexact_tile<false>(acc, v, w, room, share, rooms[warp], out);
        tile = share.tile + tile_size;
        stage = share.stage ^ 1;
        at = 0;
      } else {
        tile = share.tile;
        stage = share.stage;
        at = share.at;
      }
      k = share.k;
      open = share.opens;
      carried = share.carried;
      carry = share.carry;
      carry_facts = share.facts;
      if constexpr (sums::near_answers) near_carry = inexact && carried && !sums::is_exact(carry_facts);
      if constexpr (Counts) {
        if (inexact) began = carried ? share.tile + share.at : tile;
      }
      asked = share.asked;
      there = share.there;
      __syncwarp();
    } else {
      if (ended && lane == 0) share.head = share.ended;
      asked = to_come.asked;
      there = to_come.there;
    }
    if (!working) {
      if (carried) keep();
      __syncwarp();
      if constexpr (takes) end_share(acc, v, w, s, share, rooms[warp], out);
      else if (lane == 0 && open) (k == 0 ? share.head : share.pending) = share.open;
    }
  }
  await_copies<0>();
  if constexpr (takes) {
    __syncthreads();
    put_pending(acc, v, w, s, shares, rooms[warp], out);
  } else {
    using state = typename joins::state;
    __shared__ state heads[ragged_warps], tails[ragged_warps];
    __shared__ std::uint64_t firsts[ragged_warps], nexts[ragged_warps];
    if (lane == 0) {
      heads[warp] = share.head;
      tails[warp] = share.pending;
      firsts[warp] = share.first;
      nexts[warp] = share.first + k;
    }
    __syncthreads();
    const unit_line<joins> line(v, w.segments);
    join_segments(joins{acc}, v, w, line, heads, tails, firsts, nexts, rooms[0], 0, out, s.boxes, s.tickets, s.verdicts);
  }
}

/// The least units of a warp, and of all warps.
inline constexpr std::uint64_t prefix_least = 1 << 11, prefix_units = 1 << 14;

/// The shares of `units` units.
template <class Acc>
prefix_shares prefix_shares_of(std::uint64_t units, const ragged_plan& plan, workspace& scratch) {
  constexpr std::uint64_t state_bytes = sizeof(typename joined_rows<Acc>::state), tile = prefix_room<Acc>::tile;
  prefix_shares s{};
  if constexpr (!takes_shares<Acc>) {
    s.boxes = scratch.row_states();
    s.tickets = scratch.row_counters();
    return s;
  }
  s.warps = plan.blocks * ragged_warps;
  const std::uint64_t each = units / s.warps;
  std::uint32_t levels = 0;
  struct kind_of_shares {
    std::uint64_t weights, least_tiles;  ///< tiles of the smallest shares, at least: each may have a part of one, which takes as long as a whole one
  };
  constexpr bool half = Acc::fixed_size == 2;
  // Each share costs what a part of a tile and the way to the next one take, which is more beside tiles of 4096 bytes of small elements: of these a warp has fewer, but in large
  // arrays, where a warp that is late by 30 µs leaves the others something to take.
  constexpr kind_of_shares kinds[] = {{half ? 0x01020416u : 0x0101041au, half ? 3 : 4}, {half ? 0x010fu : 0x01020du, 4}, {0x010205, 4}, {1, 4}};
  for (const auto& [weights, least_tiles] : kinds) {
    if (Acc::fixed_size == 8 && weights == 0x010205) continue;  // slower than one share a warp
    s.weights = weights;
    for (s.weight = levels = 0; levels < 8 && s.weight_of(levels) != 0; ++levels) s.weight += s.weight_of(levels);
    s.all = s.warps * levels;
    const bool fits = s.all < 1 << 15 && (s.all + 1) * sizeof(prefix_border) + s.all * 2 * state_bytes + (s.all + 2) * 4 <= workspace::row_bytes;
    if (fits && each >= std::uint64_t{s.weight} * least_tiles * tile) break;
  }
  s.uncut = levels > 1 ? 0x0101010101010104ull : each >= 8 * tile ? 4 : 1;
  s.size = Acc::fixed_size;
  s.tile = tile;
  s.verdict_room = plan.blocks;
  s.borders = reinterpret_cast<prefix_border*>(scratch.row_states());
  s.boxes = scratch.row_states() + (s.all + 1) * sizeof(prefix_border);
  s.tickets = reinterpret_cast<std::uint32_t*>(s.boxes + s.all * 2 * state_bytes);
  s.verdicts = plan.again ? scratch.row_verdicts() : nullptr;
  return s;
}

/// Whether segments go this way; enqueued if they do.
template <class Acc>
bool enqueue_prefix(const Acc& acc, const row_view<1>& v, const rows_request& r, workspace& scratch, cudaStream_t stream, cudaError_t& e) {
  const ragged_plan plan = plan_segments(acc, v, scratch, prefix_least, prefix_resident<Acc>, sizeof(typename joined_rows<Acc>::state));
  const std::uint64_t units = v.all + v.rows * segment_units<Acc>;
  if (!scratch.bulk_copies() || !plan.walk.quick || plan.walk.skip || v.offsets == nullptr || units < prefix_units || !prefix_of<Acc>::fits(acc) ||
      units / (std::uint64_t{plan.blocks} * ragged_warps) >= std::uint64_t{1} << 30) {
    return false;
  }
  const prefix_shares s = prefix_shares_of<Acc>(units, plan, scratch);
  auto kernel = prefix_kernel<Acc, true>;
  if constexpr (Acc::proves) {
    if (!prefix_of<Acc>::of(acc).asks_count()) kernel = prefix_kernel<Acc, false>;
  }
  if constexpr (takes_shares<Acc>) {
    const std::uint32_t blocks = (s.all - s.warps + border_threads / border_lanes) / (border_threads / border_lanes);  // for s.all - s.warps + 1 borders
    e = launch(prefix_borders_kernel<segment_units<Acc>>, {blocks, border_threads, 0, stream, scratch.overlaps()}, v, plan.walk.segments, s);
    if (e != cudaSuccess) return true;
  }
  e = launch(kernel, {plan.blocks, ragged_threads, ragged_warps * prefix_room<Acc>::bytes + 128, stream, scratch.overlaps()}, v, plan.walk, acc, s, static_cast<unsigned char*>(r.out));
  if constexpr (Acc::proves) {
    if (e == cudaSuccess && plan.again) e = enqueue_again(acc, v, s.verdict_room, r, scratch, stream);
  }
  return true;
}

}  // namespace wf::device::inline WF_BUILD
