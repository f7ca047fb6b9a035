// SPDX-License-Identifier: Apache-2.0
/// \file columns.hpp
/// Answers side by side in memory, whose elements lie a row apart. They have no state each: a block of columns keeps its sums, or what else it
/// needs, in arrays, to which a row is added at a time (simd/certify_columns.hpp). The sums of short rows come as such arrays, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wf::cpu {

/// What a block of columns keeps, at most.
inline constexpr std::size_t column_bytes = 16384;

/// Longer rows have a proof each, but for those whose elements lie in every second place.
inline constexpr std::int64_t most_of_row = 4096;

struct column_fold {
  std::int64_t most;      ///< columns of a block, a multiple of 64
  std::int64_t turned;  ///< answers of up to so many elements that lie near each other are turned into columns: all else takes longer
  void (*begin)(void* block, std::int64_t count);  ///< null where there are rows and no columns, as the next three are
  /// Row i begins i·stride bytes after x. `any`: have these columns any row yet? What lies behind them is lost. `cached`: the last cache has room for
  /// all elements of the call.
  void (*add)(void* block, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool any, bool cached);
  /// Columns [0, count) get what columns [from, from + count) of another block, or of the same, have; all have a row.
  void (*merge)(void* block, const void* other, std::int64_t from, std::int64_t count);
  /// The answers of columns of n elements each; certain[k] is 1 where answer k is written, and 0 where exact digits must decide.
  void (*finish)(const void* self, void* block, std::int64_t n, std::int64_t count, void* out, unsigned char* certain);
  /// The same of rows of n <= most_of_row elements without gaps, a row `stride` bytes after the one before; false where there is no such way. `gaps`: of
  /// any n elements, in every second place, where has_gaps says so.
  bool (*rows)(const void* self, const void* x, std::int64_t stride, bool gaps, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) = nullptr;
  /// The same but for `finish`, which writes states as adapted.hpp tells them, whatever `self` is.
  const column_fold* states = nullptr;
  bool of_numbers = false;  ///< for states: none is certain where a column has a NaN
  /// The answers of columns that have n rows, all at once; false where one is uncertain, or there is no such way: then none is written.
  bool (*whole)(const void* self, const void* x, std::int64_t stride, std::int64_t n, std::int64_t count, bool cached, void* out) = nullptr;
  std::int64_t most_whole = 0;  ///< columns that it takes, a multiple of `most`
  std::int64_t least_of_row = 65;  ///< shorter rows are turned into columns
  bool has_gaps = false;
};

}  // namespace wf::cpu
