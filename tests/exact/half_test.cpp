// SPDX-License-Identifier: Apache-2.0
// f16 and bf16: every value there and back, and conversions against MPFR.
#include <gtest/gtest.h>

#include <warpfold/detail/exact/product_buckets.hpp>
#include <warpfold/half.hpp>

#include "../support/exact_families.hpp"
#include "../support/oracle.hpp"

namespace wf::test {
namespace {

template <class T>
class half : public testing::Test {};
using types = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(half, types);

TYPED_TEST(half, every_value_converts_exactly_and_back) {
  using T = TypeParam;
  using f = exact::format<T>;
  for (unsigned b = 0; b <= 0xffff; ++b) {
    const T x = from<T>(b);
    const auto d = static_cast<double>(x);
    if (f::is_nan(x.bits)) {
      ASSERT_TRUE(std::isnan(d) && std::isnan(static_cast<float>(x)));
      ASSERT_EQ(T(d).bits, f::quiet_nan);
      continue;
    }
    // From the definition: (-1)^s · m · 2^e.
    const int field = static_cast<int>(b >> f::mantissa_bits) & f::exponent_field_max;
    const double m = (b & f::mantissa_mask) + (field != 0 ? f::mantissa_mask + 1.0 : 0.0);
    double want = std::ldexp(m, f::min_exponent + std::max(field, 1) - 1);
    if (field == f::exponent_field_max) want = std::numeric_limits<double>::infinity();
    if (b >> 15 != 0) want = -want;
    ASSERT_TRUE(same(d, want)) << b;
    ASSERT_TRUE(same(static_cast<double>(static_cast<float>(x)), want)) << b;
    ASSERT_TRUE(same(exact::widen(x), want)) << b;
    ASSERT_EQ(T(d).bits, b);
    ASSERT_EQ(T(static_cast<float>(x)).bits, b);
  }
}

TYPED_TEST(half, rounds_once_to_nearest_even) {
  using T = TypeParam;
  generator random(seed());
  for (int i = 0; i < 200000; ++i) {
    // Around the ties between neighbours, just beyond what a float would see, and anywhere.
    const T a = finite_bits<T>(random), b = from<T>(exact::format<T>::to_bits(a) + 1u);
    double x = static_cast<double>(a);
    if (i % 2 == 0 && std::isfinite(static_cast<double>(b))) {
      x = x / 2 + static_cast<double>(b) / 2;
      if (i % 3 == 0) x = std::nextafter(x, 1e9);
      if (i % 3 == 1) x = std::nextafter(x, -1e9);
    } else if (i % 5 == 0) {
      x = finite_bits<double>(random);
    }
    ASSERT_TRUE(same(static_cast<double>(T(x)), x == 0 ? x : real(x).round<T>(rounding::nearest)));
    const float y = static_cast<float>(x);
    if (std::isfinite(y) && y != 0) {
      ASSERT_TRUE(same(static_cast<double>(T(y)), real(y).round<T>(rounding::nearest)));
    }
  }
  EXPECT_EQ(T(0.0).bits, 0);
  EXPECT_EQ(T(-0.0).bits, 0x8000);
  EXPECT_EQ(T(-0.0f).bits, 0x8000);
}

TEST(half_values, known_ones) {
  EXPECT_EQ(f16(65504.0).bits, 0x7bff);
  EXPECT_EQ(f16(65519.99).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0).bits, 0x7c00);
  EXPECT_EQ(f16(1.0f).bits, 0x3c00);
  EXPECT_EQ(f16(0x1p-25).bits, 0);
  EXPECT_EQ(f16(0x1.8p-25).bits, 1);
  EXPECT_EQ(bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bf16(0x1p-133).bits, 1);
}

TEST(half_values, widen_of_float_is_the_float) {
  generator random(seed());
  for (int i = 0; i < 200000; ++i) {
    const float x = i % 2 != 0 ? from<float>(random()) : from<float>(random() & 0x807fffff);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(exact::widen(x)));
    } else {
      ASSERT_TRUE(same(exact::widen(x), static_cast<double>(x)));
    }
  }
}

}  // namespace
}  // namespace wf::test
