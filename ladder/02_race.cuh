// SPDX-License-Identifier: Apache-2.0
// race: every thread adds its element to one word, with a plain `+=`.
//
// `+=` is a load, an addition and a store. Nothing orders one thread's three against another's, so
// most additions are overwritten by others: the result is wrong, and wrong differently each run.
// Parallel writes need an order, or a word of their own; the rest of the ladder gives them one or
// the other.
#pragma once
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void race_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) *out += sum_t<T>(x[i]);  // racy
}

template <class T>
cudaError_t race(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  r.depth = double(n);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, race_sum<T>, blocks_for(n, r.block), 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
