// SPDX-License-Identifier: Apache-2.0
/// \file explaining.hpp
/// One launch that can be repeated, counted, checked for races and drawn: of a kernel alone, or within a program.
#pragma once

#include <lens/explanation.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace lens::own {

/// Launches the same each time, and gives empty or its fault.
using repeatable = std::function<std::string()>;

/// More threads would make a drawing's trace too large to keep.
inline constexpr std::uint64_t most_drawn = 1 << 16;

/// Empty, or why the launch cannot be explained: it faults, and for another reason than a race. A read of shared
/// memory that nobody wrote may have come too early for want of a barrier: then the race is reported, and what is counted
/// is a run that goes on.
/// `counted` is called behind the run that was counted.
std::string add_counts_and_races(explanation&, const repeatable& run, std::uint64_t blocks, const std::function<void()>& counted = {});

void add_traces(explanation&, const repeatable& run);

/// What an option wants written, if its path is not empty; throws wf::error (bad_input) where that cannot be.
void write_wanted(const char* option, const std::string& path, const std::function<std::string()>& text);

}  // namespace lens::own
