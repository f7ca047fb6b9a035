// SPDX-License-Identifier: Apache-2.0
#include "halves_kernel.hpp"

#include <gtest/gtest.h>

#include <simt/machine.hpp>
#include <simt/runtime_api.hpp>

namespace {

void check(const halves_result& r) {
  EXPECT_EQ(r.error, simt::cudaSuccess) << simt::last_fault().text;
  EXPECT_EQ(r.low, 16);  // 8 warps of 1 + 1
  EXPECT_EQ(r.high, 32);
  EXPECT_EQ(r.one, 40);  // 8 of 4 + 1
  EXPECT_EQ(r.warps, 8);
  EXPECT_EQ(r.sum, 2560);
  simt::clear_fault();
}

TEST(HalvesInKernels, Plain) { check(halves_plain::run_halves()); }
TEST(HalvesInKernels, Instrumented) { check(halves_lens::run_halves()); }
TEST(HalvesInKernels, LeaveNothingBehind) {
  const simt::live_objects left = simt::live();
  EXPECT_EQ(left.allocations, 0u);
  EXPECT_EQ(left.bytes, 0u);
}

}  // namespace
