// SPDX-License-Identifier: Apache-2.0
// The race check over the whole ladder: it names the racing lines of `race` and `unroll_warp`, and
// no other rung has any, whatever the order of the blocks.
#include "../support/rung_table.hpp"

#include <ladder/races.hpp>
#include <simt/machine.hpp>

#include <fstream>
#include <set>
#include <string>

namespace {

using wf::dtype;

/// The lines that end in the comment `// racy`, as `ladder/02_race.cuh:18`.
std::set<std::string> marked_lines(std::string_view file) {
  const std::string path = "ladder/" + std::string(file);
  std::ifstream in(WARPFOLD_SOURCE "/" + path);
  EXPECT_TRUE(in) << path;
  std::set<std::string> lines;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with("// racy")) lines.insert(path + ":" + std::to_string(number));
  }
  return lines;
}

std::set<std::string> raced_lines(const std::vector<ladder::race_pair>& races) {
  std::set<std::string> lines;
  for (const ladder::race_pair& r : races)
    for (const ladder::race_line& l : {r.a, r.b})
      lines.insert(l.file + ":" + std::to_string(l.line));
  return lines;
}

class race_check : public testing::TestWithParam<std::tuple<dtype, simt::block_order>> {};

TEST_P(race_check, names_the_two_and_no_other) {
  const auto [type, order] = GetParam();
  const auto lens = ladder::open_lens();
  const auto rungs = lens->rungs(type);
  for (const std::uint64_t n : {0, 1, 1000, 16384}) {
    const ladder::pattern pattern = ladder::make_pattern(type, n, n + 1);
    lens->load(type, pattern.elements.data(), n);
    for (std::size_t k = 0; k < rungs.size(); ++k) {
      const ladder::rung_info& rung = rungs[k];
      if (rung.on_host) continue;
      SCOPED_TRACE(full_name(rung) + ", n = " + std::to_string(n));
      const ladder::watched_run w = run_watched(*lens, type, k, {256, 2}, order);
      if (!w.ran.refused.empty()) continue;
      if (!rung.expected_wrong) {
        EXPECT_EQ(raced_lines(w.races), std::set<std::string>());
        EXPECT_TRUE(matches(pattern, rung, w.ran.result));
      } else if (n >= 1000) {
        EXPECT_EQ(raced_lines(w.races), marked_lines(rung.file));
        EXPECT_FALSE(matches(pattern, rung, w.ran.result));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    lens, race_check,
    testing::Combine(testing::Values(dtype::f32, dtype::f64, dtype::i32, dtype::f16),
                     testing::Values(simt::block_order::forward, simt::block_order::reversed,
                                     simt::block_order::shuffled)),
    [](const auto& p) { return rung_table::type_and_order(p); });

TEST(marked_lines, are_there) {
  EXPECT_EQ(marked_lines("02_race.cuh").size(), 1u);
  EXPECT_EQ(marked_lines("11_unroll_warp.cuh").size(), 6u);
}

}  // namespace
