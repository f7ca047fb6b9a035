// SPDX-License-Identifier: Apache-2.0
/// \file rows_stream.cuh
/// Rows that lie one after the other, by way of shared memory: the copy engine of the multiprocessor (bulk.cuh) brings a warp's rows, 4 KiB at a
/// time, while the warp adds those before. So copies do not wait for registers, and they are of whole lines whatever the length of a row. Few lanes
/// share a short row, since what they would tell each other costs more than reading it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/kernels/rows_kernel.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

/// Sizes of a block. Its warps work each by itself, with a ring of its own. A tile is what one copy brings; a lane adds up to `stream_share` bytes of it.
inline constexpr int stream_threads = 128, stream_warps = stream_threads / warp_lanes, stream_blocks = 5;
inline constexpr int stream_bytes = 4096, stream_share = stream_bytes / warp_lanes, stream_passes = 32;
/// Waves of blocks, at most: the fewer tiles a warp has, the less it matters that multiprocessors do not read at one speed; but elements of 1 and 2 bytes, and short rows, take longer than their copies,
/// of which one is to come while another is added. So do all rows where memory is fast: an H200 reads 2^28 f32 in rows of 64 to 1024 at 0.92 to 0.98 of its speed by 32 waves, at 0.84 to 0.87 by 100, and
/// bf16 in rows of 128 to 2048 at 0.92 to 0.95 by 16, at 0.87 to 0.90 by 32.
template <class Acc>
constexpr std::uint32_t stream_waves(std::uint64_t row_bytes, bool fast_memory) {
  if (fast_memory) return packed_accumulator<Acc> && sizeof(typename Acc::state) <= 16 ? 16 : 32;  // sums of bf16, but no moments
  return Acc::fixed_size < 4 || row_bytes < 128 ? 32 : 100;
}
/// Rows of several tiles are a warp's each: of fewer than four waves of them the last ones, which a warp adds alone, are to be short. (Extremes, places and sums of integers took 1.06 to 1.10 of
/// the time of rows_long.cuh.)
template <class Acc>
inline constexpr std::uint64_t stream_last_bytes = Acc::proves ? 1 << 15 : 0;
/// A thread has rows of no more bytes (rows_thread.cuh). For sums of bf16 threads have bounds, which are faster there.
template <class Acc>
inline constexpr std::uint64_t stream_least_bytes = Acc::proves && Acc::fixed_size < 8 && !packed_accumulator<Acc> ? 48 : 64;
template <weighs_lone_rows Acc>
inline constexpr std::uint64_t stream_least_bytes<Acc> = Acc::lone_bytes;
/// How many elements of a tile a lane adds, at most.
template <class Acc>
inline constexpr std::uint64_t stream_items = stream_share / Acc::fixed_size + 8;
using stream_ring = bulk_ring<stream_bytes, 2>;

/// How rows are walked; made by the host. A tile has `tile_rows` rows, or is a piece of a row.
struct stream_walk {
  std::uint64_t all_bytes;
  std::uint32_t groups;       ///< groups of rows that come by one copy; rows, where a row has several pieces
  std::uint32_t group_bytes;  ///< every group's but the last one's
  std::uint32_t row_bytes, tile_rows, last_rows, pieces;  ///< rows of a group, and of the last one; pieces of a row
  std::uint32_t units;        ///< a row's, where it is one piece: packs, or elements where rows are not made of packs
  std::uint32_t turn_mask;    ///< 1 less than the number of different packs at which lanes begin a row, so that they meet no bank twice
  int turn_shift, group_log2;
  bool whole;                 ///< a unit is a pack
  bool covered;               ///< rows begin and end anywhere: their units are the packs that are theirs alone, and what lies at both ends is read with what is beside it
  float kept;
  std::size_t answer_bytes;
};

/// The state of the lane whose index differs in the bits of `mask` from this lane's.
template <class State>
__device__ __forceinline__ State state_beside(const State& s, int mask) {
  auto w = state_words<State>::of(s);
#pragma unroll
  for (int j = 0; j < w.count; ++j) w.word[j] = __shfl_xor_sync(all_lanes, w.word[j], mask);
  State t = s;
  w.to(t);
  return t;
}

/// The accumulator by which a lane keeps a row of several pieces.
template <class Acc>
struct streamed_by { using type = Acc; };
template <class Acc>
  requires lengthens_rows<Acc>
struct streamed_by<Acc> { using type = typename Acc::streamed; };

template <class Acc>
WF_HD typename streamed_by<Acc>::type longer_from(const Acc& acc) {
  return {acc};
}
template <class Acc>
__device__ __forceinline__ typename streamed_by<Acc>::type::state lengthened(const Acc& acc, const typename Acc::state& s, std::uint64_t length) {
  if constexpr (std::is_same_v<typename streamed_by<Acc>::type, Acc>) return s;
  else return acc.lengthened(s, length);
}

/// Merges the states of all lanes of each group of 2^log2, in each of them.
template <class Acc>
__device__ __forceinline__ typename Acc::state lanes_together(const Acc& acc, typename Acc::state s, int log2) {
  if constexpr (merges_by_warp<Acc>) {
    if (log2 == 5) return acc.warp_together(s);
  }
#pragma unroll
  for (int k = 0; k < 5; ++k) {
    if (k < log2) s = acc.combine(s, state_beside(s, 1 << k));
  }
  return s;
}

/// Adds units member, member + lanes, … below `units` of the row at `from` in shared memory, beginning with the turn-th of them where a lane has turn_mask + 1.
template <bool Whole, class Acc>
__device__ __forceinline__ void add_staged(const Acc& acc, typename Acc::running& r, const unsigned char* from, unsigned member, int group_log2,
                                           unsigned units, unsigned turn, unsigned turn_mask) {
  constexpr unsigned ahead = Whole ? 4 : 8, bytes = Whole ? 16 : Acc::fixed_size;
  const unsigned batch = ahead << group_log2;
  unsigned first = 0;
#pragma unroll 1
  for (; first + batch <= units; first += batch, turn += ahead) {
    pack p[ahead];
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) p[j] = load_bytes(from + (member + (((turn + j) & turn_mask) << group_log2)) * bytes, bytes);
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) add_unit<Whole>(acc, r, {p[j]}, 0);
  }
  if (first >= units) return;
  pack p[ahead] = {};
#pragma unroll
  for (unsigned j = 0; j < ahead; ++j) {
    const unsigned unit = first + member + ((turn + j) % ahead << group_log2);
    if (unit < units) p[j] = load_bytes(from + unit * bytes, bytes);
  }
#pragma unroll
  for (unsigned j = 0; j < ahead; ++j) {
    if (first + member + ((turn + j) % ahead << group_log2) < units) add_unit<Whole>(acc, r, {p[j]}, 0);
  }
}

/// Rows that begin and end anywhere are read by packs if they have so many elements: for 25 halves the elements added beside them cost more than loads of one at a time. They take longer than
/// their copies, so a warp is to have several tiles, of which one comes while it adds another.
inline constexpr std::uint64_t covered_elements = 48;
inline constexpr std::uint32_t covered_waves = 8;

/// The first `count` bytes of a word: none below 0, all from 4 on.
__device__ __forceinline__ std::uint32_t bytes_below(int count) { return ~__funnelshift_lc(0, ~0u, static_cast<unsigned>(8 * max(count, 0))); }

/// Adds to r those of `bytes` bytes in shared memory that share a pack with bytes before or behind them. The first and the second lane do it, and take for the neighbours elements
/// that change nothing. `from` is then where the other packs begin. Returns their number.
template <covering_accumulator Acc>
__device__ __forceinline__ unsigned add_ends(const Acc& acc, typename Acc::running& r, const unsigned char*& from, unsigned bytes, unsigned member, unsigned lanes) {
  const auto before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
  const unsigned end = before + bytes, first = before != 0 ? 1 : 0;
#pragma unroll 1
  for (unsigned e = member; e < 2; e += lanes) {
    const unsigned begins = e == 0 ? before : 0, ends = e == 0 ? min(end, 16u) : end % 16;
    if (e == 0 ? before == 0 : ends == 0 || end < 16 * first) continue;
    pack p = load_bytes(from - before + (e == 0 ? 0 : end / 16 * 16), 16);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t mine = bytes_below(static_cast<int>(ends) - 4 * j) & ~bytes_below(static_cast<int>(begins) - 4 * j);
      p.word[j] = (p.word[j] & mine) | (acc.neutral() & ~mine);
    }
    acc.add(r, {p}, 0);
  }
  from += 16 * first - before;
  return max(end / 16, first) - first;
}

template <unordered_accumulator Acc>
__global__ void __launch_bounds__(stream_threads, resident_blocks(stream_threads, stream_blocks))
    stream_rows_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ stream_walk w, const __grid_constant__ Acc acc,
                       const __grid_constant__ facts_of<Acc> facts, unsigned char* out) {
  if constexpr (!has_bulk_copies) return;
  await_stream();
  constexpr unsigned size = Acc::fixed_size;
  using longer = typename streamed_by<Acc>::type;
  using room_type = typename room_of<Acc>::type;
  static_assert(sizeof(room_type) <= stream_bytes && alignof(room_type) <= 128);
  __shared__ stream_ring::barriers barriers[stream_warps];
  const int my_warp = warp_index();
  const stream_ring ring(wf_dynamic_shared + my_warp * static_cast<int>(stream_ring::shared_bytes), barriers[my_warp]);
  const auto lane = static_cast<unsigned>(lane_index());
  const unsigned lanes = 1u << w.group_log2, member = lane & (lanes - 1), group = lane >> w.group_log2, groups = 32u >> w.group_log2;
  const unsigned warps = gridDim.x * stream_warps;
  const loader<cache::share> hint(w.kept);

  struct place {
    std::uint32_t group, piece;
  };
  const auto advance = [&](place& p) {
    if (++p.piece == w.pieces) {
      p.piece = 0;
      p.group += warps;
    }
  };
  // Where a tile begins, and its bytes.
  struct stretch {
    const unsigned char* from;
    std::uint32_t bytes, skip;  ///< skip: what a copy begins before it, at a multiple of 16
    bool within;                ///< a copy of whole packs would not leave the array
  };
  const auto stretch_of = [&](const place& p) {
    const std::uint64_t begin = std::uint64_t{p.group} * w.group_bytes + p.piece * stream_bytes;
    stretch s{v.x[0] + begin, min(w.group_bytes - p.piece * stream_bytes, std::uint32_t{stream_bytes}), 0, true};
    if (w.all_bytes - begin < s.bytes) s.bytes = static_cast<std::uint32_t>(w.all_bytes - begin);
    if (!w.whole || w.covered) {
      s.skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(s.from) % 16);
      s.within = s.skip <= begin && begin - s.skip + (s.skip + s.bytes + 15) / 16 * 16 <= w.all_bytes;
    }
    return s;
  };

  place next{blockIdx.x * stream_warps + static_cast<unsigned>(my_warp), 0}, now = next;
  std::uint32_t asked = 0, taken = 0;
  // Asks for as many tiles as there is room for. Lanes load what is not within the array when its turn comes, first or last of all.
  const auto ask = [&] {
    while (next.group < w.groups && asked < taken + 2) {
      const stretch s = stretch_of(next);
      if (s.within) {
        if (lane == 0) ring.ask(asked, s.from - s.skip, (s.skip + s.bytes + 15) / 16 * 16, hint.policy);
        ++asked;
      }
      advance(next);
    }
  };
  if (lane == 0) ring.start();
  __syncwarp();
  if (next.group < w.groups && stretch_of(next).within) ask();
  const longer longer_acc = longer_from(acc);
  typename longer::state whole_row = longer_acc.identity(), kept = whole_row;
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t kept_row = none;
  unsigned filled = 0;  // lanes of each group that keep a row: once all do, all answer
  for (; now.group < w.groups; advance(now)) {
    const stretch s = stretch_of(now);
    unsigned char* const staged = ring.buffer + taken % 2 * stream_ring::room;
    __syncwarp();
    if (s.within) {
      ring.await(taken);
    } else {
      if (next.group == now.group && next.piece == now.piece) advance(next);
      if (w.covered) {  // what is read beside the elements
        if (lane < 2) *reinterpret_cast<uint4*>(staged + (lane == 0 ? 0 : (s.skip + s.bytes) / 16 * 16)) = {0, 0, 0, 0};
        __syncwarp();
      }
#pragma unroll 1
      for (unsigned at = lane * size; at < s.bytes; at += warp_lanes * size) {
        const pack one = load_bytes(s.from + at, size);
        __builtin_memcpy(staged + s.skip + at, &one, size);
      }
      __syncwarp();
    }
    const unsigned char* const from = staged + s.skip;
    const bool pieces = w.pieces > 1, last = now.group + std::uint64_t{warps} >= w.groups;
    const unsigned here = now.group + 1 < w.groups ? w.tile_rows : w.last_rows, units = !pieces ? w.units : s.bytes / (w.whole ? 16 : size);
    const std::uint64_t first = std::uint64_t{now.group} * w.tile_rows;
    unsigned todo = 0;
#pragma unroll 1
    for (unsigned pass = 0; pass * groups < here; ++pass) {
      const unsigned row = pass * groups + group;
      typename Acc::running r = acc.start();
      const unsigned char* begin = from + row * w.row_bytes;
      unsigned many = row < here ? units : 0;
      if constexpr (covering_accumulator<Acc>) {
        if (w.covered && row < here) many = add_ends(acc, r, begin, pieces ? s.bytes : w.row_bytes, member, lanes);
      }
      by_unit<Acc>(w.whole, [&]<bool Whole>() { add_staged<Whole>(acc, r, begin, member, w.group_log2, many, row >> w.turn_shift, w.turn_mask); });
      __syncwarp();
      const typename Acc::state total = total_of(acc, r, facts);
      if (!pieces) {
        whole_row = lengthened(acc, lanes_together(acc, total, w.group_log2), v.n);
      } else {
        whole_row = now.piece == 0 ? lengthened(acc, total, stream_items<Acc>) : longer_acc.combine(whole_row, lengthened(acc, total, stream_items<Acc>));
        if (now.piece + 1 < w.pieces) break;
#pragma unroll 1
        for (int m = 1; m < warp_lanes; m *= 2) whole_row = longer_acc.combine(whole_row, state_beside(whole_row, m));
      }
      if (member == filled) {
        kept = whole_row;
        kept_row = row < here ? first + row : none;
      }
      if (++filled != lanes && !last) continue;
      if (member < filled && kept_row != none && !longer_acc.answer(kept, v.n, facts, out + kept_row * w.answer_bytes)) todo |= 1u << pass;
      filled = 0;
    }
    __syncwarp();
    if constexpr (may_doubt<Acc>) {
      if (settle(acc, facts, *reinterpret_cast<room_type*>(staged), v, todo, lanes == 1 ? first + lane : kept_row, warp_lanes, {}, w.answer_bytes, out)) {  // a group of several lanes has one pass
        __syncwarp();
        written_before_copies();
        // All rows so far are answered, so that a call need keep none of this in registers that loops want.
        kept = whole_row = longer_acc.identity();
        kept_row = none;
        filled = 0;
      }
    }
    if (s.within) ++taken;
    else written_before_copies();
    ask();
  }
}

/// Whether rows go by this kernel; enqueued if they do.
template <class Acc>
bool enqueue_stream_rows(const Acc& acc, const row_view<1>& v, workspace& scratch, cudaStream_t stream, void* to, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size;
  const std::uint64_t row_bytes = v.n * size, most_warps = std::uint64_t{stream_blocks} * stream_warps * scratch.multiprocessors();
  if (!scratch.bulk_copies() || v.offsets != nullptr || v.n == 0 || v.kept != 1 || v.dims != 2 || v.dim[1].stride[0] != static_cast<std::int64_t>(size) ||
      v.dim[0].stride[0] != static_cast<std::int64_t>(row_bytes) || row_bytes >= std::uint64_t{1} << 20) {
    return false;
  }
  const bool lone = row_bytes <= stream_least_bytes<Acc> && (row_bytes % 16 == 0 || (row_bytes < 16 && (row_bytes & (row_bytes - 1)) == 0)) && reinterpret_cast<std::uintptr_t>(v.x[0]) % 16 == 0;
  if (lone || v.all * size < most_warps * stream_bytes / 2 || (row_bytes > stream_bytes && v.rows < (row_bytes <= stream_last_bytes<Acc> ? 1 : 4) * most_warps)) return false;
  stream_walk w{};
  w.whole = row_bytes % 16 == 0 && reinterpret_cast<std::uintptr_t>(v.x[0]) % 16 == 0;
  if constexpr (covering_accumulator<Acc>) {
    w.covered = !w.whole && v.n >= covered_elements;
    w.whole = w.whole || w.covered;
  }
  w.all_bytes = v.all * size;
  w.row_bytes = static_cast<std::uint32_t>(row_bytes);
  w.answer_bytes = acc.result_size();
  w.kept = array_kept(w.all_bytes, scratch.l2_bytes());
  w.tile_rows = w.pieces = 1;
  w.turn_mask = ~0u;
  w.turn_shift = 31;
  if (row_bytes > stream_bytes) {
    w.group_log2 = 5;
    w.pieces = divide_up(row_bytes, stream_bytes);
  } else {
    while ((32u >> w.group_log2) * row_bytes > stream_bytes) ++w.group_log2;
    w.tile_rows = 32u >> w.group_log2;
    w.tile_rows *= at_most(stream_bytes / (w.tile_rows * row_bytes), stream_passes);
    w.units = static_cast<std::uint32_t>(row_bytes / (w.whole ? 16 : size));
    // Packs of a lane, which turns only where all lanes have as many; rows that lie 2^k packs apart meet the same eight banks of 16 bytes again after 2^(3 - k) rows.
    const std::uint32_t rounds = divide_up(w.units, 1 << w.group_log2);
    if (w.whole && !w.covered && (rounds & (rounds - 1)) == 0 && w.units == rounds << w.group_log2) {
      w.turn_mask = rounds - 1;  // a power of 2 less 1
      w.turn_shift = 3;
      for (std::uint32_t u = w.units; u % 2 == 0 && w.turn_shift > 0; u /= 2) --w.turn_shift;
    }
  }
  w.group_bytes = w.tile_rows * w.row_bytes;
  const std::uint64_t groups = (v.rows + w.tile_rows - 1) / w.tile_rows;
  if (groups >= std::uint64_t{1} << 31) return false;
  w.groups = static_cast<std::uint32_t>(groups);
  w.last_rows = static_cast<std::uint32_t>(v.rows - (groups - 1) * w.tile_rows);
  // Multiprocessors do not read at one speed: beyond L2 blocks have a few tiles a warp, so that those that are faster take more blocks.
  const std::uint64_t most_blocks = most_warps / stream_warps * (w.all_bytes <= scratch.l2_bytes() ? 1 : w.covered ? covered_waves : stream_waves<Acc>(row_bytes, scratch.fast_memory()));
  const std::uint32_t blocks = at_most(divide_up(w.groups, stream_warps), static_cast<std::uint32_t>(most_blocks));
  e = launch(stream_rows_kernel<Acc>, {blocks, stream_threads, stream_warps * stream_ring::shared_bytes, stream, scratch.overlaps()}, v, w, acc,
             w.pieces > 1 ? longer_from(acc).facts(v.n, stream_items<Acc>, w.pieces + 5) : acc.facts(v.n, stream_items<Acc>, 5), static_cast<unsigned char*>(to));
  return true;
}

}  // namespace wf::device::inline WF_BUILD
