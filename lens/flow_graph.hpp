// SPDX-License-Identifier: Apache-2.0
/// \file flow_graph.hpp
/// A kernel's flow graph, built from the transitions between basic blocks that were seen, and where
/// paths that part must meet again: the immediate post-dominators.
#pragma once

#include <cstdint>
#include <vector>

namespace lens {

/// Nodes are small numbers; 0 is the end of the thread.
class flow_graph {
 public:
  static constexpr std::uint32_t exit = 0;

  /// True if it is new.
  bool add_edge(std::uint32_t from, std::uint32_t to) {
    if (from < nodes_.size())
      for (const std::uint32_t s : nodes_[from].next)
        if (s == to) return false;
    insert(from, to);
    return true;
  }

  /// To be called after edges were added, before meeting_point().
  void find_meeting_points();

  /// The first node that lies on every path from `of` to the end: its immediate post-dominator.
  std::uint32_t meeting_point(std::uint32_t of) {
    nodes_[of].used = true;
    return nodes_[of].meets;
  }

  /// False once an edge has moved a meeting point that was asked for before: what was done with it
  /// has to be done again, with all of the graph.
  bool settled() const { return settled_; }
  void settle() { settled_ = true; }

 private:
  struct node {
    std::vector<std::uint32_t> next, before;
    std::uint32_t meets = exit;
    bool used = false;
  };
  void insert(std::uint32_t from, std::uint32_t to);

  std::vector<node> nodes_{1};
  bool settled_ = true;
};

}  // namespace lens
