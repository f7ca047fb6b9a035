// SPDX-License-Identifier: Apache-2.0
// Each level, instrumented, under the race detector: none may be found.
#include <simt/machine.hpp>
#include <simt/race.hpp>

#include "table.hpp"

class level_races : public ::testing::TestWithParam<level> {};

TEST_P(level_races, none) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed}) {
    simt::race_detector detector;
    simt::current_options().order = order;
    simt::current_options().watch = &detector;
    check_level(GetParam(), run_on_lens, {999});
    simt::current_options() = before;
    for (const auto& race : detector.races()) ADD_FAILURE() << simt::to_string(race);
  }
}

TEST(level_races_, none_in_blocks_of_any_shape) {
  const auto before = simt::current_options();
  simt::race_detector detector;
  simt::current_options().watch = &detector;
  check_shapes_of_blocks(run_on_lens);
  simt::current_options() = before;
  for (const auto& race : detector.races()) ADD_FAILURE() << simt::to_string(race);
}

INSTANTIATE_TEST_SUITE_P(lens, level_races, ::testing::ValuesIn(all_levels),
                         [](const auto& given) { return std::string(name_of(given.param)); });
