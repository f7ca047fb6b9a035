// SPDX-License-Identifier: Apache-2.0
/// \file races.hpp
/// Running rungs on simt's instrumented build: which of their source lines race.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ladder.hpp"

// These are of simt/machine.hpp, which stands beside simt's own <cuda_runtime.h>: code that is compiled for a GPU
// must not find that one.
namespace simt {
enum class block_order : std::uint8_t;
enum class lane_schedule : std::uint8_t;
}  // namespace simt

namespace ladder {

/// A line of a rung, as `ladder/02_race.cuh:18`.
struct race_line {
  std::string file;
  int line = 0;
  std::string access;  ///< `read`, `volatile write`, `atomic update` …
};

/// Two lines that touched the same memory with nothing between them, `count` times.
struct race_pair {
  std::string kernel, space;
  race_line a, b;
  std::uint64_t count = 0;
};

/// How lanes take turns, where a rung's error shows in one way only: `race` needs lock-step, as it
/// is right if every lane runs alone.
simt::lane_schedule schedule_of(const rung_info&);

/// Runs a rung of `open_lens()` on what it has loaded, watched.
struct watched_run {
  outcome ran;
  std::vector<race_pair> races;
};
watched_run run_watched(place& lens, wf::dtype, std::size_t rung, const request&,
                        simt::block_order);

}  // namespace ladder
