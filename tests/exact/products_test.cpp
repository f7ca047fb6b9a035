// SPDX-License-Identifier: Apache-2.0
// Dot, sum of squares, norm, mean, var, std and complex sums against MPFR, in all roundings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <warpfold/detail/exact/accumulate.hpp>

#include "../support/exact_families.hpp"
#include "../support/oracle.hpp"

namespace wf::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class products : public testing::Test {};
using element_types = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(products, element_types);

constexpr std::size_t sizes[] = {0, 1, 2, 3, 30, 3000};

template <class T>
std::vector<T> data(family k, std::size_t n, generator& random) {
  auto x = make<T>(k, n, random);
  // A constant offset far above the spread is what breaks a variance.
  if (k == family::constant) {
    for (auto& v : x) v = from<T>(exact::format<T>::to_bits(v) ^ (random() & 3));
  }
  return x;
}

TYPED_TEST(products, dot_is_exact) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    for (const family l : {k, family::finite_bits, family::all_neg_zero, family::one_nan}) {
      for (const std::size_t n : sizes) {
        SCOPED_TRACE(testing::Message() << name(k) << " × " << name(l) << " n " << n);
        auto x = make<T>(k, n, random), y = make<T>(l, n, random);
        if (k == family::pairs && l == k) y = x;
        if (k == family::uniform && l == k) {  // nothing but negative products
          for (auto& v : y) v = negated(v);
        }
        auto one_by_one = exact::dot_state<T>::identity(), dot = one_by_one;
        real want;
        special_sum special;
        bool all_neg_zero = n > 0;
        for (std::size_t i = 0; i < n; ++i) {
          one_by_one.add(x[i], y[i]);
          const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
          const bool zero = a == 0 || b == 0;
          if (!std::isfinite(a) || !std::isfinite(b)) {
            special.add(a * b);
          } else if (!zero) {
            want += real(a) *= real(b);
          }
          all_neg_zero = all_neg_zero && zero && std::signbit(a) != std::signbit(b);
        }
        exact::accumulate(dot, x.data(), y.data(), n);
        one_by_one.normalise();
        dot.normalise();
        EXPECT_EQ(std::memcmp(&dot, &one_by_one, sizeof dot), 0);
        for (const rounding mode : all_roundings) {
          const double expected = special.any()  ? special.value()
                                  : all_neg_zero ? -0.0
                                                 : want.template round<T>(mode);
          EXPECT_TRUE(same(static_cast<double>(dot.value(mode)), expected));
        }
      }
    }
  }
}

TYPED_TEST(products, squares_norm_and_moments_are_exact) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    for (const std::size_t n : sizes) {
      SCOPED_TRACE(testing::Message() << name(k) << " n " << n);
      const auto x = data<T>(k, n, random);
      auto squares = exact::squares_state<T>::identity();
      auto moments = exact::moments_state<T>::identity(), one_by_one = moments;
      exact::accumulate(squares, x.data(), n);
      exact::accumulate(moments, x.data(), n);
      real s1, s2;
      special_sum special, special_square;
      bool all_neg_zero = n > 0;
      for (const T v : x) {
        one_by_one.add(v);
        const auto d = static_cast<double>(v);
        special.add(d);
        special_square.add(d * d == 0 ? 0.0 : std::isfinite(d) ? 1.0 : d * d);
        all_neg_zero = all_neg_zero && d == 0 && std::signbit(d);
        if (!std::isfinite(d)) continue;
        s1 += real(d);
        s2 += real(d) *= real(d);
      }
      moments.normalise();
      one_by_one.normalise();
      EXPECT_EQ(std::memcmp(&moments, &one_by_one, sizeof moments), 0);

      real norm = s2, mean = s1;
      norm.root();
      if (n != 0) mean /= real(static_cast<double>(n));
      for (const rounding mode : all_roundings) {
        SCOPED_TRACE(static_cast<int>(mode));
        const auto check = [&](T got, double want) {
          EXPECT_TRUE(same(static_cast<double>(got), want))
              << "got " << static_cast<double>(got) << ", want " << want;
        };
        const bool odd = special_square.any();
        check(squares.value(mode), odd ? special_square.value() : s2.template round<T>(mode));
        check(squares.norm(mode), odd ? special_square.value() : norm.template round<T>(mode));
        check(moments.mean(mode), special.any()   ? special.value()
                                  : n == 0        ? nan
                                  : all_neg_zero ? -0.0
                                                 : mean.template round<T>(mode));
        for (const std::int64_t correction : {0, 1, 2}) {
          const auto m = static_cast<std::int64_t>(n);
          if (special.any() || m <= correction) {
            check(moments.var(correction, mode), nan);
            check(moments.std(correction, mode), nan);
            continue;
          }
          real var = s2, square = s1;
          var *= real(static_cast<double>(n));
          square *= s1;
          var -= square;
          var /= real(static_cast<double>(m) * static_cast<double>(m - correction));
          check(moments.var(correction, mode), var.template round<T>(mode));
          check(moments.std(correction, mode), var.root().template round<T>(mode));
        }
      }
    }
  }
}

TYPED_TEST(products, moments_merge_in_any_order) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : {family::normal, family::finite_bits, family::random_bits}) {
    const auto x = make<T>(k, 5000, random);
    auto whole = exact::moments_state<T>::identity();
    exact::accumulate(whole, x.data(), x.size());
    std::vector<exact::moments_state<T>> parts;
    for (std::size_t at = 0; at < x.size();) {
      const std::size_t n = std::min(x.size() - at, random() % 3000);
      parts.push_back(exact::moments_state<T>::identity());
      exact::accumulate(parts.back(), x.data() + at, n);
      at += n;
    }
    std::ranges::shuffle(parts, random);
    auto merged = exact::moments_state<T>::identity(), added = merged;
    for (auto& part : parts) {
      merged.merge(part);
      part.normalise();
      for (int w = 0; w < part.words; ++w) added.data()[w] += part.data()[w];
    }
    whole.normalise();
    merged.normalise();
    added.normalise();
    EXPECT_EQ(std::memcmp(&merged, &whole, sizeof whole), 0);
    EXPECT_EQ(std::memcmp(&added, &whole, sizeof whole), 0);
  }
}

// (n·Σx² - (Σx)²) / (n(n - c)) where n needs 63 bits and the divisor 126.
TEST(moments, counts_up_to_2_to_the_62) {
  auto m = exact::moments_state<double>::identity();
  m.add(1.0);
  m.add(3.0);
  for (int k = 1; k < 62; ++k) m.merge(exact::moments_state<double>(m));
  ASSERT_EQ(m.first.seen.count, std::int64_t{1} << 62);
  EXPECT_EQ(m.mean(), 2);
  EXPECT_EQ(m.var(), 1);
  EXPECT_EQ(m.std(), 1);
  EXPECT_EQ(m.var(1), 1);
  EXPECT_EQ(m.var(1, rounding::up), 1 + 0x1p-52);  // 1 + 1/(2^62 - 1)
  EXPECT_EQ(m.std(1, rounding::up), 1 + 0x1p-52);
}

// What decides the rounding lies in the one bit that an even exponent shifts out, or far below.
TEST(norm, sees_the_last_bit) {
  for (const std::vector<double>& x :
       {std::vector<double>{0x1p63, 0.5, 0.5}, {0x1p63, 0.5}, {0x1p63, 0x1p-500}, {1, 0x1p-1074}}) {
    auto s = exact::squares_state<double>::identity();
    for (const double v : x) s.add(v);
    EXPECT_EQ(s.norm(), x[0]);
    EXPECT_EQ(s.norm(rounding::up), std::nextafter(x[0], 1e300));
  }
}

}  // namespace
}  // namespace wf::test
