// SPDX-License-Identifier: Apache-2.0
// block_leader: thread 0 of each block does what the warp's leader did.
//
// Fewer atomics again, but the leader's walk grew as long as the block, one load at a time, and
// every other thread idles. Which weighs more is the GPU's to say: where atomics are quick, this
// rung is the slower one.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void block_leader_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  if (threadIdx.x != 0) return;
  const std::uint64_t first = std::uint64_t(blockIdx.x) * blockDim.x;
  const std::uint64_t step = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t tile = first; tile < n; tile += step)
    for (std::uint64_t i = tile; i < tile + blockDim.x && i < n; ++i) sum += sum_t<T>(x[i]);
  if (first < n) atomicAdd(out, sum);
}

template <class T>
cudaError_t block_leader(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = stride_blocks(r, n);
  r.depth = double(divide_up(n, blocks * r.block)) * r.block + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, block_leader_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
