// SPDX-License-Identifier: Apache-2.0
// shuffle: the lanes of a warp add by reading each other's registers, then one atomic a warp.
//
// __shfl_down_sync moves a register from lane to lane: no shared memory, no barrier, five
// instructions for 32 values. Every warp finishes alone. The price is the queue again, with a sum a
// warp, not a block.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

/// The sum over the warp, in lane 0 only. All 32 lanes call it.
template <class S>
__device__ S warp_sum(S sum) {
  for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  return sum;
}

template <class T>
__global__ void shuffle_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

template <class T>
cudaError_t shuffle(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block)) + 5 + double(blocks * r.block / 32);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, shuffle_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
