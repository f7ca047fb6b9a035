// SPDX-License-Identifier: Apache-2.0
// two_pass: every block writes its sum, and a second launch of one block adds those.
//
// Launches on one stream follow each other, so the second sees all that the first wrote: no
// atomics, no zeroed output, the same bits every run, and the answer stays on the GPU. It costs the
// second launch, which shows at a million elements and vanishes at a hundred million. It suits
// states too wide for an atomic.
#pragma once
#include "16_shuffle_block.cuh"

namespace ladder::inline WF_BUILD {

/// T is the element's type in the first pass, and the sum's in the second.
template <class T>
__global__ void two_pass_sum(const T* x, std::uint64_t n, sum_t<T>* partial) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

template <class T>
cudaError_t two_pass(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block) + divide_up(blocks, r.block)) + 20;
  auto* partial = partials<sum_t<T>>(r, blocks);
  if (partial == nullptr) return cudaErrorNotSupported;
  const cudaError_t e = launch(r, two_pass_sum<T>, blocks, 0, x, n, partial);
  if (e != cudaSuccess) return e;
  const sum_t<T>* sums = partial;
  return launch(r, two_pass_sum<sum_t<T>>, 1, 0, sums, blocks, out);
}

}  // namespace ladder::inline WF_BUILD
