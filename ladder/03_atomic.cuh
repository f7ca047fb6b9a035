// SPDX-License-Identifier: Apache-2.0
// atomic: the same, with atomicAdd.
//
// An atomic addition is indivisible, so the sum is right. But all of them go to one word, and a
// word's additions happen one after another in the L2: the whole GPU stands in one queue. Every
// later rung is about sending fewer sums down that queue. Floating-point sums also differ from run
// to run in their last bits, for the queue's order does.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void atomic_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, sum_t<T>(x[i]));
}

template <class T>
cudaError_t atomic(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  r.depth = double(n);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, atomic_sum<T>, blocks_for(n, r.block), 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
