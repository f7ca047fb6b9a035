// SPDX-License-Identifier: Apache-2.0
#include <ladder/ladder.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace {

TEST(transpose, is_right_at_every_side) {
  const auto place = ladder::open_simt();
  for (const unsigned side : {0u, 1u, 2u, 31u, 32u, 33u, 100u, 257u}) {
    const auto rows = place->transposes(side);
    ASSERT_EQ(rows.size(), 4u);
    for (const ladder::transpose_row& r : rows) EXPECT_TRUE(r.right) << r.name << ", side " << side;
  }
}

TEST(overlap, is_right_with_every_number_of_streams) {
  const auto place = ladder::open_simt();
  for (const std::uint64_t n : {0, 1, 15, 16, 17, 65537}) {
    const auto rows = place->overlaps(n);
    ASSERT_EQ(rows.size(), 8u);
    for (const ladder::overlap_row& r : rows)
      EXPECT_TRUE(r.right) << r.memory << ", " << r.streams << ", " << n;
  }
}

TEST(precision, f16_sums_of_ones_stop_at_2048) {
  const auto place = ladder::open_simt();
  const auto rows = place->precisions(16384);
  bool seen = false;
  for (const ladder::precision_row& r : rows) {
    const double error = std::abs(r.result - r.exact);
    if (r.data == "ones" && r.n == 16384) {
      seen = true;
      EXPECT_EQ(r.exact, 16384);
      EXPECT_EQ(r.result, r.sum == "f16 serial" ? 2048 : 16384) << r.sum;
    }
    // A tree's error is that of its levels: 14 roundings at most.
    if (r.sum == "f16 tree") {
      EXPECT_LE(error, 15 * 0x1p-11 * r.exact);
    } else if (r.sum == "f32 tree") {
      EXPECT_LE(error, 15 * 0x1p-24 * r.exact);
    }
  }
  EXPECT_TRUE(seen);
}

}  // namespace
