// SPDX-License-Identifier: Apache-2.0
/// \file rows_exact.cuh
/// The functions of rows by certificates, of one kind of terms: included by a translation unit for each kind.
#pragma once

#include <type_traits>

#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

#include "rows.cuh"

namespace wf::device::inline WF_BUILD {

template <class T, terms Terms>
cudaError_t enqueue_exact_rows(const rows_request& r, workspace& w, cudaStream_t stream) {
  if constexpr (Terms == terms::moments && complex_number<T>) {
    const bool spreads = r.what == op::var || r.what == op::std_dev || r.what == op::mean_var;
    if (r.state_bytes != 0 && spreads) {  // the moments of each part: the first word of the second one's is then the last of the first one's
      using P = typename T::value_type;
      rows_request part = r;
      part.element = dtype_of<P>;
      for (std::int64_t& s : part.stride[0]) s *= 2;
      constexpr int words = state_layout<P, Terms>::part_words + state_layout<P, Terms>::product_digits;
      const rows_function f = find_rows_moments(r.what, part.element);
      for (int k = 1; k >= 0; --k) {
        part.x[0] = static_cast<const P*>(r.x[0]) + k;
        part.out = static_cast<std::int64_t*>(r.out) + k * words;
        if (const cudaError_t e = f(part, w, stream); e != cudaSuccess) return e;
      }
      return cudaSuccess;
    }
  }
  const certified::question q{r.what, r.options.rounding, r.options.correction};
  return enqueue_rows(certified_rows<kernel_element<T>, Terms>{q, r.state_bytes != 0, r.state_bytes}, r, w, stream);
}

/// The function for that type, if it is one of T; null otherwise.
template <terms Terms, class... T>
rows_function exact_rows_of(dtype t) {
  rows_function found = nullptr;
  ((found = t == dtype_of<T> ? rows_function{or_by_label<enqueue_exact_rows<T, Terms>>} : found), ...);
  return found;
}
template <terms Terms>
rows_function exact_rows_of_floats(dtype t) {
  return exact_rows_of<Terms, f16, bf16, float, double>(t);
}

inline bool is_spread_or_norm(op o) {
  return operation_of(o).state == state_kind::moments || (operation_of(o).state == state_kind::dots && inputs_of(o) == 1);
}

}  // namespace wf::device::inline WF_BUILD
