// SPDX-License-Identifier: Apache-2.0
/// \file rows_again.cuh
/// Long rows that no certificate decided, added exactly by many blocks: a second kernel, enqueued behind the one that shares rows among
/// blocks. It reads the verdicts, and leaves at once where all rows are answered; else its blocks share what is left to do. What
/// they add is whole numbers, so that their order does not matter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/rows_columns.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int again_threads = 512, again_warps = again_threads / warp_lanes;

/// A verdict is a word: 0, or 1 more than a row that is to be answered. There are `count` of them.
template <class Acc>
__global__ void __launch_bounds__(again_threads, resident_blocks(again_threads, 2))
    rows_again_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ Acc acc, const std::uint64_t* verdicts,
                      std::uint32_t count, unsigned char* out, std::size_t answer_bytes, std::int64_t* partials, std::uint32_t* tickets) {
  await_stream();
  using bins = typename Acc::wide_bins;
  constexpr int words = bins::digits + bins::watches;
  auto& rows = *reinterpret_cast<bins*>(wf_dynamic_shared);
  __shared__ typename Acc::exact_room room;
  __shared__ std::uint32_t of_warp[again_warps];
  __shared__ std::uint64_t found;
  const auto lane = static_cast<unsigned>(lane_index());
  // Which thread has which of the uncertain rows.
  const std::uint32_t each = (count + again_threads - 1) / again_threads, from = min(count, threadIdx.x * each), to = min(count, from + each);
  std::uint32_t mine = 0;
  for (std::uint32_t k = from; k < to; ++k) mine += verdicts[k] != 0 ? 1 : 0;
  std::uint32_t before = mine;
#pragma unroll
  for (unsigned step = 1; step < warp_lanes; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(all_lanes, before, step);
    if (lane >= step) before += below;
  }
  if (lane == warp_lanes - 1) of_warp[warp_index()] = before;
  __syncthreads();
  before -= mine;
  std::uint32_t all = 0;
  for (int w = 0; w < again_warps; ++w) {
    if (w < warp_index()) before += of_warp[w];
    all += of_warp[w];
  }
  if (all == 0) return;
  const std::uint32_t parts = all < gridDim.x ? gridDim.x / all : 1, groups = gridDim.x / parts, part = blockIdx.x % parts;
  if (blockIdx.x / parts >= groups) return;
#pragma unroll 1
  for (std::uint32_t u = blockIdx.x / parts; u < all; u += groups) {
    if (u >= before && u - before < mine) {
      std::uint32_t left = u - before;
      for (std::uint32_t k = from; k < to; ++k) {
        if (verdicts[k] != 0 && left-- == 0) found = verdicts[k] - 1;
      }
    }
    rows.clear();
    for (unsigned k = threadIdx.x; k < bins::digits; k += again_threads) room.digits[k] = 0;
    __syncthreads();
    const std::uint64_t row = found;
    const unsigned char* p[Acc::inputs];
    const std::uint64_t n = v.begin(row, p), share = (n + parts - 1) / parts;
    const std::uint64_t begin = min(n, part * share), end = min(n, begin + share);
    typename bins::watch watch;
    watch.start(acc.states);
    constexpr std::uint64_t round = std::uint64_t{bins::most_elements} * Acc::wide_copies / again_threads * again_threads;
    for (std::uint64_t at = begin; at < end; at += round) {
      acc.add_range(rows, watch, v, p, at + threadIdx.x, min(end, at + round), again_threads);
      __syncthreads();
      rows.flush(room.digits);
      __syncthreads();
      acc.settle(room.digits, threadIdx.x, again_threads, [] { __syncthreads(); });
    }
    __syncwarp();
    rows.tell(watch);
    __syncthreads();
    if (threadIdx.x < bins::watches) room.kinds[threadIdx.x] = rows.kinds[threadIdx.x];
    __syncthreads();
    bool answers = true;
    if (parts > 1) {
      const std::uint32_t group = blockIdx.x / parts;
      std::int64_t* const boxes = partials + std::uint64_t{group} * parts * words;
      for (unsigned k = threadIdx.x; k < words; k += again_threads) {
        boxes[std::uint64_t{part} * words + k] = k < bins::digits ? room.digits[k] : std::int64_t{room.kinds[k - bins::digits]};
      }
      answers = last_to_come(tickets + group, parts);
      if (answers) {
        for (unsigned k = threadIdx.x; k < words; k += again_threads) {
          std::int64_t sum = 0, kinds = 0;
#pragma unroll 4
          for (std::uint32_t j = 0; j < parts; ++j) {
            const std::int64_t box = boxes[std::uint64_t{j} * words + k];
            sum += box;
            kinds |= box;
          }
          if (k < bins::digits) room.digits[k] = sum;
          else room.kinds[k - bins::digits] = static_cast<std::uint32_t>(kinds);
        }
        __syncthreads();
        acc.settle(room.digits, threadIdx.x, again_threads, [] { __syncthreads(); });
      }
    }
    if (answers) acc.answer_exactly(room, v, row, true, out + row * answer_bytes);
    __syncthreads();
  }
}

/// Enqueues the kernel. There are verdicts on `count` rows, or on segments that begin in `count` shares.
template <class Acc>
cudaError_t enqueue_again(const Acc& acc, const row_view<Acc::inputs>& v, std::uint32_t count, const rows_request& r, workspace& scratch,
                          cudaStream_t stream) {
  using bins = typename Acc::wide_bins;
  constexpr std::uint64_t box = (bins::digits + bins::watches) * 8;
  std::uint64_t blocks = 2 * std::uint64_t{scratch.multiprocessors()};
  for (const std::uint64_t limit : {workspace::row_bytes / box, std::uint64_t{workspace::row_tickets}}) {
    if (blocks > limit) blocks = limit;
  }
  return launch(rows_again_kernel<Acc>, {static_cast<unsigned>(blocks), again_threads, sizeof(bins), stream, scratch.overlaps()}, v, acc,
                static_cast<const std::uint64_t*>(scratch.row_verdicts()), count, static_cast<unsigned char*>(r.out), acc.result_size(),
                reinterpret_cast<std::int64_t*>(scratch.row_states()), scratch.row_counters());
}

}  // namespace wf::device::inline WF_BUILD
