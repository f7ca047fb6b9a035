// SPDX-License-Identifier: Apache-2.0
/// \file rows_small.cuh
/// Small batches: so few elements in all that a launch takes most of the time, or the way from the cache. Each thread has one row, or a part of one, from the
/// start, so that nothing is looked up or counted; parameters are few; and the next kernel comes to the multiprocessors while this one runs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/kernels/rows_stream.cuh>
#include <warpfold/device/cluster_words.cuh>

namespace wf::device::inline WF_BUILD {

/// Threads of a block at most; blocks that share a row at most, as a cluster.
inline constexpr int small_threads = 256, small_warps = small_threads / warp_lanes, small_cluster = 8;
/// Packs of a thread, if there are threads enough; blocks of a multiprocessor, so that all are there at once.
inline constexpr std::uint32_t small_lane_packs = 4, small_blocks = 8;
inline constexpr std::uint64_t small_bytes = 1 << 18;  ///< of a row

/// How rows are walked; made by the host. Rows are made of packs.
struct small_walk {
  const unsigned char* x;
  unsigned char* out;
  std::int64_t row_bytes;     ///< from a row to the next
  std::uint32_t rows, packs;  ///< packs of a row
  int lanes_log2;             ///< lanes of a row, where a warp has several
  std::uint32_t parts;        ///< blocks of a row
};

/// An uncertain row, by a warp or a block.
template <class Acc>
__device__ __attribute__((noinline)) void settle_small(const Acc& acc, typename room_of<Acc>::type& room, const small_walk& w, std::uint32_t row, bool by_block) {
  row_view<1> v;
  v.x[0] = w.x;
  v.kept = 1;
  v.dims = 2;
  v.rows = w.rows;
  v.n = std::uint64_t{w.packs} * Acc::items;
  v.all = v.rows * v.n;
  v.offsets = nullptr;
  v.offset_bytes = 0;
  v.dim[0] = {v.rows, {w.row_bytes}};
  v.dim[1] = {v.n, {Acc::fixed_size}};
  acc.exactly(room, v, row, by_block, w.out + std::uint64_t{row} * Acc::answer_size);
}

/// Packs u, u + step, … below `end` of a row that begins at `from`.
template <class Acc>
__device__ __forceinline__ typename Acc::state sum_packs(const Acc& acc, const facts_of<Acc>& facts, const unsigned char* from, std::uint32_t u,
                                                         std::uint32_t step, std::uint32_t end) {
  constexpr unsigned ahead = 4;
  typename Acc::running r = acc.start();
#pragma unroll 1
  for (; u + (ahead - 1) * step < end; u += ahead * step) {
    pack p[ahead];
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) p[j] = load_bytes(from + std::uint64_t{u + j * step} * 16, 16);
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) acc.add(r, {p[j]}, 0);
  }
  pack p[ahead - 1] = {};
#pragma unroll
  for (unsigned j = 0; j < ahead - 1; ++j) {
    if (u + j * step < end) p[j] = load_bytes(from + std::uint64_t{u + j * step} * 16, 16);
  }
#pragma unroll
  for (unsigned j = 0; j < ahead - 1; ++j) {
    if (u + j * step < end) acc.add(r, {p[j]}, 0);
  }
  __syncwarp();
  return total_of(acc, r, facts);
}

/// Rows of a lane or some lanes of a warp each.
template <unordered_accumulator Acc>
__global__ void __launch_bounds__(small_threads, resident_blocks(small_threads, 4))
    small_rows_kernel(const __grid_constant__ small_walk w, const __grid_constant__ Acc acc, const __grid_constant__ facts_of<Acc> facts) {
  await_stream_early();
  __shared__ typename room_of<Acc>::type rooms[small_warps];
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread >> w.lanes_log2, member = thread & ((1u << w.lanes_log2) - 1);
  const bool mine = row < w.rows;
  typename Acc::state s = sum_packs(acc, facts, w.x + static_cast<std::int64_t>(mine ? row : 0) * w.row_bytes, member, 1u << w.lanes_log2, mine ? w.packs : 0);
  s = lanes_together(acc, s, w.lanes_log2);
  bool sure = true;
  if (mine && member == 0) sure = acc.answer(s, std::uint64_t{w.packs} * Acc::items, facts, w.out + std::uint64_t{row} * Acc::answer_size);
  if constexpr (Acc::proves) {
    for (unsigned todo = __ballot_sync(all_lanes, !sure); todo != 0; todo &= todo - 1) {
      const std::uint32_t again = __shfl_sync(all_lanes, row, __ffs(static_cast<int>(todo)) - 1);
      settle_small(acc, rooms[warp_index()], w, again, false);
    }
  }
}

/// A row a block; or, where Cluster, `parts` blocks, which are a cluster: its first one has the states of all warps in its shared memory.
template <bool Cluster, unordered_accumulator Acc>
__global__ void __launch_bounds__(small_threads, resident_blocks(small_threads, 4))
    small_blocks_kernel(const __grid_constant__ small_walk w, const __grid_constant__ Acc acc, const __grid_constant__ facts_of<Acc> facts) {
  using state = typename Acc::state;
  __shared__ state of_warp[small_warps * (Cluster ? small_cluster : 1)];
  __shared__ typename room_of<Acc>::type room;
  const std::uint32_t parts = Cluster ? w.parts : 1, row = blockIdx.x / parts, part = blockIdx.x % parts;
  const auto lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const unsigned warps = blockDim.x / warp_lanes, all = warps * parts;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  [[maybe_unused]] auto here = [] {
    if constexpr (Cluster) return arrive_at_cluster();  // this block is there
    else return 0;
  }();
#endif
  await_stream_early();
  state s = sum_packs(acc, facts, w.x + static_cast<std::int64_t>(row) * w.row_bytes, part * blockDim.x + threadIdx.x, parts * blockDim.x, w.packs);
  s = lanes_together(acc, s, 5);
  state* to = of_warp;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if constexpr (Cluster) {
    wait_for_cluster(std::move(here));  // so is the first one
    to = shared_of_block(of_warp, 0);
  }
#endif
  if (lane == 0) to[part * warps + warp] = s;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if constexpr (Cluster) {
    sync_cluster();
    if (part != 0) return;
  } else {
    __syncthreads();
  }
#else
  __syncthreads();
#endif
  bool sure = true;
  if (warp == 0) {
    s = lane < all ? of_warp[lane] : acc.identity();
    if (warp_lanes + lane < all) s = acc.combine(s, of_warp[warp_lanes + lane]);
    __syncwarp();
    s = lanes_together(acc, s, 31 - __clz(static_cast<int>(2 * all - 1)));
    if (lane == 0) sure = acc.answer(s, std::uint64_t{w.packs} * Acc::items, facts, w.out + std::uint64_t{row} * Acc::answer_size);
  }
  if constexpr (Acc::proves) {
    if (__syncthreads_or(sure ? 0 : 1) != 0) settle_small(acc, room, w, row, true);
  }
}

/// Elements of a row, at most; longer ones have blocks enough by rows_long.cuh: of floats that are no f32 longer rows want pairs, by which ties are decided on the spot.
template <class Acc>
constexpr std::uint64_t small_elements() {
  if constexpr (quick_accumulator<Acc>) return Acc::narrow && Acc::fixed_size == 4 ? small_bytes / 4 : quick_elements;
  else return small_bytes / Acc::fixed_size;
}

/// Whether rows go by these kernels; enqueued if they do.
template <class Acc>
bool enqueue_small_rows(const Acc& acc, const row_view<1>& v, workspace& scratch, cudaStream_t stream, void* to, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size;
  const std::uint64_t row_bytes = v.n * size, multiprocessors = scratch.multiprocessors();
  if (v.offsets != nullptr || v.n == 0 || v.kept > 1 || v.dims != v.kept + 1 || v.dim[v.kept].stride[0] != static_cast<std::int64_t>(size) ||
      row_bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(v.x[0]) % 16 != 0 || v.n > small_elements<Acc>() || v.all * size > scratch.l2_bytes()) {
    return false;
  }
  const std::int64_t apart = v.kept == 1 ? v.dim[0].stride[0] : 0;
  if (apart % 16 != 0) return false;
  const auto packs = static_cast<std::uint32_t>(row_bytes / 16);
  small_walk w{v.x[0], static_cast<unsigned char*>(to), apart, static_cast<std::uint32_t>(v.rows), packs, 0, 1};
  const auto facts_by = [&](std::uint64_t lanes) { return acc.facts(v.n, (packs + lanes - 1) / lanes * static_cast<unsigned>(Acc::items), 10); };
  const bool many = v.rows >= 4 * multiprocessors;  // then a warp each, where blocks would have two warps of little to do
  if (packs <= (many ? 2 : 1) * small_lane_packs * warp_lanes) {
    while (w.lanes_log2 < 5 && packs > small_lane_packs << w.lanes_log2) ++w.lanes_log2;
    const std::uint64_t lanes = v.rows << w.lanes_log2;
    if (lanes > small_blocks * 128 * multiprocessors) return false;
    const unsigned threads = lanes <= 32 * multiprocessors ? 32 : 128;
    e = launch(small_rows_kernel<Acc>, {divide_up(lanes, threads), threads, 0, stream, scratch.overlaps()}, w, acc, facts_by(std::uint64_t{1} << w.lanes_log2));
    return true;
  }
  if (v.rows > small_blocks * multiprocessors) return false;
  unsigned threads = 2 * warp_lanes;
  while (threads < small_threads && packs > small_lane_packs * threads) threads *= 2;
  while (threads > 4 * warp_lanes && v.rows * threads > 1024 * multiprocessors) threads /= 2;  // all rows at once
  // A cluster's barriers cost as much as four loads.
  const bool shared = scratch.bulk_copies() && packs > 2 * small_lane_packs * threads;
  while (shared && w.parts < small_cluster && w.parts * v.rows <= multiprocessors && packs > small_lane_packs * threads * w.parts) w.parts *= 2;
  const launch_config at{static_cast<unsigned>(v.rows) * w.parts, threads, 0, stream, scratch.overlaps(), w.parts};
  const auto facts = facts_by(std::uint64_t{threads} * w.parts);
  e = w.parts > 1 ? launch(small_blocks_kernel<true, Acc>, at, w, acc, facts) : launch(small_blocks_kernel<false, Acc>, at, w, acc, facts);
  return true;
}

}  // namespace wf::device::inline WF_BUILD
