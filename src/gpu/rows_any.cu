// SPDX-License-Identifier: Apache-2.0
// Rows of every operation and type that have no kernel of their own, and the way to those that have.
#include <warpfold/detail/gpu/accumulate/rows_any.cuh>
#include <warpfold/detail/gpu/accumulate/rows_native.cuh>
#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

#include "rows.cuh"
#include "table.cuh"

namespace wf::device::inline WF_BUILD {

cudaError_t enqueue_any_rows(const rows_request& r, workspace& w, cudaStream_t stream) {
  if (inputs_of(r.what) == 2) {
    const auto two = any_rows<2>::of(r);
    return two.is_compiled() ? enqueue_rows(two, r, w, stream) : cudaErrorNotSupported;
  }
  return enqueue_rows(any_rows<1>::of(r), r, w, stream);
}

/// The kernel that learns its operation when it runs makes states, and answers of rows whose elements do not count from 0.
template <class Acc>
cudaError_t enqueue_native_rows(const rows_request& r, workspace& w, cudaStream_t stream) {
  if (r.state_bytes != 0 || r.first != 0) return enqueue_any_rows(r, w, stream);
  return enqueue_rows(Acc{}, r, w, stream);
}
/// Products and logsumexp of floats that have kernels of their own.
rows_function find_rows_native(op o, dtype t) {
  if (o == op::prod) {
    if (t == dtype::f32) return or_by_label<enqueue_native_rows<float_product_rows<float>>>;
    if (t == dtype::f64) return or_by_label<enqueue_native_rows<float_product_rows<double>>>;
  } else if (o == op::logsumexp) {
    if (t == dtype::f16) return or_by_label<enqueue_native_rows<logsumexp_rows<f16>>>;
    if (t == dtype::bf16) return or_by_label<enqueue_native_rows<logsumexp_rows<bf16>>>;
    if (t == dtype::f32) return or_by_label<enqueue_native_rows<logsumexp_rows<float>>>;
    if (t == dtype::f64) return or_by_label<enqueue_native_rows<logsumexp_rows<double>>>;
  }
  return nullptr;
}

rows_function find_rows_any(op o, dtype t) {
  if (const rows_function f = find_rows_native(o, t)) return f;
  if (family_of(o, t, accuracy::exact) == kernel_family::none) return nullptr;
  const row_work work = row_work_of(o, t);
  if (!is_integer(t) && (work == row_work::add || work == row_work::moments)) return nullptr;
  return or_by_label<enqueue_any_rows>;
}

rows_function find_rows(op o, dtype t, accuracy a) {
  if (operation_of(o).state == state_kind::own) return find_rows_own(o, t, a);
  for (const auto family : {find_rows_sums, find_rows_half_sums, find_rows_moments, find_rows_products, find_rows_complex, find_rows_words, find_rows_integers, find_rows_any}) {
    if (const rows_function f = family(o, t)) return f;
  }
  return nullptr;
}

rows_function find_checked_rows(op o, dtype t) { return is_checked_on_devices(o, t) ? or_by_label<enqueue_any_rows> : nullptr; }

}  // namespace wf::device::inline WF_BUILD

#ifdef WF_LIBRARY_IS_SIMT  // not in tests of rows alone
int wf::device::built_kernels::rows(const rows_request& r, void* scratch, void* stream) {
  const device::rows_function f = r.checked ? device::find_checked_rows(r.what, r.element) : device::find_rows(r.what, r.element, r.accuracy);
  if (f == nullptr) return cudaErrorNotSupported;
  return f(r, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}
#endif
