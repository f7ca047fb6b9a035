// SPDX-License-Identifier: Apache-2.0
// tree_sequential: the distance starts at half the block and halves: thread tid < step adds cell
// tid + step.
//
// The working threads are the first ones and their cells are neighbours: neither divergence (until
// the last warp) nor bank conflicts. What is left is idleness: half of the threads do nothing but
// load.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void tree_sequential_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + tid;
  s[tid] = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t tree_sequential(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, r.block);
  r.depth = steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, tree_sequential_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
