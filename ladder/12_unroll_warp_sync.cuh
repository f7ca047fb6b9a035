// SPDX-License-Identifier: Apache-2.0
// unroll_warp_sync: the same, made legal by __syncwarp.
//
// Every step reads into a register, meets, writes, and meets again: the order that lock-step used
// to give for nothing is now asked for. A __syncwarp costs little where the lanes are together
// anyway, far less than the block's barrier that it replaces. Written for blocks of 64 threads and
// more.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class S>
__device__ S unroll_warp_sync_tail(S* s, unsigned tid) {
  S sum = s[tid];
  for (unsigned step = 32; step > 0; step /= 2) {
    sum += s[tid + step];
    __syncwarp();
    s[tid] = sum;
    __syncwarp();
  }
  return sum;
}

template <class T>
__global__ void unroll_warp_sync_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x * 2 + tid;
  sum_t<T> sum = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  if (i + blockDim.x < n) sum += sum_t<T>(x[i + blockDim.x]);
  s[tid] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 32; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid < 32) sum = unroll_warp_sync_tail(s, tid);
  if (tid == 0) atomicAdd(out, sum);
}

template <class T>
cudaError_t unroll_warp_sync(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, std::uint64_t(r.block) * 2);
  r.depth = 1 + steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, unroll_warp_sync_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
