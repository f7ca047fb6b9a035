// SPDX-License-Identifier: Apache-2.0
// Run by CTest once for each target, with WARPFOLD_CPU_TARGET naming it: it must be the active one.
// A target that this processor lacks must be refused with a clear error, and is then skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include <warpfold/warpfold.hpp>

namespace wf::test {
namespace {

TEST(target, the_environment_chooses_it) {
  const char* wanted = std::getenv("WARPFOLD_CPU_TARGET");
  ASSERT_NE(wanted, nullptr);
  const auto named = cpu::target_named(wanted);
  if (!named) {
    try {
      wf::sum(std::vector<double>(100, 1.0));
      FAIL() << "a target of no known name was taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_argument);
      EXPECT_NE(std::string(e.what()).find("may be scalar, neon, avx2 or avx512"), std::string::npos);
    }
    return;
  }
  const auto here = cpu::available_targets();
  if (std::find(here.begin(), here.end(), *named) == here.end()) {
    try {
      wf::sum(std::vector<double>(100, 1.0));
      FAIL() << "a target that is not available was taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unsupported);
    }
    GTEST_SKIP() << wanted << " is not available here";
  }
  EXPECT_EQ(wf::sum(std::vector<double>(100, 1.0)), 100);
  EXPECT_EQ(cpu::active_target(), *named);
}

}  // namespace
}  // namespace wf::test
