// SPDX-License-Identifier: Apache-2.0
// Every operation of f16 and bf16 gives what a GPU gives, in 2^20 cases each, by checksum.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include <simt/bfloat16.hpp>
#include <simt/half.hpp>

using namespace simt;

#include "half_cases.hpp"

namespace {

struct golden {
  int log2_count;
  std::uint64_t checksum;
};

std::map<std::string, golden> read_golden() {
  std::map<std::string, golden> all;
  std::ifstream file(SIMT_HOST_FOLDER "/half_golden.txt");
  golden g;
  for (std::string name; file >> name >> g.log2_count >> std::hex >> g.checksum >> std::dec;)
    all[name] = g;
  return all;
}

template <class Case>
std::uint64_t checksum(int log2_count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << log2_count; ++i)
    sum += half_cases::term<Case>(i);
  return sum;
}

TEST(Half, ComputesWhatAGpuComputes) {
  const auto all = read_golden();
  std::size_t cases = 0;
#define HALF_CHECK(name, T, T2, M, expression)                                                     \
  {                                                                                                \
    ASSERT_TRUE(all.contains(#name)) << #name;                                                     \
    const golden expected = all.at(#name);                                                         \
    EXPECT_EQ(checksum<half_cases::name##_case>(expected.log2_count), expected.checksum) << #name; \
    ++cases;                                                                                       \
  }
  HALF_CASES(HALF_CHECK)
  EXPECT_EQ(cases, all.size());
  EXPECT_EQ(cases, 106u);
}

}  // namespace
