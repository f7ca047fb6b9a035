// SPDX-License-Identifier: Apache-2.0
// Runs of elements into exact states (src/cpu/exact_sinks.hpp), on every target: each digit and counter is that of adds
// one by one, also where no answer shows it, as how many NaNs were left out.
#include <gtest/gtest.h>

#include <cmath>

#include "../../src/cpu/exact_sinks.hpp"

#include "../support/effort.hpp"
#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

template <class State>
std::vector<std::int64_t> words(State s) {
  s.normalise();
  return {s.data(), s.data() + State::words};
}

template <class T>
std::vector<std::vector<std::int64_t>> run(const std::vector<T>& x, const std::vector<T>& y) {
  auto sum = exact::sum_state<T>::identity();
  auto squares = exact::squares_state<T>::identity();
  auto dot = exact::dot_state<T>::identity();
  auto moments = exact::moments_state<T>::identity();
  const void* at[] = {x.data(), y.data()};
  const auto n = static_cast<std::int64_t>(x.size());
  cpu::exact_values<T>(sum, at, n, false);
  cpu::exact_squares<T>(squares, at, n);
  cpu::exact_products<T>(dot, at, n);
  cpu::exact_moments<T>(moments, at, n);
  return {words(sum), words(squares), words(dot), words(moments)};
}

template <class T>
std::vector<std::vector<std::int64_t>> one_by_one(const std::vector<T>& x, const std::vector<T>& y) {
  auto sum = exact::sum_state<T>::identity();
  auto squares = exact::squares_state<T>::identity();
  auto dot = exact::dot_state<T>::identity();
  auto moments = exact::moments_state<T>::identity();
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum.add(x[i]);
    squares.add(x[i]);
    dot.add(x[i], y[i]);
    moments.add(x[i]);
  }
  return {words(sum), words(squares), words(dot), words(moments)};
}

template <class T>
void check(const std::vector<T>& x, const std::vector<T>& y) {
  const auto want = one_by_one(x, y);
  for_each_target([&] {
    const auto got = run(x, y);
    for (std::size_t k = 0; k < 4; ++k) {
      constexpr const char* of[] = {"sum", "squares", "dot", "moments"};
      EXPECT_EQ(got[k], want[k]) << of[k];
    }
  });
}

template <class T>
class runs : public testing::Test {
 protected:
  using f = exact::format<T>;
  static constexpr typename f::bits kinds[] = {f::infinity, f::infinity | f::sign_mask, f::quiet_nan,
                                               f::infinity | f::sign_mask | 1};
  generator random{seed() + 20};

  T special() { return from<T>(kinds[random() % 4]); }
};
using float_list = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(runs, float_list);

TYPED_TEST(runs, are_those_of_adds_for_every_family) {
  static some_of_all chosen;
  for (const family k : all_families)
    for (const std::size_t n : {3u, 100u, 1500u, 9001u}) {
      if (n > 100 && !chosen()) continue;
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      check(make<TypeParam>(k, n, this->random), make<TypeParam>(k, n, this->random));
      if (testing::Test::HasFailure()) return;
    }
}

// At every place of a vector and of a block, at the ends of tiles and in what is left of them.
TYPED_TEST(runs, leave_out_and_count_one_special_wherever_it_is) {
  static some_of_all chosen;
  for (const family k : {family::normal, family::subnormals, family::finite_bits}) {
    const auto x = make<TypeParam>(k, 4096 + 75, this->random), y = make<TypeParam>(k, x.size(), this->random);
    for (std::size_t at = 0; at < x.size(); at += at < 130 || at > 4000 ? 1 : 97) {
      if (!chosen()) continue;
      SCOPED_TRACE(std::string(name(k)) + ", at " + std::to_string(at));
      auto one = x, other = y;
      (this->random() % 4 != 0 ? one : other)[at] = this->special();
      check(one, other);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(runs, leave_out_and_count_few_and_many_specials) {
  for (const family k : {family::normal, family::subnormals, family::finite_bits, family::constant})
    for (const unsigned one_of : {1u, 2u, 3u, 30u, 1000u}) {
      SCOPED_TRACE(std::string(name(k)) + ", one of " + std::to_string(one_of));
      auto x = make<TypeParam>(k, 20'000, this->random), y = make<TypeParam>(k, x.size(), this->random);
      for (auto& v : x) v = this->random() % one_of == 0 ? this->special() : v;
      for (auto& v : y) v = this->random() % (2 * one_of) == 0 ? this->special() : v;
      for (std::size_t i = 0; i < x.size(); i += 7) x[i] = TypeParam(0.0f);  // 0 times an infinity is a NaN
      check(x, y);
    }
}

// Every window that reaches below the least normal number, and those next to it: all bits set, so that each addition
// carries; with one number far above, which the window cannot hold; with one at its upper end.
TEST(tiny_runs, are_those_of_adds_in_every_window) {
  generator random(seed() + 21);
  static some_of_all chosen;
  for (int e = -1074; e < -480; e += e < -1010 || e > -560 ? 3 : 17)
    for (const double above : {0.0, 1.0, 20.0, 500.0, 1000.0, 1500.0}) {
      if (!chosen()) continue;
      SCOPED_TRACE("2^" + std::to_string(e) + ", one 2^" + std::to_string(above) + " above");
      std::vector<double> x(5000), y(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = std::ldexp(2 - 0x1p-52, e);
        x[i] = above == 1500 && random() % 2 != 0 ? -v : v;
        y[i] = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 40) - 60);
      }
      if (above != 0) x[random() % x.size()] = std::ldexp(1.5, e + static_cast<int>(above));
      check(x, y);
      if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace wf::test
