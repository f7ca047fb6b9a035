// SPDX-License-Identifier: Apache-2.0
#include <lens/profile/roofline.hpp>

#include <gtest/gtest.h>

namespace {

TEST(roofline, its_drawing_scrolls_before_its_labels_shrink) {
  lens::profile::roofline r;
  r.operation = "f32 FLOP";
  r.bytes_per_second = 3e12;
  r.operations_per_second = 6e13;
  const std::string drawn = lens::profile::roofline_svg(r);
  EXPECT_TRUE(drawn.starts_with("<div class=\"scroll\"><svg "));
  EXPECT_NE(drawn.find("min-width:640px"), drawn.npos);
  EXPECT_NE(drawn.find(">60 T f32 FLOPs a second<"), drawn.npos);
  EXPECT_TRUE(drawn.ends_with("</svg></div>\n"));
}

}  // namespace
