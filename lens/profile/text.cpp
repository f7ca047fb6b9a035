// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <lens/names.hpp>

namespace lens::profile {

std::string scaled(double x) {
  constexpr const char* units[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
  if (!(x > 0)) return "0 ";
  int unit = 3;
  for (; x >= 999.5 && unit < 9; ++unit) x /= 1000;
  for (; x < 0.9995 && unit > 0; --unit) x *= 1000;
  return fmt::format("{:.3g} {}", x, units[unit]);
}

std::string duration(double seconds) {
  if (seconds < 0.9995e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string number(double x) {
  if (std::isnan(x)) return "-";
  return x == std::floor(x) && std::abs(x) < 1e15 ? fmt::format("{:.0f}", x) : fmt::format("{:.3f}", x);
}

std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text) switch (c) {
      case '<': all += "&lt;"; break;
      case '>': all += "&gt;"; break;
      case '&': all += "&amp;"; break;
      case '"': all += "&quot;"; break;
      default: all += c;
    }
  return all;
}

namespace {

/// Characters, of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], width_of(row[k]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string blank(widths[k] - width_of(row[k]), ' ');
      line += k == 0 ? row[k] + blank : "  " + blank + row[k];
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string table_html(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"scroll\"><table>\n";
  bool head = true;
  for (const auto& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row)
      text += fmt::format("<{0}>{1}</{0}>", head ? "th" : "td", escaped(cell));
    text += "</tr>\n";
    head = false;
  }
  return text + "</table></div>\n";
}

std::string kernel_name(const std::string& name) { return short_name(name); }

}  // namespace lens::profile
