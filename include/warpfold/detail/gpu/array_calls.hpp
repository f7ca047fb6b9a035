// SPDX-License-Identifier: Apache-2.0
/// \file array_calls.hpp
/// What calls with another language's arrays ask of compiled kernels beside requests: the two answers of one pass in two arrays, and
/// elements of another type. Both say a cudaError_t; of what they have not, cudaErrorNotSupported.
#pragma once

#include <cstddef>
#include <cstdint>

#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>

namespace wf {

/// Those of warpfold::gpu.
struct cuda_array_calls {
  /// min of a request for minmax goes to `out`, max to `greatest`.
  WF_API static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  /// n elements without gaps as those of another type: of one that has all of their numbers, or of integers modulo 2^64 modulo less.
  WF_API static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
  /// n pairs of parts of `size` bytes each, 1, 2, 4 or 8, as two arrays without gaps.
  WF_API static int part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream);
};
/// The same of warpfold_simt.
struct simt_array_calls {
  static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
  static int part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream);
};

}  // namespace wf
