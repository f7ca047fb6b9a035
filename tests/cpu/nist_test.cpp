// SPDX-License-Identifier: Apache-2.0
// Univariate sets of the NIST Statistical Reference Datasets: certified mean and standard deviation.
// NumAcc1 to NumAcc4 are given by their definition. Michelso is A. A. Michelson's measurement of
// the speed of light of 1879. (Mavro, Lew and Lottery are not here: no free source of their data.)
#include <gtest/gtest.h>

#include <cmath>

#include <warpfold/warpfold.hpp>

#include "targets.hpp"

namespace wf::test {
namespace {

// One `first`, then 500 pairs of its neighbours.
template <class T>
std::vector<T> pairs_around(T first, T below, T above) {
  std::vector<T> x{first};
  for (int k = 0; k < 500; ++k) {
    x.push_back(below);
    x.push_back(above);
  }
  return x;
}

// Digits of `got` that agree with the certified value.
double digits(double got, double certified) {
  return got == certified ? 15 : std::min(15.0, -std::log10(std::fabs(got - certified) / std::fabs(certified)));
}

TEST(nist, num_acc_1) {
  const std::vector<double> x{10000001, 10000003, 10000002};
  for_each_target([&] {
    EXPECT_EQ(wf::mean(x), 10000002);
    EXPECT_EQ(wf::std_dev(x, correction{1}), 1);
  });
}

// Their values are no binary fractions, so the doubles have another spread than the decimals: by
// 2^-24 of 10000000.1 against 0.1, eight digits are left to any program that reads doubles. In
// tenths they are integers, and all digits are right.
TEST(nist, num_acc_2_3_4) {
  struct set {
    double base, certified_mean, digits_in_doubles;
  };
  for (const set& s : {set{1, 1.2, 15}, set{1000000, 1000000.2, 9}, set{10000000, 10000000.2, 8}}) {
    const auto x = pairs_around(s.base + 0.2, s.base + 0.1, s.base + 0.3);
    const auto tenths = static_cast<std::int64_t>(10 * s.base);
    const auto y = pairs_around<std::int64_t>(tenths + 2, tenths + 1, tenths + 3);
    for_each_target([&] {
      EXPECT_EQ(wf::mean(x), s.certified_mean);
      EXPECT_GE(digits(wf::std_dev(x, correction{1}), 0.1), s.digits_in_doubles - 1);
      EXPECT_EQ(wf::mean(y), static_cast<double>(tenths + 2));
      EXPECT_EQ(wf::std_dev(y, correction{1}), 1);
    });
  }
}

TEST(nist, michelso) {
  constexpr int over_299000[] = {  // km/s
      850, 740, 900,  1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960,
      960, 940, 960,  940,  880, 800, 850, 880, 900, 840, 830,  790, 810, 880, 880, 830, 800,  790,  760, 800,
      880, 880, 880,  860,  720, 720, 620, 860, 970, 950, 880,  910, 850, 870, 840, 840, 850,  840,  840, 840,
      890, 810, 810,  820,  800, 770, 760, 740, 750, 760, 910,  920, 890, 860, 880, 720, 840,  850,  850, 780,
      890, 840, 780,  810,  760, 810, 790, 810, 820, 850, 870,  870, 810, 740, 810, 940, 950,  800,  810, 870};
  std::vector<double> x;
  for (const int v : over_299000) x.push_back((299000 + v) / 1000.0);
  ASSERT_EQ(x.size(), 100u);
  for_each_target([&] {
    EXPECT_EQ(wf::mean(x), 299.8524);
    EXPECT_GE(digits(wf::std_dev(x, correction{1}), 0.0790105478190518), 13);
  });
}

}  // namespace
}  // namespace wf::test
