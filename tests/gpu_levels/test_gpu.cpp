// SPDX-License-Identifier: Apache-2.0
// Each level alone in a kernel of its own, on a GPU. Skipped where there is none; clusters need CC 9.0.
#include "table.hpp"

class levels_on_gpu : public ::testing::TestWithParam<level> {};

TEST_P(levels_on_gpu, are_right_over_lengths_and_shapes) {
  const auto why = why_no_gpu();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  if (GetParam() == level::cluster) {
    const auto probe = run_on_gpu({level::cluster, kind::polynomial, 1, 2, 32, 2});
    if (!probe.error.empty()) GTEST_SKIP() << "no GPU with clusters: " << probe.error;
  }
  check_level(GetParam(), run_on_gpu, {0, 1, 33, 1000, 9001, 1000003});
}

TEST(levels_on_gpu_, blocks_have_any_shape) {
  const auto why = why_no_gpu();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  check_shapes_of_blocks(run_on_gpu);
}

TEST(levels_on_gpu_, launches_ask_for_shared_memory_once) {
  const auto why = why_no_gpu();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  EXPECT_EQ(much_shared_memory_on_gpu(), "");
}

INSTANTIATE_TEST_SUITE_P(gpu, levels_on_gpu, ::testing::ValuesIn(all_levels),
                         [](const auto& given) { return std::string(name_of(given.param)); });
