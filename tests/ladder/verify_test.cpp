// SPDX-License-Identifier: Apache-2.0
// The judge itself: it must pass what is right, and must be able to fail what is not.
#include <ladder/verify.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <pthread.h>

namespace {

using ladder::distribution;
using wf::dtype;

ladder::array array_of(const std::vector<float>& values) {
  ladder::array a(dtype::f32, values.size());
  std::memcpy(a.data(), values.data(), values.size() * sizeof(float));
  return a;
}

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

ladder::rung_info plain() { return {.name = "a"}; }
ladder::rung_info exact() { return {.name = "e", .exact = true}; }

TEST(reference, accepts_what_the_order_of_additions_allows_and_nothing_more) {
  const ladder::reference r(array_of({1e8f, 1, 1, 1, 1, 1, 1, 1}));  // 100000007
  EXPECT_TRUE(r.judge(plain(), bits(100000008.0f), 7).right);        // rounded once
  EXPECT_TRUE(r.judge(plain(), bits(1e8f), 7).right);                // a serial loop
  EXPECT_FALSE(r.judge(plain(), bits(100000104.0f), 7).right);       // 7·2^-24·1e8 = 41.7
  EXPECT_FALSE(r.judge(plain(), bits(99999904.0f), 7).right);
  EXPECT_FALSE(r.judge(plain(), bits(100000016.0f), 0).right);
  EXPECT_DOUBLE_EQ(r.judge(plain(), bits(1e8f), 7).error, -7);
  EXPECT_DOUBLE_EQ(r.judge(plain(), bits(1e8f), 7).ulps, 7.0 / 8);
}

TEST(reference, tells_the_condition_of_a_sum_and_how_many_digits_are_right) {
  const ladder::reference easy(array_of({1e8f, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_NEAR(easy.condition(), 1, 1e-9);
  EXPECT_EQ(std::floor(easy.judge(plain(), bits(1e8f), 7).digits), 7);  // off by 7 in 100000007
  EXPECT_TRUE(std::isinf(easy.judge(plain(), bits(100000008.0f), 7).digits));
  const ladder::reference hard(array_of({1e8f, 3, -1e8f}));  // within its bound, of 3 either is nothing
  EXPECT_NEAR(hard.condition(), (2e8 + 3) / 3, 1);
  for (const float none : {0.0f, 8.0f}) {
    const ladder::judgement j = hard.judge(plain(), bits(none), 2);
    EXPECT_TRUE(j.right);
    EXPECT_LT(j.digits, 1);
  }
  EXPECT_TRUE(std::isinf(ladder::reference(array_of({1, -1})).condition()));
  EXPECT_TRUE(std::isnan(ladder::reference(ladder::array(dtype::i32, 3)).condition()));
}

TEST(reference, an_exact_rung_must_give_the_rounded_sum_to_the_last_bit) {
  const ladder::reference r(array_of({1, 0x1p-24f, 0x1p-60f}));
  EXPECT_TRUE(r.judge(exact(), bits(0x1.000002p0f), 1).right);
  EXPECT_FALSE(r.judge(exact(), bits(1), 1).right);
  EXPECT_FALSE(r.judge(exact(), bits(0x1.000004p0f), 1).right);
  const ladder::reference zeros(array_of({-0.0f, -0.0f}));
  EXPECT_TRUE(zeros.judge(exact(), bits(-0.0f), 1).right);
  EXPECT_FALSE(zeros.judge(exact(), bits(0.0f), 1).right);
}

TEST(reference, knows_nan_and_infinities) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const ladder::reference plus(array_of({1, inf})), both(array_of({-inf, inf})),
      nothing(array_of({nan, 1}));
  EXPECT_TRUE(plus.judge(plain(), bits(inf), 1).right);
  EXPECT_FALSE(plus.judge(plain(), bits(nan), 1).right);
  EXPECT_FALSE(plus.judge(plain(), bits(-inf), 1).right);
  EXPECT_FALSE(plus.judge(plain(), bits(1), 1).right);
  EXPECT_TRUE(both.judge(plain(), bits(nan), 1).right);
  EXPECT_FALSE(both.judge(plain(), bits(inf), 1).right);
  EXPECT_TRUE(nothing.judge(plain(), bits(nan), 1).right);
  EXPECT_FALSE(nothing.judge(plain(), bits(1), 1).right);
  const ladder::reference finite(array_of({1, 2}));
  EXPECT_FALSE(finite.judge(plain(), bits(nan), 1).right);
  EXPECT_FALSE(finite.judge(plain(), bits(inf), 1).right);
}

TEST(reference, allows_partial_overflow_only_where_magnitudes_do) {
  const float most = std::numeric_limits<float>::max(),
              inf = std::numeric_limits<float>::infinity();
  const ladder::reference r(array_of({most, most, -most, -most}));
  EXPECT_TRUE(r.judge(plain(), bits(inf), 3).right);
  EXPECT_TRUE(r.judge(plain(), bits(0), 3).right);
  EXPECT_FALSE(r.judge(exact(), bits(inf), 3).right);
}

TEST(reference, a_sum_too_large_for_its_type_is_an_infinity_and_all_of_it_is_right) {
  const float most = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
  const ladder::reference r(array_of({most, most, most}));
  for (const ladder::rung_info& rung : {plain(), exact()}) {
    const ladder::judgement j = r.judge(rung, bits(inf), 3);
    EXPECT_TRUE(j.right);
    EXPECT_EQ(j.ulps, 0);
    EXPECT_EQ(j.error, 0);
    EXPECT_TRUE(std::isinf(j.digits));
    EXPECT_FALSE(r.judge(rung, bits(-inf), 3).ulps == 0);
  }
}

TEST(reference, empty_is_zero) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::i32}) {
    const ladder::reference r{ladder::array(type, 0)};
    EXPECT_TRUE(r.judge(plain(), 0, 0).right);
    EXPECT_FALSE(r.judge(plain(), 1, 0).right);
  }
}

TEST(reference, integers_are_summed_modulo_2_to_the_32) {
  ladder::array a(dtype::i32, 3);
  const std::int32_t values[] = {std::numeric_limits<std::int32_t>::max(), 1, 5};
  std::memcpy(a.data(), values, sizeof values);
  const ladder::reference r(a);
  EXPECT_TRUE(r.judge(plain(), 0x80000005u, 2).right);
  EXPECT_FALSE(r.judge(plain(), 0x80000004u, 2).right);
  EXPECT_DOUBLE_EQ(r.judge(plain(), 0x80000004u, 2).error, -1);
}

TEST(pattern, every_partial_sum_is_exact_and_nothing_is_zero) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::i32})
    for (const std::uint64_t n : {0, 1, 1000, 1 << 20}) {
      const ladder::pattern p = ladder::make_pattern(type, n, 7);
      EXPECT_FALSE(p.sparse);
      std::int64_t sum = 0, magnitude = 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        std::uint64_t raw = 0;
        const std::size_t size = wf::info(type).size;
        std::memcpy(&raw, p.elements.data() + i * size, size);
        const auto v = static_cast<std::int64_t>(ladder::result_value(type, raw));
        ASSERT_NE(v, 0);
        sum += v;
        magnitude += std::abs(v);
      }
      if (type == dtype::i32) {
        EXPECT_EQ(static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(p.sum));
      } else {
        EXPECT_EQ(sum, p.sum);
        EXPECT_LE(magnitude, type == dtype::f64 ? std::int64_t{1} << 53 : 1 << 24);
      }
    }
}

TEST(pattern, becomes_sparse_where_ones_would_not_fit) {
  const std::uint64_t n = (std::uint64_t{1} << 24) + 12345;
  const ladder::pattern p = ladder::make_pattern(dtype::f16, n, 7);
  EXPECT_TRUE(p.sparse);
  std::int64_t sum = 0, magnitude = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint16_t raw = 0;
    std::memcpy(&raw, p.elements.data() + 2 * i, 2);
    const auto v = static_cast<std::int64_t>(ladder::result_value(dtype::f16, raw));
    sum += v;
    magnitude += std::abs(v);
  }
  EXPECT_EQ(sum, p.sum);
  EXPECT_LE(magnitude, 1 << 24);
  EXPECT_GT(magnitude, 1 << 22);
}

TEST(matches, is_equality) {
  const ladder::pattern p = ladder::make_pattern(dtype::f32, 1000, 3);
  const auto sum = static_cast<float>(p.sum);
  EXPECT_TRUE(matches(p, plain(), bits(sum)));
  EXPECT_FALSE(matches(p, plain(), bits(sum + 1)));
  EXPECT_FALSE(matches(p, plain(), bits(std::nanf(""))));
}

// The data are the same on every machine: their first elements are written down here.
TEST(data, depends_on_the_seed_and_the_index_alone) {
  const ladder::array small = ladder::make_data(dtype::f32, distribution::normal, 100, 1);
  const ladder::array large = ladder::make_data(dtype::f32, distribution::normal, 1 << 20, 1);
  const ladder::array other = ladder::make_data(dtype::f32, distribution::normal, 100, 2);
  EXPECT_EQ(std::memcmp(small.data(), large.data(), 400), 0);
  EXPECT_NE(std::memcmp(small.data(), other.data(), 400), 0);
}

TEST(data, has_the_shape_it_is_named_for) {
  const std::uint64_t n = 1 << 18;
  const auto values = [&](distribution d) {
    const ladder::array a = ladder::make_data(dtype::f32, d, n, 1);
    std::vector<float> v(n);
    std::memcpy(v.data(), a.data(), n * sizeof(float));
    return v;
  };
  double mean = 0, square = 0;
  for (const float x : values(distribution::normal)) {
    mean += x;
    square += double{x} * x;
  }
  EXPECT_NEAR(mean / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.01);
  mean = 0;
  for (const float x : values(distribution::uniform)) {
    ASSERT_TRUE(x >= 0 && x < 1);
    mean += x;
  }
  EXPECT_NEAR(mean / n, 0.5, 0.005);
  for (const float x : values(distribution::ones)) ASSERT_EQ(x, 1);
  double magnitude = 0, sum = 0;
  std::set<int> exponents;
  for (const float x : values(distribution::hard)) {
    magnitude += std::abs(x);
    exponents.insert(std::ilogb(x));
  }
  const ladder::reference r(ladder::make_data(dtype::f32, distribution::hard, n, 1));
  sum = std::stod(r.text(dtype::f64));
  EXPECT_GT(exponents.size(), 100u);
  EXPECT_LT(std::abs(sum) / magnitude, 1e-12);
  EXPECT_NE(sum, 0);
}

TEST(in_parallel, does_all_of_it_where_no_thread_can_be_started) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);  // no address space has room for it
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  std::uint64_t done = 0;
  ladder::in_parallel(100'000, [&](std::uint64_t begin, std::uint64_t end, unsigned) { done += end - begin; });
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(done, 100'000u);
}

}  // namespace
