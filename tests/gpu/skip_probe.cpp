// SPDX-License-Identifier: Apache-2.0
// Tests that end in every way, run one by one by skip_probe.cmake.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(probe, skips) { GTEST_SKIP() << "no GPU: none at all"; }
TEST(probe, passes) {}
TEST(probe, fails) { FAIL() << "no GPU"; }
TEST(probe, crashes) { std::abort(); }

}  // namespace
