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
  return enqueue_rows(certified_rows<kernel_element<T>, Terms>{{r.what, r.options.rounding, r.options.correction}}, r, w, stream);
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
