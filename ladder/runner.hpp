// SPDX-License-Identifier: Apache-2.0
/// \file runner.hpp
/// Runs the ladder: verifies every rung, then times it, or on simt counts it and looks for races.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clocks.hpp"
#include "data.hpp"
#include "ladder.hpp"
#include "races.hpp"
#include "verify.hpp"

namespace ladder {

struct options {
  wf::dtype type = wf::dtype::f32;
  std::uint64_t n = std::uint64_t{1} << 20;
  distribution data = distribution::uniform;
  std::uint64_t seed = 1;
  const array* input = nullptr;   ///< sums this instead of made data
  std::vector<std::string> only;  ///< `atomic`, `cpu/kahan`; empty: all
  request asked;
  bool hot = false;   ///< do not flush the L2
  bool watch = true;  ///< on simt: also look for races
};

/// `no_digit`: as near as its order of additions promises, which is not near at all.
enum class verdict : std::uint8_t { right, no_digit, right_by_luck, wrong_as_expected, wrong, skipped };
std::string_view to_string(verdict);

struct row {
  rung_info rung;
  verdict said = verdict::skipped;
  std::string why;      ///< it is wrong or skipped
  std::uint64_t n = 0;  ///< fewer than asked for where the rung ran on the instrumented machine
  outcome ran;
  judgement judged;  ///< the worst of its runs
  int runs = 0;
  bool runs_differ = false;
  std::optional<timing> time;
  double gb_per_s = 0;
  double of_read = 0, of_ceiling = 0;  ///< read time of the same n, of a large n, over the rung's
  double over_before = 0, over_atomic = 0;      ///< 0: nothing to compare with
  std::optional<std::vector<race_pair>> races;  ///< nothing if not looked for
};

struct report {
  place_facts facts;
  std::optional<gpu_clocks> clocks;
  options asked;
  std::string exact;                           ///< the sum, correctly rounded to the type of sums
  double condition = 0;                        ///< the sum's; reference::condition()
  std::uint64_t watched_n = 0;                 ///< for the race check
  double empty_seconds = 0, read_seconds = 0;  ///< for the same n
  double ceiling_seconds = 0;
  std::uint64_t ceiling_bytes = 0;
  std::vector<row> rows;

  bool any_wrong() const;
};

/// Told before each rung's turn: which, and how many of how many are done.
using progress = std::function<void(std::string_view, std::size_t done, std::size_t of)>;

/// `lens` may be null: then `race`, which simt shows only there, is run like the others. Throws
/// wf::error: bad_argument for a rung that does not exist or cannot use the block asked for by
/// name.
report run_ladder(const options&, place&, place* lens, const progress&);

}  // namespace ladder
