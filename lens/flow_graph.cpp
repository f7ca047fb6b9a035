// SPDX-License-Identifier: Apache-2.0
#include "flow_graph.hpp"

#include <algorithm>

namespace lens {

void flow_graph::insert(std::uint32_t from, std::uint32_t to) {
  nodes_.resize(std::max<std::size_t>(nodes_.size(), std::max(from, to) + 1));
  nodes_[from].next.push_back(to);
  nodes_[to].before.push_back(from);
}

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
void flow_graph::find_meeting_points() {
  constexpr std::uint32_t none = ~0u;
  const std::size_t count = nodes_.size();
  // Nodes in post-order of a walk from the end backwards; `place` is each one's position in it.
  std::vector<std::uint32_t> order, place(count, none), found(count, none);
  std::vector<bool> seen(count);
  std::vector<std::pair<std::uint32_t, std::size_t>> walk{{exit, 0}};
  seen[exit] = true;
  while (!walk.empty()) {
    auto& [at, edge] = walk.back();
    if (edge < nodes_[at].before.size()) {
      const std::uint32_t to = nodes_[at].before[edge++];
      if (!seen[to]) {
        seen[to] = true;
        walk.emplace_back(to, 0);
      }
      continue;
    }
    place[at] = static_cast<std::uint32_t>(order.size());
    order.push_back(at);
    walk.pop_back();
  }
  found[exit] = exit;
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (place[a] < place[b]) a = found[a];
      while (place[b] < place[a]) b = found[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (*it == exit) continue;
      std::uint32_t best = none;
      for (const std::uint32_t next : nodes_[*it].next) {
        if (found[next] == none) continue;
        best = best == none ? next : common(best, next);
      }
      if (found[*it] != best) {
        found[*it] = best;
        changed = true;
      }
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t meets = found[k] == none ? exit : found[k];
    if (nodes_[k].used && nodes_[k].meets != meets) settled_ = false;
    nodes_[k].meets = meets;
  }
}

}  // namespace lens
