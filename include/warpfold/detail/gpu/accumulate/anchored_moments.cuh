// SPDX-License-Identifier: Apache-2.0
/// \file anchored_moments.cuh
/// Σx and Σx² of f64 with a certificate, in 8 operations per element where pairs take 17 (docs/exact.md, "Anchored moments").
///
/// A warp looks at its first elements and takes an anchor (certified::anchored_moments): all that come are below 2^k, with room to spare, and a thread adds at most 2^bits of them. A
/// segment ends where an element is not below 2^k, or where it is full. Lanes have one unit, so a warp's sums are sums of integers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Packs that a thread of a grid loads at once. A segment has 2^most_anchored_bits elements of a thread at most.
inline constexpr int anchored_packs = 2, most_anchored_bits = 6;

/// What a warp's threads add to. A thread loads `packs` packs at once.
template <int Packs>
struct anchored_warp {
  static constexpr int packs = Packs, batch = 2 * packs;

  certified::anchored_moments sums;
  certified::pair told;  ///< what earlier segments have: in even lanes Σx, in odd ones Σx²
  certified::extent extent;
  std::uint32_t limit;   ///< extent bits of 2^k

  __device__ __forceinline__ void clear() {
    told = certified::pair::nothing();
    extent = certified::extent::nothing();
  }
  static __device__ __forceinline__ std::uint32_t extent_of(const pack (&p)[packs], int i) { return p[i / 2].word[2 * (i % 2) + 1] * 2; }
  /// Twice the upper bits of the greatest magnitude of a batch; below, of the least.
  static __device__ __forceinline__ std::uint32_t greatest_of(const pack (&p)[packs]) {
    std::uint32_t g = extent_of(p, 0);
#pragma unroll
    for (int i = 1; i < batch; ++i) g = max(g, extent_of(p, i));
    return g;
  }
  static __device__ __forceinline__ std::uint32_t least_of(const pack (&p)[packs]) {
    std::uint32_t g = extent_of(p, 0);
#pragma unroll
    for (int i = 1; i < batch; ++i) g = min(g, extent_of(p, i));
    return g;
  }

  /// All lanes call it, with the greatest of their next batch.
  __device__ __forceinline__ void start_segment(std::uint32_t greatest, int bits) {
    const int k = certified::anchor_of(static_cast<int>(warp_max(greatest) >> 21) - 1023);
    limit = static_cast<std::uint32_t>(k + 1023) << 21;
    sums.start(k, bits);
  }
  __device__ __forceinline__ void add(const pack& p) {
    sums.add(item_of<double>(p, 0));
    sums.add(item_of<double>(p, 1));
  }
  __device__ __forceinline__ void add(const pack (&p)[packs]) {
#pragma unroll
    for (int u = 0; u < packs; ++u) add(p[u]);
  }
  /// Notes the extent of a batch. Upper bits that are 0 belong to zero, or to a number below 2^-1042.
  __device__ __forceinline__ void see(const pack (&p)[packs], std::uint32_t greatest, std::uint32_t least) {
    if (least != 0) {
      extent.greatest = max(extent.greatest, greatest);
      extent.least = min(extent.least, least - 1);
      return;
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) extent.add_bits(extent_of(p, i) | (p[i / 2].word[2 * (i % 2)] != 0 ? 1u : 0u));
  }
  /// All lanes call it at the end of a segment.
  __device__ __forceinline__ void fold() {
    constexpr int low_bits = certified::anchored_moments::low_bits;
    std::uint64_t word[4];
    std::uint32_t low[4], high[4];
    sums.to_words(word);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = warp_add(static_cast<std::uint32_t>(word[i]) & ((1u << low_bits) - 1));
      high[i] = warp_add(static_cast<std::uint32_t>(word[i] >> low_bits)) - (certified::anchored_moments::has_half(i) ? 32u << (51 - low_bits) : 0);
    }
    const bool square = (lane_index() & 1) != 0;
    const auto whole = [&](int i) { return static_cast<double>(static_cast<std::int32_t>(square ? high[i + 2] : high[i])); };
    const auto part = [&](int i) { return static_cast<double>(square ? low[i + 2] : low[i]); };
    told.merge(sums.pair_of(square, whole(0), part(0), whole(1), part(1)));
  }
  /// All lanes call it; lane 0 has the warp's state.
  __device__ __forceinline__ certified_state<certified_traits<double, terms::moments>> state() const {
    auto s = certified_state<certified_traits<double, terms::moments>>::nothing();
    s.pair[0] = told;
    s.pair[1] = {__shfl_down_sync(all_lanes, told.s, 1), __shfl_down_sync(all_lanes, told.c, 1)};
    s.extent = {warp_max(extent.greatest), warp_min(extent.least)};
    return s;
  }
};

/// Elements 2·at and 2·at + 1 of an array; -0 stands for elements behind its end. The array has `whole` pairs, and `count` with a last pair of which it has half.
__device__ __forceinline__ pack two_at(const arrays<1>& a, std::uint64_t at, std::uint64_t whole, std::uint64_t count) {
  const unsigned char* const x = a.x[0] + static_cast<std::int64_t>(2 * at) * a.stride[0];
  std::uint64_t b[2] = {std::uint64_t{1} << 63, std::uint64_t{1} << 63};
  if (at < count) b[0] = __builtin_bit_cast(std::uint64_t, load_item<double>(x));
  if (at < whole) b[1] = __builtin_bit_cast(std::uint64_t, load_item<double>(x + a.stride[0]));
  return {{static_cast<std::uint32_t>(b[0]), static_cast<std::uint32_t>(b[0] >> 32), static_cast<std::uint32_t>(b[1]), static_cast<std::uint32_t>(b[1] >> 32)}};
}

/// Adds a warp's share of an array that blocks 0 … workers - 1 share. All lanes call it; lane 0 has the warp's state.
__device__ __forceinline__ certified_state<certified_traits<double, terms::moments>> anchored_share(const arrays<1>& a, int bits, std::uint32_t workers) {
  using running_type = anchored_warp<anchored_packs>;
  constexpr int packs = running_type::packs;
  const std::uint64_t threads = std::uint64_t{workers} * blockDim.x, whole = a.n / 2, count = (a.n + 1) / 2;
  std::uint64_t v = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x, of_warp = v - static_cast<std::uint64_t>(lane_index());
  const loader<cache::share> load(a.kept);
  const bool aligned = a.packs != 0 && a.aligned;
  // Two elements at v, v + threads, …; the last lane's last pack tells whether all are there.
  const auto fetch = [&](pack(&p)[packs]) {
    if (aligned && of_warp + threads * (packs - 1) + warp_lanes <= whole) {
#pragma unroll
      for (int u = 0; u < packs; ++u) p[u] = load(a.x[0] + 16 * (v + threads * u));
      return;
    }
#pragma unroll
    for (int u = 0; u < packs; ++u) p[u] = two_at(a, v + threads * u, whole, count);
  };
  running_type r;
  r.clear();
  pack p[packs];
  bool more = of_warp < count;
  if (more) fetch(p);
#pragma unroll 1
  while (more) {
    std::uint32_t greatest = running_type::greatest_of(p), least = running_type::least_of(p);
    r.start_segment(greatest, bits);
#pragma unroll 1
    for (int left = 1 << bits;;) {
      v += threads * packs;
      of_warp += threads * packs;
      more = of_warp < count;
      pack next[packs];
      if (more) fetch(next);
      r.see(p, greatest, least);
      r.add(p);
      if (!more) break;
#pragma unroll
      for (int u = 0; u < packs; ++u) p[u] = next[u];
      greatest = running_type::greatest_of(p);
      least = running_type::least_of(p);
      left -= running_type::batch;
      if (left == 0 || __any_sync(all_lanes, greatest >= r.limit) != 0) break;
    }
    r.fold();
  }
  return r.state();
}

/// The same of an array that one block's threads hold at once, Packs packs each. A warp has one segment, whose anchor is that of all its elements.
template <int Packs>
__device__ __forceinline__ certified_state<certified_traits<double, terms::moments>> anchored_array(const arrays<1>& a) {
  using running_type = anchored_warp<Packs>;
  const std::uint64_t threads = blockDim.x, whole = a.n / 2, count = (a.n + 1) / 2, of_warp = threadIdx.x - static_cast<std::uint32_t>(lane_index());
  const bool aligned = a.packs != 0 && a.aligned;
  const loader<cache::share> load(a.kept);
  const unsigned char* const x = a.x[0] + 16 * std::uint64_t{threadIdx.x};
  pack p[Packs];
  if (aligned && of_warp + threads * (Packs - 1) + warp_lanes <= whole) {
#pragma unroll
    for (int u = 0; u < Packs; ++u) p[u] = load(x + 16 * threads * u);
  } else {
#pragma unroll
    for (int u = 0; u < Packs; ++u) {
      const std::uint64_t at = threadIdx.x + threads * u;
      if (aligned && at < whole) p[u] = load(x + 16 * threads * u);
      else p[u] = two_at(a, at, whole, count);
    }
  }
  running_type r;
  r.clear();
  const std::uint32_t greatest = running_type::greatest_of(p);
  r.start_segment(greatest, certified::log2_of(running_type::batch));
  r.see(p, greatest, running_type::least_of(p));
#pragma unroll
  for (int u = 0; u < Packs; ++u) {
    if (of_warp + threads * u < count) r.add(p[u]);
  }
  r.fold();
  return r.state();
}

}  // namespace wf::device::inline WF_BUILD
