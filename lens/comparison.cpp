// SPDX-License-Identifier: Apache-2.0
// Which counters are shown, and what became of them from one rung to another.
#include "explanation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lens {
namespace {

std::string whole(std::uint64_t x) { return x == 0 ? "" : fmt::format("{}", x); }

std::uint64_t shared_requests(const counters& c) {
  return c.shared_load.requests + c.shared_store.requests;
}
std::uint64_t conflicts(const counters& c) {
  return c.shared_load.conflicts() + c.shared_store.conflicts() + c.shared_atomic.conflicts();
}
std::uint64_t meetings(const counters& c) {
  return c.barriers + c.outer_barriers + c.warp_syncs + c.shuffles + c.collectives;
}
std::uint64_t sectors(const counters& c) { return c.global_bytes() / 32; }

/// Active lanes of the instructions seen: memory accesses where there are any.
double active_lanes(const counters& c) {
  std::uint64_t lanes = 0, requests = 0;
  for (const memory_row& row : memory_rows) {
    lanes += (c.*row.counts).lanes;
    requests += (c.*row.counts).requests;
  }
  if (requests == 0) {
    lanes = c.block_lanes;
    requests = c.blocks;
  }
  return requests == 0 ? 0 : static_cast<double>(lanes) / static_cast<double>(requests);
}

constexpr column columns[] = {
    {"lanes", "active lanes of 32, in the mean",
     [](const counters& c) { return active_lanes(c) == 0 ? "" : fmt::format("{:.1f}", active_lanes(c)); }},
    {"flops", "floating-point operations of all lanes, atomics' additions among them",
     [](const counters& c) { return whole(c.flops); }},
    {"parts", "branches at which lanes of a warp went different ways",
     [](const counters& c) { return whole(c.divergent); }},
    {"global", "requests to global memory: one for each load or store of a warp",
     [](const counters& c) { return whole(c.global_load.requests + c.global_store.requests); }},
    {"sectors", "32-byte sectors that those and the atomics touched",
     [](const counters& c) { return whole(sectors(c)); }},
    {"shared", "requests to shared memory", [](const counters& c) { return whole(shared_requests(c)); }},
    {"conflicts", "passes over the banks beyond those that the requests need",
     [](const counters& c) { return whole(conflicts(c)); }},
    {"atomics", "atomic updates, a warp each",
     [](const counters& c) { return whole(c.global_atomic.requests + c.shared_atomic.requests); }},
    {"turns", "of atomics: lanes with the same address take turns",
     [](const counters& c) { return whole(c.global_atomic.turns + c.shared_atomic.turns); }},
    {"meets", "barriers, __syncwarp, shuffles and votes, a warp each",
     [](const counters& c) { return whole(meetings(c)); }},
};

std::string amount(double x) { return fmt::format("{:.0f}", x); }

}  // namespace

std::vector<column> columns_for(const std::vector<annotated_file>& of) {
  std::vector<column> used;
  for (const column& c : columns) {
    const auto has = [&](const annotated_file& f) {
      return std::any_of(f.lines.begin(), f.lines.end(),
                         [&](const annotated_line& l) { return !c.text(l.counted).empty(); });
    };
    if (std::any_of(of.begin(), of.end(), has)) used.push_back(c);
  }
  return used;
}

std::vector<comparison_row> compare(const explanation& before, const explanation& after) {
  std::vector<comparison_row> rows;
  const auto add = [&](std::string_view name, auto value, bool is_ratio = false) {
    const auto b = static_cast<double>(value(before)), a = static_cast<double>(value(after));
    if (a != 0 || b != 0) rows.push_back({name, b, a, is_ratio});
  };
  add("global load requests", [](const explanation& e) { return e.total.global_load.requests; });
  add("global load sectors", [](const explanation& e) { return e.total.global_load.sectors; });
  add("global store requests", [](const explanation& e) { return e.total.global_store.requests; });
  add("global atomics", [](const explanation& e) { return e.total.global_atomic.requests; });
  add("longest queue at one word", [](const explanation& e) { return e.longest_queue; });
  add("shared load requests", [](const explanation& e) { return e.total.shared_load.requests; });
  add("shared store requests", [](const explanation& e) { return e.total.shared_store.requests; });
  add("bank conflicts", [](const explanation& e) { return conflicts(e.total); });
  add("turns at shared atomics", [](const explanation& e) { return e.total.shared_atomic.turns; });
  add("barriers, a warp each", [](const explanation& e) { return e.total.barriers; });
  add("barriers of the grid or cluster", [](const explanation& e) { return e.total.outer_barriers; });
  add("__syncwarp", [](const explanation& e) { return e.total.warp_syncs; });
  add("shuffles", [](const explanation& e) { return e.total.shuffles; });
  add("votes and warp reductions", [](const explanation& e) { return e.total.collectives; });
  add("floating-point operations", [](const explanation& e) { return e.total.flops; });
  add("divergent branches", [](const explanation& e) { return e.total.divergent; });
  add("active lanes a memory access", [](const explanation& e) { return active_lanes(e.total); }, true);
  add("launches", [](const explanation& e) {
    std::uint64_t launches = 0;
    for (const kernel_counts& k : e.kernels) launches += k.launches;
    return launches;
  });
  add("pairs of lines that race", [](const explanation& e) { return e.races.size(); });
  return rows;
}

std::vector<std::string> changes_in_words(const std::vector<comparison_row>& rows) {
  std::vector<std::string> words;
  for (const comparison_row& r : rows) {
    if (r.is_ratio || r.before == r.after) continue;
    if (r.after == 0) words.push_back(fmt::format("gone: {} {}", amount(r.before), r.name));
    else if (r.before == 0) words.push_back(fmt::format("new: {} {}", amount(r.after), r.name));
    else if (r.after < r.before) words.push_back(fmt::format("{:.3g} times fewer {}", r.before / r.after, r.name));
    else words.push_back(fmt::format("{:.3g} times more {}", r.after / r.before, r.name));
  }
  if (words.empty()) words.emplace_back("no counter is different");
  return words;
}

}  // namespace lens
