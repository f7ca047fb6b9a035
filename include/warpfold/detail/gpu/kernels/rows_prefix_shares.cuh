// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix_shares.cuh
/// Which elements a warp takes for prefix sums (rows_prefix.cuh), and how parts of segments that several warps have are put together.
///
/// Multiprocessors do not read at one speed, and segments do not take as long as each other. So there are more shares than warps, the later ones smaller: a warp that is done with one takes
/// the next. Each warp finds where its first share begins and ends. Beside them a kernel finds where all later ones do, so that to take one costs a ticket and two words, which come while the share
/// before is added. Where a share would begin within a segment that is short beside it, it begins with that segment or behind it, so that few segments are cut.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Where a share begins and the one before it ends.
struct alignas(16) prefix_border {
  static constexpr std::uint64_t cut = std::uint64_t{1} << 63;

  std::uint64_t segment;  ///< the first that does not end before
  std::uint64_t element;  ///< the first; `cut`: segment `segment` has elements before
};

/// The shares of a launch; made by the host. Share k belongs to level k / warps; all shares of one level have one length.
struct prefix_shares {
  std::uint64_t weights;          ///< how long shares are in relation to each other: one byte per level
  std::uint32_t warps, all;       ///< warps, and shares
  std::uint32_t weight;           ///< the weight of a warp's shares of all levels together
  std::uint64_t uncut;            ///< a segment that is no longer than 1 / so much of a share is not cut: one byte per level
  std::uint32_t size, tile;       ///< bytes of an element, and elements of a tile
  std::uint32_t verdict_room;
  prefix_border* borders;         ///< `all` + 1, of which the first `warps` are not used
  unsigned char* boxes;           ///< two states per share
  std::uint32_t* tickets;         ///< one per share; behind them the next share, and how many verdicts there are
  std::uint64_t* verdicts;        ///< may be null; those of rows_again.cuh

  WF_HD std::uint32_t weight_of(std::uint32_t level) const { return static_cast<std::uint32_t>(weights >> (8 * level)) & 0xff; }
  __device__ __forceinline__ std::uint32_t* next() const { return tickets + all; }
  __device__ __forceinline__ std::uint32_t* verdicts_told() const { return tickets + all + 1; }
  /// Units of a share of weight 1.
  __device__ __forceinline__ std::uint64_t quantum(std::uint64_t units) const {
    const std::uint64_t parts = std::uint64_t{warps} * weight;
    return (units + parts - 1) / parts;
  }
  /// The first unit of share k. There may be shares beyond the last unit.
  __device__ __forceinline__ std::uint64_t begin(std::uint64_t quantum, std::uint32_t k) const {
    std::uint64_t before = 0;
    std::uint32_t level = 0;
    for (; k >= warps && level < 7; k -= warps, ++level) before += std::uint64_t{warps} * weight_of(level);
    return quantum * (before + std::uint64_t{k} * weight_of(level));
  }
  /// The share that has this unit.
  __device__ __forceinline__ std::uint32_t of(std::uint64_t quantum, std::uint64_t unit) const {
    std::uint32_t before = 0;
    for (std::uint32_t level = 0;; ++level, before += warps) {
      const std::uint64_t each = quantum * weight_of(level), here = each * warps;
      if (unit < here || level == 7) return before + static_cast<std::uint32_t>(unit / each);
      unit -= here;
    }
  }
};

/// Blocks as large as they can be: those of the kernel behind need nearly all registers of a multiprocessor, and come late where one of these is.
inline constexpr int border_threads = 1024, border_lanes_log2 = 4, border_lanes = 1 << border_lanes_log2;

/// Finds where share k begins, by 16 lanes that search the offsets, and tells the units of a share of weight 1. All lanes of a warp call it. Units: how many a segment has beside its elements.
template <std::uint64_t Units>
__device__ __forceinline__ prefix_border find_border(const row_view<1>& v, std::uint64_t segments, const prefix_shares& s, std::uint32_t k, std::uint64_t& quantum) {
  const auto lane = static_cast<unsigned>(lane_index()), member = lane % border_lanes, shift = lane - member;
  std::uint64_t low = 0, high = segments, step, place, first;
  const auto look = [&] {
    step = (high - low + border_lanes - 1) / border_lanes;
    place = low + (member + 1) * step;
    first = v.first_of(min(place, high));
  };
  const std::uint64_t base = v.first_of(0), end = v.first_of(segments);
  look();  // the code below waits for those two meanwhile
  const std::uint64_t units = end - base + segments * Units;
  quantum = s.quantum(units);
  const std::uint64_t at = min(units, s.begin(quantum, min(k, s.all)));
  while (true) {
    const bool before = low < high && place <= high && first - base + place * Units <= at;
    const unsigned many = __ballot_sync(all_lanes, before) >> shift & ((1u << border_lanes) - 1);
    if (low < high) {
      low += static_cast<unsigned>(__popc(static_cast<int>(many))) * step;
      high = min(high, low + step - 1);
    }
    if (!__any_sync(all_lanes, low < high)) break;
    look();
  }
  if (low >= segments) return {low, end};
  const std::uint64_t begin = v.first_of(low), length = v.first_of(low + 1) - begin, inside = at - (begin - base + low * Units);
  const std::uint32_t level = min(k, s.all - 1) / s.warps;
  const std::uint64_t share = quantum * s.weight_of(level);
  const bool whole = length <= share / (s.uncut >> (8 * level) & 0xff);
  if (inside >= length || (whole && 2 * inside > length)) {  // these are its own units where the segment is empty
    return inside != 0 ? prefix_border{low + 1, begin + length} : prefix_border{low, begin};
  }
  if (inside == 0 || whole) return {low, begin};
  // Where a tile begins, so that neither share has a part of one. Shares of a tile and more stay apart.
  const std::uint64_t less = (begin + inside + reinterpret_cast<std::uintptr_t>(v.x[0]) / s.size) % s.tile;
  return {low, (begin + inside - (share >= s.tile && less < inside ? less : 0)) | prefix_border::cut};
}

/// Finds where all but the first shares of warps begin. The kernel behind it comes to the multiprocessors as soon as there is room, for it waits only where it needs what is found here:
/// what the stream had to do before is done by then.
template <std::uint64_t Units>
__global__ void __launch_bounds__(border_threads) prefix_borders_kernel(const __grid_constant__ row_view<1> v, std::uint64_t segments, const __grid_constant__ prefix_shares s) {
  await_stream();
  let_others_come();
  const auto thread = static_cast<std::uint32_t>(blockIdx.x * border_threads + threadIdx.x), threads = static_cast<std::uint32_t>(gridDim.x * border_threads);
  for (std::uint32_t i = thread; i < s.all + 2; i += threads) s.tickets[i] = i == s.all ? s.warps : 0;
  if (s.verdicts != nullptr) {
    for (std::uint32_t i = thread; i < s.verdict_room; i += threads) s.verdicts[i] = 0;
  }
  const std::uint32_t k = s.warps + (thread >> border_lanes_log2);
  std::uint64_t quantum;
  const prefix_border b = find_border<Units>(v, segments, s, k, quantum);
  if (thread % border_lanes == 0 && k <= s.all) s.borders[k] = b;
}

}  // namespace wf::device::inline WF_BUILD
