// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix_walk.cuh
/// How a warp walks its elements for prefix sums (rows_prefix.cuh): tiles and ends of segments come to shared memory ahead, and a scan leaves there the sum before each 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_prefix_sums.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int prefix_stages = 2;       ///< tiles of a warp that are there or on their way
inline constexpr unsigned prefix_ends = 256;  ///< segments whose ends are there or on their way
inline constexpr unsigned prefix_ahead = prefix_ends - warp_lanes;  ///< those of them that are not ended

/// 16 bytes to shared memory, which are there behind copies_are_there().
__device__ __forceinline__ void copy_pack(unsigned char* to, const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
#endif
}
/// The first `bytes` of 16, which may be none, and zeros behind them.
__device__ __forceinline__ void copy_pack(unsigned char* to, const unsigned char* from, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes) : "memory");
#else
  for (unsigned i = 0; i < 16; ++i) to[i] = i < bytes ? from[i] : 0;
#endif
}
/// The lower 4 bytes of an offset.
__device__ __forceinline__ void copy_word(std::uint32_t* to, const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
  *to = *reinterpret_cast<const std::uint32_t*>(from);
#endif
}
__device__ __forceinline__ void end_of_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits until all copies of this thread are there but those behind the last `Left` end_of_copies().
template <int Left>
__device__ __forceinline__ void await_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

/// A warp's shared memory, from a multiple of 128 bytes on.
template <class Acc>
struct prefix_room {
  using sums = prefix_of<Acc>;
  using number = typename sums::number;
  static constexpr int size = Acc::fixed_size, items = 16 / size;
  static constexpr unsigned tile = sums::each * warp_lanes, lane_packs = sums::each * size / 16, packs = lane_packs * warp_lanes;
  static constexpr unsigned stage_bytes = packs * 16;
  static constexpr unsigned special_bytes = Acc::proves ? 2 * warp_lanes * sizeof(std::uint64_t) : 0;
  static constexpr unsigned bytes = prefix_stages * stage_bytes + (packs + warp_lanes) * sizeof(number) + prefix_ends * sizeof(std::uint32_t) + special_bytes;

  unsigned char* room;

  __device__ __forceinline__ unsigned char* stage(unsigned k) const { return room + k * stage_bytes; }
  __device__ __forceinline__ number* within() const { return reinterpret_cast<number*>(room + prefix_stages * stage_bytes); }  ///< the sum before a pack in its lane; one column per lane
  __device__ __forceinline__ number* before() const { return within() + packs; }                                               ///< the sum before each lane
  __device__ __forceinline__ std::uint32_t* ends() const { return reinterpret_cast<std::uint32_t*>(before() + warp_lanes); }  ///< where segments end, by their number
  /// Bits of each lane's elements: which are +inf or NaN; behind 32 words, which are -inf or NaN.
  __device__ __forceinline__ std::uint64_t* specials() const { return reinterpret_cast<std::uint64_t*>(ends() + prefix_ends); }
  /// Where pack c of a tile lies: turned, so that 8 lanes that read their packs meet no bank twice.
  static __device__ __forceinline__ unsigned place(unsigned c) {
    const unsigned key = lane_packs >= 8 ? c / lane_packs % 8 : c / 8 % lane_packs;
    return (c ^ key) * 16;
  }
  /// place(32 j + lane), and place(lane_packs · lane + j), j known to the compiler.
  static __device__ __forceinline__ unsigned place_of_load(unsigned j, unsigned lane) {
    const unsigned turn = lane_packs >= 8 ? warp_lanes * j / lane_packs % 8 : 0;
    return j * warp_lanes * 16 + (place(lane) ^ turn * 16);
  }
  static __device__ __forceinline__ unsigned place_of_lane(unsigned j, unsigned lane) { return place(lane_packs * lane) ^ j * 16; }
  /// Makes the prefix sums, and returns the sum of all; sum(pack) adds a pack's items. Seldom: the code of a pack is there once.
  template <bool Seldom = false, class Sum>
  __device__ __forceinline__ number scan(unsigned k, Sum sum) const {
    const auto lane = static_cast<unsigned>(lane_index());
    number* const in = within() + lane;
    const unsigned char* const from = stage(k);
    number s{}, up;
    pack loaded[lane_packs];  // floats are all loaded before the first sum is stored, behind which the compiler moves no load
    constexpr bool ahead = Acc::proves && !Seldom;
    if constexpr (ahead) {
#pragma unroll
      for (unsigned j = 0; j < lane_packs; ++j) loaded[j] = load_bytes(from + place_of_lane(j, lane), 16);
    }
#pragma unroll (Seldom ? 1 : lane_packs)
    for (unsigned j = 0; j < lane_packs; ++j) {
      in[j * warp_lanes] = s;
      if constexpr (ahead) s += sum(loaded[j]);
      else s += sum(load_bytes(from + place_of_lane(j, lane), 16));
    }
    up = s;
#pragma unroll
    for (unsigned m = 1; m < warp_lanes; m *= 2) {
      const number below = number_from_below(up, m);
      if (lane >= m) up += below;
    }
    if constexpr (std::is_same_v<number, prefix_pair>) {  // a difference of two pairs would lose what they have in common
      const number below = number_from_below(up, 1);
      before()[lane] = lane == 0 ? number{} : below;
    } else {
      before()[lane] = up - s;
    }
    return number_of_lane(up, warp_lanes - 1);
  }
  /// The sum of the tile's first `many` elements, where sum(pack, n) adds a pack's first n items.
  template <class Sum>
  __device__ __forceinline__ number sum_of(unsigned k, unsigned many, Sum sum) const {
    if (many == 0) return {};
    const unsigned c = (many - 1) / items;
    const number here = sum(load_bytes(stage(k) + place(c), 16), (many - 1) % items + 1);
    return before()[c / lane_packs] + within()[c % lane_packs * warp_lanes + c / lane_packs] + here;
  }
  /// Notes which elements of the tile are infinities and NaNs. All lanes call it.
  __device__ __forceinline__ void find_specials(unsigned k, bool magnitudes) const {
    using format = exact::format<typename sums::item>;
    const auto lane = static_cast<unsigned>(lane_index());
    std::uint64_t above = 0, below = 0;
#pragma unroll 1
    for (unsigned i = 0; i < sums::each; ++i) {
      const auto bits = format::to_bits(item_of<typename sums::item>(item_pack(k, lane * sums::each + i), 0));
      if (format::layout::is_finite(bits)) continue;
      const bool nan = format::layout::is_nan(bits), minus = !magnitudes && format::layout::negative(bits);
      above |= std::uint64_t{nan || !minus} << i;
      below |= std::uint64_t{nan || minus} << i;
    }
    specials()[lane] = above;
    specials()[warp_lanes + lane] = below;
  }
  /// Which special values there are from element `from` to `end`: 1 for +inf, 2 for -inf, both where they add up to a NaN.
  __device__ __forceinline__ unsigned specials_of(unsigned from, unsigned end) const {
    bool above = false, below = false;
    while (from < end) {
      const unsigned l = from / sums::each, first = from % sums::each, many = min(end, (l + 1) * sums::each) - from;
      const std::uint64_t bits = ~std::uint64_t{0} >> (64 - many) << first;
      above = above || (specials()[l] & bits) != 0;
      below = below || (specials()[warp_lanes + l] & bits) != 0;
      from += many;
    }
    return (above ? 1u : 0u) | (below ? 2u : 0u);
  }
  /// Element i of the tile, as the first item of a pack.
  __device__ __forceinline__ pack item_pack(unsigned k, unsigned i) const { return load_bytes(stage(k) + place(i / items) + i % items * size, size); }
  /// Whether it is -0.
  __device__ __forceinline__ bool is_minus_zero(unsigned k, unsigned i) const {
    if constexpr (Acc::proves) {
      using format = exact::format<typename sums::item>;
      return format::to_bits(item_of<typename sums::item>(item_pack(k, i), 0)) == format::sign_mask;
    } else {
      return false;
    }
  }
};

/// Asks for a tile of the elements from `origin` + `at` on. Behind `stop`, where the share ends, zeros come that are not read. Cut: the tile may reach before `low`, the array's first element.
template <class Acc>
__device__ __forceinline__ void ask_tile(const row_view<1>& v, const prefix_room<Acc>& room, unsigned stage, std::uint64_t origin, unsigned at, unsigned stop, bool cut,
                                         const std::uint64_t& low) {
  using shared = prefix_room<Acc>;
  using item = typename prefix_of<Acc>::item;
  const auto lane = static_cast<unsigned>(lane_index());
  unsigned char* const to = room.stage(stage);
  const bool begins_before = at == 0 && cut;
  if (at + shared::tile <= stop && !begins_before) {
    const unsigned char* const from = v.x[0] + static_cast<std::int64_t>(origin) * shared::size + lane * 16 + std::uint64_t{at} * shared::size;
#pragma unroll
    for (unsigned j = 0; j < shared::lane_packs; ++j) copy_pack(to + shared::place_of_load(j, lane), from + j * warp_lanes * 16);
  } else if (!begins_before) {
    const unsigned char* const from = v.x[0] + (static_cast<std::int64_t>(origin) + at) * shared::size;
#pragma unroll 1
    for (unsigned c = lane; c < shared::packs; c += warp_lanes) {
      const int left = (static_cast<int>(stop - at) - static_cast<int>(c * shared::items)) * shared::size;
      copy_pack(to + shared::place(c), from + c * 16, static_cast<unsigned>(min(max(left, 0), 16)));
    }
  } else {
#pragma unroll 1
    for (unsigned i = lane; i < shared::tile; i += warp_lanes) {
      const auto e = static_cast<std::int64_t>(origin + i);
      item x{};
      if (e >= static_cast<std::int64_t>(low) && i < stop) x = reinterpret_cast<const item*>(v.x[0])[e];
      reinterpret_cast<item*>(to + shared::place(i / shared::items))[i % shared::items] = x;
    }
  }
}

/// Ends of segments come to shared memory ahead, 4 bytes of each: those that a share has lie less than 2^32 elements behind where its tiles begin.
template <class Acc>
struct segment_ends {
  const row_view<1>& v;
  const prefix_room<Acc>& room;
  std::uint64_t first;         ///< the share's first segment
  std::uint32_t origin;        ///< where its tiles begin
  unsigned many;               ///< segments that end in it
  unsigned turn;               ///< where in the ring the first one's end is
  unsigned asked = 0, there = 0;  ///< ends that are there or on their way, and that are there

  /// All lanes call it, behind a __syncwarp().
  __device__ __forceinline__ void ask(unsigned k) { ask_upto(min(many, k + prefix_ahead)); }
  __device__ __forceinline__ void ask_upto(unsigned upto) {
    const unsigned char* const from = static_cast<const unsigned char*>(v.offsets);
#pragma unroll 1
    for (unsigned e = asked + static_cast<unsigned>(lane_index()); e < upto; e += warp_lanes) {
      copy_word(room.ends() + (turn + e) % prefix_ends, from + (first + e + 1) * static_cast<unsigned>(v.offset_bytes));
    }
    asked = max(asked, upto);
  }
  /// Where segment k + lane ends; none if it does not end in the share.
  __device__ __forceinline__ unsigned next(unsigned k) {
    if (there < min(many, k + warp_lanes)) {  // more of them in a tile than were asked for
      __syncwarp();
      ask(k);
      end_of_copies();
      await_copies<0>();
      __syncwarp();
      there = asked;
    }
    const unsigned mine = k + static_cast<unsigned>(lane_index());
    return mine < many ? room.ends()[(turn + mine) % prefix_ends] - origin : ~0u;
  }
};

}  // namespace wf::device::inline WF_BUILD
