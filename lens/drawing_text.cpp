// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "drawing.hpp"
#include "drawing_parts.hpp"

namespace lens {
namespace {

/// `t0: s0 = s0 + s1, t1: s2 = s2 + s3 …`
std::string examples(const value_row& row) {
  std::string words;
  unsigned shown = 0;
  for (const value_step& s : row.steps) {
    if (s.from.empty()) continue;
    if (shown++ == 2) return words + " …";
    words += (words.empty() ? "" : ", ") + step_in_words(row, s);
  }
  return words;
}

}  // namespace

std::string values_in_text(const block_trace& t, std::string_view main_file) {
  const unsigned columns = columns_of(t);
  std::size_t wide = 22;
  for (const value_row& row : t.rows) wide = std::max(wide, row_title(row, main_file).size());
  std::string all;
  for (const value_row& row : t.rows) {
    std::string marks(columns, '.');
    std::size_t drawn = 0;
    for (const value_step& s : row.steps) {
      if (!is_drawn(s, columns)) continue;
      marks[s.to.index] = s.reaches_result ? '#' : '-';
      ++drawn;
    }
    std::string line = fmt::format("{:<{}} {:>4} {} ", row_title(row, main_file), wide, row.steps.size(), marks) + examples(row);
    if (drawn != row.steps.size()) line += fmt::format(" ({} beyond {}, not drawn)", row.steps.size() - drawn, columns - 1);
    while (line.back() == ' ') line.pop_back();
    all += line + "\n";
  }
  return all;
}

std::string banks_in_text(const sample& s) {
  const std::vector<unsigned> passes = passes_of(s.what);
  std::string all = "bank     0       8       16      24\n";
  for (unsigned l = 0; l < 32; ++l) {
    if (!(s.what.mask >> l & 1u)) continue;
    std::string marks(32, '.');
    for (const unsigned bank : banks_of(s.what, l))
      marks[bank] = passes[l] < 10 ? static_cast<char>('0' + passes[l])
                                   : static_cast<char>('a' + std::min(passes[l] - 10, 25u));
    all += fmt::format("lane {:>2}  {}\n", l, marks);
  }
  return all;
}

std::string lanes_in_text(const block_trace& t, unsigned warp) {
  if (warp >= t.warps.size()) return {};
  const std::vector<warp_moment>& moments = t.warps[warp];
  const std::size_t shown = std::min<std::size_t>(moments.size(), 96);
  std::string all = "         ";
  for (std::size_t k = 0; k < shown; ++k) all += moment_letter(moments[k].what);
  all += shown < moments.size() ? fmt::format(" and {} more\n", moments.size() - shown) : "\n";
  constexpr std::string_view shades[] = {" ", "░", "▒", "▓", "█"};
  for (unsigned l = 0; l < 32; l += 4) {
    all += fmt::format("{:>2} – {:>2}  ", l, l + 3);
    for (std::size_t k = 0; k < shown; ++k)
      all += shades[static_cast<std::size_t>(std::popcount(moments[k].mask >> l & 15u))];
    all += '\n';
  }
  return all;
}

}  // namespace lens
