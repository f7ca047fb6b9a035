// SPDX-License-Identifier: Apache-2.0
// partials_host: every block writes its sum to a word of its own, and the CPU adds those.
//
// No atomics, so the same bits every run, and the simplest way to finish: what early codes do. But
// the answer costs a copy and a wait: the GPU idles while some kilobytes cross the bus and the CPU
// wakes up. The result is on the host, where it may not be wanted at all.
#pragma once
#include "16_shuffle_block.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void partials_host_sum(const T* x, std::uint64_t n, sum_t<T>* partial) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// `out` is host memory here. Returns when the sum is in it.
template <class T>
cudaError_t partials_host(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block)) + 10 + double(blocks);
  auto* partial = partials<sum_t<T>>(r, blocks);
  if (partial == nullptr) return cudaErrorNotSupported;
  auto* copy = static_cast<sum_t<T>*>(r.host_scratch);
  cudaError_t e = launch(r, partials_host_sum<T>, blocks, 0, x, n, partial);
  if (e == cudaSuccess)
    e = cudaMemcpyAsync(copy, partial, blocks * sizeof *copy, cudaMemcpyDeviceToHost, r.stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(r.stream);
  if (e != cudaSuccess) return e;
  sum_t<T> sum(0);
  for (std::uint64_t k = 0; k < blocks; ++k) sum += copy[k];
  *out = sum;
  return cudaSuccess;
}

}  // namespace ladder::inline WF_BUILD
