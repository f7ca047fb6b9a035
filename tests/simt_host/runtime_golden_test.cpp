// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <simt/runtime_api.hpp>

using namespace simt;

#include "capture_cases.hpp"

TEST(Runtime, AnswersAsCudaDoes) {
  run_runtime_cases();
  run_capture_cases();
  std::ifstream golden(SIMT_HOST_FOLDER "/runtime_golden.txt");
  ASSERT_TRUE(golden) << "runtime_golden.txt";
  std::istringstream mine(output);
  std::string expected, got, part;
  int line = 0;
  while (std::getline(golden, expected)) {
    ++line;
    ASSERT_TRUE(std::getline(mine, got))
        << "nothing at line " << line << ", which is: " << expected;
    if (expected.starts_with("--")) part = expected;
    EXPECT_EQ(got, expected) << "line " << line << ", in part " << part;
  }
  EXPECT_FALSE(std::getline(mine, got)) << "more than expected: " << got;
  EXPECT_GT(line, 700);
}
