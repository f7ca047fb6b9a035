// SPDX-License-Identifier: Apache-2.0
/// \file array_calls.hpp
/// Kernels beside those of requests, for calls with another language's arrays: two answers of one pass in two arrays, conversions of elements,
/// elements that a mask names, and variances with a fractional correction. All return a cudaError_t: cudaErrorNotSupported where there is no kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <warpfold/detail/exact/spread.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>

namespace wf {

/// An array in which some elements count: those that a mask names, those that are not NaN. Dimensions are in the order in which elements belong to
/// answers: each answer has the next `row` elements, the last one perhaps fewer. Strides are in bytes.
struct array_selection {
  static constexpr int max_rank = 32;  ///< as wf::max_rank, whose header kernels need not read
  const void* x = nullptr;
  const void* mask = nullptr;  ///< bytes, not 0 where an element counts; null: all count
  int rank = 0;
  std::array<std::int64_t, max_rank> shape{}, strides{}, mask_strides{};
  dtype element = dtype::f64;
  bool skip_nans = false;
  std::int64_t row = 0;
  void* to = nullptr;              ///< where elements that count go, one behind the other; room for all elements
  std::int64_t* offsets = nullptr; ///< where the elements of each answer begin in `to`, and where the last one's end; null: not wanted
  std::int64_t* places = nullptr;  ///< the index of each in the array; null: not wanted
};

/// These kernels of warpfold::gpu.
struct cuda_array_calls {
  /// Carries out a request for minmax: min goes to `out`, max to `greatest`.
  WF_API static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  /// Converts n elements without gaps to another type: one that holds all their numbers, or integers modulo a lower power of 2.
  WF_API static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
  /// Copies n labels of an integer type, `stride` bytes apart, as int64 without gaps. A uint64 from 2^63 on becomes a negative one: no answer has either.
  WF_API static int widen_labels(const void* from, dtype element, std::int64_t stride, std::int64_t n, std::int64_t* to, void* stream);
  /// Splits n pairs of parts of `size` bytes each, 1, 2, 4 or 8, into two arrays without gaps.
  WF_API static int part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream);
  /// Copies elements that count, without gaps; `scratch` is the stream's, as reductions take it. The array has at least one element.
  WF_API static int select(const array_selection&, void* scratch, void* stream);
  /// Copies all elements, without gaps, and writes `neutral`, of the elements' size, where one does not count. `row`, `offsets` and `places` are not used.
  WF_API static int fill(const array_selection&, const void* neutral, void* stream);
  /// Makes +0 of those of `count` sums that are -0 because none of their elements count. A sum is `parts` numbers of `size` bytes; answer k has the
  /// k-th `row` elements, or those from starts[k] to starts[k + 1].
  WF_API static int settle_zeros(const array_selection&, void* sums, int size, int parts, std::int64_t count, const void* starts, int bytes, void* stream);
  /// Turns segments of an array into segments of its counted elements: how many of the `counted` rising indexes are below each of `count` offsets of
  /// 4 or 8 bytes.
  WF_API static int narrow(const std::int64_t* places, const std::int64_t* counted, const void* offsets, int bytes, std::int64_t count, std::int64_t* to, void* stream);
  /// Turns answers that are indexes among a segment's counted elements into indexes within the segment; negative ones stay. Segments begin at `starts`,
  /// of 4 or 8 bytes, or every `row` elements.
  WF_API static int widen(std::int64_t* answers, std::int64_t count, const std::int64_t* offsets, const std::int64_t* places, const void* starts, int bytes, std::int64_t row, void* stream);
  /// Variances or standard deviations of `count` states of moments of elements of a type, `words` words each with those rows.
  WF_API static int spreads(const std::int64_t* states, std::int64_t words, std::int64_t count, const detail::rows_of_digits& rows, dtype element, const exact::spread_question&, void* out, void* stream);
};
/// The same of warpfold_simt.
struct simt_array_calls {
  static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
  static int widen_labels(const void* from, dtype element, std::int64_t stride, std::int64_t n, std::int64_t* to, void* stream);
  static int part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream);
  static int select(const array_selection&, void* scratch, void* stream);
  static int fill(const array_selection&, const void* neutral, void* stream);
  static int settle_zeros(const array_selection&, void* sums, int size, int parts, std::int64_t count, const void* starts, int bytes, void* stream);
  static int narrow(const std::int64_t* places, const std::int64_t* counted, const void* offsets, int bytes, std::int64_t count, std::int64_t* to, void* stream);
  static int widen(std::int64_t* answers, std::int64_t count, const std::int64_t* offsets, const std::int64_t* places, const void* starts, int bytes, std::int64_t row, void* stream);
  static int spreads(const std::int64_t* states, std::int64_t words, std::int64_t count, const detail::rows_of_digits& rows, dtype element, const exact::spread_question&, void* out, void* stream);
};
#if defined(WF_LIBRARY_IS_SIMT)
/// Those of the library that is compiled.
#if WF_LIBRARY_IS_SIMT
using array_calls = simt_array_calls;
#else
using array_calls = cuda_array_calls;
#endif
#endif

}  // namespace wf
