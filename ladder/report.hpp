// SPDX-License-Identifier: Apache-2.0
/// \file report.hpp
/// A run of the ladder as a table for people and as JSON for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runner.hpp"

namespace ladder {

std::string to_table(const report&);
/// One object: device, driver, clocks, n, dtype, data, seed, command, rungs, races.
std::string to_json(const report&, const std::string& command);

/// The side stairs of one place.
struct stairs {
  place_facts facts;
  unsigned transpose_side = 0;
  std::uint64_t overlap_n = 0;
  std::vector<transpose_row> transposes;
  std::vector<overlap_row> overlaps;
  std::vector<precision_row> precisions;

  bool any_wrong() const;
};

/// Runs them on about n elements.
stairs run_stairs(place&, std::uint64_t n);
std::string to_table(const stairs&);
std::string to_json(const stairs&, const std::string& command);

/// `--list`: a line a rung, and one object with them all.
std::string list_of(std::span<const rung_info>);
std::string list_json(std::span<const rung_info>);

std::string_view to_string(distribution);

}  // namespace ladder
