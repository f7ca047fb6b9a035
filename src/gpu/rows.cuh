// SPDX-License-Identifier: Apache-2.0
/// \file rows.cuh
/// The compiled kernels of rows, one translation unit a family, behind functions that look them up.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/gpu/rows.hpp>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Enqueues a request whose operation and type are those that it was looked up for.
using rows_function = cudaError_t (*)(const rows_request&, workspace&, cudaStream_t);

/// Null where rows are not reduced so: what whole arrays take on a device, rows take.
rows_function find_rows(op, dtype, accuracy);

// Null where a family has no such reduction.
rows_function find_rows_sums(op, dtype);
rows_function find_rows_moments(op, dtype);
rows_function find_rows_products(op, dtype);
rows_function find_rows_complex(op, dtype);
rows_function find_rows_words(op, dtype);
rows_function find_rows_any(op, dtype);

}  // namespace wf::device::inline WF_BUILD
