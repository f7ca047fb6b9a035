// SPDX-License-Identifier: Apache-2.0
/// \file products.cuh
/// The functions of exact products of floats and complex numbers, of one kind of terms: included by a translation unit for some kinds.
#pragma once

#include <warpfold/detail/gpu/kernels/certified_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

/// Answers are by certificate.
template <class T, terms Terms>
cudaError_t enqueue_products(const device_request& r, workspace& w, cudaStream_t stream) {
  using P = typename kernel_element_of<T>::number;
  using E = kernel_element<T>;
  const certified::question q{r.what, r.options.rounding, r.options.correction};
  const auto n = static_cast<std::uint64_t>(r.n);
  if (r.states) {
    if constexpr (Terms == terms::products) {
      return binned_state<Terms, P, E, E>(r.what, r.x.data(), r.stride.data(), n, r.out, w, stream);
    } else if constexpr (Terms == terms::moments && complex_number<T>) {  // the moments of each part
      auto* const to = static_cast<std::int64_t*>(r.out);
      const std::int64_t step = 2 * r.stride[0];
      constexpr int words = state_layout<P, Terms>::part_words + state_layout<P, Terms>::product_digits;
      for (int part = 1; part >= 0; --part) {  // the first word of the second one's is then the last of the first one's
        const void* const x[] = {static_cast<const P*>(r.x[0]) + part};
        const cudaError_t e = binned_state<Terms, P, P>(r.what, x, &step, n, to + part * words, w, stream);
        if (e != cudaSuccess) return e;
      }
      return cudaSuccess;
    } else {
      return binned_state<Terms, P, E>(r.what, r.x.data(), r.stride.data(), n, r.out, w, stream);
    }
  }
  if constexpr (Terms == terms::products) {
    return certified_reduce<Terms, P, E, E>(q, r.x.data(), r.stride.data(), n, r.out, w, stream);
  } else {
    return certified_reduce<Terms, P, E>(q, r.x.data(), r.stride.data(), n, r.out, w, stream);
  }
}

}  // namespace wf::device::inline WF_BUILD
