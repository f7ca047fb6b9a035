// SPDX-License-Identifier: Apache-2.0
#include "drawing_parts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "drawing.hpp"

namespace lens {

unsigned columns_of(const block_trace& t) { return std::min(t.threads, most_columns); }

bool same_file(std::string_view a, std::string_view b) { return a.size() < b.size() ? b.ends_with(a) : a.ends_with(b); }

std::string place_in_words(const source_place& at, std::string_view main_file) {
  if (same_file(at.file, main_file)) return fmt::format("line {}", at.line);
  return fmt::format("{}:{}", at.file.substr(at.file.rfind('/') + 1), at.line);
}

namespace {

/// As a verb, for rows, and as a function of what it takes; a sum and a product are written between their parts.
struct operation_words {
  std::string_view verb, function, between;
};
operation_words words_of(combination how) {
  switch (how) {
    case combination::add: return {"add", "", " + "};
    case combination::product: return {"multiply", "", " · "};
    case combination::greatest: return {"max", "max", ", "};
    case combination::least: return {"min", "min", ", "};
    case combination::bit_and: return {"and", "", " & "};
    case combination::bit_or: return {"or", "", " | "};
    case combination::bit_xor: return {"xor", "", " ^ "};
    case combination::other: break;
  }
  return {"combine", "f", ", "};
}

}  // namespace

std::string row_title(const value_row& row, std::string_view main_file) {
  using kind = value_row::kind;
  // A store of what was made of words that the thread read is what was done to them.
  const bool made = std::any_of(row.steps.begin(), row.steps.end(), [](const value_step& s) { return s.from.size() > 1; });
  const std::string_view verb = words_of(row.how).verb;
  std::string name;
  switch (row.what) {
    case kind::load: name = "load"; break;
    case kind::store: name = made ? verb : "store"; break;
    case kind::read: name = made ? verb : "read"; break;
    case kind::shuffle: name = made ? fmt::format("shuffle, {}", verb) : "shuffle"; break;
    case kind::reduce: name = fmt::format("reduce, {}", verb); break;
    case kind::result: name = "result"; break;
  }
  return row.where.line == 0 ? name : fmt::format("{}, {}", name, place_in_words(row.where, main_file));
}

std::string threads_of(const value_row& row) {
  std::vector<std::pair<unsigned, unsigned>> runs;
  for (const value_step& s : row.steps) {
    if (!runs.empty() && runs.back().second + 1 == s.thread) runs.back().second = s.thread;
    else runs.emplace_back(s.thread, s.thread);
  }
  std::string words = fmt::format("{} thread{}: ", row.steps.size(), row.steps.size() == 1 ? "" : "s");
  for (std::size_t k = 0; k < std::min<std::size_t>(runs.size(), 2); ++k) {
    const auto [first, last] = runs[k];
    words += k == 0 ? "" : ", ";
    words += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
  }
  return runs.size() > 2 ? words + fmt::format(" … {}", runs.back().second) : words;
}

std::string notes_of(const value_row& row, unsigned columns) {
  std::size_t useful = 0, drawn = 0, reduced = 0;
  for (const value_step& s : row.steps) {
    useful += s.reaches_result;
    reduced += s.is_reduced;
    drawn += is_drawn(s, columns);
  }
  std::string words;
  if (reduced != 0) words = fmt::format("{} go into warps' reductions, not followed", reduced);
  else if (useful != row.steps.size()) words = fmt::format("{} of use", useful);
  if (drawn != row.steps.size())
    words += fmt::format("{}{} beyond {}, not drawn", words.empty() ? "" : "; ", row.steps.size() - drawn, columns - 1);
  if (const std::size_t racing = racing_steps(row); racing != 0) return fmt::format("{} write to one word: a race", racing);
  if (loads_apart(row)) {
    const value_step& s = row.steps.front();
    return fmt::format("{} elements each", s.elements) + (s.neighbours < s.elements ? fmt::format(", {} drawn", s.neighbours) : "");
  }
  return words;
}

bool loads_apart(const value_row& row) {
  if (row.what != value_row::kind::load) return false;
  for (std::size_t k = 0; k < row.steps.size(); ++k) {
    const value_step& s = row.steps[k];
    if (s.neighbours < 2 || s.to.in_shared) return false;
    if (k > 0 && s.thread < row.steps[k - 1].thread + row.steps[k - 1].neighbours) return false;
  }
  return !row.steps.empty();
}

std::size_t racing_steps(const value_row& row) {
  if (row.what != value_row::kind::result || row.is_atomic) return 0;
  std::map<std::uint64_t, std::size_t> writers;
  for (const value_step& s : row.steps) ++writers[s.address];
  std::size_t racing = 0;
  for (const auto& [address, count] : writers) racing += count > 1 ? count : 0;
  return racing;
}

std::string step_in_words(const value_row& row, const value_step& s) {
  const auto name = [](const holder& h) { return fmt::format("{}{}", h.in_shared ? 's' : 't', h.index); };
  const std::string to = row.what == value_row::kind::result ? "out" : name(s.to);
  if (row.what == value_row::kind::load) {
    if (s.to.in_shared) return fmt::format("t{} reads {}, which another block wrote", s.thread, to);
    if (s.from.empty() && s.elements > 1) return fmt::format("t{} loads {} elements", s.thread, s.elements);
    return s.from.empty() ? fmt::format("t{} loads", s.thread) : fmt::format("t{} loads, and has {}", s.thread, name(s.from[0]));
  }
  std::string from;
  const operation_words how = words_of(row.how);
  for (std::size_t k = 0; k < s.from.size(); ++k) {
    std::size_t end = k;  // a run of neighbours is written as its ends
    while (end + 1 < s.from.size() && s.from[end + 1] == holder{s.from[k].in_shared, s.from[end].index + 1}) ++end;
    from += std::string(from.empty() ? "" : how.between) + name(s.from[k]);
    if (end < k + 8) continue;
    from += fmt::format("{}…{}{}", how.between, how.between, name(s.from[end]));
    k = end;
  }
  if (s.from.empty()) from = "0";
  if (s.from.size() > 1 && !how.function.empty()) from = fmt::format("{}({})", how.function, from);
  return fmt::format("t{}: {} = {}", s.thread, to, from);
}

std::vector<unsigned> banks_of(const request& r, unsigned lane) {
  std::vector<unsigned> banks;
  for (std::uint64_t w = r.address[lane] / 4; w <= (r.address[lane] + r.size - 1) / 4; ++w)
    banks.push_back(static_cast<unsigned>(w % 32));
  return banks;
}

namespace {

/// Calls each(lanes) for those whose words may meet in a bank: of one group, and of one block's memory. The passes
/// of a group's blocks are the same ones, so each(…) is told whether it is the group's first.
template <class Function>
void each_group(const request& r, Function each) {
  const lane_groups g = groups_of(r);
  for (unsigned k = 0; k < g.count; ++k) {
    std::uint32_t left = r.mask & static_cast<std::uint32_t>(((std::uint64_t{1} << g.lanes) - 1) << (k * g.lanes));
    for (bool first = true; left != 0; first = false) {
      const std::uint32_t block = same_block(r, left);
      std::vector<unsigned> lanes;
      for (unsigned l = 0; l < 32; ++l)
        if (block >> l & 1u) lanes.push_back(l);
      each(lanes, first);
      left &= ~block;
    }
  }
}

}  // namespace

std::vector<unsigned> passes_of(const request& r) {
  std::vector<unsigned> pass(32);
  unsigned done = 0, most = 0;
  each_group(r, [&](const std::vector<unsigned>& lanes, bool first) {
    std::map<unsigned, std::vector<std::uint64_t>> words;  // for a bank, in the order of their passes
    if (first) done += std::exchange(most, 0);
    for (const unsigned l : lanes)
      for (std::uint64_t w = r.address[l] / 4; w <= (r.address[l] + r.size - 1) / 4; ++w) {
        auto& in = words[static_cast<unsigned>(w % 32)];
        auto at = std::find(in.begin(), in.end(), w);
        if (at == in.end()) at = in.insert(in.end(), w);
        pass[l] = std::max(pass[l], done + static_cast<unsigned>(at - in.begin()) + 1);
        most = std::max(most, static_cast<unsigned>(in.size()));
      }
  });
  return pass;
}

std::set<unsigned> crowded_banks(const request& r) {
  std::set<unsigned> crowded;
  each_group(r, [&](const std::vector<unsigned>& lanes, bool) {
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

std::string text(int x, int y, std::string_view style, std::string_view words) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, style, escaped(words));
}

std::string path(std::string_view style, const std::string& moves) {
  return moves.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, moves);
}

}  // namespace lens
