// SPDX-License-Identifier: Apache-2.0
// cpu: the baseline, one core: a serial loop, Kahan's, a pairwise sum, and the exact one.
//
// The serial float loop is the least right of all: once the sum is large, every addition loses what
// lies below its last place, and a million losses in one direction add up. Kahan's loop carries
// what was lost along. A pairwise sum is as quick as the serial loop and loses log2(n) times, not n
// times: the trees of the GPU rungs are right for the same reason. The exact sum rounds once, at
// the end.
#pragma once
#include <cmath>

#include <warpfold/detail/exact/sum_state.hpp>

#include "rung.cuh"

namespace ladder::inline WF_BUILD {

/// x and out are host memory in all four.
template <class T>
cudaError_t cpu_serial(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  r.depth = double(n);
  sum_t<T> sum(0);
  for (std::uint64_t i = 0; i < n; ++i) sum += sum_t<T>(x[i]);
  *out = sum;
  return cudaSuccess;
}

template <class T>
cudaError_t cpu_kahan(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  constexpr double unit = sizeof(sum_t<T>) == 8 ? 0x1p-53 : 0x1p-24;
  r.depth = 4 + 8 * unit * double(n);  // error at most (2u + O(n u^2)) times the sum of |x|
  sum_t<T> sum(0), lost(0);
  for (std::uint64_t i = 0; i < n; ++i) {
    const sum_t<T> y = sum_t<T>(x[i]) - lost;
    const sum_t<T> next = sum + y;
    lost = (next - sum) - y;
    sum = next;
  }
  // An infinity makes what was lost a NaN. The plain loop then tells which infinity, or that it is
  // NaN.
  if (!std::isfinite(sum)) return cpu_serial(x, n, out, r);
  *out = sum;
  return cudaSuccess;
}

template <class T>
sum_t<T> pairwise_sum(const T* x, std::uint64_t n) {
  if (n > 128) return pairwise_sum(x, n / 2) + pairwise_sum(x + n / 2, n - n / 2);
  sum_t<T> sum(0);
  for (std::uint64_t i = 0; i < n; ++i) sum += sum_t<T>(x[i]);
  return sum;
}

template <class T>
cudaError_t cpu_pairwise(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  r.depth = 128 + steps(n);
  *out = pairwise_sum(x, n);
  return cudaSuccess;
}

template <class T>
cudaError_t cpu_exact(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  r.depth = 1;
  auto state = wf::exact::sum_state<sum_t<T>>::identity();
  for (std::uint64_t i = 0; i < n; ++i) state.add(sum_t<T>(x[i]));
  *out = state.value();
  return cudaSuccess;
}

}  // namespace ladder::inline WF_BUILD
