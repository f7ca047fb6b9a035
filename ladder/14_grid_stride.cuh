// SPDX-License-Identifier: Apache-2.0
// grid_stride: as many blocks as the GPU holds at once; each thread walks the array with the grid's
// stride and adds in a register. Then the tree, once, and one atomic a block.
//
// The step that large arrays feel. The tree's barriers and the atomics are paid once a resident block
// rather than once for every few hundred elements, and what is left in the loop is loads: enough of
// them in flight to keep the memory busy.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void grid_stride_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  auto* s = reinterpret_cast<sum_t<T>*>(wf_dynamic_shared);
  const unsigned tid = threadIdx.x;
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + tid; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  s[tid] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <class T>
cudaError_t grid_stride(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block)) + steps(r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, grid_stride_sum<T>, blocks, r.block * sizeof(sum_t<T>), x, n, out);
}

}  // namespace ladder::inline WF_BUILD
