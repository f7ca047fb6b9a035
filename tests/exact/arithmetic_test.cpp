// SPDX-License-Identifier: Apache-2.0
// Quotients and roots of words against the compiler's division of 128 bits, in every rounding mode of the thread.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include <warpfold/detail/exact/rational.hpp>

#include "../support/exact_families.hpp"
#include "words.hpp"

namespace wf::test {
namespace {

using exact::u128;

class arithmetic : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { ASSERT_EQ(std::fesetround(GetParam()), 0); }
  void TearDown() override { std::fesetround(FE_TONEAREST); }
};
INSTANTIATE_TEST_SUITE_P(rounding, arithmetic, testing::Values(FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO));

TEST_P(arithmetic, inverse_is_the_floor) {
  for (const std::uint64_t n : words_of_all_lengths(300000, seed())) {
    const auto by = exact::divisor::of(n);
    ASSERT_EQ(by.d >> by.shift, n);
    ASSERT_EQ(by.d >> 63, 1u);
    ASSERT_TRUE(~u128{0} / by.d == (u128{1} << 64 | by.inverse)) << n;
  }
}

// The worst guesses that are allowed, in both directions.
TEST_P(arithmetic, guesses_may_be_wrong_by_a_part_in_2_to_the_40) {
  generator random(seed());
  for (const std::uint64_t n : words_of_all_lengths(300000, seed())) {
    const auto by = exact::divisor::of(n);
    const u128 x = u128{n | std::uint64_t{1} << 62} << 64 | random();
    const std::uint64_t root = exact::integer_root(x);
    const double high = static_cast<double>(exact::upper_word(x));
    for (const double error : {-0x1p-40, -0x1p-43, 0x1p-43, 0x1p-40}) {
      const double wrong = 1 + error * (1 - 0x1p-8);
      ASSERT_EQ(exact::inverse_from(wrong / static_cast<double>(by.d), by.d), by.inverse) << n << ' ' << error;
      ASSERT_EQ(exact::root_from(wrong / std::sqrt(high), x), root) << n << ' ' << error;
    }
  }
}

TEST_P(arithmetic, division_of_two_words) {
  generator random(seed());
  for (const std::uint64_t n : words_of_all_lengths(300000, seed())) {
    const auto by = exact::divisor::of(n);
    for (const std::uint64_t above : {std::uint64_t{0}, by.d - 1, random() % by.d}) {
      for (const std::uint64_t low : {std::uint64_t{0}, ~std::uint64_t{0}, by.d, random()}) {
        std::uint64_t rest = above;
        const std::uint64_t q = by.divide(rest, low);
        const u128 x = u128{above} << 64 | low;
        ASSERT_EQ(q, static_cast<std::uint64_t>(x / by.d)) << n << ' ' << above << ' ' << low;
        ASSERT_EQ(rest, static_cast<std::uint64_t>(x % by.d));
      }
    }
  }
}

TEST_P(arithmetic, windows_divide_word_by_word) {
  generator random(seed());
  for (const std::uint64_t n : words_of_all_lengths(100000, seed())) {
    exact::window w{{random(), random(), random(), random() | std::uint64_t{1} << 63}, 0, false};
    if (random() % 4 == 0) w = {{0, 0, n << exact::leading_zeros(n), n << exact::leading_zeros(n)}, 0, false};
    exact::window want = w;
    std::uint64_t rest = 0;
    for (int k = 3; k >= 0; --k) {
      const u128 part = u128{rest} << 64 | want.w[k];
      want.w[k] = static_cast<std::uint64_t>(part / n);
      rest = static_cast<std::uint64_t>(part % n);
    }
    w.divide(exact::divisor::of(n));
    for (int k = 0; k < 4; ++k) ASSERT_EQ(w.w[k], want.w[k]) << n << " word " << k;
    ASSERT_EQ(w.sticky, rest != 0);
  }
}

/// Whether r is floor(sqrt(x)).
bool is_root(std::uint64_t r, u128 x) { return u128{r} * r <= x && x - u128{r} * r <= u128{r} * 2; }

TEST_P(arithmetic, root_is_the_floor) {
  generator random(seed());
  for (const std::uint64_t w : words_of_all_lengths(300000, seed())) {
    const std::uint64_t r = w | std::uint64_t{1} << 63;
    const u128 square = u128{r} * r;
    ASSERT_EQ(exact::integer_root(square), r);
    ASSERT_EQ(exact::integer_root(square + r), r);
    ASSERT_EQ(exact::integer_root(square + u128{r} * 2), r);
    if (r > std::uint64_t{1} << 63) {
      ASSERT_EQ(exact::integer_root(square - 1), r - 1);
    }
    const u128 x = u128{w | std::uint64_t{1} << 62} << 64 | random();
    ASSERT_TRUE(is_root(exact::integer_root(x), x)) << w;
  }
  ASSERT_EQ(exact::integer_root(~u128{0}), ~std::uint64_t{0});
  ASSERT_EQ(exact::integer_root(u128{1} << 126), std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace wf::test
