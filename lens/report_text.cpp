// SPDX-License-Identifier: Apache-2.0
#include "explanation.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "advice.hpp"
#include "drawing.hpp"
#include "report.hpp"

namespace lens {
namespace {

std::string wrapped(const std::string& text, std::size_t width) {
  std::string all, line;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      all += line + "\n\n";
      line.clear();
      ++at;
      continue;
    }
    const auto end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      all += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return all + line + "\n";
}

std::string memory_table(const counters& c) {
  std::string all = fmt::format("  {:<14} {:>9} {:>6} {:>9} {:>10} {:>8} {:>10} {:>9} {:>5} {:>8}\n", "", "requests",
                                "lanes", "sectors", "a request", "useful", "wavefronts", "conflicts", "ways", "turns");
  for (const memory_row& row : memory_rows) {
    const memory_counts& m = c.*row.counts;
    if (m.requests == 0) continue;
    all += fmt::format("  {:<14} {:>9} {:>6}", row.name, m.requests, per(m.lanes, m.requests, 1));
    if (row.in_shared)
      all += fmt::format(" {:>9} {:>10} {:>8} {:>10} {:>9} {:>5}", "", "", "", m.wavefronts, m.conflicts(), m.ways);
    else
      all += fmt::format(" {:>9} {:>10} {:>7}% {:>10} {:>9} {:>5}", m.sectors, per(m.sectors, m.requests, 2),
                         per(100 * m.useful_bytes, 32 * m.sectors, 0), "", "", "");
    if (row.is_atomic) all += fmt::format(" {:>8}", m.turns);
    while (all.back() == ' ') all.pop_back();
    all += "\n";
  }
  return all;
}

std::string other_counts(const kernel_counts& k) {
  std::string words;
  for (const named_count& n : other_counts_of(k))
    words += (words.empty() ? "  " : ", ") + fmt::format("{} {}", n.name, n.text);
  return words.empty() ? "" : words + "\n";
}

std::string advice_lines(const explanation& e, const kernel_counts& k) {
  std::string all = "  " + occupancy_line(k) + "\n";
  for (const advice& a : advice_for(e, k)) {
    std::string text = wrapped(fmt::format("{}: {}", name_of(a.what), a.text), 96);
    for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos && at + 1 < text.size(); at += 5) text.insert(at + 1, "    ");
    all += "  * " + text;
  }
  return all;
}

std::string annotated(const explanation& e) {
  const auto files = annotate(e);
  const auto used = columns_for(files);
  std::string head, all;
  for (const column& c : used) head += fmt::format("{:>{}} ", c.name, column_width(c));
  const auto numbers = [&](const counters& counted) {
    std::string words;
    for (const column& c : used) words += fmt::format("{:>{}} ", c.text(counted), column_width(c));
    return words;
  };
  for (const annotated_file& f : files) {
    all += "\n" + head + " " + f.path + "\n";
    int before = 0;
    for (const annotated_line& l : f.lines) {
      if (before != 0 && l.number != before + 1) all += "\n";
      before = l.number;
      std::string line = numbers(l.counted) + fmt::format("{}{:>4}  {}", l.raced ? '!' : ' ', l.number, l.text);
      while (line.ends_with(' ')) line.pop_back();
      all += line + "\n";
      for (const kernel_share& s : l.shares) all += numbers(s.counted) + fmt::format("{:>7} {}\n", "", shortened(s.kernel, 60));
    }
  }
  all += "\n";
  for (const column& c : used) all += fmt::format("{:>10}: {}\n", c.name, c.meaning);
  return all;
}

std::string drawings(const explanation& e) {
  std::string all;
  for (const picture& p : pictures_of(e)) {
    all += "\n" + p.title + "\n";
    all += p.banks != nullptr     ? banks_in_text(*p.banks)
           : p.sectors != nullptr ? sectors_in_text(*p.sectors)
           : p.of_lanes           ? lanes_in_text(*p.trace, 0)
                                  : values_in_text(*p.trace, p.main_file);
  }
  if (!all.empty())
    all += "\nIn the first, # is a value that reaches the result and - one that does not, at its place or its thread. t4: s8 = s8 + s10\n"
           "is thread 4 that adds; after the colon t4 are its registers, and s8 is the ninth place of shared memory.\n"
           "Of lanes: g global, s shared, a atomic, x shuffle, | barrier or vote. Of sectors: the lane that wants these 4 bytes, . moves for nothing.\n";
  return all;
}

}  // namespace

std::string to_text(const explanation& e) {
  std::string all = headline(e) + "\n" + (e.lesson.empty() ? "" : "\n" + wrapped(e.lesson, 100));
  if (e.on_host) return all + "\n" + verdict(e) + "\nIt runs on the host: there is no kernel to count.\n";
  if (!e.is_stair) all += "\n" + verdict(e) + "\n";
  for (const std::string& o : e.outputs) all += "\n" + o + "\n";
  for (const kernel_counts& k : e.kernels) all += "\n" + kernel_line(k) + "\n" + memory_table(k.total) + other_counts(k) + advice_lines(e, k);
  if (const std::string work = intensity(e); !work.empty()) all += "\n" + work + "\n";
  for (const ladder::race_pair& r : e.races) all += "\n" + race_line(r);
  if (!e.races.empty()) all += "\n";
  return all + annotated(e) + drawings(e);
}

std::string to_text(const explanation& e, const explanation& versus) { return to_text(e) + comparison_text(e, versus); }

std::string comparison_text(const explanation& e, const explanation& versus) {
  std::string all = "\n";
  const auto rows = compare(versus, e);
  const std::size_t wide = std::clamp<std::size_t>(std::max(versus.name.size(), e.name.size()), 14, 32);
  all += fmt::format("{:<34} {:>{}} {:>{}}\n", "", shortened(versus.name, wide), wide, shortened(e.name, wide), wide);
  for (const comparison_row& r : rows)
    all += fmt::format("{:<34} {:>{}} {:>{}}\n", r.name, comparison_number(r, r.before), wide, comparison_number(r, r.after), wide);
  all += "\n" + e.name + " after " + versus.name + ":\n";
  for (const std::string& words : changes_in_words(rows)) all += "  " + words + "\n";
  return all;
}

}  // namespace lens
