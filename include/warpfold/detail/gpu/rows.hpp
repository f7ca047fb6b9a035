// SPDX-License-Identifier: Apache-2.0
/// \file rows.hpp
/// How host code asks the compiled kernels for many reductions at once: of rows along any axes of a strided view, of
/// segments, of groups with a label.
#pragma once

#include <array>
#include <cstdint>

#include <warpfold/accuracy.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf {

/// An element with a label on its way: which answer it belongs to, and where it lies.
struct labelled {
  std::uint32_t label, place;
};
/// Elements in the order of their labels, on a device.
struct label_order {
  void* memory = nullptr;            ///< holds all of it: to be freed in stream order
  const labelled* elements = nullptr;
  const std::uint32_t* offsets = nullptr;  ///< answers + 1 of them: where a label's elements begin
};
/// Enqueues the sort of n labels of `answers` answers; elements with another label come last. Returns a cudaError_t: cudaErrorNotSupported for
/// 2^32 - 1 or more elements or answers.
using order_labels_kernel = int (*)(const std::int64_t* labels, std::int64_t n, std::int64_t answers, label_order* made, void* scratch, void* stream);

/// A search for runs of equal neighbours among n keys (runs.hpp), all on a device.
struct runs_request {
  const void* keys;
  std::int64_t n, stride;  ///< bytes from a key to the next
  int size, align;         ///< a key's: 1, 2, 4, 8 or 16 bytes
  void* unique;            ///< room for that many keys
  std::int64_t* offsets;   ///< room + 1; those behind the last run's end are n
  std::int64_t room;
  std::int64_t* found;     ///< how many runs there are, in room or not
};

/// The most bytes of a state of state_kind::own for rows.
inline constexpr std::size_t most_own_row_state = 300;

/// What a device is asked to reduce row by row. All pointers are the device's.
struct rows_request {
  op what;
  dtype element;
  wf::accuracy accuracy;
  wf::options options;
  std::array<const void*, 2> x;
  /// Dimensions: the kept ones first, then the reduced ones, each in their order; the last one varies fastest. Answers lie
  /// C-ordered over the kept ones. Segments and labels have one dimension, which is reduced.
  int kept, reduced;
  std::array<std::int64_t, 32> length;
  std::array<std::array<std::int64_t, 32>, 2> stride;  ///< in elements, of each input
  /// Null, or segments + 1 offsets of 4 or 8 bytes each: segment k is the elements offsets[k] … offsets[k + 1].
  const void* offsets;
  int offset_bytes;
  std::int64_t segments;       ///< answers of segments and of labels
  const std::int64_t* labels;  ///< null, or each element's answer; a label that belongs to no answer leaves its element out
  void* out;
  std::int64_t first = 0;       ///< index of each answer's first element
  std::size_t state_bytes = 0;  ///< states of so many bytes are wanted; 0: answers
  bool checked = false;         ///< for integers: each answer in a wf::checked
};

}  // namespace wf
