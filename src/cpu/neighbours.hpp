// SPDX-License-Identifier: Apache-2.0
/// \file neighbours.hpp
/// Answers that are neighbours in memory, made together and without a state each. Empty: that is not done, and nothing is answered.
#pragma once

#include "problem.hpp"

namespace wf::cpu {

/// Answers side by side whose elements are added a row at a time, to blocks of columns whose sums fit into L1 (columns.hpp), where that is done.
answered_groups answer_by_columns(const erased& r, const void* self, const problem& p, const grouping& g, std::int64_t chunk, std::int64_t chunks, const context& c,
                                  std::byte* out);
/// Whether that copies columns whose answers lie apart.
bool copies_columns(const erased& r, const problem& p);
/// Whether the next function does what it is asked for.
bool takes_rows(const erased& r, const problem& p);
/// Whether they are rows whose elements lie in every second place, which are read there.
bool has_gaps_to_read(const erased& r, const problem& p);
/// Answers of rows, some at a time; those with other gaps are copied.
answered_groups answer_rows(const erased& r, const void* self, const problem& p, const context& c, std::byte* out);
/// Many answers of few elements each, which lie near each other: they are turned into columns, where that is done.
answered_groups answer_turned(const erased& r, const void* self, const problem& p, const grouping& g, const context& c, std::byte* out);

}  // namespace wf::cpu
