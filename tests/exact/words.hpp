// SPDX-License-Identifier: Apache-2.0
// Words to divide by and to take roots of: of every length, powers of two and their neighbours among them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace wf::test {

inline std::vector<std::uint64_t> words_of_all_lengths(int random_ones, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> x;
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t v : {power - 1, power, power + 1, power | power >> 1, ~std::uint64_t{0} - (power - 1)}) {
      if (v != 0) x.push_back(v);
    }
  }
  for (int i = 0; i < random_ones; ++i) x.push_back((random() | std::uint64_t{1} << 63) >> i % 64);
  return x;
}

}  // namespace wf::test
