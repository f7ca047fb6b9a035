// SPDX-License-Identifier: Apache-2.0
/// \file races.hpp
/// The races of a launch, judged with its blocks in several orders and its lanes in both schedules: a
/// detector sees no more than the one run that it watches.
#pragma once

#include <ladder/races.hpp>
#include <simt/machine.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lens::own {

struct judgement {
  std::vector<ladder::race_pair> races;  ///< each pair of lines once, as often as in the run that had most of it
  std::string fault;                     ///< what the first run that failed tells, and how that one was scheduled
  unsigned runs = 0, schedules = 0;      ///< ended, of so many that differ; fewer where a run is costly or only waits
};

/// How many are judged of a small launch.
unsigned most_schedules(std::uint64_t blocks);

/// `run` launches the same each time, and gives empty or its fault. `events` are those of one run; 0 is unknown.
judgement judge_races(const std::function<std::string()>& run, std::uint64_t blocks, std::uint64_t events);

/// The first race on a line; null if there is none.
const ladder::race_pair* race_on(const std::vector<ladder::race_pair>&, const simt::source_line&);

}  // namespace lens::own
