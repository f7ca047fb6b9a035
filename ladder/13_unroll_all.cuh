// SPDX-License-Identifier: Apache-2.0
// unroll_all: the block size becomes a template argument, and every loop over it unrolls.
//
// The compiler now knows each distance: no loop counter, no comparison, addresses folded into the
// instructions. The price is one kernel a block size, and a switch on the host.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T, unsigned block>
__global__ void unroll_all_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  __shared__ sum_t<T> s[block];
  const unsigned tid = threadIdx.x;
  const std::uint64_t i = std::uint64_t(blockIdx.x) * (block * 2) + tid;
  sum_t<T> sum = i < n ? sum_t<T>(x[i]) : sum_t<T>(0);
  if (i + block < n) sum += sum_t<T>(x[i + block]);
  s[tid] = sum;
  __syncthreads();
#pragma unroll
  for (unsigned step = block / 2; step > 32; step /= 2) {
    if (tid < step) s[tid] = sum = sum + s[tid + step];
    __syncthreads();
  }
  if (tid < 32) {
#pragma unroll
    for (unsigned step = 32; step > 0; step /= 2) {
      sum += s[tid + step];
      __syncwarp();
      s[tid] = sum;
      __syncwarp();
    }
    if (tid == 0) atomicAdd(out, sum);
  }
}

template <class T>
cudaError_t unroll_all(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = blocks_for(n, std::uint64_t(r.block) * 2);
  r.depth = 1 + steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  switch (r.block) {
    case 64: return launch(r, unroll_all_sum<T, 64>, blocks, 0, x, n, out);
    case 128: return launch(r, unroll_all_sum<T, 128>, blocks, 0, x, n, out);
    case 256: return launch(r, unroll_all_sum<T, 256>, blocks, 0, x, n, out);
    case 512: return launch(r, unroll_all_sum<T, 512>, blocks, 0, x, n, out);
    case 1024: return launch(r, unroll_all_sum<T, 1024>, blocks, 0, x, n, out);
    default: return r.refuse("is compiled for blocks of 64, 128, 256, 512 and 1024");
  }
}

}  // namespace ladder::inline WF_BUILD
