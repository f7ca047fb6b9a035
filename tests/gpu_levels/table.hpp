// SPDX-License-Identifier: Apache-2.0
/// \file table.hpp
/// Levels × reductions × lengths × shapes, on any machine, against a fold of one element after the other.
#pragma once

#include <gtest/gtest.h>

#include "levels.hpp"

inline std::vector<std::uint64_t> answers_wanted(const level_request& r) {
  switch (r.what) {
    case kind::polynomial: return folded_groups<polynomial>(r, level_data<std::uint8_t>(r.n));
    case kind::longest_run: return folded_groups<longest_run>(r, level_data<std::int32_t>(r.n));
    case kind::triples: return folded_groups<triples>(r, level_data<triple>(r.n));
  }
  return {};
}

/// Blocks of two and three dimensions, and of any number of threads.
template <class Run>
void check_shapes_of_blocks(Run run) {
  for (const kind what : {kind::polynomial, kind::longest_run, kind::triples}) {
    struct shape { unsigned x, y, z; };
    for (const shape s : {shape{1, 1, 1}, {5, 1, 1}, {31, 1, 1}, {33, 1, 1}, {64, 1, 1}, {100, 1, 1}, {1, 7, 1}, {16, 16, 1}, {8, 4, 2}, {3, 5, 7}, {11, 3, 31}, {1, 1, 64}, {1023, 1, 1}}) {
      const level_request r{level::block, what, 5003, 3, s.x * s.y * s.z, 1, s.x, s.y};
      const level_answers a = run(r);
      const std::string where = "reduction " + std::to_string(static_cast<int>(what)) + ", blocks of " + std::to_string(s.x) + " x " +
                                std::to_string(s.y) + " x " + std::to_string(s.z);
      ASSERT_EQ(a.error, "") << where;
      ASSERT_EQ(a.got, answers_wanted(r)) << where;
    }
  }
}

template <class Run>
void check_level(level at, Run run, const std::vector<std::int64_t>& lengths) {
  for (const kind what : {kind::polynomial, kind::longest_run, kind::triples}) {
    for (const std::int64_t n : lengths) {
      struct shape { unsigned blocks, threads, cluster; };
      for (const shape s : {shape{1, 32, 1}, {4, 32, 2}, {6, 96, 3}, {8, 256, 8}, {8, 64, 4}}) {
        const level_request r{at, what, n, s.blocks, s.threads, s.cluster};
        const level_answers a = run(r);
        const std::string where = std::string(name_of(at)) + ", reduction " + std::to_string(static_cast<int>(what)) +
                                  ", n = " + std::to_string(n) + ", " + std::to_string(s.blocks) + " blocks of " +
                                  std::to_string(s.threads) + " in clusters of " + std::to_string(s.cluster);
        ASSERT_EQ(a.error, "") << where;
        ASSERT_EQ(a.got, answers_wanted(r)) << where;
      }
    }
  }
}
