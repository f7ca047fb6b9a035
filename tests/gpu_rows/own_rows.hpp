// SPDX-License-Identifier: Apache-2.0
/// \file own_rows.hpp
/// Rows by reductions that the caller's compiler knows: the caller's own, fused ones, functions before them, on simt beside the CPU.
#pragma once

#include <cstdint>
#include <string>

/// Random views, axes, segments and labels of about `elements` elements, by every such reduction: empty, or the first answer that is
/// not the CPU's, or not a plain loop's.
std::string own_rows_difference(std::uint64_t seed, std::int64_t elements);
/// How many different reductions a round has.
inline constexpr int own_row_kinds = 9;
/// Runs of up to as many keys of several types: as above.
std::string runs_difference(std::uint64_t seed, std::int64_t keys);
