// SPDX-License-Identifier: Apache-2.0
// Kernels that another compiler made, which knows some words without a header.
#include "launching.hpp"

#include <string>

cudaError_t launch_traps();
cudaError_t launch_clock(long* out);

namespace {

TEST(foreign, a_fault_in_an_object_without_a_table_of_addresses_has_its_line) {
  EXPECT_EQ(launch_traps(), cudaErrorLaunchFailure);
  const simt::fault_report r = simt::last_fault();
  EXPECT_EQ(r.thread, 3u);
  EXPECT_NE(r.where.file.find("foreign_kernels.cpp"), std::string::npos) << r.text;
  EXPECT_EQ(r.where.line, 8) << r.text;
  EXPECT_NE(r.kernel.find("traps"), std::string::npos) << r.text;
  simt::clear_fault();
}

TEST(foreign, assert_and_clock_need_no_header) {
  long ticks = -1;
  ASSERT_EQ(launch_clock(&ticks), cudaSuccess);
  EXPECT_GE(ticks, 0);
}

}  // namespace
