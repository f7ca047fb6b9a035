// SPDX-License-Identifier: Apache-2.0
#include "drawing.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "drawing_parts.hpp"

namespace lens {
namespace {

constexpr int left = 150, top = 22;

}  // namespace

drawing draw_banks(const sample& s) {
  constexpr int wide = 20, high = 13;
  drawing d;
  if (s.what.mask == 0) return d;
  const std::vector<unsigned> passes = passes_of(s.what);
  const std::set<unsigned> crowded = crowded_banks(s.what);
  d.width = left + 32 * wide + 8;
  for (unsigned b = 0; b < 32; ++b)
    d.body += text(left + static_cast<int>(b) * wide + 3, 12, crowded.contains(b) ? "bad" : "soft", std::to_string(b));
  std::string grid, good, bad, numbers;
  int y = top;
  for (unsigned l = 0; l < 32; ++l, y += high) {
    const bool on = s.what.mask >> l & 1u;
    grid += fmt::format("M{} {}h{}", left, y + high, 32 * wide);
    d.body += text(70, y + 10, on ? "ink" : "soft", fmt::format("lane {}{}", l, on ? "" : ", off"));
    if (!on) continue;
    for (const unsigned bank : banks_of(s.what, l)) {
      const int x = left + static_cast<int>(bank) * wide;
      (crowded.contains(bank) ? bad : good) += fmt::format("M{} {}h{}v{}h-{}z", x + 1, y + 1, wide - 2, high - 1, wide - 2);
      numbers += text(x + (passes[l] > 9 ? 3 : 6), y + 11, "on pass", std::to_string(passes[l]));
    }
  }
  for (unsigned b = 0; b <= 32; b += 4) grid += fmt::format("M{} {}v{}", left + static_cast<int>(b) * wide, top, 32 * high);
  d.body += path("grid", grid) + path("livefill", good) + path("badfill", bad) + numbers;
  d.height = y + 8;
  return d;
}

drawing draw_lanes(const block_trace& t, unsigned warp) {
  constexpr int wide = 8, high = 6;
  drawing d;
  if (warp >= t.warps.size() || t.warps[warp].empty()) return d;
  const std::vector<warp_moment>& all = t.warps[warp];
  const std::size_t shown = std::min(all.size(), most_moments);
  d.width = left + static_cast<int>(std::max<std::size_t>(shown, 70)) * wide + 8;
  std::map<std::string_view, std::string> cells;
  for (std::size_t k = 0; k < shown; ++k) {
    const int x = left + static_cast<int>(k) * wide;
    for (unsigned l = 0; l < 32;) {
      unsigned end = l;
      while (end < 32 && (all[k].mask >> end & 1u)) ++end;
      if (end > l)
        cells[moment_style(all[k].what)] += fmt::format("M{} {}h{}v{}h-{}z", x, top + static_cast<int>(l) * high,
                                                        wide - 1, static_cast<int>(end - l) * high, wide - 1);
      l = end + 1;
    }
  }
  d.body += fmt::format("<rect class=\"ground\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", left, top,
                        static_cast<int>(shown) * wide - 1, 32 * high);
  for (const auto& [style, moves] : cells) d.body += path(style, moves);
  for (unsigned l = 0; l < 32; l += 8)
    d.body += text(70, top + static_cast<int>(l) * high + 9, "soft", fmt::format("lane {}", l));
  int x = left;
  for (const auto& [style, name] : moment_legend()) {
    if (!cells.contains(style)) continue;
    d.body += path(style, fmt::format("M{} 5h9v9h-9z", x)) + text(x + 13, 13, "soft", name);
    x += 20 + 7 * static_cast<int>(name.size());
  }
  d.height = top + 32 * high + 8;
  if (shown < all.size()) {
    d.body += text(left, d.height + 8, "soft", fmt::format("and {} more", all.size() - shown));
    d.height += 14;
  }
  return d;
}

std::string drawing_style() {
  return ".drawing{font:11px system-ui,-apple-system,'Segoe UI',sans-serif;"
         "--ink:#1f2328;--soft:#656d76;--pale:#d0d7de;--live:#0969da;--bad:#cf222e;--ground:#f1f3f5;"
         "--on:#fff;--other:#bc4c00;--shared:#1a7f37;--atomic:#bc4c00;--meet:#8c959f;--shuffle:#8250df}\n"
         "@media(prefers-color-scheme:dark){.drawing{--ink:#e6edf3;--soft:#9198a1;--pale:#3d444d;--live:#4493f8;"
         "--bad:#f85149;--ground:#1c2128;--on:#0d1117;--other:#f0883e;--shared:#3fb950;--atomic:#f0883e;--meet:#9198a1;--shuffle:#ab7df8}}\n"
         ".drawing .ink{fill:var(--ink)}.drawing .soft{fill:var(--soft)}.drawing .bad{fill:var(--bad);font-weight:600}\n"
         ".drawing .title{fill:var(--ink);font-size:13px;font-weight:600}\n"
         ".drawing .by{fill:var(--ink);font-size:8px;pointer-events:none}.drawing .narrow{font-size:5.5px}.drawing .on{fill:var(--on)}.drawing .pass{font-size:9px}\n"
         ".drawing .line0{stroke:var(--live);fill:none;stroke-width:1.2}.drawing .warp0{fill:var(--live)}\n"
         ".drawing .line1{stroke:var(--other);fill:none;stroke-width:1.2}.drawing .warp1{fill:var(--other)}\n"
         ".drawing .pale{stroke:var(--pale);fill:none}.drawing .grid{stroke:var(--pale);fill:none;stroke-width:.5}\n"
         ".drawing .livefill,.drawing .global{fill:var(--live)}.drawing .palefill{fill:var(--pale)}\n"
         ".drawing .badfill{fill:var(--bad)}.drawing .ground{fill:var(--ground)}\n"
         ".drawing .shared{fill:var(--shared)}.drawing .atomic{fill:var(--atomic)}\n"
         ".drawing .meet{fill:var(--meet)}.drawing .shuffle{fill:var(--shuffle)}\n";
}

std::string to_svg(const drawing& d, const std::string& label) {
  return fmt::format("<svg class=\"drawing\" role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n{}</svg>\n",
                     escaped(label), d.width, d.height, d.width, d.height, d.body);
}

std::string to_svg_file(const std::vector<titled_drawing>& all) {
  int width = 0, y = 8;
  std::string body;
  for (const titled_drawing& t : all) {
    if (t.what.empty()) continue;
    width = std::max({width, t.what.width, 8 * static_cast<int>(t.title.size())});  // a bold letter is up to 8 wide, in the mean
    body += text(0, y + 10, "title", t.title);
    body += fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", y + 22, t.what.body);
    y += 22 + t.what.height + 16;
  }
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawing\" width=\"{}\" height=\"{}\" viewBox=\"-8 0 {} {}\">\n"
                     "<style>\n{}</style>\n{}</svg>\n",
                     width + 16, y, width + 16, y, drawing_style(), body);
}

}  // namespace lens
