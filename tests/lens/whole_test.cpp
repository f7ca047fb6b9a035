// SPDX-License-Identifier: Apache-2.0
// Digits are a number's only where they make it up in every lane.
#include <lens/whole.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace {

using lens::digit;
using lens::whole;

/// 32 lanes with whole numbers of up to 60 bits, in units of 2^-20.
struct lanes {
  std::vector<std::int64_t> units;
  std::vector<whole> numbers;
  explicit lanes(unsigned seed) {
    std::mt19937_64 random(seed);
    for (int l = 0; l < 32; ++l) {
      units.push_back(static_cast<std::int64_t>(random()) >> 4);
      numbers.emplace_back(units.back(), -20);
    }
  }
  /// The low bits, the next ones, and the rest with the sign.
  std::vector<digit> cut(int low, int middle) const {
    std::vector<digit> all(3);
    for (const std::int64_t u : units) {
      all[0].push_back(u & ((std::int64_t{1} << low) - 1));
      all[1].push_back(u >> low & ((std::int64_t{1} << middle) - 1));
      all[2].push_back(u >> (low + middle));
    }
    return all;
  }
};

TEST(whole, digits_and_their_weights) {
  const lanes l(1);
  const auto weights = weights_of(l.numbers, l.cut(26, 22));
  ASSERT_TRUE(weights);
  EXPECT_EQ(*weights, (std::vector<std::optional<int>>{-20, 6, 28}));
}

TEST(whole, a_digit_of_another_number_is_none_of_this_one) {
  const lanes l(2);
  std::vector<digit> digits = l.cut(20, 20);
  digits.insert(digits.begin(), lanes(3).cut(20, 20)[1]);
  const auto weights = weights_of(l.numbers, digits);
  ASSERT_TRUE(weights);
  EXPECT_EQ(*weights, (std::vector<std::optional<int>>{{}, -20, 0, 20}));
}

TEST(whole, what_is_changed_anywhere_is_no_digit) {
  const lanes l(4);
  const std::vector<digit> digits = l.cut(26, 22);
  for (std::size_t k = 0; k < digits.size(); ++k) {
    std::vector<digit> changed = digits;
    ++changed[k][17];
    EXPECT_FALSE(weights_of(l.numbers, changed)) << "digit " << k << " of lane 17 is one more";
    std::vector<digit> moved = digits;
    std::swap(moved[k][3], moved[k][4]);
    EXPECT_FALSE(weights_of(l.numbers, moved)) << "digit " << k << " of lanes 3 and 4 are exchanged";
    std::vector<digit> fewer = digits;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_FALSE(weights_of(l.numbers, fewer)) << "digit " << k << " is left out";
  }
}

TEST(whole, is_rounded_once_to_even) {
  EXPECT_EQ(whole(0x1000001, 0).rounded(24, -149), 0x1p24);       // a tie, to even
  EXPECT_EQ(whole(0x1000003, 0).rounded(24, -149), 0x1.000004p24);
  EXPECT_EQ(whole((whole::wide{0x1000001} << 60) + 1, 0).rounded(24, -149), 0x1.000002p84);
  EXPECT_EQ(whole(-3, -150).rounded(24, -149), -0x1p-148);
  EXPECT_EQ(whole(1, -150).rounded(24, -149), 0.0);
  for (const double x : {1.0, -0.1, 0x1.fffffffffffffp1023, 0x1p-1074, 3.5e-310}) EXPECT_EQ(whole::of(x)->rounded(53, -1074), x);
  EXPECT_FALSE(whole::of(INFINITY));
}

TEST(whole, sums_are_exact_or_none) {
  EXPECT_EQ(*whole::of(0x1p60)->plus(*whole::of(0x1p-60)), whole((whole::wide{1} << 120) + 1, -60));
  EXPECT_FALSE(whole::of(0x1p100)->plus(*whole::of(0x1p-100)));
  EXPECT_EQ(*whole(5, 3).plus(whole(-5, 3)), whole());
}

}  // namespace
