// SPDX-License-Identifier: Apache-2.0
#include "roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace lens::profile {
namespace {

/// What both drawings show: decades of intensity across, decades of operations a second up.
struct frame {
  double left, right, bottom, top;  // powers of ten
  explicit frame(const roofline& r) {
    double low = r.ridge(), high = r.ridge(), least = r.operations_per_second;
    for (const roofline_point& p : r.points) {
      if (!drawable(p)) continue;
      low = std::min(low, p.intensity());
      high = std::max(high, p.intensity());
      least = std::min(least, p.rate());
    }
    left = std::floor(std::log10(low) - 0.3);
    right = std::ceil(std::log10(high) + 0.5);
    bottom = std::floor(std::log10(std::min(least, r.ceiling(std::pow(10, left)))));
    top = std::ceil(std::log10(r.operations_per_second) + 0.1);
  }
  double across(double intensity) const { return (std::log10(intensity) - left) / (right - left); }
  double up(double rate) const { return (std::log10(rate) - bottom) / (top - bottom); }
  static bool drawable(const roofline_point& p) {
    return p.operations > 0 && p.bytes > 0 && p.seconds > 0;
  }
};

char mark_of(std::size_t k) { return k < 26 ? static_cast<char>('A' + k) : '*'; }

/// `58.9 T f32 FLOPs a second`
std::string rate_text(const roofline& r, double rate) { return fmt::format("{} {}s a second", scaled(rate), r.operation); }

std::string about(const roofline& r, const roofline_point& p, std::size_t k) {
  if (!frame::drawable(p)) return fmt::format("  {}  no {}s of its own", p.name, r.operation);
  return fmt::format("  {} {}: {:.3g} {}s a byte, {}, {:.1f}% of the ceiling there", mark_of(k), p.name,
                     p.intensity(), r.operation, rate_text(r, p.rate()), 100 * r.reached(p));
}

}  // namespace

double roofline::ceiling(double intensity) const {
  return std::min(operations_per_second, intensity * bytes_per_second);
}
double roofline::reached(const roofline_point& p) const { return p.rate() / ceiling(p.intensity()); }

std::string roofline_text(const roofline& r) {
  constexpr int width = 64, height = 14;
  const frame f(r);
  std::vector<std::string> rows(height, std::string(width, ' '));
  const auto put = [&](double across, double up, char c) {
    const int x = static_cast<int>(std::lround(across * (width - 1)));
    const int y = static_cast<int>(std::lround((1 - up) * (height - 1)));
    if (x >= 0 && x < width && y >= 0 && y < height)
      rows[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = c;
  };
  for (int x = 0; x < width; ++x) {
    const double across = double(x) / (width - 1);
    const double intensity = std::pow(10, f.left + across * (f.right - f.left));
    put(across, f.up(r.ceiling(intensity)), intensity < r.ridge() ? '/' : '-');
  }
  std::size_t k = 0;
  for (const roofline_point& p : r.points) {
    if (frame::drawable(p)) put(f.across(p.intensity()), f.up(p.rate()), mark_of(k));
    ++k;
  }
  std::string text;
  for (int y = 0; y < height; ++y) {
    std::string label;
    if (y == 0) label = scaled(std::pow(10, f.top));
    if (y == height - 1) label = scaled(std::pow(10, f.bottom));
    text += fmt::format("{:>8} |{}\n", label, rows[static_cast<std::size_t>(y)]);
  }
  text += fmt::format("{:>8} +{}\n", "", std::string(width, '-'));
  const std::string from = fmt::format("{:.3g}", std::pow(10, f.left)),
                    to = fmt::format("{:.3g}", std::pow(10, f.right));
  text += fmt::format("{:>9} {}{:^{}}{}\n", "", from, r.operation + "s a byte",
                      width - static_cast<int>(from.size() + to.size()), to);
  text += fmt::format("  / reading {}B/s   - multiplying and adding {}\n", scaled(r.bytes_per_second),
                      rate_text(r, r.operations_per_second));
  k = 0;
  for (const roofline_point& p : r.points) text += about(r, p, k++) + "\n";
  return text;
}

std::vector<std::string> point_lines(const roofline& r) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < r.points.size(); ++k) lines.push_back(about(r, r.points[k], k));
  return lines;
}

std::string roofline_svg(const roofline& r) {
  constexpr double width = 760, height = 420, margin_left = 80, margin_bottom = 52, margin_top = 16,
                   margin_right = 20;
  const frame f(r);
  const auto x = [&](double intensity) {
    return margin_left + f.across(intensity) * (width - margin_left - margin_right);
  };
  const auto y = [&](double rate) {
    return margin_top + (1 - f.up(rate)) * (height - margin_top - margin_bottom);
  };
  std::string s = fmt::format(
      "<div class=\"scroll\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"roofline\" class=\"roofline\" "
      "style=\"min-width:640px\">\n",
      width, height);
  for (double d = f.left; d <= f.right; ++d)
    s += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.3g}</text>\n",
        x(std::pow(10, d)), margin_top, height - margin_bottom, height - margin_bottom + 18,
        std::pow(10, d));
  for (double d = f.bottom; d <= f.top; ++d)
    s += fmt::format(
        "<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        y(std::pow(10, d)), margin_left, width - margin_right, margin_left - 8,
        y(std::pow(10, d)) + 4, scaled(std::pow(10, d)));
  const double left = std::pow(10, f.left), right = std::pow(10, f.right);
  s += fmt::format("<polyline class=\"roof\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                   x(left), y(r.ceiling(left)), x(r.ridge()), y(r.operations_per_second), x(right),
                   y(r.operations_per_second));
  s += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   x(right) - 4, y(r.operations_per_second) - 6, rate_text(r, r.operations_per_second));
  const double middle = std::sqrt(left * r.ridge());
  s += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}B/s</text>\n",
                   x(middle) - 8, y(r.ceiling(middle)) - 4, scaled(r.bytes_per_second));
  std::size_t k = 0;
  for (const roofline_point& p : r.points) {
    const char mark = mark_of(k++);
    if (!frame::drawable(p)) continue;
    s += fmt::format(
        "<line class=\"gap\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<circle class=\"point\" cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"5\"><title>{3}</title></circle>"
        "<text x=\"{4:.1f}\" y=\"{5:.1f}\">{6}</text>\n",
        x(p.intensity()), y(p.rate()), y(r.ceiling(p.intensity())), escaped(about(r, p, k - 1)),
        x(p.intensity()) + 9, y(p.rate()) + 4, mark);
  }
  s += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}s a byte</text>\n"
      "<text transform=\"rotate(-90)\" x=\"{}\" y=\"14\" text-anchor=\"middle\">{}s a second</text>\n</svg></div>\n",
      (margin_left + width - margin_right) / 2, height - 10, r.operation,
      -(margin_top + height - margin_bottom) / 2, r.operation);
  return s;
}

}  // namespace lens::profile
