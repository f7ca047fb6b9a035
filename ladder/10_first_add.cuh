// SPDX-License-Identifier: Apache-2.0
// first_add: each thread adds two elements while loading.
//
// The threads that only loaded now do the tree's first addition, on the way in. Half the blocks for
// the same n, half the barriers and atomics in all, and two loads in flight a thread.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void first_add_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x * 2 + tid;
  sum_t<T> sum = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  if (i + blockDim.x < n) sum += sum_t<T>(x[i + blockDim.x]);
  s[tid] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t first_add(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, std::uint64_t(r.block) * 2);
  r.depth = 1 + steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, first_add_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
