// SPDX-License-Identifier: Apache-2.0
// unroll_warp: the famous version. Once one warp is left, the barriers go, and `volatile` keeps the
// compiler from holding cells in registers.
//
// It rests on the 32 lanes moving in lock-step, which CUDA promised until Volta and has not since:
// a lane may run ahead, and read a cell before its neighbour wrote it, or after it wrote it twice.
// Usually compiled code still keeps the lanes together, so the sum comes out right and the bug
// stays. It is a data race, and simt's race check names the lines. Written for blocks of 64 threads
// and more.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class S>
__device__ void unroll_warp_tail(volatile S* s, unsigned tid) {
  s[tid] = s[tid] + s[tid + 32];  // racy
  s[tid] = s[tid] + s[tid + 16];  // racy
  s[tid] = s[tid] + s[tid + 8];   // racy
  s[tid] = s[tid] + s[tid + 4];   // racy
  s[tid] = s[tid] + s[tid + 2];   // racy
  s[tid] = s[tid] + s[tid + 1];   // racy
}

template <class T>
__global__ void unroll_warp_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
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
  if (tid < 32) unroll_warp_tail<sum_t<T>>(s, tid);
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t unroll_warp(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, std::uint64_t(r.block) * 2);
  r.depth = 1 + steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, unroll_warp_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
