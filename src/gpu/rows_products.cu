// SPDX-License-Identifier: Apache-2.0
// Rows' dot of floats: exact under either accuracy.
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
    case dtype::f16: return or_by_label<enqueue<f16, Terms>>;
    case dtype::bf16: return or_by_label<enqueue<bf16, Terms>>;
    case dtype::f32: return or_by_label<enqueue<float, Terms>>;
    case dtype::f64: return or_by_label<enqueue<double, Terms>>;
    default: return nullptr;
  }
}

}  // namespace

rows_function find_rows_products(op o, dtype t) {
  return o == op::dot ? of_type<terms::products>(t) : nullptr;
}

}  // namespace wf::device::inline WF_BUILD
