// SPDX-License-Identifier: Apache-2.0
// Rows are raced by tests/gpu_rows; here there are none of their kernels.
#include <warpfold/detail/gpu/library.hpp>

int wf::simt_kernels::rows(const rows_request&, void*, void*) { return no_such_kernel; }
int wf::simt_kernels::order_labels(const std::int64_t*, std::int64_t, std::int64_t, label_order*, void*, void*) { return no_such_kernel; }
int wf::simt_kernels::find_runs(const runs_request&, void*, void*) { return no_such_kernel; }
