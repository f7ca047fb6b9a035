// SPDX-License-Identifier: Apache-2.0
/// \file own_kernels.hpp
/// How a place on a GPU runs a reduction that no operation names: by kernels that gpu.cuh compiles, behind one function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <warpfold/detail/gpu/rows.hpp>
#include <warpfold/request.hpp>

namespace wf {

/// The elements of a request, as such kernels take them.
struct own_input {
  std::int64_t n;                                      ///< elements of each input
  std::array<std::int64_t, cpu::max_inputs> stride{};  ///< in one answer, from an element to the next, in elements
  const rows_request* rows = nullptr;                  ///< for many answers their rows, with strides in bytes
};

/// The compiled kernels of a reduction, for one answer or for many.
struct own_kernels {
  int inputs;
  std::array<std::size_t, cpu::max_inputs> sizes, aligns;  ///< an element's of each input
  /// Enqueues a request that has been checked; `self` is own_reduction::self. Returns a cudaError_t.
  int (*enqueue)(const void* self, const request& r, const own_input& in, void* scratch, void* stream);
};

}  // namespace wf
