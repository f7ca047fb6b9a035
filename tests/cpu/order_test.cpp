// SPDX-License-Identifier: Apache-2.0
// Integers, extremes, positions, counts, products: every element type and target against loops
// written from the definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <warpfold/warpfold.hpp>

#include "../support/effort.hpp"
#include "loops.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

bool same_value(double got, double want) { return same_number(got, want); }
bool same_value(i128 got, i128 want) { return got == want; }

// Kinds of data: 0 random bits, 1 few values, 2 rising integers, or floats many of them equal with both
// zeros, 3 falling integers, or only zeros of both signs.
numbers some(dtype type, std::int64_t n, generator& random, int kind) {
  numbers x = random_elements(type, n, random, kind == 1);
  if (type == dtype::boolean || kind == 0) return x;
  if (is_floating(type)) {
    if (kind == 1) return make(type, family::finite_bits, n, random);
    if (kind == 3) return make(type, family::zeros, n, random);
    const numbers few = make(type, family::zeros, 2, random), more = make(type, family::finite_bits, 2, random);
    const std::size_t size = info(type).size;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t r = random();
      std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * size, (r % 2 != 0 ? few : more).at(r / 2 % 2), size);
    }
  } else if (kind >= 2) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t v = kind == 2 ? i : ~i;
      std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * info(type).size, &v, info(type).size);
    }
  }
  return x;
}

template <class V>
V value(const answer& a, int part = 0) {
  if constexpr (std::is_same_v<V, double>) return a.number(part);
  else return a.whole(part);
}

constexpr std::int64_t sizes[] = {1, 2, 3, 15, 31, 64, 65, 127, 1000, 4096, 4097, 20'001, 300'007};

template <class V>
void check_order(const numbers& x) {
  const told<V> e = loop(values<V>(x));
  const std::int64_t n = x.size();
  const auto same = [](V got, V want) { return same_value(got, want); };
  for_each_target([&] {
    const answer both = reduce(op::minmax, x);
    EXPECT_TRUE(same(value<V>(reduce(op::min, x)), e.least));
    EXPECT_TRUE(same(value<V>(reduce(op::max, x)), e.greatest));
    EXPECT_TRUE(same(value<V>(both, 0), e.least));
    EXPECT_TRUE(same(value<V>(both, 1), e.greatest));
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::argmin, x).whole()), e.argmin);
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::argmax, x).whole()), e.argmax);
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::count_nonzero, x).whole()), e.nonzero);
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::count, x).whole()), n);
    EXPECT_EQ(reduce(op::any, x).whole() != 0, e.nonzero > 0);
    EXPECT_EQ(reduce(op::all, x).whole() != 0, e.nonzero == n);
    const V a = e.least < 0 ? -e.least : e.least, b = e.greatest < 0 ? -e.greatest : e.greatest;
    EXPECT_TRUE(same(value<V>(reduce(op::norm_inf, x)), e.nan ? e.least : (a > b ? a : b) + 0)) << "norm inf";
  });
}

class ordered : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(of, ordered, testing::ValuesIn(real_types), [](const auto& p) { return name(p.param); });

TEST_P(ordered, extremes_positions_and_counts) {
  generator random(seed());
  static some_of_all chosen;
  for (const std::int64_t n : sizes) {
    for (int kind = 0; kind < 4; ++kind) {
      if (n >= 1000 && !chosen()) continue;
      SCOPED_TRACE("n = " + std::to_string(n) + ", kind " + std::to_string(kind));
      const numbers x = some(GetParam(), n, random, kind);
      is_floating(GetParam()) ? check_order<double>(x) : check_order<i128>(x);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(ordered, empty_results_are_as_documented) {
  const dtype type = GetParam();
  const numbers none{type, {}};
  const bool whole = is_integer(type);
  for_each_target([&] {
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::argmin, none).whole()), -1);
    EXPECT_EQ(static_cast<std::int64_t>(reduce(op::argmax, none).whole()), -1);
    for (const op o : {op::count, op::count_nonzero, op::any}) EXPECT_EQ(reduce(o, none).whole() != 0, false);
    EXPECT_TRUE(reduce(op::all, none).whole() != 0);
    for (const op o : {op::mean, op::var, op::std_dev}) EXPECT_TRUE(std::isnan(reduce(o, none).number()));
    EXPECT_EQ(reduce(op::logsumexp, none).number(), -INFINITY);
    EXPECT_EQ(reduce(op::prod, none).number(), 1);
    for (const accuracy a : {accuracy::exact, accuracy::fast}) {
      how h;
      h.c.accuracy = a;
      for (const op o : {op::sum, op::norm1, op::norm2, op::norm_inf, op::dot, op::sum_of_squares}) {
        const double zero = reduce(o, none, h).number();
        EXPECT_EQ(zero, 0) << properties_of(o).name;
        EXPECT_FALSE(std::signbit(zero)) << properties_of(o).name;
      }
    }
    if (!whole) {
      EXPECT_EQ(reduce(op::min, none).number(), INFINITY);
      EXPECT_EQ(reduce(op::max, none).number(), -INFINITY);
    } else {
      const bool is_signed = type <= dtype::i64;
      const int bits = type == dtype::boolean ? 1 : static_cast<int>(8 * info(type).size);
      const i128 span = i128{1} << bits;
      EXPECT_TRUE(reduce(op::min, none).whole() == (is_signed ? span / 2 - 1 : span - 1));
      EXPECT_TRUE(reduce(op::max, none).whole() == (is_signed ? -span / 2 : 0));
    }
  });
}

class integers : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(of, integers, testing::ValuesIn(std::vector<dtype>(std::begin(real_types) + 4, std::end(real_types))),
                         [](const auto& p) { return name(p.param); });

std::uint64_t low(i128 x) { return static_cast<std::uint64_t>(x); }
std::uint64_t low(const answer& a) { return low(a.whole()); }

TEST_P(integers, sums_products_and_moments) {
  const dtype type = GetParam();
  generator random(seed() + 1);
  static some_of_all chosen;
  for (const std::int64_t n : sizes) {
    for (int kind = 0; kind < 4; ++kind) {
      if (n >= 1000 && !chosen()) continue;
      SCOPED_TRACE("n = " + std::to_string(n) + ", kind " + std::to_string(kind));
      const numbers x = some(type, n, random, kind), y = some(type, n, random, 0);
      std::uint64_t sum = 0, squares = 0, dot = 0, product = 1, norm1 = 0;
      i128 wide = 0;
      exact_moments moments;
      for (std::int64_t i = 0; i < n; ++i) {
        const i128 a = whole(x, i), b = whole(y, i);
        sum += low(a);
        squares += low(a) * low(a);
        dot += low(a) * low(b);
        product *= low(a);
        norm1 += low(a < 0 ? -a : a);
        wide += a;
        if (a < 0) moments.add(static_cast<std::int64_t>(a));
        else moments.add(low(a));
      }
      for_each_target([&] {
        EXPECT_EQ(low(reduce(op::sum, x)), sum);
        EXPECT_EQ(low(reduce(op::sum_of_squares, x)), squares);
        EXPECT_EQ(low(reduce(op::dot, x, y)), dot);
        EXPECT_EQ(low(reduce(op::prod, x)), product);
        EXPECT_EQ(low(reduce(op::norm1, x)), norm1);
        EXPECT_EQ(reduce(op::norm2, x).number(), moments.norm());
        EXPECT_EQ(reduce(op::mean, x).number(), moments.mean());
        EXPECT_EQ(reduce(op::var, x).number(), moments.var());
        EXPECT_EQ(reduce(op::std_dev, x).number(), moments.std_dev());
        EXPECT_EQ(reduce(op::mean_var, x).number(1), moments.var());
        // A quotient of 80-bit numbers: two roundings, so within an ulp.
        EXPECT_DOUBLE_EQ(reduce(op::mean, x).number(),
                         static_cast<double>(static_cast<long double>(wide) / static_cast<long double>(n)));
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Large arrays are read in several places by turns: what is alone or first must be found wherever it is.
template <class T>
void places_in(std::int64_t n) {
  SCOPED_TRACE(std::to_string(sizeof(T)) + " bytes, n = " + std::to_string(n));
  std::vector<T> x(static_cast<std::size_t>(n), T(2));
  const std::int64_t q = n / 4;
  const std::vector<std::int64_t> where{0, 1, 4097, q - 1, q, q + 1, 2 * q - 1, 2 * q, 2 * q + 5000, 3 * q - 1, 3 * q, n - q, n - 2, n - 1};
  const auto with = [&](std::int64_t i, std::int64_t j, T v, auto check) {
    T &a = x[static_cast<std::size_t>(i)], &b = x[static_cast<std::size_t>(j)];
    a = b = v;
    check(std::min(i, j));
    a = b = T(2);
  };
  static some_of_all chosen;
  for_each_target([&] {
    for (const std::int64_t i : where)
      for (const std::int64_t j : where) {
        if (!chosen()) continue;
        with(i, j, T(1), [&](std::int64_t first) {
          EXPECT_EQ(wf::min(x), T(1)) << i;
          EXPECT_EQ(wf::argmin(x), first) << i << ", " << j;
        });
        with(i, j, T(3), [&](std::int64_t first) {
          EXPECT_EQ(wf::max(x), T(3)) << i;
          EXPECT_EQ(wf::argmax(x), first) << i << ", " << j;
        });
        if constexpr (std::floating_point<T>)
          with(i, j, std::numeric_limits<T>::quiet_NaN(), [&](std::int64_t first) {
            EXPECT_TRUE(std::isnan(wf::min(x))) << i;
            EXPECT_EQ(wf::argmin(x), first) << i << ", " << j;
            EXPECT_EQ(wf::argmax(x), first) << i << ", " << j;
          });
        if (testing::Test::HasFailure()) return;
      }
  });
}
TEST(large_arrays, the_first_of_equals_is_found) {
  for (const std::int64_t n : {131'071, 131'072, 300'007}) {
    places_in<double>(n);
    places_in<float>(n);
    places_in<std::int8_t>(n);
    places_in<std::int64_t>(n);
  }
}

// So many that chunks are as large as they get, and partial sums come to the limits of their lanes.
template <class T>
void sums_of_the_extremes() {
  constexpr std::int64_t n = (std::int64_t{1} << 25) + 3;
  for (const T v : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
    const std::vector<T> x(n, v);
    for_each_target([&] { EXPECT_EQ(wf::sum(x), static_cast<sum_type<T>>(n * v)) << sizeof(T) << " bytes, all " << +v; });
  }
}
TEST(integers_at_their_limits, add_up) {
  sums_of_the_extremes<std::int8_t>();
  sums_of_the_extremes<std::uint8_t>();
  sums_of_the_extremes<std::int16_t>();
  sums_of_the_extremes<std::uint16_t>();
  sums_of_the_extremes<std::int32_t>();
  sums_of_the_extremes<std::uint32_t>();
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

template <class T>
i128 whole_of(const checked<T>& c) {  // for answers of at most 128 bits
  return static_cast<i128>(exact::u128{c.high[0]} << 64 | static_cast<std::uint64_t>(c.value));
}

TEST(checked_reductions, tell_the_true_answer_and_whether_it_fits) {
  constexpr std::int64_t most = INT64_MAX, least = INT64_MIN;
  using list = std::vector<std::int64_t>;
  for_each_target([&] {
    const auto up = wf::checked_sum(list{most, 1}), down = wf::checked_sum(list{least, -1});
    EXPECT_TRUE(up.overflow && up.value == least && whole_of(up) == i128{most} + 1);
    EXPECT_TRUE(down.overflow && down.value == most && whole_of(down) == i128{least} - 1);
    const auto back = wf::checked_sum(list{most, 1, -1});  // on the way only
    EXPECT_TRUE(!back.overflow && back.value == most);
    EXPECT_FALSE(wf::checked_sum(list{}).overflow);

    EXPECT_TRUE(wf::checked_prod(list{1LL << 32, 1LL << 31}).overflow);
    const auto lowest = wf::checked_prod(list{-(1LL << 32), 1LL << 31});
    EXPECT_TRUE(!lowest.overflow && lowest.value == least);
    EXPECT_FALSE(wf::checked_prod(std::vector<std::uint64_t>{1ULL << 32, 1ULL << 31}).overflow);
    const auto zero = wf::checked_prod(list{most, most, 0, most});
    EXPECT_TRUE(!zero.overflow && zero.value == 0);

    const auto dot = wf::checked_dot(list{most, -1}, list{2, most});
    EXPECT_TRUE(!dot.overflow && dot.value == most);
    EXPECT_TRUE(wf::checked_dot(list{least, 5}, list{-1, 0}).overflow);
    EXPECT_TRUE(whole_of(wf::checked_dot(list{least, 5}, list{least, 1})) == (i128{1} << 126) + 5);
    EXPECT_TRUE(whole_of(wf::checked_sum_of_squares(list{least, 1})) == (i128{1} << 126) + 1);
    const auto norm = wf::checked_norm1(list{least, 1}), twice = wf::checked_norm1(list{least, least});
    EXPECT_TRUE(!norm.overflow && norm.value == (std::uint64_t{1} << 63) + 1);
    EXPECT_TRUE(twice.overflow && twice.value == 0 && twice.high[0] == 1);

    const list rows{most, 1, 2, 3};
    const auto each = wf::checked_sum(view<std::int64_t>(rows.data(), {2, 2}), axis{1});
    EXPECT_TRUE(each.values[0].overflow && !each.values[1].overflow && each.values[1].value == 5);
    const auto parts = wf::checked_prod(rows, segments_of{3});
    EXPECT_TRUE(parts.values[0].overflow && !parts.values[1].overflow && parts.values[1].value == 3);
  });
}

template <class T>
void check_checked(generator& random) {
  for (const int n : {1, 10, 5000, 200'000}) {
    std::vector<T> x(static_cast<std::size_t>(n)), y(x.size());
    for (auto* v : {&x, &y})
      for (T& e : *v) e = static_cast<T>(random());
    i128 sum = 0, dot = 0, squares = 0, norm = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const i128 a = x[i], b = y[i];
      sum += a, dot += a * b, squares += a * a, norm += a < 0 ? -a : a;
    }
    EXPECT_TRUE(whole_of(wf::checked_sum(x)) == sum);
    EXPECT_TRUE(whole_of(wf::checked_dot(x, y)) == dot);
    EXPECT_TRUE(whole_of(wf::checked_sum_of_squares(x)) == squares);
    EXPECT_TRUE(whole_of(wf::checked_norm1(x)) == norm);
    const auto fits = [](i128 v, auto t) { return v == static_cast<i128>(static_cast<decltype(t)>(v)); };
    EXPECT_EQ(wf::checked_sum(x).overflow, !fits(sum, wf::sum(x)));
    EXPECT_EQ(wf::checked_dot(x, y).overflow, !fits(dot, wf::dot(x, y)));
    EXPECT_EQ(wf::checked_sum_of_squares(x).overflow, !fits(squares, wf::sum_of_squares(x)));
  }
}

TEST(checked_reductions, agree_with_128_bits) {
  generator random(seed());
  for_each_target([&] {
    check_checked<std::int8_t>(random);
    check_checked<std::uint16_t>(random);
    check_checked<std::int32_t>(random);
    check_checked<std::uint32_t>(random);
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

// In other blocks and chunks than the infinity, so far above what lies beside it that their exponentials are 0.
template <class T>
void infinity_and_far_larger_numbers() {
  for (const std::size_t n : {3000, 200'000}) {
    for (const bool first : {true, false}) {
      std::vector<T> x(n, T(0.0f));
      std::fill(first ? x.begin() + n / 2 : x.begin(), first ? x.end() : x.begin() + n / 2, T(1000.0f));
      T& special = first ? x.front() : x.back();
      special = T(INFINITY);
      EXPECT_EQ(static_cast<double>(wf::logsumexp(x)), INFINITY) << n << first;
      EXPECT_EQ(static_cast<double>(wf::logsumexp(view<T>(x.data(), {static_cast<std::int64_t>(n), 1}), axis{0})[0]), INFINITY);
      special = T(-INFINITY);
      EXPECT_TRUE(std::isfinite(static_cast<double>(wf::logsumexp(x))));
      special = T(NAN);
      EXPECT_TRUE(std::isnan(static_cast<double>(wf::logsumexp(x))));
    }
  }
}
TEST(logsumexp, of_an_infinity_and_of_larger_numbers_elsewhere) {
  infinity_and_far_larger_numbers<double>();
  infinity_and_far_larger_numbers<float>();
  infinity_and_far_larger_numbers<f16>();
}

}  // namespace
}  // namespace wf::test
