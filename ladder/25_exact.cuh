// SPDX-License-Identifier: Apache-2.0
// exact: the library's exact sum.
//
// The true sum, rounded once, at the end: the same bits on every device, in every order, with any
// launch. Elements are added as integers of their mantissas, weighted by their exponents, and
// integers lose nothing. The row before tells the price.
#pragma once
#include <warpfold/detail/gpu/kernels/exact_sum.cuh>

#include <type_traits>

#include "rung.cuh"

namespace ladder::inline WF_BUILD {

/// The result has the element's type: f16 sums are rounded to f16, once.
template <class T>
cudaError_t exact(const T* x, std::uint64_t n, T* out, run& r) {
  if constexpr (std::is_integral_v<T>) {
    return r.refuse("a sum of integers is exact already");
  } else {
    r.depth = 1;
    return wf::device::exact_sum(x, n, out, *r.workspace, r.stream);
  }
}

}  // namespace ladder::inline WF_BUILD
