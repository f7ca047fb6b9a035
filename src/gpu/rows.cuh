// SPDX-License-Identifier: Apache-2.0
/// \file rows.cuh
/// The compiled kernels of rows, one translation unit a family, behind functions that look them up.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/rows.hpp>
#include <warpfold/detail/gpu/states_request.hpp>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Enqueues a request whose operation and type are those that it was looked up for.
using rows_function = cudaError_t (*)(const rows_request&, workspace&, cudaStream_t);

/// Enqueues the sort of labels (rows.hpp): what it makes is the caller's, to be freed in stream order.
cudaError_t order_labels(const std::int64_t* labels, std::int64_t n, std::int64_t answers, label_order& made, workspace&, cudaStream_t);

/// Answers by label, of elements of which `segments` reduces segments: it is asked for those of a sorted copy, in memory that is
/// allocated and freed in stream order. Elements whose label no answer has are left out. Refuses 2^32 - 1 elements or answers and more.
cudaError_t enqueue_rows_by_label(rows_function segments, const rows_request&, workspace&, cudaStream_t);

/// Answers and states of rows that are neither sums nor moments of floats, by a kernel that learns operation and type when it runs (rows_any.cuh).
cudaError_t enqueue_any_rows(const rows_request&, workspace&, cudaStream_t);

/// Rows and segments by a function, and with it labels.
template <rows_function Rows>
cudaError_t or_by_label(const rows_request& r, workspace& w, cudaStream_t stream) {
  return r.labels != nullptr ? enqueue_rows_by_label(Rows, r, w, stream) : Rows(r, w, stream);
}

/// The function for rows of this operation, or null. Rows take what whole arrays take on a device.
rows_function find_rows(op, dtype, accuracy);

/// The same for answers in a wf::checked.
rows_function find_checked_rows(op, dtype);

// Null where a family has no such reduction.
rows_function find_rows_sums(op, dtype);
rows_function find_rows_half_sums(op, dtype);
rows_function find_rows_moments(op, dtype);
rows_function find_rows_products(op, dtype);
rows_function find_rows_complex(op, dtype);
rows_function find_rows_words(op, dtype);
rows_function find_rows_integers(op, dtype);
rows_function find_rows_any(op, dtype);
rows_function find_rows_own(op, dtype, accuracy);

/// Merges and answers states of an operation that it was looked up for; null where there is none.
using states_function = cudaError_t (*)(const states_request&, cudaStream_t);
states_function find_states_own(op, dtype);

}  // namespace wf::device::inline WF_BUILD
