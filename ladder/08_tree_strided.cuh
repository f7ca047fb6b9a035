// SPDX-License-Identifier: Apache-2.0
// tree_strided: the same tree, but the working threads are the first ones: thread tid owns cell
// 2*step*tid.
//
// Whole warps work or rest, so the divergence is gone. Now the lanes of a warp touch cells 2, 4, 8
// … words apart: shared memory has 32 banks of one word, so 2, 4, 8 … lanes want one bank, and take
// turns. Bank conflicts are the price.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void tree_strided_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + tid;
  s[tid] = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    const unsigned cell = 2 * step * tid;
    if (cell < blockDim.x) s[cell] += s[cell + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t tree_strided(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, r.block);
  r.depth = steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, tree_strided_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
