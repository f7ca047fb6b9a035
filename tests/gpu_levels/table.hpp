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
