// SPDX-License-Identifier: Apache-2.0
// Univariate sets of the NIST Statistical Reference Datasets: certified mean and standard deviation.
// NumAcc1 to NumAcc4 are given by their definition. Michelso is A. A. Michelson's measurement of
// the speed of light of 1879, Mavro R. Mavrodineanu's of a filter's transmittance, Lew H. S. Lew's of
// a beam's deflection, Lottery the numbers of 32 weeks of 1989 and 1990; works of the US government.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

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

// Certified values have 15 digits.
double to_15_digits(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.14e", x);
  return std::strtod(text, nullptr);
}

struct certified {
  double mean, std, autocorrelation;
};

// The autocorrelation of lag 1 also proves the order in which the data was copied.
template <class T>
void expect_certified(const std::vector<T>& x, const certified& c, double unit = 1) {
  for_each_target([&] {
    EXPECT_EQ(to_15_digits(wf::mean(x) / unit), c.mean);
    EXPECT_EQ(to_15_digits(wf::std_dev(x, correction{1}) / unit), c.std);
    std::vector<double> from_mean;
    for (const T v : x) from_mean.push_back(static_cast<double>(v) - wf::mean(x));
    const std::span<const double> all(from_mean);
    const double lagged = wf::dot(all.first(all.size() - 1), all.last(all.size() - 1));
    EXPECT_GE(digits(lagged / wf::sum_of_squares(all), c.autocorrelation), 13);
  });
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
  std::vector<std::int64_t> x;
  std::vector<double> y;
  for (const int v : over_299000) {
    x.push_back(299000 + v);
    y.push_back((299000 + v) / 1000.0);
  }
  ASSERT_EQ(x.size(), 100u);
  expect_certified(x, {299.8524, 0.0790105478190518, 0.535199668621283}, 1000);
  for_each_target([&] {
    EXPECT_EQ(wf::mean(y), 299.8524);
    // The doubles nearest to the decimals have this spread but for 2^-45 against 0.08.
    EXPECT_GE(digits(wf::std_dev(y, correction{1}), 0.0790105478190518), 13);
  });
}

TEST(nist, mavro) {
  const std::vector<std::int64_t> over_2{  // in ten-thousandths
      18, 17, 18, 19, 18, 17, 15, 14, 15, 15, 17, 18, 18, 19, 19, 21, 20, 16, 14, 13, 13, 15, 15, 16, 15,
      14, 13, 14, 15, 14, 15, 16, 15, 16, 19, 20, 20, 21, 22, 23, 24, 25, 27, 26, 26, 26, 27, 26, 25,
      24};
  ASSERT_EQ(over_2.size(), 50u);
  std::vector<std::int64_t> x;
  std::vector<double> y;
  for (const std::int64_t v : over_2) {
    x.push_back(20000 + v);
    y.push_back(static_cast<double>(x.back()) / 10000);
  }
  expect_certified(x, {2.001856, 0.000429123454003053, 0.937989183438248}, 10000);
  for_each_target([&] {
    EXPECT_EQ(wf::mean(y), 2.001856);
    // The doubles nearest to the decimals have this spread but for 2^-52 of 2 against 4e-4.
    EXPECT_GE(digits(wf::std_dev(y, correction{1}), 0.000429123454003053), 12);
  });
}

TEST(nist, lew) {
  const std::vector<double> x{
      -213, -564, -35, -15, 141, 115, -420, -360, 203, -338, -431, 194, -220, -513, 154, -125, -559, 92,
      -21, -579, -52, 99, -543, -175, 162, -457, -346, 204, -300, -474, 164, -107, -572, -8, 83, -541,
      -224, 180, -420, -374, 201, -236, -531, 83, 27, -564, -112, 131, -507, -254, 199, -311, -495, 143,
      -46, -579, -90, 136, -472, -338, 202, -287, -477, 169, -124, -568, 17, 48, -568, -135, 162, -430,
      -422, 172, -74, -577, -13, 92, -534, -243, 194, -355, -465, 156, -81, -578, -64, 139, -449, -384,
      193, -198, -538, 110, -44, -577, -6, 66, -552, -164, 161, -460, -344, 205, -281, -504, 134, -28,
      -576, -118, 156, -437, -381, 200, -220, -540, 83, 11, -568, -160, 172, -414, -408, 188, -125, -572,
      -32, 139, -492, -321, 205, -262, -504, 142, -83, -574, 0, 48, -571, -106, 137, -501, -266, 190,
      -391, -406, 194, -186, -553, 83, -13, -577, -49, 103, -515, -280, 201, 300, -506, 131, -45, -578,
      -80, 138, -462, -361, 201, -211, -554, 32, 74, -533, -235, 187, -372, -442, 182, -147, -566, 25,
      68, -535, -244, 194, -351, -463, 174, -125, -570, 15, 72, -550, -190, 172, -424, -385, 198, -218,
      -536, 96};
  ASSERT_EQ(x.size(), 200u);
  expect_certified(x, {-177.435, 277.332168044316, -0.307304800605679});
}

TEST(nist, lottery) {
  const std::vector<double> x{
      162, 671, 933, 414, 788, 730, 817, 33, 536, 875, 670, 236, 473, 167, 877, 980, 316, 950, 456, 92,
      517, 557, 956, 954, 104, 178, 794, 278, 147, 773, 437, 435, 502, 610, 582, 780, 689, 562, 964, 791,
      28, 97, 848, 281, 858, 538, 660, 972, 671, 613, 867, 448, 738, 966, 139, 636, 847, 659, 754, 243,
      122, 455, 195, 968, 793, 59, 730, 361, 574, 522, 97, 762, 431, 158, 429, 414, 22, 629, 788, 999,
      187, 215, 810, 782, 47, 34, 108, 986, 25, 644, 829, 630, 315, 567, 919, 331, 207, 412, 242, 607,
      668, 944, 749, 168, 864, 442, 533, 805, 372, 63, 458, 777, 416, 340, 436, 140, 919, 350, 510, 572,
      905, 900, 85, 389, 473, 758, 444, 169, 625, 692, 140, 897, 672, 288, 312, 860, 724, 226, 884, 508,
      976, 741, 476, 417, 831, 15, 318, 432, 241, 114, 799, 955, 833, 358, 935, 146, 630, 830, 440, 642,
      356, 373, 271, 715, 367, 393, 190, 669, 8, 861, 108, 795, 269, 590, 326, 866, 64, 523, 862, 840,
      219, 382, 998, 4, 628, 305, 747, 247, 34, 747, 729, 645, 856, 974, 24, 568, 24, 694, 608, 480, 410,
      729, 947, 293, 53, 930, 223, 203, 677, 227, 62, 455, 387, 318, 562, 242, 428, 968};
  ASSERT_EQ(x.size(), 218u);
  expect_certified(x, {518.958715596330, 291.699727470969, -0.120948622967393});
}

}  // namespace
}  // namespace wf::test
