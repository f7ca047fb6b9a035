// SPDX-License-Identifier: Apache-2.0
#include <lens/flow_graph.hpp>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace {

using edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

lens::flow_graph made_of(const edges& all) {
  lens::flow_graph g;
  for (const auto& [from, to] : all) g.add_edge(from, to);
  g.find_meeting_points();
  return g;
}

TEST(flow_graph, paths_meet_behind_an_if_a_loop_and_a_return) {
  auto branch = made_of({{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 0}});
  EXPECT_EQ(branch.meeting_point(1), 4u);
  EXPECT_EQ(branch.meeting_point(4), 0u);
  auto loop = made_of({{1, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 0}});
  EXPECT_EQ(loop.meeting_point(2), 4u);
  EXPECT_EQ(loop.meeting_point(3), 2u);
  auto early = made_of({{1, 0}, {1, 2}, {2, 3}, {3, 0}});
  EXPECT_EQ(early.meeting_point(1), 0u);
  auto leaves_inside = made_of({{1, 2}, {2, 3}, {3, 4}, {3, 2}, {2, 5}, {4, 6}, {5, 6}, {6, 0}});
  EXPECT_EQ(leaves_inside.meeting_point(2), 6u);
  EXPECT_EQ(leaves_inside.meeting_point(3), 6u);
}

TEST(flow_graph, an_edge_is_new_once) {
  lens::flow_graph g;
  EXPECT_TRUE(g.add_edge(1, 2));
  EXPECT_FALSE(g.add_edge(1, 2));
  EXPECT_TRUE(g.add_edge(1, 0));
}

TEST(flow_graph, tells_when_an_answer_has_changed) {
  lens::flow_graph g = made_of({{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 0}});
  g.add_edge(3, 0);  // nobody has asked yet
  g.find_meeting_points();
  EXPECT_TRUE(g.settled());
  EXPECT_EQ(g.meeting_point(1), 0u);
  g.add_edge(2, 0);  // the answer stays
  g.find_meeting_points();
  EXPECT_TRUE(g.settled());
  EXPECT_EQ(g.meeting_point(4), 0u);
  g.add_edge(4, 5);
  g.add_edge(5, 0);
  g.find_meeting_points();
  EXPECT_TRUE(g.settled());
  EXPECT_EQ(g.meeting_point(5), 0u);
  auto moved = made_of({{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 0}});
  EXPECT_EQ(moved.meeting_point(1), 4u);
  moved.add_edge(3, 0);
  moved.find_meeting_points();
  EXPECT_FALSE(moved.settled());
}

/// By the definition: taking `without` away, no path is left from `from` to the end.
bool reaches_end(const std::vector<std::vector<std::uint32_t>>& next, std::uint32_t from, std::uint32_t without) {
  std::vector<std::uint32_t> walk{from};
  std::set<std::uint32_t> seen{from};
  while (!walk.empty()) {
    const std::uint32_t at = walk.back();
    walk.pop_back();
    if (at == 0) return true;
    for (const std::uint32_t to : next[at])
      if (to != without && seen.insert(to).second) walk.push_back(to);
  }
  return false;
}

TEST(flow_graph, agrees_with_the_definition_on_random_graphs) {
  const unsigned seed = 20260;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t count = 2 + random() % 14;
    edges all;
    std::vector<std::vector<std::uint32_t>> next(count);
    for (std::uint32_t k = 1; k < count; ++k)
      for (unsigned e = 0; e < 1 + random() % 3; ++e) {
        // The first edge leads on towards the end, so that every node has a way there.
        const std::uint32_t to = e == 0 ? (k + 1) % count : random() % count;
        all.emplace_back(k, to);
        next[k].push_back(to);
      }
    auto g = made_of(all);
    for (std::uint32_t k = 1; k < count; ++k) {
      // The immediate post-dominator is that which all the others post-dominate.
      std::uint32_t best = 0;
      for (std::uint32_t p = 1; p < count; ++p)
        if (p != k && !reaches_end(next, k, p) && (best == 0 || !reaches_end(next, p, best))) best = p;
      EXPECT_EQ(g.meeting_point(k), best) << "node " << k << " in round " << round;
    }
  }
}

}  // namespace
