// SPDX-License-Identifier: Apache-2.0
// last_block: every block writes its sum and takes a ticket; the block with the last ticket adds
// the sums.
//
// One launch and any grid: nobody waits, for whoever comes last finds all the others done. The
// fence before the ticket makes the sum visible before the ticket is, and the fence after it keeps
// the last block's loads behind it. The sums are added in the order of the blocks, whoever adds
// them: the same bits every run. atomicInc wraps the ticket to 0, ready for the next launch.
#pragma once
#include "16_shuffle_block.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void last_block_sum(const T* x, std::uint64_t n, sum_t<T>* partial, unsigned* ticket,
                               sum_t<T>* out) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = block_sum(sum);

  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  sum = sum_t<T>(0);
  for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += partial[k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

template <class T>
cudaError_t last_block(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block);
  r.depth = double(divide_up(n, blocks * r.block) + divide_up(blocks, r.block)) + 20;
  auto* partial = partials<sum_t<T>>(r, blocks);
  if (partial == nullptr) return cudaErrorNotSupported;
  return launch(r, last_block_sum<T>, blocks, 0, x, n, partial, r.ticket, out);
}

}  // namespace ladder::inline WF_BUILD
