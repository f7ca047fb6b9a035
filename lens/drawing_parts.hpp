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

/// Whether both are one file, of which either path may be the longer.
bool same_file(std::string_view, std::string_view);
/// `line 24`, or `special.hpp:24` where that is not the main file.
std::string place_in_words(const source_place&, std::string_view main_file);
/// `add, line 24`
std::string row_title(const value_row&, std::string_view main_file);
/// `32 threads: 0 to 31`, `32 threads: 0, 2 … 62`
std::string threads_of(const value_row&);
/// What of the row is for nothing, and what has no column; empty if neither.
std::string notes_of(const value_row&, unsigned columns);
/// Whether each thread's first elements of a load are neighbours, and the next thread's lie behind them, as those of leaders.
/// Then they can be drawn at their own columns.
bool loads_apart(const value_row&);
/// The steps of a result whose word another thread writes too, without an atomic: a race.
std::size_t racing_steps(const value_row&);
inline bool is_drawn(const value_step& s, unsigned columns) { return s.thread < columns && s.to.index < columns; }
/// `t4: s8 = s8 + s10`: thread 4 makes it.
std::string step_in_words(const value_row&, const value_step&);

/// The banks that a lane's access covers, and those of which different words are wanted in one pass.
std::vector<unsigned> banks_of(const request&, unsigned lane);
std::set<unsigned> crowded_banks(const request&);

std::string_view moment_style(warp_moment::kind);
char moment_letter(warp_moment::kind);
/// Style and name, in the order of a legend.
std::vector<std::pair<std::string_view, std::string_view>> moment_legend();

/// For XML.
std::string escaped(std::string_view);
std::string text(int x, int y, std::string_view style, std::string_view words);
/// Nothing for no moves.
std::string path(std::string_view style, const std::string& moves);

}  // namespace lens
