// SPDX-License-Identifier: Apache-2.0
// Rows of complex numbers: exact under either accuracy.
#include <warpfold/gpu/rows_certified.cuh>
#include <warpfold/gpu/rows_plan.cuh>

#include "rows.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class T, terms Terms>
cudaError_t enqueue(const rows_request& r, workspace& w, cudaStream_t stream) {
  return enqueue_rows(certified_rows<kernel_element<T>, Terms>{{r.what, r.options.rounding, r.options.correction}}, r, w, stream);
}

template <terms Terms>
rows_function of_type(dtype t) {
  switch (t) {
    case dtype::c64: return or_by_label<enqueue<c64, Terms>>;
    case dtype::c128: return or_by_label<enqueue<c128, Terms>>;
    default: return nullptr;
  }
}

}  // namespace

rows_function find_rows_complex(op o, dtype t) {
  const bool spread = o == op::var || o == op::std_dev || o == op::mean_var;
  if (o == op::sum || o == op::mean) return of_type<terms::sum>(t);
  if (spread || o == op::norm2 || o == op::sum_of_squares) return of_type<terms::moments>(t);
  return o == op::dot ? of_type<terms::products>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
