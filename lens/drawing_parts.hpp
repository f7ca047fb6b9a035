// SPDX-License-Identifier: Apache-2.0
// What the drawings in SVG and those in letters share.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace.hpp"

namespace lens {

inline constexpr unsigned most_columns = 64;
inline constexpr std::size_t most_moments = 110;

/// As many as fit, of the block's threads.
unsigned columns_of(const block_trace&);

/// `add, line 24`
std::string row_title(const value_row&);
/// `1 thread`, `2 threads`
std::string counted(std::size_t n, std::string_view what);

/// The banks that a lane's access covers, and those of which different words are wanted in one pass.
std::vector<unsigned> banks_of(const request&, unsigned lane);
std::set<unsigned> crowded_banks(const request&);

std::string_view moment_style(warp_moment::kind);
char moment_letter(warp_moment::kind);
/// Style and name, in the order of a legend.
std::vector<std::pair<std::string_view, std::string_view>> moment_legend();

/// For XML.
std::string escaped(std::string_view);

}  // namespace lens
