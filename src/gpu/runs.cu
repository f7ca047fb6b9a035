// SPDX-License-Identifier: Apache-2.0
// Runs of equal neighbours among keys: each block counts those that begin in its share, one block adds the counts up, and each block
// writes where its own begin. Keys are read twice.
#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

constexpr int runs_threads = 256, runs_warps = runs_threads / warp_lanes;
constexpr std::uint32_t runs_blocks = 2048;  ///< at most
static_assert((runs_blocks + 1) * 8 <= workspace::row_bytes);

/// Keys, and the share of a block; made by the host.
struct key_source {
  const unsigned char* x;
  std::int64_t stride;  ///< bytes
  int size, align;
  std::uint64_t n, each;

  /// A part at a time, as it is aligned.
  __device__ __forceinline__ pack operator[](std::uint64_t i) const {
    const unsigned char* const p = x + static_cast<std::int64_t>(i) * stride;
    pack key{};
#pragma unroll 1
    for (int at = 0; at < size; at += align) {
      const pack part = load_bytes(p + at, align);
#pragma unroll
      for (int w = 0; w < 4; ++w) {  // in registers: which word is known when it runs
        if (w == at / 4) key.word[w] |= part.word[0] << (8 * (at % 4));
        if (align == 8 && w == at / 4 + 1) key.word[w] = part.word[1];
      }
    }
    return key;
  }
  /// Whether a run begins at element i, whose key is given.
  __device__ __forceinline__ bool begins(std::uint64_t i, const pack& key) const {
    if (i == 0) return true;
    const pack before = (*this)[i - 1];
    return ((key.word[0] ^ before.word[0]) | (key.word[1] ^ before.word[1]) | (key.word[2] ^ before.word[2]) | (key.word[3] ^ before.word[3])) != 0;
  }
  __device__ __forceinline__ std::uint64_t first() const { return min(n, blockIdx.x * each); }
  __device__ __forceinline__ std::uint64_t end() const { return min(n, (blockIdx.x + 1) * each); }
};

/// The sum of the values of the threads before this one; `all` becomes that of all threads. Two barriers.
__device__ __forceinline__ std::uint64_t sum_before(std::uint64_t mine, std::uint64_t& all) {
  __shared__ std::uint64_t of_warp[runs_warps];
  std::uint64_t up_to = mine;
#pragma unroll
  for (unsigned step = 1; step < warp_lanes; step *= 2) {
    const std::uint64_t below = __shfl_up_sync(all_lanes, up_to, step);
    if (static_cast<unsigned>(lane_index()) >= step) up_to += below;
  }
  if (lane_index() == warp_lanes - 1) of_warp[warp_index()] = up_to;
  __syncthreads();
  std::uint64_t before = up_to - mine;
  all = 0;
  for (int w = 0; w < runs_warps; ++w) {
    if (w < warp_index()) before += of_warp[w];
    all += of_warp[w];
  }
  __syncthreads();
  return before;
}

__global__ void __launch_bounds__(runs_threads) count_runs_kernel(key_source keys, std::uint64_t* counts) {
  std::uint64_t mine = 0, all = 0;
#pragma unroll 4
  for (std::uint64_t i = keys.first() + threadIdx.x; i < keys.end(); i += runs_threads) mine += keys.begins(i, keys[i]) ? 1 : 0;
  sum_before(mine, all);
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

/// Each of `many` counts becomes the sum of those before it, and counts[many] that of all; by one block.
__global__ void __launch_bounds__(runs_threads) sum_runs_kernel(std::uint64_t* counts, std::uint32_t many, std::int64_t* found) {
  const std::uint32_t each = (many + runs_threads - 1) / runs_threads;
  const std::uint32_t begin = min(many, threadIdx.x * each), end = min(many, begin + each);
  std::uint64_t mine = 0, all = 0;
  for (std::uint32_t k = begin; k < end; ++k) mine += counts[k];
  std::uint64_t before = sum_before(mine, all);
  for (std::uint32_t k = begin; k < end; ++k) {
    const std::uint64_t count = counts[k];
    counts[k] = before;
    before += count;
  }
  if (threadIdx.x == 0) {
    counts[many] = all;
    *found = static_cast<std::int64_t>(all);
  }
}

/// Keys and beginnings of the first `room` runs; behind them, where there are fewer, segments of nothing.
__global__ void __launch_bounds__(runs_threads) write_runs_kernel(key_source keys, const std::uint64_t* counts, unsigned char* unique, std::int64_t* offsets,
                                                                  std::uint64_t room) {
  std::uint64_t done = counts[blockIdx.x];
  for (std::uint64_t tile = keys.first(); tile < keys.end(); tile += runs_threads) {
    const std::uint64_t i = tile + threadIdx.x;
    const pack key = i < keys.end() ? keys[i] : pack{};
    const bool begins = i < keys.end() && keys.begins(i, key);
    std::uint64_t all = 0;
    const std::uint64_t run = done + sum_before(begins ? 1 : 0, all);
    done += all;
    if (!begins || run > room) continue;  // all threads have passed the barriers
    offsets[run] = static_cast<std::int64_t>(i);
    if (run == room) continue;
    unsigned char* const to = unique + run * static_cast<unsigned>(keys.size);
#pragma unroll 1
    for (int at = 0; at < keys.size; at += keys.align) {
      std::uint32_t low = 0, high = 0;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if (w == at / 4) low = key.word[w] >> (8 * (at % 4));
        if (w == at / 4 + 1) high = key.word[w];
      }
      switch (keys.align) {
        case 1: to[at] = static_cast<unsigned char>(low); break;
        case 2: *reinterpret_cast<std::uint16_t*>(to + at) = static_cast<std::uint16_t>(low); break;
        case 4: *reinterpret_cast<std::uint32_t*>(to + at) = low; break;
        default: *reinterpret_cast<uint2*>(to + at) = make_uint2(low, high); break;
      }
    }
  }
  const std::uint64_t all = counts[gridDim.x];
  for (std::uint64_t k = all + blockIdx.x * std::uint64_t{runs_threads} + threadIdx.x; k <= room; k += std::uint64_t{gridDim.x} * runs_threads) {
    offsets[k] = static_cast<std::int64_t>(keys.n);
  }
}

cudaError_t enqueue_runs(const runs_request& r, workspace& scratch, cudaStream_t stream) {
  if (r.n != 0 && reinterpret_cast<std::uintptr_t>(r.keys) % static_cast<std::uintptr_t>(r.align) != 0) return cudaErrorMisalignedAddress;
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const auto n = static_cast<std::uint64_t>(r.n);
  const std::uint32_t most = at_most(4 * scratch.multiprocessors(), runs_blocks);
  const std::uint64_t tiles = (n + runs_threads - 1) / runs_threads, each = (tiles + most - 1) / most * runs_threads;
  const auto blocks = static_cast<std::uint32_t>(n == 0 ? 1 : (n + each - 1) / each);
  const key_source keys{static_cast<const unsigned char*>(r.keys), r.stride, r.size, r.align, n, each};
  auto* const counts = reinterpret_cast<std::uint64_t*>(scratch.row_states());
  const launch_config by_block{blocks, runs_threads, 0, stream, false};
  e = launch(count_runs_kernel, by_block, keys, counts);
  if (e == cudaSuccess) e = launch(sum_runs_kernel, {1, runs_threads, 0, stream, false}, counts, blocks, r.found);
  if (e == cudaSuccess) {
    e = launch(write_runs_kernel, by_block, keys, static_cast<const std::uint64_t*>(counts), static_cast<unsigned char*>(r.unique), r.offsets,
               static_cast<std::uint64_t>(r.room));
  }
  return e;
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

int wf::device::built_kernels::find_runs(const runs_request& r, void* scratch, void* stream) {
  return device::enqueue_runs(r, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}
