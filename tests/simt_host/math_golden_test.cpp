// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions give on simt what a GPU gave (math_golden.txt, by math_golden.cu): to the last bit where CUDA
// promises that, else within CUDA's stated error of each other (math_bounds_test.cpp holds simt to the same of the truth).
#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "math_golden.hpp"

namespace {

struct golden {
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> answers;
};

std::map<std::string, golden> read_golden() {
  std::map<std::string, golden> all;
  std::ifstream file(SIMT_HOST_FOLDER "/math_golden.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    golden g;
    words >> name >> std::hex >> g.checksum;
    for (std::uint64_t a = 0; words >> a;) g.answers.push_back(a);
    all[name] = g;
  }
  return all;
}

/// Neighbours differ by 1, NaN from every number and 0 from -0 by infinitely much.
template <class Bits>
double units_between(Bits a, Bits b) {
  constexpr Bits nan = static_cast<Bits>(~Bits{0} >> 1);
  if (a == nan || b == nan) return a == b ? 0 : HUGE_VAL;
  if (((a | b) & nan) == 0 && a != b) return HUGE_VAL;
  const auto place = [](Bits u) { return (u > nan ? -1.0L : 1.0L) * static_cast<long double>(u & nan); };
  return static_cast<double>(std::abs(place(a) - place(b)));
}

/// CUDA states no bound there, or one of the absolute error, which math_bounds_test.cpp holds simt to.
template <class T>
bool has_bound(const std::string& name, T x) {
  if (name.starts_with("lgamma")) return !(x > T(-23.01) && x < T(-2.26));
  if (name[1] == '0' || name[1] == '1') return std::abs(x) < 8;
  return true;
}

template <class Case>
void compare(const std::map<std::string, golden>& all, const std::string& name) {
  using bits = typename math_cases::format<typename Case::type>::bits;
  const auto found = all.find(name);
  ASSERT_NE(found, all.end()) << name;
  ASSERT_EQ(found->second.answers.size(), math_golden::answers) << name;
  for (unsigned i = 0; i < math_golden::answers; ++i) {
    if (!has_bound(name, math_cases::argument<typename Case::type>(i))) continue;
    EXPECT_LE(units_between(Case::run(i), static_cast<bits>(found->second.answers[i])), Case::bound) << name << ", argument " << i;
  }
  if (Case::bound != 0) return;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < math_golden::summed; ++i) sum += math_golden::term<Case>(i);
  EXPECT_EQ(sum, found->second.checksum) << name;
}

TEST(math_golden, what_a_gpu_computes) {
  const auto all = read_golden();
  std::size_t cases = 0;
#define MATH_GOLDEN_USE(Case, name) compare<math_golden::Case>(all, name), ++cases;
  MATH_GOLDEN_CASES
  EXPECT_EQ(all.size(), cases);
}

// The comparison itself can fail.
TEST(math_golden, units) {
  EXPECT_EQ(units_between<std::uint32_t>(0x3f800000, 0x3f800001), 1);
  EXPECT_EQ(units_between<std::uint32_t>(0x00000000, 0x80000001), 1);
  EXPECT_EQ(units_between<std::uint32_t>(0x7f800000, 0x7fffffff), HUGE_VAL);
  EXPECT_EQ(units_between<std::uint32_t>(0x00000000, 0x80000000), HUGE_VAL);
  EXPECT_EQ(math_golden::sqrt_f64_case::run(5), std::uint64_t{1023} << 52);  // the edge 1
}

}  // namespace
