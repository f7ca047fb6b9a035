// SPDX-License-Identifier: Apache-2.0
/// \file roofline.hpp
/// How fast a kernel could be: the lower of what memory and what arithmetic allow at its ratio of
/// operations to bytes (Williams, Waterman, Patterson: Roofline, 2009). Both ceilings are measured.
#pragma once

#include <string>
#include <vector>

namespace lens::profile {

struct roofline_point {
  std::string name;
  double operations = 0, bytes = 0, seconds = 0;
  double intensity() const { return operations / bytes; }  ///< operations a byte
  double rate() const { return operations / seconds; }     ///< operations a second
};

struct roofline {
  double bytes_per_second = 0;       ///< for a kernel that only reads
  double operations_per_second = 0;  ///< for a kernel that only multiplies and adds
  std::string operation;             ///< `f32 FLOP`
  std::vector<roofline_point> points;

  double ridge() const { return operations_per_second / bytes_per_second; }
  /// The most operations a second at an intensity.
  double ceiling(double intensity) const;
  /// The rate of a point over the ceiling above it.
  double reached(const roofline_point&) const;
};

/// Both axes are logarithmic: 72 x 18 characters, and a drawing, in a box that scrolls where it is narrow.
std::string roofline_text(const roofline&);
std::string roofline_svg(const roofline&);
/// Each point's mark, name, intensity, rate, and share of the ceiling there.
std::vector<std::string> point_lines(const roofline&);

}  // namespace lens::profile
