// SPDX-License-Identifier: Apache-2.0
// Each level alone in a kernel of its own, on simt, in three block orders.
#include <simt/machine.hpp>

#include "table.hpp"

class levels_on_simt : public ::testing::TestWithParam<level> {};

TEST_P(levels_on_simt, are_right_over_lengths_and_shapes) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
    simt::current_options().order = order;
    check_level(GetParam(), run_on_simt, {0, 1, 33, 1000, 9001});
  }
  simt::current_options() = before;
}

TEST(levels_on_simt_, blocks_have_any_shape) { check_shapes_of_blocks(run_on_simt); }

TEST(levels_on_simt_, launches_ask_for_shared_memory_once) { EXPECT_EQ(much_shared_memory_on_simt(), ""); }

INSTANTIATE_TEST_SUITE_P(simt, levels_on_simt, ::testing::ValuesIn(all_levels),
                         [](const auto& given) { return std::string(name_of(given.param)); });
