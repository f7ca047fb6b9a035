// SPDX-License-Identifier: Apache-2.0
// shared_atomic: a word a block in shared memory, and atomicAdd into that.
//
// The queue is now private to the block and on the chip, and the L2 sees one atomic a block. All
// threads work and all loads are coalesced. But a private word is still one queue: the block's
// additions happen one after another, in hardware for 32-bit integers, in a compare-and-swap loop
// for floating point.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void shared_atomic_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  __shared__ sum_t<T> sum;
  if (threadIdx.x == 0) sum = sum_t<T>(0);
  __syncthreads();
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sum, sum_t<T>(x[i]));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

template <class T>
cudaError_t shared_atomic(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, r.block);
  r.depth = double(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, shared_atomic_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
