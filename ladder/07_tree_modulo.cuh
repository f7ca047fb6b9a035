// SPDX-License-Identifier: Apache-2.0
// tree_modulo: the block adds its elements as a tree in shared memory, thread `tid % (2 * step) ==
// 0` taking the cell `step` away.
//
// No queue: log2(block) rounds with a barrier after each, and one atomic a block. But the working
// threads are spread over all warps. From the first step every warp is half empty, then three
// quarters, and the hardware runs it all the same: divergence. The remainder by a number known only
// at run time is slow, too.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void tree_modulo_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + tid;
  s[tid] = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (tid % (2 * step) == 0) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t tree_modulo(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, r.block);
  r.depth = steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, tree_modulo_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
