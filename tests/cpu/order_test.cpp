// SPDX-License-Identifier: Apache-2.0
// Integers, extremes, positions, counts, products: every element type and target against loops
// written from the definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <warpfold/exact/products.hpp>
#include <warpfold/warpfold.hpp>

#include "../exact/families.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (floating<T>) return std::isnan(static_cast<double>(x));
  else return false;
}

// -0 below +0; NaN apart.
template <class T>
bool below(T a, T b) {
  if constexpr (floating<T>) {
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  } else {
    return a < b;
  }
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
std::vector<T> some(std::size_t n, generator& random, int kind) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      x[i] = false;  // not reached: see bool_test
    } else if constexpr (floating<T>) {
      if (kind == 0) x[i] = from<T>(random());               // NaNs among them
      else if (kind == 1) x[i] = finite_bits<T>(random);
      else if (kind == 2) x[i] = T(static_cast<float>(random() % 4) - 1.0f);  // many equal, zeros
      else x[i] = from<T>(random() % 2 != 0 ? exact::format<T>::sign_mask : 0);  // ±0
    } else {
      const std::uint64_t r = random();
      x[i] = static_cast<T>(kind == 0 ? r : kind == 1 ? r % 5 : kind == 2 ? i : ~i);  // also rising, falling
    }
  }
  return x;
}

template <class T>
struct told {
  T least, greatest;
  bool nan = false;
  std::int64_t argmin = -1, argmax = -1, nonzero = 0;
};

template <class T>
told<T> loop(const std::vector<T>& x) {
  told<T> t{x[0], x[0]};
  bool any = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    t.nonzero += is_nan(x[i]) || static_cast<double>(x[i]) != 0;
    if (is_nan(x[i])) {
      if (!t.nan) t.argmin = t.argmax = at;
      t.nan = true;
      continue;
    }
    if (!any || below(x[i], t.least)) t.least = x[i];
    if (!any || below(t.greatest, x[i])) t.greatest = x[i];
    any = true;
    if (t.nan) continue;
    const auto value = [&](std::int64_t k) { return x[static_cast<std::size_t>(k)]; };
    if constexpr (floating<T>) {
      if (t.argmin < 0 || double(x[i]) < double(value(t.argmin))) t.argmin = at;
      if (t.argmax < 0 || double(x[i]) > double(value(t.argmax))) t.argmax = at;
    } else {
      if (t.argmin < 0 || x[i] < value(t.argmin)) t.argmin = at;
      if (t.argmax < 0 || x[i] > value(t.argmax)) t.argmax = at;
    }
  }
  if constexpr (floating<T>)
    if (t.nan) t.least = t.greatest = from<T>(exact::format<T>::quiet_nan);
  return t;
}

template <class T>
class ordered : public testing::Test {};
using types = testing::Types<f16, bf16, float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                             std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(ordered, types);

constexpr std::size_t sizes[] = {1, 2, 3, 15, 31, 64, 65, 127, 1000, 4096, 4097, 20'001, 300'007};

TYPED_TEST(ordered, extremes_positions_and_counts) {
  using T = TypeParam;
  generator random(seed());
  for (const std::size_t n : sizes) {
    for (int kind = 0; kind < 4; ++kind) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", kind " + std::to_string(kind));
      const std::vector<T> x = some<T>(n, random, kind);
      const told<T> e = loop(x);
      for_each_target([&] {
        EXPECT_PRED2(same_bits<T>, wf::min(x), e.least);
        EXPECT_PRED2(same_bits<T>, wf::max(x), e.greatest);
        const auto both = wf::minmax(x);
        EXPECT_PRED2(same_bits<T>, both.min, e.least);
        EXPECT_PRED2(same_bits<T>, both.max, e.greatest);
        EXPECT_EQ(wf::argmin(x), e.argmin);
        EXPECT_EQ(wf::argmax(x), e.argmax);
        EXPECT_EQ(wf::count_nonzero(x), e.nonzero);
        EXPECT_EQ(wf::count(x), static_cast<std::int64_t>(n));
        EXPECT_EQ(wf::any(x), e.nonzero > 0);
        EXPECT_EQ(wf::all(x), e.nonzero == static_cast<std::int64_t>(n));
        if constexpr (floating<T>) {
          const double a = std::fabs(static_cast<double>(e.least)), b = std::fabs(static_cast<double>(e.greatest));
          const double want = e.nan ? std::nan("") : std::max(a, b);
          const double got = static_cast<double>(wf::norm_inf(x));
          EXPECT_TRUE(e.nan ? std::isnan(got) : got == want) << got << " for " << want;
        }
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(ordered, empty_results_are_as_documented) {
  using T = TypeParam;
  const std::vector<T> none;
  for_each_target([&] {
    EXPECT_EQ(wf::argmin(none), -1);
    EXPECT_EQ(wf::argmax(none), -1);
    EXPECT_EQ(wf::count(none), 0);
    EXPECT_EQ(wf::count_nonzero(none), 0);
    EXPECT_FALSE(wf::any(none));
    EXPECT_TRUE(wf::all(none));
    EXPECT_TRUE(std::isnan(static_cast<double>(wf::mean(none))));
    EXPECT_TRUE(std::isnan(static_cast<double>(wf::var(none))));
    EXPECT_EQ(static_cast<double>(wf::logsumexp(none)), -INFINITY);
    EXPECT_EQ(static_cast<double>(wf::prod(none)), 1);
    for (const double zero : {static_cast<double>(wf::sum(none)), static_cast<double>(wf::sum(none, wf::fast)),
                              static_cast<double>(wf::norm1(none)), static_cast<double>(wf::dot(none, none)),
                              static_cast<double>(wf::dot(none, none, wf::fast)),
                              static_cast<double>(wf::sum_of_squares(none))}) {
      EXPECT_EQ(zero, 0);
      EXPECT_FALSE(std::signbit(zero));
    }
    if constexpr (floating<T>) {
      EXPECT_EQ(static_cast<double>(wf::min(none)), INFINITY);
      EXPECT_EQ(static_cast<double>(wf::max(none)), -INFINITY);
      EXPECT_EQ(static_cast<double>(wf::norm(none)), 0);
      EXPECT_EQ(static_cast<double>(wf::norm_inf(none)), 0);
    } else {
      EXPECT_EQ(wf::min(none), std::numeric_limits<T>::max());
      EXPECT_EQ(wf::max(none), std::numeric_limits<T>::lowest());
    }
  });
}

template <class T>
class integers : public testing::Test {};
using integer_types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                     std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(integers, integer_types);

TYPED_TEST(integers, sums_products_and_moments) {
  using T = TypeParam;
  generator random(seed() + 1);
  for (const std::size_t n : sizes) {
    for (int kind = 0; kind < 4; ++kind) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", kind " + std::to_string(kind));
      const std::vector<T> x = some<T>(n, random, kind), y = some<T>(n, random, 0);
      std::uint64_t sum = 0, squares = 0, dot = 0, product = 1, norm1 = 0;
      __extension__ typedef __int128 i128;
      i128 wide = 0;
      auto exact_moments = exact::moments_state<double>::identity();
      for (std::size_t i = 0; i < n; ++i) {
        const auto v = static_cast<std::uint64_t>(x[i]), w = static_cast<std::uint64_t>(y[i]);
        sum += v;
        squares += v * v;
        dot += v * w;
        product *= v;
        norm1 += x[i] < T{} ? -v : v;
        wide += x[i];
        if (sizeof(T) < 8) exact_moments.add(static_cast<double>(x[i]));
      }
      for_each_target([&] {
        EXPECT_EQ(static_cast<std::uint64_t>(wf::sum(x)), sum);
        EXPECT_EQ(static_cast<std::uint64_t>(wf::sum_of_squares(x)), squares);
        EXPECT_EQ(static_cast<std::uint64_t>(wf::dot(x, y)), dot);
        EXPECT_EQ(static_cast<std::uint64_t>(wf::prod(x)), product);
        EXPECT_EQ(wf::norm1(x), norm1);
        if (sizeof(T) < 8) {
          EXPECT_EQ(wf::mean(x), exact_moments.mean());
          EXPECT_EQ(wf::var(x), exact_moments.var());
          EXPECT_EQ(wf::mean_var(x).var, exact_moments.var());
        } else {
          // A quotient of 80-bit numbers: two roundings, so within an ulp.
          const double near = static_cast<double>(static_cast<long double>(wide) / static_cast<long double>(n));
          EXPECT_DOUBLE_EQ(wf::mean(x), near);
        }
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(integers_of_64_bits, variance_is_exact_far_from_zero) {
  constexpr std::int64_t big = std::int64_t{1} << 62;
  const std::vector<std::int64_t> x{big + 1, big + 2, big + 3, big + 4};
  const std::vector<std::uint64_t> y{~std::uint64_t{0}, ~std::uint64_t{0} - 2};
  for_each_target([&] {
    EXPECT_EQ(wf::var(x), 1.25);
    EXPECT_EQ(wf::std_dev(y), 1.0);
    EXPECT_EQ(wf::var(y, correction{1}), 2.0);
  });
}

TEST(booleans, count) {
  std::vector<unsigned char> bytes(100'003);
  generator random(seed());
  std::int64_t set = 0;
  for (auto& b : bytes) {
    b = random() % 3 == 0;
    set += b;
  }
  const auto n = static_cast<std::int64_t>(bytes.size());
  const view<bool> x(reinterpret_cast<const bool*>(bytes.data()), {n});
  for_each_target([&] {
    EXPECT_EQ(wf::sum(x), set);
    EXPECT_EQ(wf::count_nonzero(x), set);
    EXPECT_EQ(wf::mean(x), static_cast<double>(set) / static_cast<double>(n));
    EXPECT_TRUE(wf::any(x));
    EXPECT_FALSE(wf::all(x));
    EXPECT_FALSE(wf::min(x));
    EXPECT_TRUE(wf::max(x));
    EXPECT_EQ(wf::argmax(x), std::find(bytes.begin(), bytes.end(), 1) - bytes.begin());
    const auto p = static_cast<double>(set) / static_cast<double>(n);
    EXPECT_NEAR(wf::var(x), p * (1 - p), 1e-15);
  });
}

TEST(complex_numbers, sum_and_mean_by_parts) {
  generator random(seed());
  const std::vector<double> parts = make<double>(family::ill_conditioned, 20'002, random);
  std::vector<c128> x(parts.size() / 2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = {parts[2 * i], parts[2 * i + 1]};
  auto re = exact::sum_state<double>::identity(), im = re;
  for (const c128& v : x) {
    re.add(v.real());
    im.add(v.imag());
  }
  for_each_target([&] {
    EXPECT_EQ(wf::sum(x), c128(re.value(), im.value()));
    EXPECT_EQ(wf::mean(x), c128(exact::mean<double>(re), exact::mean<double>(im)));
    EXPECT_EQ(wf::count_nonzero(x), static_cast<std::int64_t>(x.size()));
  });
  const std::vector<c64> y{{1, 2}, {3, -1}};
  EXPECT_EQ(wf::prod(y), c64(5, 5));
}

TEST(logsumexp, shifts_so_that_nothing_overflows) {
  const double inf = INFINITY;
  EXPECT_DOUBLE_EQ(wf::logsumexp(std::vector<double>{1000, 1000}), 1000 + std::log(2.0));
  EXPECT_DOUBLE_EQ(wf::logsumexp(std::vector<double>{-1000, -1001}), -1000 + std::log1p(std::exp(-1.0)));
  EXPECT_EQ(wf::logsumexp(std::vector<double>{-inf, -inf}), -inf);
  EXPECT_EQ(wf::logsumexp(std::vector<double>{inf, -inf, 1}), inf);
  EXPECT_TRUE(std::isnan(wf::logsumexp(std::vector<double>{1, NAN, inf})));
  EXPECT_EQ(wf::logsumexp(std::vector<std::int32_t>{0}), 0.0);
  std::vector<double> x(100'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7) * 100;
  double want = 0;
  for (const double v : x) want += std::exp(v - 600);
  EXPECT_NEAR(wf::logsumexp(x), 600 + std::log(want), 1e-12 * 600);
}

}  // namespace
}  // namespace wf::test
