// SPDX-License-Identifier: Apache-2.0
// shuffle_block: each warp shuffles, leaves one word in shared memory, and the first warp shuffles
// those.
//
// A block has at most 32 warps, so two rounds of shuffles and one barrier add 1024 threads, with 32
// words of shared memory instead of 1024, and one atomic a block. This is how blocks are added from
// here on.
#pragma once
#include "15_shuffle.cuh"

namespace ladder::inline WF_BUILD {

/// The sum over the block, in thread 0 only. All threads call it; between two calls lies a barrier.
template <class S>
__device__ S block_sum(S sum) {
  __shared__ S of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  sum = warp_sum(sum);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) sum = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : S(0));
  return sum;
}

template <class T>
__global__ void shuffle_block_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

template <class T>
cudaError_t shuffle_block(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block)) + 10 + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, shuffle_block_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
