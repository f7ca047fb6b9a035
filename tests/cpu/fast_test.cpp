// SPDX-License-Identifier: Apache-2.0
// accuracy::fast: the same bits on every target and for every number of threads, and errors within
// the bound of its order of summation.
#include <gtest/gtest.h>

#include <cmath>

#include <warpfold/warpfold.hpp>

#include "../exact/families.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

template <class T>
class fast_reductions : public testing::Test {};
using floats = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(fast_reductions, floats);

template <class T>
std::vector<double> all_of(const std::vector<T>& x, const std::vector<T>& y, const context& c) {
  const auto d = [](auto v) { return static_cast<double>(v); };
  const auto both = wf::mean_var(x, c, correction{1});
  return {d(wf::sum(x, c)),  d(wf::mean(x, c)),    d(wf::norm1(x, c)),   d(wf::sum_of_squares(x, c)),
          d(wf::norm(x, c)), d(wf::dot(x, y, c)), d(wf::std_dev(x, c)), d(both.mean), d(both.var)};
}

TYPED_TEST(fast_reductions, give_the_same_bits_everywhere) {
  using T = TypeParam;
  generator random(seed());
  cpu::thread_pool pool(4);
  for (const std::size_t n : {1, 31, 64, 100, 4097, 140'001, 1'000'001}) {
    const std::vector<T> x = make<T>(family::normal, n, random), y = make<T>(family::uniform, n, random);
    context c;
    c.accuracy = accuracy::fast;
    c.executor = &pool;
    c.threads = 1;
    const std::vector<double> want = all_of(x, y, c);
    for_each_target([&] {
      for (const int threads : {1, 2, 3, 4}) {
        c.threads = threads;
        const std::vector<double> got = all_of(x, y, c);
        for (std::size_t k = 0; k < want.size(); ++k)
          EXPECT_EQ(__builtin_bit_cast(std::uint64_t, got[k]), __builtin_bit_cast(std::uint64_t, want[k]))
              << "n = " << n << ", reduction " << k << ", " << threads << " threads";
      }
    });
  }
}

// Of a sum of terms t: each goes through at most 4096/lanes + log2(lanes) + log2(blocks) additions
// and three roundings more (product, widening, the answer): |error| <= g·Σ|t|, g = k·u / (1 - k·u).
TYPED_TEST(fast_reductions, err_no_more_than_their_bound) {
  using T = TypeParam;
  generator random(seed() + 1);
  const double u = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;  // of the arithmetic
  const double last = std::ldexp(1.0, -exact::format<T>::mantissa_bits - 1);  // of the answer
  for (const std::size_t n : {100, 4096, 5000, 1'000'001}) {
    const std::vector<T> x = make<T>(family::normal, n, random), y = make<T>(family::normal, n, random);
    const double depth = 4096.0 / (sizeof(T) == 8 ? 32 : 64) + 6 + std::ceil(std::log2(static_cast<double>(n) / 4096 + 1)) + 3;
    const double g = depth * u / (1 - depth * u);
    long double absolute = 0, products = 0, dot = 0, sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
      sum += a;
      absolute += std::fabs(a);
      dot += a * b;
      products += std::fabs(a * b);
    }
    const double exact_sum = static_cast<double>(sum), exact_dot = static_cast<double>(dot);
    EXPECT_LE(std::fabs(static_cast<double>(wf::sum(x, wf::fast)) - exact_sum),
              g * static_cast<double>(absolute) + last * std::fabs(exact_sum));
    EXPECT_LE(std::fabs(static_cast<double>(wf::dot(x, y, wf::fast)) - exact_dot),
              g * static_cast<double>(products) + last * std::fabs(exact_dot));
    const double var = static_cast<double>(wf::var(x, wf::fast)), exact_var = static_cast<double>(wf::var(x));
    EXPECT_LE(std::fabs(var - exact_var), (4 * g + 2 * last) * exact_var);
  }
}

TEST(fast, special_values_are_those_of_the_arithmetic) {
  const double inf = INFINITY;
  for_each_target([&] {
    EXPECT_TRUE(std::isnan(wf::sum(std::vector<double>{inf, -inf}, wf::fast)));
    EXPECT_EQ(wf::sum(std::vector<double>(1000, inf), wf::fast), inf);
    EXPECT_TRUE(std::signbit(wf::sum(std::vector<double>(77, -0.0), wf::fast)));
    EXPECT_TRUE(std::isnan(wf::sum(std::vector<float>{1, NAN}, wf::fast)));
    EXPECT_EQ(wf::var(std::vector<double>(5000, 1e8 + 0.25), wf::fast), 0.0);
  });
}

}  // namespace
}  // namespace wf::test
