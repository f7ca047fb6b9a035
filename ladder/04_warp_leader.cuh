// SPDX-License-Identifier: Apache-2.0
// warp_leader: lane 0 of each warp adds its warp's elements, and sends one sum to the queue.
//
// Divide first. One atomic for a warp's elements is 1/32 of the queue, although 31 lanes in 32 idle
// and the leader's loads are not coalesced. Two shapes of one loop: nested (tiles of a grid stride,
// then the warp's elements in a tile) and flattened into one counter.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void warp_leader_nested_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const unsigned width = warpSize;  // a property of the device, not a constant of the language
  const std::uint64_t first = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t(gridDim.x) * blockDim.x;
  if (threadIdx.x % width != 0) return;
  sum_t<T> sum(0);
  for (std::uint64_t tile = first; tile < n; tile += step)
    for (std::uint64_t i = tile; i < tile + width && i < n; ++i) sum += sum_t<T>(x[i]);
  if (first < n) atomicAdd(out, sum);
}

template <class T>
__global__ void warp_leader_flat_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const unsigned width = warpSize;
  const std::uint64_t first = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t(gridDim.x) * blockDim.x;
  if (threadIdx.x % width != 0) return;
  // An atomic less. The loop would end all the same: n - first wraps around, and + step - 1 wraps it
  // back, for first < step. Of (n - 1 - first) / step + 1 nothing would, and the warp would run for ever.
  if (first >= n) return;
  const std::uint64_t tiles = (n - first + step - 1) / step;
  sum_t<T> sum(0);
  for (std::uint64_t k = 0; k < tiles * width; ++k) {
    const std::uint64_t i = first + k / width * step + k % width;
    if (i < n) sum += sum_t<T>(x[i]);
  }
  atomicAdd(out, sum);
}

template <class T, bool flat>
cudaError_t warp_leader(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = stride_blocks(r, n);
  r.depth = double(divide_up(n, blocks * r.block)) * 32 + double(blocks * r.block / 32);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, flat ? warp_leader_flat_sum<T> : warp_leader_nested_sum<T>, blocks, 0, x, n,
                out);
}

}  // namespace ladder::inline WF_BUILD
