// SPDX-License-Identifier: Apache-2.0
// Sums, means and moments of few elements have ways of their own (src/cpu/short_sum.hpp, src/cpu/simd/few.hpp, few_exact.hpp, few_moments.hpp): here
// against the superaccumulator, on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <random>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <warpfold/warpfold.hpp>

#include "../support/effort.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

/// Floats within `spread` binades of one that is anywhere, often near the least, some with few bits, some cancelling
/// others.
template <class T>
std::vector<T> few(std::int64_t n, int spread, std::mt19937_64& random) {
  using f = exact::format<T>;
  using bits = typename f::bits;
  constexpr int fraction = sizeof(T) == 8 ? 52 : 23, top = sizeof(T) == 8 ? 2046 : 254;
  const int middle = static_cast<int>(random() % 3 == 0 ? random() % 130 : random() % top);
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0 && random() % 4 == 0) {
      x.push_back(-x[random() % x.size()]);
      continue;
    }
    const int exponent = std::clamp(middle + static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2, 0, top);
    auto b = static_cast<bits>(random());
    if (random() % 3 == 0) b = static_cast<bits>(b & ~((bits{1} << (fraction - 4)) - 1));
    const bits sign = b & f::sign_mask, mantissa = b & ((bits{1} << fraction) - 1);
    x.push_back(f::from_bits(sign | static_cast<bits>(exponent) << fraction | mantissa));
  }
  return x;
}

template <class T>
void check() {
  using f = exact::format<T>;
  std::mt19937_64 random(21);
  for (const int spread : {1, 10, 40, 90, 400})
    for (int k = 0; k < trials(20e3); ++k) {
      const std::vector<T> x = few<T>(static_cast<std::int64_t>(random() % (k % 2 == 0 ? 60 : 200)), spread, random);
      auto want = exact::sum_state<T>::identity();
      for (const T v : x) want.add(v);
      for (const rounding mode : {rounding::nearest, rounding::down, rounding::up, rounding::zero, rounding::away}) {
        if (mode != rounding::nearest && k % 8 != 0) continue;
        const T got = wf::sum(x, context{.rounding = mode});
        ASSERT_EQ(f::to_bits(got), f::to_bits(want.template value<T>(mode)))
            << x.size() << " elements, spread " << spread << ", case " << k;
      }
      ASSERT_EQ(f::to_bits(wf::sum(x)), f::to_bits(want.template value<T>(rounding::nearest))) << x.size() << " elements, without settings, spread " << spread << ", case " << k;
    }
}

/// Numbers of one sign that outgrow the first one, from which the anchor of few is made, by up to 2^40, and sums of these that need all of their bits.
template <class T>
void check_growing() {
  using f = exact::format<T>;
  std::mt19937_64 random(22);
  for (int k = 0; k < trials(100e3); ++k) {
    std::vector<T> x(2 + random() % 15);
    const int by = static_cast<int>(random() % 41);
    auto want = exact::sum_state<T>::identity();
    for (T& v : x) {
      v = static_cast<T>(std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, &v == x.data() ? 0 : by));
      want.add(v);
    }
    ASSERT_EQ(f::to_bits(wf::sum(x)), f::to_bits(want.template value<T>(rounding::nearest))) << x.size() << " elements, 2^" << by << ", case " << k;
  }
}

TEST(short_sums, of_f64) { for_each_target(check<double>); }
TEST(short_sums, that_grow) {
  for_each_target(check_growing<double>);
  for_each_target(check_growing<float>);
}
TEST(short_sums, of_f32) { for_each_target(check<float>); }

/// A sum whose first number is small beside the others, or large; zeros between; elements that differ in their last bits alone; ties.
template <class T>
std::vector<T> awkward(std::mt19937_64& random) {
  using f = exact::format<T>;
  const auto n = static_cast<std::int64_t>(1 + random() % 140);
  std::vector<T> x = few<T>(n, random() % 2 == 0 ? 8 : 60, random);
  const auto kind = random() % 7;
  if (kind == 0) x[0] = static_cast<T>(std::ldexp(static_cast<double>(x[0]), random() % 2 == 0 ? -40 : 40));
  if (kind == 1)
    for (T& v : x)
      if (random() % 3 != 0) v = random() % 2 == 0 ? T{0} : -T{0};
  if (kind == 2)  // one, and halves of its last place
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i == 0 ? 1 : std::ldexp(random() % 2 == 0 ? 1 : -1, -f::mantissa_bits - 1 - (random() % 9 == 0 ? 60 : 0)));
  if (kind == 3)
    for (T& v : x) v = f::from_bits(f::to_bits(T{1}) + static_cast<typename f::bits>(random() % 8));
  if (kind == 4) x.back() = f::from_bits(static_cast<typename f::bits>(random()));  // anything
  if (kind == 5)  // near 2^-828, below which doubles are lifted, and near the least numbers
    for (T& v : x) v = static_cast<T>(std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, (n % 2 == 0 ? -850 : -1076) + static_cast<int>(random() % 40)) * (random() % 2 == 0 ? 1 : -1));
  if (kind == 6) {  // as great as a range allows, and one number with all bits at its lower end or beyond: sums need all bits that there are
    const int top = static_cast<int>(random() % 2000) - 1000, apart = 10 + static_cast<int>(random() % 45);
    const double greatest = random() % 2 == 0 ? 2 : 2 - std::ldexp(1, -f::mantissa_bits);
    for (T& v : x) v = static_cast<T>(std::ldexp(greatest, sizeof(T) == 8 ? top : top / 8)) * (random() % 16 == 0 ? -1 : 1);
    for (std::size_t k = 0; k < 1 + random() % 2; ++k)
      x[random() % x.size()] = static_cast<T>(std::ldexp(2 - std::ldexp(1, -f::mantissa_bits), (sizeof(T) == 8 ? top : top / 8) - apart)) * (random() % 2 == 0 ? -1 : 1);
  }
  return x;
}

/// Numbers for moments: those of above, and what cancels in a variance, ends in a tie, or comes out exactly.
template <class T>
std::vector<T> for_moments(std::mt19937_64& random) {
  std::vector<T> x = random() % 2 == 0 ? awkward<T>(random) : few<T>(static_cast<std::int64_t>(1 + random() % 40), std::vector<int>{1, 8, 44, 48, 90}[random() % 5], random);
  if (random() % 4 != 0) x.resize(std::min<std::size_t>(x.size(), 1 + random() % 34));
  const auto kind = random() % 6;
  const double offset = std::ldexp(1, static_cast<int>(random() % 40));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (kind == 0) x[i] = static_cast<T>(static_cast<double>(random() % 9) - 4);
    if (kind == 1) x[i] = static_cast<T>(offset + static_cast<double>(random() >> 11) * 0x1p-53);
    if (kind == 2) x[i] = x[0];
    if (kind == 3 && random() % 4 == 0) x[i] = static_cast<T>(static_cast<double>(x[i]) * std::ldexp(1, -static_cast<int>(random() % 60)));
  }
  return x;
}

/// Means, sums of squares and variances, with settings and without.
template <class T>
void check_moments() {
  using f = exact::format<T>;
  std::mt19937_64 random(23);
  for (int k = 0; k < trials(40e3); ++k) {
    const std::vector<T> x = for_moments<T>(random);
    auto sum = exact::sum_state<T>::identity();
    auto squares = exact::squares_state<T>::identity();
    auto moments = exact::moments_state<T>::identity();
    for (const T v : x) {
      sum.add(v);
      squares.add(v);
      moments.add(v);
    }
    const auto same = [&](const char* what, T got, T want) { ASSERT_EQ(f::to_bits(got), f::to_bits(want)) << what << " of " << x.size() << " elements, case " << k; };
    constexpr rounding modes[] = {rounding::nearest, rounding::down, rounding::up, rounding::zero, rounding::away};
    const rounding mode = modes[k % 3 == 0 ? random() % 5 : 0];
    const std::int64_t corrections[] = {0, 1, -3, static_cast<std::int64_t>(x.size()), static_cast<std::int64_t>(x.size()) - 1};
    const std::int64_t less = corrections[random() % 5];
    const context c{.rounding = mode};
    const correction by{less};
    same("mean", wf::mean(x, c), exact::mean<T>(sum, mode));
    same("sum of squares", wf::sum_of_squares(x, c), squares.template value<T>(mode));
    same("norm", wf::norm(x, c), squares.template norm<T>(mode));
    same("var", wf::var(x, c, by), moments.template var<T>(less, mode));
    same("std", wf::std_dev(x, c, by), moments.template std<T>(less, mode));
    same("mean, without settings,", wf::mean(x), exact::mean<T>(sum, rounding::nearest));
    same("sum of squares, without settings,", wf::sum_of_squares(x), squares.template value<T>());
    same("norm, without settings,", wf::norm(x), squares.template norm<T>());
    same("var, without settings,", wf::var(x), moments.template var<T>(0, rounding::nearest));
    same("std, without settings,", wf::std_dev(x), moments.template std<T>(0, rounding::nearest));
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST(short_moments, of_f64) { for_each_target(check_moments<double>); }
TEST(short_moments, of_f32) { for_each_target(check_moments<float>); }

/// Sums halfway between two doubles but for the last place of a number that is far smaller: what two-sums lose of them has more bits than a double.
TEST(short_moments, that_are_nearly_ties) {
  using f = exact::format<double>;
  for_each_target([] {
    std::mt19937_64 random(25);
    for (int k = 0; k < trials(20e3); ++k) {
      const std::size_t n = std::size_t{4} << random() % 4;
      std::vector<double> x;
      std::uint64_t units = 0;  // each is 2^-52
      for (std::size_t i = 2; i < n; ++i) {
        x.push_back(1 + static_cast<double>(random() >> 13) * 0x1p-51);
        units += static_cast<std::uint64_t>(x.back() * 0x1p52);
      }
      const std::uint64_t last_place = std::uint64_t{1} << (63 - __builtin_clzll(units) - 52);
      x[0] += (static_cast<double>(last_place) / 2 - static_cast<double>(units % last_place)) * 0x1p-52;
      const double small = std::ldexp(random() % 2 == 0 ? 1 : -1, -40 - static_cast<int>(random() % 25));
      x.push_back(small * (1 + 0x1p-52));
      x.push_back(-small);
      std::shuffle(x.begin(), x.end(), random);
      auto want = exact::sum_state<double>::identity();
      for (const double v : x) want.add(v);
      ASSERT_EQ(f::to_bits(wf::mean(x)), f::to_bits(exact::mean<double>(want, rounding::nearest))) << n << " elements, case " << k;
      ASSERT_EQ(f::to_bits(wf::sum(x)), f::to_bits(want.value())) << n << " elements, case " << k;
    }
  });
}

/// Ordinary data have their answers at once: else all of the above would pass without it.
template <class T>
void check_found() {
  std::mt19937_64 random(24);
  std::normal_distribution<double> normal;
  constexpr wf::options plain;
  int found[5] = {}, all = 0;
  for (std::int64_t n = 2; n <= 32; ++n)
    for (int k = 0; k < 200; ++k, ++all) {
      std::vector<T> x(static_cast<std::size_t>(n));
      for (T& v : x) v = static_cast<T>(normal(random));
      const void* const elements[] = {x.data(), nullptr};
      T out;
      int j = 0;
      for (const op o : {op::mean, op::sum_of_squares, op::norm2, op::var, op::std_dev})
        found[j++] += builtin(o, dtype_of<T>, accuracy::exact).few_run(&plain, elements, n, &out);
    }
  EXPECT_EQ(found[0], all);  // ties, too
  for (int j = 1; j < 5; ++j) EXPECT_GE(found[j], all - all / 50) << j;  // the roots of two numbers' variances are ties now and then
}
TEST(short_moments, are_found) {
  for_each_target(check_found<double>);
  for_each_target(check_found<float>);
}

/// As above under each mode of the processor, which stays as it is, with its flags.
template <class T>
void check_environments() {
  using f = exact::format<T>;
  std::mt19937_64 random(22);
  for (int k = 0; k < trials(40e3); ++k) {
    const std::vector<T> x = awkward<T>(random);
    auto want = exact::sum_state<T>::identity();
    auto squares = exact::squares_state<T>::identity();
    auto moments = exact::moments_state<T>::identity();
    for (const T v : x) {
      want.add(v);
      squares.add(v);
      moments.add(v);
    }
    const auto bits = f::to_bits(want.value());
    constexpr int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::feclearexcept(FE_ALL_EXCEPT);
    std::fesetround(modes[k % 4]);
#if defined(__SSE2__)
    const unsigned saved = _mm_getcsr(), set = k / 4 % 2 == 0 ? saved : saved | 0x8040;  // subnormals are zeros, as operands and as results
    _mm_setcsr(set);
    if (_mm_getcsr() != set) {  // valgrind's processor has no such mode
      _mm_setcsr(saved);
      std::fesetround(FE_TONEAREST);
      continue;
    }
#endif
    const T got = wf::sum(x), mean = wf::mean(x), norm = wf::norm(x), spread = wf::std_dev(x);
#if defined(__SSE2__)
    const unsigned left = _mm_getcsr();
    _mm_setcsr(saved);
#endif
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(f::to_bits(got), bits) << x.size() << " elements, case " << k;
    ASSERT_EQ(f::to_bits(mean), f::to_bits(exact::mean<T>(want, rounding::nearest))) << x.size() << " elements, case " << k;
    ASSERT_EQ(f::to_bits(norm), f::to_bits(squares.norm())) << x.size() << " elements, case " << k;
    ASSERT_EQ(f::to_bits(spread), f::to_bits(moments.std())) << x.size() << " elements, case " << k;
    ASSERT_EQ(raised, 0) << x.size() << " elements, case " << k;
#if defined(__SSE2__)
    ASSERT_EQ(left, set) << x.size() << " elements, case " << k;
#endif
  }
}

TEST(short_sums, of_f64_in_any_environment) { for_each_target(check_environments<double>); }
TEST(short_sums, of_f32_in_any_environment) { for_each_target(check_environments<float>); }

}  // namespace
}  // namespace wf::test
