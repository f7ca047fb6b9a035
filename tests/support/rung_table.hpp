// SPDX-License-Identifier: Apache-2.0
// The table that every place's rungs are held against: types, sizes and blocks.
#pragma once

#include <ladder/verify.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace rung_table {

inline const std::vector<std::uint64_t> sizes{0,   1,   2,   31,   32,   33,
                                              255, 256, 257, 1000, 4096, 65537};
inline const std::vector<unsigned> blocks{32, 64, 256, 1024};

inline bool fits(const ladder::rung_info& rung, unsigned block) {
  if (rung.fixed_block || rung.on_host) return block == 256;
  return block >= rung.min_block && (!rung.power_of_two || std::has_single_bit(block));
}

/// `f32_reversed`: a parameter's name as a test's.
template <class Parameter>
std::string type_and_order(const testing::TestParamInfo<Parameter>& p) {
  constexpr const char* orders[] = {"forward", "reversed", "shuffled"};
  return std::string(wf::info(std::get<0>(p.param)).name) + "_" +
         orders[static_cast<int>(std::get<1>(p.param))];
}

/// Whether the place may refuse it: no clusters before 9.0, and integers need no exact sum.
inline bool may_refuse(const ladder::place& place, wf::dtype type, const ladder::rung_info& rung) {
  return (rung.name == "cluster" && place.facts().capability < 90) ||
         (rung.name == "exact" && type == wf::dtype::i32);
}

/// Runs every rung that is not wrong on purpose on n elements with a block: a pattern of integers,
/// which must be exact, and normal data, within the bound. Gives the number of runs.
inline int check_rungs(ladder::place& place, wf::dtype type, std::uint64_t n, unsigned block) {
  const ladder::pattern pattern = ladder::make_pattern(type, n, n + 1);
  const ladder::array data = ladder::make_data(type, ladder::distribution::normal, n, n + 2);
  const ladder::reference truth(data);
  const auto rungs = place.rungs(type);
  const auto label = [&](std::size_t k) {
    return full_name(rungs[k]) + ", " + std::string(wf::info(type).name) +
           ", n = " + std::to_string(n) + ", block " + std::to_string(block) +
           ", seeds n + 1 and n + 2";
  };
  int runs = 0;
  std::vector<bool> refused(rungs.size());
  place.load(type, pattern.elements.data(), n);
  for (std::size_t k = 0; k < rungs.size(); ++k) {
    if (rungs[k].expected_wrong || !fits(rungs[k], block)) continue;
    const ladder::outcome o = place.run(k, {block, 0});
    refused[k] = !o.refused.empty();
    if (refused[k]) {
      EXPECT_TRUE(may_refuse(place, type, rungs[k])) << label(k) << ": " << o.refused;
      continue;
    }
    EXPECT_EQ(o.damage, "") << label(k);
    const auto bits = 8 * wf::info(ladder::result_type(type, rungs[k])).size;
    EXPECT_TRUE(bits == 64 || o.result >> bits == 0) << label(k) << ": bits above the result";
    EXPECT_TRUE(matches(pattern, rungs[k], o.result))
        << label(k) << ": " << ladder::result_text(ladder::result_type(type, rungs[k]), o.result)
        << " is not " << pattern.sum;
    ++runs;
  }
  place.load(type, data.data(), n);
  for (std::size_t k = 0; k < rungs.size(); ++k) {
    if (rungs[k].expected_wrong || !fits(rungs[k], block) || refused[k]) continue;
    const ladder::outcome o = place.run(k, {block, 3});
    const ladder::judgement judged = truth.judge(rungs[k], o.result, o.depth);
    EXPECT_TRUE(judged.right) << label(k) << ": "
                              << ladder::result_text(ladder::result_type(type, rungs[k]), o.result)
                              << ": " << judged.why;
    ++runs;
  }
  return runs;
}

}  // namespace rung_table
