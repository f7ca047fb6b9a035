// SPDX-License-Identifier: Apache-2.0
/// \file array_calls.hpp
/// What calls with another language's arrays ask of compiled kernels beside requests: the two answers of one pass in two arrays,
/// elements of another type, those that a mask names, and variances by a correction that is no whole number. All say a cudaError_t; of what they have not, cudaErrorNotSupported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <warpfold/detail/exact/spread.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>

namespace wf {

/// Elements of which some count: those that a mask names, those that are no NaN. Dimensions are in the order in which elements belong to answers: each has the next `row` of them, the last
/// answer maybe fewer. Strides are in bytes.
struct array_selection {
  static constexpr int max_rank = 32;  ///< as wf::max_rank, whose header kernels need not read
  const void* x = nullptr;
  const void* mask = nullptr;  ///< bytes, 0 or not; null: all count
  int rank = 0;
  std::array<std::int64_t, max_rank> shape{}, strides{}, mask_strides{};
  dtype element = dtype::f64;
  bool skip_nans = false;
  std::int64_t row = 0;
  void* to = nullptr;              ///< those that count, one behind the other; room for all elements
  std::int64_t* offsets = nullptr; ///< where those of each answer begin in `to`, and where the last one's end; null: not wanted
  std::int64_t* places = nullptr;  ///< the index of each in the array; null: not wanted
};

/// Those of warpfold::gpu.
struct cuda_array_calls {
  /// min of a request for minmax goes to `out`, max to `greatest`.
  WF_API static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  /// n elements without gaps as those of another type: of one that has all of their numbers, or of integers modulo 2^64 modulo less.
  WF_API static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
  /// n pairs of parts of `size` bytes each, 1, 2, 4 or 8, as two arrays without gaps.
  WF_API static int part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream);
  /// Elements that count, without gaps; `scratch` is that of the stream, as reductions take it. One element at least.
  WF_API static int select(const array_selection&, void* scratch, void* stream);
  /// All elements, without gaps, in place of those that do not count the `neutral` one, of the elements' size. No `row`, `offsets` and `places`.
  WF_API static int fill(const array_selection&, const void* neutral, void* stream);
  /// Those of `count` sums that are -0 because none of their elements counts become +0. They are `parts` numbers of `size` bytes each; elements of answer k are the k-th `row`, or those from starts[k] to starts[k + 1].
  WF_API static int settle_zeros(const array_selection&, void* sums, int size, int parts, std::int64_t count, const void* starts, int bytes, void* stream);
  /// Turns segments of an array into segments of its counted elements: how many of the `counted` rising indexes are below each of `count` offsets of 4 or 8 bytes.
  WF_API static int narrow(const std::int64_t* places, const std::int64_t* counted, const void* offsets, int bytes, std::int64_t count, std::int64_t* to, void* stream);
  /// Answers that are numbers within what counts of a segment become numbers within the segment; those below 0 stay. Segments begin at `starts`, of 4 or 8 bytes, or each `row` elements.
  WF_API static int widen(std::int64_t* answers, std::int64_t count, const std::int64_t* offsets, const std::int64_t* places, const void* starts, int bytes, std::int64_t row, void* stream);
  /// Variances or standard deviations of `count` states of moments of elements of a type, `words` words each with those rows.
  WF_API static int spreads(const std::int64_t* states, std::int64_t words, std::int64_t count, const detail::rows_of_digits& rows, dtype element, const exact::spread_question&, void* out, void* stream);
};
/// The same of warpfold_simt.
struct simt_array_calls {
  static int extremes(const device_request&, void* greatest, void* scratch, void* stream);
  static int convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream);
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
