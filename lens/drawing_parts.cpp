// SPDX-License-Identifier: Apache-2.0
#include "drawing_parts.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "drawing.hpp"

namespace lens {

unsigned columns_of(const block_trace& t) { return std::min(t.threads, most_columns); }

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string row_title(const value_row& row) {
  using kind = value_row::kind;
  // A store of what was made of words that the thread read is an addition, as far as reductions go.
  const bool made = std::any_of(row.steps.begin(), row.steps.end(), [](const value_step& s) { return s.from.size() > 1; });
  std::string_view name;
  switch (row.what) {
    case kind::load: name = "load"; break;
    case kind::store: name = made ? "add" : "store"; break;
    case kind::read: name = made ? "add" : "read"; break;
    case kind::shuffle: name = "shuffle, add"; break;
    case kind::result: name = "result"; break;
  }
  return row.where.line == 0 ? std::string(name) : fmt::format("{}, line {}", name, row.where.line);
}

std::vector<unsigned> banks_of(const request& r, unsigned lane) {
  std::vector<unsigned> banks;
  for (std::uint64_t w = r.address[lane] / 4; w <= (r.address[lane] + r.size - 1) / 4; ++w)
    banks.push_back(static_cast<unsigned>(w % 32));
  return banks;
}

namespace {

/// Calls each(group's lanes).
template <class Function>
void each_group(const request& r, Function each) {
  const lane_groups g = groups_of(r);
  for (unsigned k = 0; k < g.count; ++k) {
    std::vector<unsigned> lanes;
    for (unsigned l = k * g.lanes; l < (k + 1) * g.lanes; ++l)
      if (r.mask >> l & 1u) lanes.push_back(l);
    if (!lanes.empty()) each(lanes);
  }
}

}  // namespace

std::vector<unsigned> passes_of(const request& r) {
  std::vector<unsigned> pass(32);
  unsigned done = 0;
  each_group(r, [&](const std::vector<unsigned>& lanes) {
    std::map<unsigned, std::vector<std::uint64_t>> words;  // of a bank, in the order of their passes
    unsigned most = 0;
    for (const unsigned l : lanes)
      for (std::uint64_t w = r.address[l] / 4; w <= (r.address[l] + r.size - 1) / 4; ++w) {
        auto& in = words[static_cast<unsigned>(w % 32)];
        auto at = std::find(in.begin(), in.end(), w);
        if (at == in.end()) at = in.insert(in.end(), w);
        pass[l] = std::max(pass[l], done + static_cast<unsigned>(at - in.begin()) + 1);
        most = std::max(most, static_cast<unsigned>(in.size()));
      }
    done += most;
  });
  return pass;
}

std::set<unsigned> crowded_banks(const request& r) {
  std::set<unsigned> crowded;
  each_group(r, [&](const std::vector<unsigned>& lanes) {
    std::map<unsigned, std::set<std::uint64_t>> words;
    for (const unsigned l : lanes)
      for (std::uint64_t w = r.address[l] / 4; w <= (r.address[l] + r.size - 1) / 4; ++w)
        words[static_cast<unsigned>(w % 32)].insert(w);
    for (const auto& [bank, in] : words)
      if (in.size() > 1) crowded.insert(bank);
  });
  return crowded;
}

std::string_view moment_style(warp_moment::kind k) {
  using kind = warp_moment::kind;
  switch (k) {
    case kind::global: return "global";
    case kind::shared: return "shared";
    case kind::atomic: return "atomic";
    case kind::shuffle: return "shuffle";
    default: return "meet";
  }
}

char moment_letter(warp_moment::kind k) {
  using kind = warp_moment::kind;
  switch (k) {
    case kind::global: return 'g';
    case kind::shared: return 's';
    case kind::atomic: return 'a';
    case kind::shuffle: return 'x';
    default: return '|';
  }
}

std::vector<std::pair<std::string_view, std::string_view>> moment_legend() {
  return {{"global", "global memory"}, {"shared", "shared memory"}, {"atomic", "atomic"},
          {"shuffle", "shuffle"}, {"meet", "barrier, vote"}};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  return result;
}

}  // namespace lens
