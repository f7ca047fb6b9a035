// SPDX-License-Identifier: Apache-2.0
/// \file replay.hpp
/// A warp's life from its lanes' recordings: which lanes are together at which instruction. A stack of
/// lanes that wait where paths meet again, as the hardware before Volta had in silicon.
#pragma once

#include <simt/recorder.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "flow_graph.hpp"
#include "request.hpp"

namespace lens {

/// Visitor:
///   entered(site, mask)            the lanes of the mask enter a basic block together
///   accessed(event, request)       they make one memory instruction; the event is the lowest lane's
///   arrived(event, mask)           they come to a barrier, a shuffle, …; the same
///   diverged(site, mask, paths)    they leave a basic block for `paths` different ones
template <class Visitor>
class warp_replay {
 public:
  explicit warp_replay(Visitor& visitor) : visitor_(visitor) {}

  /// The graph has to hold every edge of these lanes.
  void run(const simt::block_recording& block, std::uint32_t warp, flow_graph& graph) {
    std::uint32_t all = 0;
    for (std::uint32_t l = 0; l < 32; ++l) {
      const std::span<const simt::event> lane = block.lane(warp, l);
      at_[l] = lane.data();
      end_[l] = lane.data() + lane.size();
      all |= std::uint32_t{!lane.empty()} << l;
    }
    if (all == 0) return;
    make_events(all);  // for a lane's first basic block, where a compiler left its mark out
    stack_.assign(1, {all, flow_graph::exit});
    while (!stack_.empty()) {
      const path top = stack_.back();
      const std::uint32_t node = next(lowest(top.mask));
      if (node == top.until || node == flow_graph::exit) {
        stack_.pop_back();
        continue;
      }
      for (std::uint32_t m = top.mask; m != 0; m &= m - 1) ++at_[lowest(m)];
      const std::uint32_t site = at_[lowest(top.mask)][-1].site;
      visitor_.entered(site, top.mask);
      make_events(top.mask);
      part(top.mask, node, site, graph);
    }
  }

 private:
  using kind = simt::event_kind;
  struct path {
    std::uint32_t mask, until;
  };

  static std::uint32_t lowest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
  }

  /// The basic block that a lane enters next. make_events() has passed what is none.
  std::uint32_t next(std::uint32_t lane) const {
    return at_[lane] == end_[lane] ? flow_graph::exit : at_[lane]->extra;
  }

  /// Reports that a meeting is complete, and reports of fences, count as no cost of a warp.
  bool has_event(std::uint32_t lane) {
    for (; at_[lane] != end_[lane]; ++at_[lane]) {
      const kind k = at_[lane]->what();
      if (k <= kind::atomic_update || k == kind::arrival) return true;
      if (k == kind::basic_block) return false;
    }
    return false;
  }

  /// Lanes in one basic block do the same things, one after the other.
  void make_events(std::uint32_t mask) {
    for (;;) {
      std::uint32_t rest = 0;
      for (std::uint32_t m = mask; m != 0; m &= m - 1) rest |= std::uint32_t{has_event(lowest(m))} << lowest(m);
      if (rest == 0) return;
      mask = rest;
      const simt::event& first = *at_[lowest(rest)];
      now_.mask = 0;
      for (std::uint32_t m = rest; m != 0; m &= m - 1) {
        const std::uint32_t l = lowest(m);
        const simt::event& e = *at_[l];
        if (e.site != first.site || e.kind != first.kind || e.size != first.size) continue;
        now_.mask |= 1u << l;
        now_.address[l] = e.address;
      }
      now_.size = first.size;
      if (first.what() == kind::arrival) visitor_.arrived(first, now_);
      else visitor_.accessed(first, now_);
      for (std::uint32_t m = now_.mask; m != 0; m &= m - 1) ++at_[lowest(m)];
    }
  }

  void part(std::uint32_t mask, std::uint32_t node, std::uint32_t site, flow_graph& graph) {
    const std::uint32_t first = next(lowest(mask));
    bool together = true;
    for (std::uint32_t m = mask; m != 0; m &= m - 1) together &= next(lowest(m)) == first;
    if (together) return;
    const std::uint32_t meet = graph.meeting_point(node);
    unsigned paths = 0;
    for (std::uint32_t rest = mask; rest != 0;) {
      const std::uint32_t to = next(lowest(rest));
      std::uint32_t same = 0;
      for (std::uint32_t m = rest; m != 0; m &= m - 1)
        same |= std::uint32_t{next(lowest(m)) == to} << lowest(m);
      rest &= ~same;
      ++paths;
      if (to != meet) stack_.push_back({same, meet});
    }
    visitor_.diverged(site, mask, paths);
  }

  Visitor& visitor_;
  std::array<const simt::event*, 32> at_, end_;
  std::vector<path> stack_;
  request now_;
};

}  // namespace lens
