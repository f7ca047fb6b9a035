// SPDX-License-Identifier: Apache-2.0
// Sums and means of whole columns, norms and variances of columns of 16 bits, and extremes of rows: each answer against the same reduction of a copy of its elements,
// bit for bit, over what their short ways must leave to others: ties, zeros of either sign, subnormal quotients, infinities and NaNs in a column beside ordinary ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "../support/effort.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {
using generator = std::mt19937_64;

template <class T>
void expect_same(T got, T wanted, const char* what, std::int64_t k) {
  EXPECT_EQ(std::memcmp(&got, &wanted, sizeof got), 0) << what << " of " << k << ": " << static_cast<double>(got) << ", not " << static_cast<double>(wanted);
}

/// One column of x, among `count` of ones, so that it alone decides whether all are answered at once.
template <class T>
void check_column(const std::vector<T>& x, std::int64_t count) {
  const auto rows = static_cast<std::int64_t>(x.size());
  const std::int64_t at = static_cast<std::int64_t>(x.size()) % count;
  std::vector<T> all(static_cast<std::size_t>(rows * count), T(1.0f));
  for (std::int64_t i = 0; i < rows; ++i) all[static_cast<std::size_t>(i * count + at)] = x[static_cast<std::size_t>(i)];
  const wf::view<const T> matrix{all.data(), {rows, count}};
  const auto k = static_cast<std::size_t>(at);
  if constexpr (sizeof(T) >= 4) {
    expect_same(wf::sum(matrix, wf::axis{0})[k], wf::sum(x), "sum", at);
    expect_same(wf::mean(matrix, wf::axis{0})[k], wf::mean(x), "mean", at);
  }
  expect_same(wf::norm2(matrix, wf::axis{0})[k], wf::norm2(x), "norm2", at);
  if constexpr (sizeof(T) >= 4) expect_same(wf::mean_var(matrix, wf::axis{0})[k].mean, wf::mean(x), "mean of mean_var", at);
  expect_same(wf::var(matrix, wf::axis{0})[k], wf::var(x), "var", at);
  expect_same(wf::sum_of_squares(matrix, wf::axis{0})[k], wf::sum_of_squares(x), "sum_of_squares", at);
}

template <class T>
std::vector<T> column(int kind, std::int64_t n, generator& random) {
  using limits = std::numeric_limits<T>;
  std::normal_distribution<double> gauss;
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto whole = static_cast<double>(static_cast<std::int64_t>(random() % (std::uint64_t{1} << limits::digits)));
    const int e = static_cast<int>(random() % 40);
    double v = gauss(random);
    if (kind == 1) v = whole;                                            // a mean is often halfway between two answers
    if (kind == 2) v = i % 2 == 1 ? -static_cast<double>(x.back()) : v;  // comes to zero
    if (kind == 3) v = static_cast<double>(limits::denorm_min()) * static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4);
    if (kind == 4) v = std::ldexp(v, 3 * e - 60);
    if (kind == 5) v = -0.0;
    if (kind == 6) v = static_cast<double>(limits::max()) * (i % 2 == 0 ? 1 : -0.75);
    if (kind == 8) v = std::ldexp(v, limits::min_exponent / 2 + e - 20);      // squares near the least numbers, and below
    if (kind == 9) v = i % 7 == 3 ? v : 0.0;
    x.push_back(static_cast<T>(v));
  }
  if (kind == 2 && n % 2 == 1) x.back() = T(-0.0);
  if (kind == 10) x[random() % x.size()] *= static_cast<T>(0x1p40);  // far from all others
  if (kind == 11) std::fill(x.begin(), x.end(), T(0.0f));
  if (kind >= 12 && n >= 6) {
    // What lies far below decides: of a sum that would be zero else, or where a sum that leaves its anchor comes back, or of a tie of the sum, of the mean, or of the sum of squares.
    constexpr int digits = limits::digits;
    const int scale = static_cast<int>(random() % 9) - 4, below = digits + 5 + static_cast<int>(random() % static_cast<std::uint64_t>(2 * digits));
    const double sign = random() % 2 == 0 ? 1 : -1;
    const auto put = [&](std::initializer_list<double> first) {
      std::fill(x.begin(), x.end(), T(0.0f));
      std::transform(first.begin(), first.end(), x.begin(), [&](double v) { return static_cast<T>(std::ldexp(v, scale)); });
    };
    const auto whole = static_cast<double>(n);
    if (kind == 12) put({1, std::ldexp(1.0, -digits - 7), sign * std::ldexp(1.0, -2 * digits - below), -1, -std::ldexp(1.0, -digits - 7)});
    if (kind == 13) {
      x[0] = static_cast<T>(std::ldexp(sign, 40 + below % 9));
      x[1] = static_cast<T>(-static_cast<double>(x[0]));
    }
    if (kind == 14) put({1, std::ldexp(1.0, -digits), sign * std::ldexp(1.0, -digits - below)});
    if (kind == 15) put({whole, std::ldexp(whole, -digits), sign * std::ldexp(1.0, -digits - (random() % 2 == 0 ? 30 + below % 25 : 43 + below % 9))});
    if (kind == 16) put({1, std::ldexp(1.0, -(digits + 1) / 2), digits % 2 == 0 ? 0.0 : std::ldexp(1.0, -(digits + 1) / 2), std::ldexp(1.0, -digits - below % 20)});
    if (kind == 17) {
      const int few = digits + 6 + below % 9;  // bits that a double, or two of them, just cannot take
      put({1, std::ldexp(1.0, -digits) - std::ldexp(1.0, -few), std::ldexp(1.0 + sign * std::ldexp(1.0, 1 - digits), -few)});
    }
    std::shuffle(x.begin(), x.end(), random);
  }
  if (kind == 7) x[random() % x.size()] = random() % 2 == 0 ? limits::infinity() : limits::quiet_NaN();
  return x;
}
constexpr int kinds = 18;

template <class T>
void check_columns() {
  generator random(draw() + 7);
  for_each_target([&] {
    for (int k = 0; k < trials(400); ++k)
      for (int kind = 0; kind < kinds; ++kind) {
        SCOPED_TRACE("kind " + std::to_string(kind));
        const std::int64_t n = k % 10 == 0 ? 900 + static_cast<std::int64_t>(random() % 300) : 2 + static_cast<std::int64_t>(random() % 40);
        check_column(column<T>(kind, n, random), 2 + static_cast<std::int64_t>(random() % 40));
        if (testing::Test::HasFailure()) return;
      }
  });
}
TEST(whole_columns, of_f32) { check_columns<float>(); }
TEST(whole_columns, of_f64) { check_columns<double>(); }

/// One column among as many as are read from end to end, and some more, by one thread or several.
template <class T>
void check_wide() {
  generator random(draw() + 17);
  cpu::thread_pool pool(3);
  for_each_target([&] {
    for (int k = 0; k < trials(60); ++k) {
      const std::int64_t rows = k % 6 == 0 ? 150 : 2 + static_cast<std::int64_t>(random() % 70), any = 500 + static_cast<std::int64_t>(random() % 1700), count = k % 3 == 0 ? any : any / 16 * 16;
      // Where rows begin alike in their cache lines, and not at a line's beginning, the columns before the next line are taken by themselves.
      std::vector<T> room(static_cast<std::size_t>(rows * count + 16));
      const std::span<T> all(room.data() + random() % 16, static_cast<std::size_t>(rows * count));
      for (T& v : all) v = static_cast<T>(static_cast<double>(random() % 2001) - 1000);
      const int kind = static_cast<int>(random() % kinds);
      SCOPED_TRACE("kind " + std::to_string(kind) + ", " + std::to_string(rows) + " x " + std::to_string(count));
      const auto of_column = [&](std::int64_t at) {
        std::vector<T> x;
        for (std::int64_t i = 0; i < rows; ++i) x.push_back(all[static_cast<std::size_t>(i * count + at)]);
        return x;
      };
      const std::int64_t at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
      const std::vector<T> x = column<T>(kind, rows, random);
      for (std::int64_t i = 0; i < rows; ++i) all[static_cast<std::size_t>(i * count + at)] = x[static_cast<std::size_t>(i)];
      const wf::view<const T> matrix{all.data(), {rows, count}};
      context c;
      c.threads = k % 2 == 0 ? 1 : 3;
      c.executor = &pool;
      const auto sums = wf::sum(matrix, wf::axis{0}, c), means = wf::mean(matrix, wf::axis{0}, c), most = wf::max(matrix, wf::axis{0}, c), norms = wf::norm2(matrix, wf::axis{0}, c);
      std::vector<std::int64_t> places = {at, 0, count - 1, 7, 511, 512, std::min<std::int64_t>(count - 1, 1023), std::min<std::int64_t>(count - 1, 1024)};
      for (int more = 0; more < 4; ++more) places.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
      for (const std::int64_t place : places) {
        if (place >= count) continue;
        const std::vector<T> one = of_column(place);
        const auto j = static_cast<std::size_t>(place);
        expect_same(sums[j], wf::sum(one), "sum", place);
        expect_same(means[j], wf::mean(one), "mean", place);
        expect_same(most[j], wf::max(one), "max", place);
        expect_same(norms[j], wf::norm2(one), "norm2", place);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(whole_columns, wide_ones_of_f32) { check_wide<float>(); }
TEST(whole_columns, wide_ones_of_f64) { check_wide<double>(); }

/// Many rows that the last cache holds, with columns of one kind or of several sizes, and among them some that are not sure, or leave what the first rows promised.
template <class T>
void check_many_rows() {
  generator random(draw() + 37);
  context c;
  c.threads = 1;
  for_each_target([&] {
    for (int k = 0; k < trials(40); ++k) {
      const std::int64_t rows = k % 8 == 0 ? 900 + static_cast<std::int64_t>(random() % 300) : 17 + static_cast<std::int64_t>(random() % 90), any = 513 + static_cast<std::int64_t>(random() % 700), count = k % 3 == 0 ? any : any / 8 * 8 + 8;
      std::vector<T> room(static_cast<std::size_t>(rows * count + 16));  // beginning anywhere in a vector
      T* const all = room.data() + random() % 16;
      const auto at = [&](std::int64_t row, std::int64_t column) -> T& { return all[static_cast<std::size_t>(row * count + column)]; };
      std::normal_distribution<double> gauss;
      const int scale = sizeof(T) == 4 ? 1 : k % 8 == 2 ? 3 : 7;  // squares of f64 are finite, or not
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t j = 0; j < count; ++j) {
          const double v = gauss(random);
          at(row, j) = static_cast<T>(k % 4 == 0 ? v : k % 4 == 1 ? 9 + v : k % 4 == 2 ? std::ldexp(v, scale * (static_cast<int>(j % 250) - 125)) : std::floor(100 * v));
        }
      std::vector<std::int64_t> special;
      for (std::uint64_t some = random() % 9; some > 0; --some) {
        const std::int64_t j = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
        special.push_back(j);
        std::vector<T> x = column<T>(static_cast<int>(random() % kinds), rows, random);
        if (random() % 3 == 0) {  // small at first, and then so large that they leave, and come back or not
          std::fill(x.begin(), x.begin() + 16, random() % 2 == 0 ? T(1) : T(0));
          x[16] = std::ldexp(random() % 2 == 0 ? T(-1.5) : T(1.5), static_cast<int>(random() % (sizeof(T) == 8 && random() % 2 == 0 ? 1000 : 90)));
          if (rows > 30) x[30] = random() % 2 == 0 ? -x[16] : std::ldexp(T(1), -20);
        }
        if (k % 3 == 0) {  // each of a size that the first rows do not promise, and together too many, or nearly
          std::fill(x.begin(), x.begin() + 16, T(1));
          std::fill(x.begin() + 16, x.end(), std::ldexp(random() % 2 == 0 ? T(-1.25) : T(1.25), static_cast<int>(random() % 8)));
        }
        if (rows >= 900 && random() % 3 == 0) {  // nearly half a last place is lost by each of the last rows, together enough to leave a tie on its other side
          const T sign = random() % 2 == 0 ? T(1) : T(-1);
          for (std::int64_t row = 0; row < rows; ++row)
            x[static_cast<std::size_t>(row)] = sign * (row < 512 ? T(1) : sizeof(T) == 4 ? (row == 512 ? T(0x1p-15f - 0x1p-37f) : T(0x1.8p-45f)) : row == 512 ? T(0x1p-44 - 0x1p-92) : T(0x1.8p-100));
        }
        for (std::int64_t row = 0; row < rows; ++row) at(row, j) = x[static_cast<std::size_t>(row)];
      }
      const wf::view<const T> matrix{all, {rows, count}};
      const auto sums = wf::sum(matrix, wf::axis{0}, c), means = wf::mean(matrix, wf::axis{0}, c);
      for (std::int64_t more = 0; more < 40; ++more) special.push_back(more < 20 ? count - 1 - more : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
      for (const std::int64_t j : special) {
        std::vector<T> one;
        for (std::int64_t row = 0; row < rows; ++row) one.push_back(at(row, j));
        expect_same(sums[static_cast<std::size_t>(j)], wf::sum(one), "sum", j);
        expect_same(means[static_cast<std::size_t>(j)], wf::mean(one), "mean", j);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(whole_columns, floats_of_many_rows) { check_many_rows<float>(); }
TEST(whole_columns, doubles_of_many_rows) { check_many_rows<double>(); }

/// All columns of f32 cancel, or are zero: more than are added up again one by one.
TEST(whole_columns, many_floats_that_cancel) {
  generator random(draw() + 47);
  for_each_target([&] {
    for (const std::int64_t rows : {34, 200}) {
      const std::int64_t count = 600;
      std::vector<float> all(static_cast<std::size_t>(rows * count));
      std::normal_distribution<double> gauss;
      for (std::int64_t i = 0; i < rows / 2; ++i)
        for (std::int64_t j = 0; j < count; ++j) {
          const auto at = static_cast<std::size_t>(i * count + j), twin = static_cast<std::size_t>((rows - 1 - i) * count + j);
          all[at] = static_cast<float>(gauss(random));
          all[twin] = -all[at];
          if (i == 0 && j % 3 == 0) all[twin] = std::nextafter(all[twin], 0.0f);
        }
      const auto sums = wf::sum(wf::view<const float>{all.data(), {rows, count}}, wf::axis{0});
      for (std::int64_t j = 0; j < count; ++j) {
        const float first = all[static_cast<std::size_t>(j)], last = all[static_cast<std::size_t>((rows - 1) * count + j)];
        expect_same(sums[static_cast<std::size_t>(j)], first + last, "sum", j);
      }
    }
  });
}

/// Exact means of f32 halfway between two floats, and infinities beside numbers that are nearly as great.
TEST(whole_columns, halfway_means_and_infinities_of_f32) {
  for_each_target([] {
    for (std::int64_t n = 2; n < 60; ++n)
      for (int odd = 1; odd < 40; odd += 2) {
        std::vector<float> x(static_cast<std::size_t>(n), 0.0f);
        x[0] = static_cast<float>(2 * n);  // means just below 2, where a product with 1/n is off most
        x[static_cast<std::size_t>(n - 1)] = -static_cast<float>(n * odd) * 0x1p-24f;
        check_column(x, 33);
        if (odd > 3) continue;
        std::vector<float> y(static_cast<std::size_t>(n * 33), 0x1p127f);
        y[static_cast<std::size_t>(n)] = odd == 1 ? INFINITY : -INFINITY;
        const auto means = wf::mean(wf::view<const float>{y.data(), {n, 33}}, wf::axis{0});
        for (std::int64_t j = 0; j < 33; ++j) expect_same(means[static_cast<std::size_t>(j)], n % 33 == j ? y[static_cast<std::size_t>(n)] : 0x1p127f, "mean", j);
        if (testing::Test::HasFailure()) return;
      }
  });
}

// Sums of a few of the least numbers, of either sign: quotients lie on either side of zero, or halfway to the least one.
TEST(whole_columns, means_of_the_least_f64_have_their_signs) {
  for_each_target([] {
    for (const std::int64_t n : {2, 3, 5, 8, 33, 64})
      for (int units = -70; units <= 70; ++units) {
        std::vector<double> x(static_cast<std::size_t>(n), units % 2 == 0 ? 0.0 : -0.0);
        x[0] = 0x1p-1020;
        x[1] = std::nextafter(-0x1p-1020, 0.0);  // leaves 2^-1072
        x[static_cast<std::size_t>(n - 1)] += 0x1p-1074 * units;
        check_column(x, 5);
        std::vector<double> y(static_cast<std::size_t>(n), -0.0);
        y[static_cast<std::size_t>(n / 2)] = 0x1p-1074 * units;
        check_column(y, 9);
        if (testing::Test::HasFailure()) return;
      }
  });
}

// -2^-149 is left, of which the two rounded sums are -2^-148 and 0: all means are zeros, and only one sign is right.
TEST(whole_columns, a_mean_that_rounds_to_a_zero_has_its_sign) {
  for_each_target([] {
    for (const float sign : {1.0f, -1.0f})
      for (const std::int64_t n : {8, 33, 1000}) {
        std::vector<float> x(static_cast<std::size_t>(n), 0.0f);
        x[0] = -sign * 0x1p-95f;
        x[1] = -sign * 0x1p-149f;
        x[2] = sign * 0x1p-95f;
        EXPECT_EQ(std::signbit(wf::mean(x)), sign > 0);
        check_column(x, 5);
      }
  });
}

template <class T>
T of_bits(std::uint64_t bits) {
  T v;
  const auto some = static_cast<std::uint16_t>(bits);
  std::memcpy(&v, &some, sizeof v);
  return v;
}
template <class T>
void check_halves() {
  generator random(draw() + 11);
  for_each_target([&] {
    for (int k = 0; k < trials(400); ++k)
      for (int kind = 0; kind < 4; ++kind) {
        SCOPED_TRACE("kind " + std::to_string(kind));
        std::vector<T> x(2 + random() % 40);
        // Any bits; of one size; few bits, whose squares often come to a number halfway between two answers; the least ones.
        for (T& v : x)
          v = kind == 0 ? of_bits<T>(random()) : kind == 1 ? T(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 64)
            : kind == 2 ? T(static_cast<float>(random() % 60)) : of_bits<T>(random() % 300 | random() % 2 << 15);
        check_column(x, 2 + static_cast<std::int64_t>(random() % 40));
        if (testing::Test::HasFailure()) return;
      }
  });
}
TEST(whole_columns, squares_of_f16) { check_halves<wf::f16>(); }
TEST(whole_columns, squares_of_bf16) { check_halves<wf::bf16>(); }

template <class T>
void check_squares_of_integers() {
  generator random(draw() + 19);
  for_each_target([&] {
    for (int k = 0; k < trials(100); ++k) {
      const std::int64_t rows = 2 + static_cast<std::int64_t>(random() % 200), count = 2 + static_cast<std::int64_t>(random() % 60), at = rows % count;
      std::vector<T> all(static_cast<std::size_t>(rows * count)), one;
      for (T& v : all) v = static_cast<T>(k % 3 == 0 ? random() : random() % 5);
      for (std::int64_t i = 0; i < rows; ++i) one.push_back(all[static_cast<std::size_t>(i * count + at)]);
      const wf::view<const T> matrix{all.data(), {rows, count}};
      const auto j = static_cast<std::size_t>(at);
      expect_same(wf::norm2(matrix, wf::axis{0})[j], wf::norm2(one), "norm2", at);
      expect_same(wf::var(matrix, wf::axis{0})[j], wf::var(one), "var", at);
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(whole_columns, squares_of_i8) { check_squares_of_integers<std::int8_t>(); }
TEST(whole_columns, squares_of_u16) { check_squares_of_integers<std::uint16_t>(); }

/// Means of integers: of few rows, and of so many great ones that their sum is no longer one double, or just is.
template <class T>
void check_means_of_integers() {
  generator random(draw() + 43);
  constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  for_each_target([&] {
    for (int k = 0; k < trials(60); ++k) {
      const bool many = k % 20 == 0;
      const std::int64_t rows = many ? (std::int64_t{1} << 19) + (k % 40 == 0 ? 1 : -1) : 2 + static_cast<std::int64_t>(random() % 30), count = many ? 3 : 2 + static_cast<std::int64_t>(random() % 60);
      std::vector<T> all(static_cast<std::size_t>(rows * count));
      for (T& v : all) v = many || k % 3 == 0 ? most : k % 3 == 1 ? (random() % 9 == 0 ? static_cast<T>(random()) : least) : static_cast<T>(random());
      const auto means = wf::mean(wf::view<const T>{all.data(), {rows, count}}, wf::axis{0});
      for (std::int64_t j = 0; j < count; ++j) {
        std::vector<T> one;
        for (std::int64_t i = 0; i < rows; ++i) one.push_back(all[static_cast<std::size_t>(i * count + j)]);
        expect_same(means[static_cast<std::size_t>(j)], wf::mean(one), "mean", j);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(whole_columns, means_of_i8) { check_means_of_integers<std::int8_t>(); }
TEST(whole_columns, means_of_i32) { check_means_of_integers<std::int32_t>(); }
TEST(whole_columns, means_of_u32) { check_means_of_integers<std::uint32_t>(); }

/// Rows with the extremes at every place, and with gaps between rows.
template <class T, class F>
void check_rows(F draw_one) {
  generator random(draw() + 13);
  for_each_target([&] {
    for (int k = 0; k < trials(300); ++k) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 20), n = 65 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 4032 : 200)),
                         stride = n + static_cast<std::int64_t>(random() % 3);
      std::vector<T> all(static_cast<std::size_t>(rows * stride));
      for (T& v : all) v = draw_one(random);
      const wf::view<const T> matrix{all.data(), {rows, n}, {stride, 1}};
      const auto least = wf::min(matrix, wf::axis{1}), greatest = wf::max(matrix, wf::axis{1});
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto first = all.begin() + i * stride;
        const std::vector<T> row(first, first + n);
        expect_same(least[static_cast<std::size_t>(i)], wf::min(row), "min", i);
        expect_same(greatest[static_cast<std::size_t>(i)], wf::max(row), "max", i);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(extremes_of_rows, i8) { check_rows<std::int8_t>([](generator& r) { return static_cast<std::int8_t>(r() % 4 == 0 ? r() : r() % 9); }); }
TEST(extremes_of_rows, u16) { check_rows<std::uint16_t>([](generator& r) { return static_cast<std::uint16_t>(r()); }); }
TEST(extremes_of_rows, i32) { check_rows<std::int32_t>([](generator& r) { return static_cast<std::int32_t>(r()); }); }
TEST(extremes_of_rows, u64) { check_rows<std::uint64_t>([](generator& r) { return r(); }); }
TEST(extremes_of_rows, f16) { check_rows<wf::f16>([](generator& r) { return of_bits<wf::f16>(r() % 300 == 0 ? r() : r() % 0x7c00 | r() % 2 << 15); }); }
TEST(extremes_of_rows, f32) { check_rows<float>([](generator& r) { return r() % 5000 == 0 ? std::nanf("") : static_cast<float>(static_cast<int>(r() % 3)) * (r() % 2 == 0 ? 0.0f : -0.0f); }); }
TEST(extremes_of_rows, f64) { check_rows<double>([](generator& r) { return r() % 5000 == 0 ? -std::nan("") : std::ldexp(static_cast<double>(static_cast<std::int64_t>(r())), static_cast<int>(r() % 99)); }); }

/// Extremes of wide columns that begin anywhere in a vector: zeros of either sign, infinities and NaNs in some, which others beside them have not.
template <class T, class F>
void check_extremes_of_columns(F draw_one) {
  generator random(draw() + 59);
  context c;
  c.threads = 1;
  for_each_target([&] {
    for (int k = 0; k < trials(60); ++k) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 40), any = 513 + static_cast<std::int64_t>(random() % 3000), count = k % 3 == 0 ? any : any / 32 * 32 + 32;
      std::vector<T> room(static_cast<std::size_t>(rows * count + 64));
      T* const all = room.data() + random() % 64;
      for (std::int64_t i = 0; i < rows * count; ++i) all[i] = draw_one(random, k);
      const wf::view<const T> matrix{all, {rows, count}};
      const auto least = wf::min(matrix, wf::axis{0}, c), greatest = wf::max(matrix, wf::axis{0}, c);
      for (std::int64_t j = 0; j < count; ++j) {
        std::vector<T> one;
        for (std::int64_t i = 0; i < rows; ++i) one.push_back(all[i * count + j]);
        expect_same(least[static_cast<std::size_t>(j)], wf::min(one), "min", j);
        expect_same(greatest[static_cast<std::size_t>(j)], wf::max(one), "max", j);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
/// Ordinary numbers; zeros of either sign alone, or beside numbers of one sign; few or many NaNs, and infinities.
template <class T>
T any_float(generator& random, int k) {
  const T v = static_cast<T>(static_cast<double>(random() % 20001) - 10000), zero = random() % 2 == 0 ? T(0) : T(-0.0);
  switch (k % 6) {
    case 0: return v;
    case 1: return zero;
    case 2: return random() % 3 == 0 ? zero : std::fabs(v);
    case 3: return random() % 3 == 0 ? zero : -std::fabs(v);
    case 4: return random() % 5000 == 0 ? std::copysign(std::numeric_limits<T>::quiet_NaN(), v) : v;
    default: return random() % 9 == 0 ? std::copysign(random() % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity(), v) : v;
  }
}
TEST(extremes_of_columns, f32) { check_extremes_of_columns<float>(any_float<float>); }
TEST(extremes_of_columns, f64) { check_extremes_of_columns<double>(any_float<double>); }
TEST(extremes_of_columns, f16) { check_extremes_of_columns<wf::f16>([](generator& r, int k) { return of_bits<wf::f16>(k % 2 == 0 ? r() % 0x7c00 | r() % 2 << 15 : r()); }); }
TEST(extremes_of_columns, i8) { check_extremes_of_columns<std::int8_t>([](generator& r, int) { return static_cast<std::int8_t>(r()); }); }
TEST(extremes_of_columns, u16) { check_extremes_of_columns<std::uint16_t>([](generator& r, int) { return static_cast<std::uint16_t>(r()); }); }
TEST(extremes_of_columns, i32) { check_extremes_of_columns<std::int32_t>([](generator& r, int) { return static_cast<std::int32_t>(r()); }); }
TEST(extremes_of_columns, u64) { check_extremes_of_columns<std::uint64_t>([](generator& r, int) { return r(); }); }

/// The extremes of whole arrays that begin anywhere in a cache line, at every place.
template <class T>
void check_places_of_extremes() {
  generator random(draw() + 53);
  for_each_target([&] {
    for (int k = 0; k < trials(40); ++k) {
      const std::size_t begin = random() % 70, n = 1 + random() % 900;
      std::vector<T> room(begin + n + 70, std::numeric_limits<T>::max());  // greater beside the array, and less
      for (std::size_t i = 1; i < room.size(); i += 2) room[i] = std::numeric_limits<T>::lowest();
      const std::span<T> x(room.data() + begin, n);
      for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 9) + 10);
      for (std::size_t i = 0; i < n; ++i) {
        const T before = x[i];
        x[i] = T(99);
        expect_same(wf::max(x), T(99), "max", static_cast<std::int64_t>(i));
        x[i] = T(3);
        expect_same(wf::min(x), T(3), "min", static_cast<std::int64_t>(i));
        x[i] = before;
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(extremes_of_arrays, i8) { check_places_of_extremes<std::int8_t>(); }
TEST(extremes_of_arrays, u16) { check_places_of_extremes<std::uint16_t>(); }
TEST(extremes_of_arrays, f32) { check_places_of_extremes<float>(); }
TEST(extremes_of_arrays, f64) { check_places_of_extremes<double>(); }

/// Sums, means and norms of rows of which some are of another kind than the others, with gaps between rows.
template <class T>
void check_sums_of_rows() {
  generator random(draw() + 23);
  for_each_target([&] {
    for (int k = 0; k < trials(400); ++k) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 20), n = 2 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 4200 : 200)),
                         stride = n + static_cast<std::int64_t>(random() % 3);
      std::vector<T> all(static_cast<std::size_t>(rows * stride));
      const int usual = static_cast<int>(random() % kinds);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::vector<T> row = column<T>(random() % 4 == 0 ? static_cast<int>(random() % kinds) : usual, n, random);
        std::copy(row.begin(), row.end(), all.begin() + i * stride);
      }
      SCOPED_TRACE("kind " + std::to_string(usual) + ", " + std::to_string(rows) + " x " + std::to_string(n));
      const wf::view<const T> matrix{all.data(), {rows, n}, {stride, 1}};
      const auto sums = wf::sum(matrix, wf::axis{1}), means = wf::mean(matrix, wf::axis{1}), magnitudes = wf::norm1(matrix, wf::axis{1});
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto first = all.begin() + i * stride;
        const std::vector<T> row(first, first + n);
        const auto j = static_cast<std::size_t>(i);
        expect_same(sums[j], wf::sum(row), "sum", i);
        expect_same(means[j], wf::mean(row), "mean", i);
        expect_same(magnitudes[j], wf::norm1(row), "norm1", i);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(sums_of_rows, f32) { check_sums_of_rows<float>(); }
TEST(sums_of_rows, f64) { check_sums_of_rows<double>(); }

/// Rows whose elements lie apart, also backwards. Those in every second place are read there, also long ones where there are many; others are copied first.
template <class T>
void check_rows_with_gaps() {
  generator random(draw() + 47);
  std::normal_distribution<double> normal;
  for_each_target([&] {
    for (int k = 0; k < trials(160); ++k) {
      const bool is_long = k % 16 == 1;
      const std::int64_t rows = is_long ? 64 + static_cast<std::int64_t>(random() % 4) : 1 + static_cast<std::int64_t>(random() % 90),
                         n = is_long ? 4090 + static_cast<std::int64_t>(random() % 9000) : 25 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 4200 : 300)),
                         step = is_long || k % 2 == 0 ? 2 : 1 + static_cast<std::int64_t>(random() % 3), stride = (n - 1) * step + 1 + static_cast<std::int64_t>(random() % 2);
      const bool backwards = random() % 3 == 0;
      std::vector<T> all(static_cast<std::size_t>(rows * stride - (stride - (n - 1) * step - 1)));  // nothing lies behind the last element
      const auto kind = random() % 3;
      for (T& v : all) v = kind == 0 && std::is_floating_point_v<T> ? static_cast<T>(normal(random)) : static_cast<T>(static_cast<double>(random() % 2001) / 8 - (std::is_unsigned_v<T> ? 0 : 125));
      if constexpr (std::is_floating_point_v<T>) {  // a row that is unlike the others, at any place of it
        const std::int64_t row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)) * stride;
        constexpr T odd[] = {T(0x1p60), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(), T(0x1p-60), std::numeric_limits<T>::denorm_min()};
        if (kind == 1) all[static_cast<std::size_t>(row + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)) * step)] = odd[random() % 5];
        if (kind == 2)
          for (std::int64_t j = 0; j < n; ++j) all[static_cast<std::size_t>(row + j * step)] = j + 1 < n || k % 4 < 2 ? -T(0) : T(0);
      }
      const wf::view<const T> matrix{all.data() + (backwards ? (n - 1) * step : 0), {rows, n}, {stride, backwards ? -step : step}};
      const auto sums = wf::sum(matrix, wf::axis{1});
      const auto means = wf::mean(matrix, wf::axis{1});
      const auto magnitudes = wf::norm1(matrix, wf::axis{1});
      const auto norms = wf::norm2(matrix, wf::axis{1});
      const auto variances = wf::var(matrix, wf::axis{1});
      const auto least = wf::min(matrix, wf::axis{1});
      const auto most = wf::max(matrix, wf::axis{1});
      for (std::int64_t i = 0; i < rows; ++i) {
        std::vector<T> row;
        for (std::int64_t j = 0; j < n; ++j) row.push_back(all[static_cast<std::size_t>(i * stride + j * step)]);
        const auto at = static_cast<std::size_t>(i);
        expect_same(sums[at], wf::sum(row), "sum", i);
        expect_same(means[at], wf::mean(row), "mean", i);
        expect_same(magnitudes[at], wf::norm1(row), "norm1", i);
        expect_same(norms[at], wf::norm2(row), "norm2", i);
        expect_same(variances[at], wf::var(row), "var", i);
        expect_same(least[at], wf::min(row), "min", i);
        expect_same(most[at], wf::max(row), "max", i);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(rows_with_gaps, f32) { check_rows_with_gaps<float>(); }
TEST(rows_with_gaps, f64) { check_rows_with_gaps<double>(); }
TEST(rows_with_gaps, i16) { check_rows_with_gaps<std::int16_t>(); }
TEST(rows_with_gaps, i32) { check_rows_with_gaps<std::int32_t>(); }
TEST(rows_with_gaps, u32) { check_rows_with_gaps<std::uint32_t>(); }
TEST(rows_with_gaps, i64) { check_rows_with_gaps<std::int64_t>(); }
TEST(rows_with_gaps, u64) { check_rows_with_gaps<std::uint64_t>(); }

/// Columns whose answers lie apart, also backwards, are copied some rows at a time.
template <class T>
void check_columns_with_gaps() {
  generator random(draw() + 61);
  cpu::thread_pool pool(3);
  for_each_target([&] {
    for (int k = 0; k < trials(80); ++k) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 3000 : 150)), count = 20 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 60 : 900)),
                         step = 1 + static_cast<std::int64_t>(random() % 3), stride = (count - 1) * step + 1 + static_cast<std::int64_t>(random() % 2);
      const bool backwards = step == 1 || random() % 3 == 0;
      std::vector<T> all(static_cast<std::size_t>(rows * stride - (stride - (count - 1) * step - 1)));  // nothing lies behind the last element
      for (T& v : all) v = static_cast<T>(static_cast<double>(random() % 2001) / 8 - 125);
      T* const first = all.data() + (backwards ? (count - 1) * step : 0);
      const std::int64_t across = backwards ? -step : step;
      if constexpr (std::is_floating_point_v<T>) first[random() % static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(stride)] = k % 2 == 0 ? T(0x1p60) : std::numeric_limits<T>::infinity();
      const wf::view<const T> matrix{first, {rows, count}, {stride, across}};
      context c;
      c.threads = k % 2 == 0 ? 1 : 3;
      c.executor = &pool;
      const auto sums = wf::sum(matrix, wf::axis{0}, c);
      const auto means = wf::mean(matrix, wf::axis{0}, c);
      const auto norms = wf::norm2(matrix, wf::axis{0}, c);
      const auto variances = wf::var(matrix, wf::axis{0}, c);
      const auto most = wf::max(matrix, wf::axis{0}, c);
      for (std::int64_t j = 0; j < count; ++j) {
        std::vector<T> column;
        for (std::int64_t i = 0; i < rows; ++i) column.push_back(first[i * stride + j * across]);
        const auto at = static_cast<std::size_t>(j);
        expect_same(sums[at], wf::sum(column), "sum", j);
        expect_same(means[at], wf::mean(column), "mean", j);
        expect_same(norms[at], wf::norm2(column), "norm2", j);
        expect_same(variances[at], wf::var(column), "var", j);
        expect_same(most[at], wf::max(column), "max", j);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
TEST(columns_with_gaps, f32) { check_columns_with_gaps<float>(); }
TEST(columns_with_gaps, f64) { check_columns_with_gaps<double>(); }
TEST(columns_with_gaps, i16) { check_columns_with_gaps<std::int16_t>(); }
TEST(columns_with_gaps, i32) { check_columns_with_gaps<std::int32_t>(); }

/// Which of them the engine copies itself, for callers that would copy rows else.
TEST(rows_with_gaps, are_told_to_callers) {
  const auto told = [](op o, dtype t, std::int64_t rows, std::int64_t n, std::int64_t row, std::int64_t step, accuracy a = accuracy::exact) {
    static const double x[1] = {};
    cpu::operands in;
    in.data[0] = x;
    in.shape = {rows, n};
    in.strides[0] = {row, step};
    constexpr std::array last{1};
    return cpu::copies_rows(*find_builtin(o, t, a), in, last);
  };
  for (const op o : {op::sum, op::mean, op::max}) {
    EXPECT_TRUE(told(o, dtype::f32, 5, 65, 1000, 8));
    EXPECT_TRUE(told(o, dtype::f32, 5, 65, 1000, -8));
    EXPECT_TRUE(told(o, dtype::i32, 5, 4096, 100000, 8));
    EXPECT_FALSE(told(o, dtype::f32, 5, 4097, 100000, 8)) << "longer than the kernels of rows take, and few";
    EXPECT_TRUE(told(o, dtype::f32, 64, 4097, 100000, 8));
    EXPECT_FALSE(told(o, dtype::f32, 64, 4097, 100000, 12)) << "not every second element";
    EXPECT_FALSE(told(o, dtype::i16, 64, 4097, 100000, 4)) << "no kernel of those";
    EXPECT_FALSE(told(o, dtype::f32, 5, 20, 1000, 8)) << "turned into columns";
    EXPECT_FALSE(told(o, dtype::f32, 5, 65, 1000, 4)) << "no gaps";
    EXPECT_FALSE(told(o, dtype::f32, 5, 65, 8, 1000)) << "answers side by side, and few";
    EXPECT_TRUE(told(o, dtype::f32, 50, 65, 8, 1000));
    EXPECT_EQ(told(o, dtype::f64, 50, 65, 16, 1000), o == op::max) << "sums that are often ties";
    EXPECT_FALSE(told(o, dtype::f32, 50, 65, 4, 1000)) << "columns without gaps";
    EXPECT_FALSE(told(o, dtype::f32, 1, 0, 1000, 8));
  }
  EXPECT_TRUE(told(op::sum, dtype::f16, 5, 100, 1000, 4));
  EXPECT_FALSE(told(op::sum, dtype::c128, 5, 100, 10000, 32)) << "no kernel of rows";
  EXPECT_FALSE(told(op::sum, dtype::f32, 5, 100, 1000, 8, accuracy::fast));
}

/// Sums, means, norms and variances of rows that draw_one draws.
template <class T, class F>
void check_sums_of_drawn_rows(F draw_one) {
  generator random(draw() + 29);
  for_each_target([&] {
    for (int k = 0; k < trials(300); ++k) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 90), n = 2 + static_cast<std::int64_t>(random() % (k % 10 == 0 ? 4200 : 200)),
                         stride = n + static_cast<std::int64_t>(random() % 3);
      std::vector<T> all(static_cast<std::size_t>(rows * stride));
      for (T& v : all) v = draw_one(random, k);
      const wf::view<const T> matrix{all.data(), {rows, n}, {stride, 1}};
      const auto sums = wf::sum(matrix, wf::axis{1});
      const auto means = wf::mean(matrix, wf::axis{1});
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto first = all.begin() + i * stride;
        const std::vector<T> row(first, first + n);
        expect_same(sums[static_cast<std::size_t>(i)], wf::sum(row), "sum", i);
        expect_same(means[static_cast<std::size_t>(i)], wf::mean(row), "mean", i);
      }
      if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
        const auto norms = wf::norm2(matrix, wf::axis{1}), variances = wf::var(matrix, wf::axis{1}), spreads = wf::std_dev(matrix, wf::axis{1});
        const auto both = wf::mean_var(matrix, wf::axis{1});
        for (std::int64_t i = 0; i < rows; ++i) {
          const auto first = all.begin() + i * stride;
          const std::vector<T> row(first, first + n);
          const auto j = static_cast<std::size_t>(i);
          expect_same(norms[j], wf::norm2(row), "norm2", i);
          expect_same(variances[j], wf::var(row), "var", i);
          expect_same(spreads[j], wf::std_dev(row), "std_dev", i);
          expect_same(both[j].mean, wf::mean(row), "mean of mean_var", i);
          expect_same(both[j].var, wf::var(row), "variance of mean_var", i);
        }
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}
template <class T>
T any_integer(generator& random, int k) { return static_cast<T>(k % 3 == 0 ? random() : k % 3 == 1 ? random() % 5 : random() % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min()); }
TEST(sums_of_rows, i8) { check_sums_of_drawn_rows<std::int8_t>(any_integer<std::int8_t>); }
TEST(sums_of_rows, u8) { check_sums_of_drawn_rows<std::uint8_t>(any_integer<std::uint8_t>); }
TEST(sums_of_rows, i16) { check_sums_of_drawn_rows<std::int16_t>(any_integer<std::int16_t>); }
TEST(sums_of_rows, u16) { check_sums_of_drawn_rows<std::uint16_t>(any_integer<std::uint16_t>); }
TEST(sums_of_rows, i32) { check_sums_of_drawn_rows<std::int32_t>(any_integer<std::int32_t>); }
TEST(sums_of_rows, u32) { check_sums_of_drawn_rows<std::uint32_t>(any_integer<std::uint32_t>); }
TEST(sums_of_rows, i64) { check_sums_of_drawn_rows<std::int64_t>(any_integer<std::int64_t>); }
/// Any bits, numbers of one size, few bits, the least ones, zeros of either sign, one infinity or NaN in a while.
template <class T>
T any_half(generator& random, int k) {
  switch (k % 6) {
    case 0: return of_bits<T>(random());
    case 1: return T(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 64);
    case 2: return T(static_cast<float>(random() % 60));
    case 3: return of_bits<T>(random() % 300 | random() % 2 << 15);
    case 4: return of_bits<T>(random() % 2 << 15);
    default: return random() % 700 == 0 ? of_bits<T>(0x7c00 | random()) : T(static_cast<float>(random() % 999) - 500);
  }
}
TEST(sums_of_rows, f16) { check_sums_of_drawn_rows<wf::f16>(any_half<wf::f16>); }
TEST(sums_of_rows, bf16) { check_sums_of_drawn_rows<wf::bf16>(any_half<wf::bf16>); }

/// More long rows than threads have at once.
TEST(sums_of_rows, long_ones_by_several_threads) {
  generator random(draw() + 31);
  cpu::thread_pool pool(3);
  const std::int64_t rows = 33, n = (std::int64_t{1} << 17) + 5;
  std::vector<double> all(static_cast<std::size_t>(rows * n));
  for (double& v : all) v = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 9) - 60);
  all[static_cast<std::size_t>(5 * n + 9)] = std::numeric_limits<double>::infinity();
  all[static_cast<std::size_t>(7 * n + 9)] = 0x1p900;
  const wf::view<const double> matrix{all.data(), {rows, n}};
  for (const int threads : {1, 3}) {
    context c;
    c.threads = threads;
    c.executor = &pool;
    context fast = c;
    fast.accuracy = accuracy::fast;
    context alone = fast;
    alone.threads = 1;
    const auto sums = wf::sum(matrix, wf::axis{1}, c), least = wf::min(matrix, wf::axis{1}, c), quick = wf::sum(matrix, wf::axis{1}, fast);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::span<const double> row(all.data() + i * n, static_cast<std::size_t>(n));
      const auto j = static_cast<std::size_t>(i);
      expect_same(sums[j], wf::sum(row), "sum", i);
      expect_same(least[j], wf::min(row), "min", i);
      expect_same(quick[j], wf::sum(row, alone), "fast sum", i);
    }
  }
}

}  // namespace
}  // namespace wf::test
