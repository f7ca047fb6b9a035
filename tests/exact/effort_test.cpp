// SPDX-License-Identifier: Apache-2.0
// What is left out of a long test is spread: no value of a loop is left out for good. CTest sets the effort to a fifth and the draw to 7.
#include "../support/effort.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wf::test {
namespace {

TEST(effort, is_as_the_environment_says) {
  EXPECT_EQ(effort(), 0.2);
  EXPECT_EQ(trials(150), 30);
  EXPECT_EQ(trials(2), 1);
  EXPECT_EQ(draw(), 7);
}

TEST(some_of_all, takes_the_first_and_its_share_of_any_number) {
  for (int n = 1; n < 5000; n += 1 + n / 7) {
    some_of_all chosen(0);
    int taken = chosen() ? 1 : 0;
    EXPECT_EQ(taken, 1);
    for (int k = 1; k < n; ++k) taken += chosen() ? 1 : 0;
    EXPECT_NEAR(taken, 0.2 * n, 2 + std::sqrt(n)) << n;  // five standard deviations
  }
}

// A count that takes every fifth case takes the same one of a loop over five, or ten, each time.
TEST(some_of_all, leaves_out_no_value_of_an_inner_loop) {
  for (int inner = 2; inner <= 40; ++inner) {
    some_of_all chosen(0);
    std::vector<int> taken(static_cast<std::size_t>(inner), 0);
    for (int outer = 0; outer < 40; ++outer)
      for (int& one : taken) one += chosen() ? 1 : 0;
    for (int k = 0; k < inner; ++k) EXPECT_GE(taken[static_cast<std::size_t>(k)], 1) << k << " of " << inner;
  }
}

// Each draw does other cases, and together they do all.
TEST(some_of_all, takes_other_cases_for_another_draw) {
  std::vector<int> taken(500, 0);
  for (std::uint32_t which = 0; which < 100; ++which) {
    some_of_all chosen(which);
    for (int& one : taken) one += chosen() ? 1 : 0;
  }
  for (std::size_t k = 1; k < taken.size(); ++k) {
    EXPECT_GE(taken[k], 1) << k;
    EXPECT_LE(taken[k], 60) << k;
  }
}

}  // namespace
}  // namespace wf::test
