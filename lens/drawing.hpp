// SPDX-License-Identifier: Apache-2.0
/// \file drawing.hpp
/// Pictures of a run, from what was recorded of it: as SVG, and in letters for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counting.hpp"
#include "trace.hpp"

namespace lens {

struct drawing {
  int width = 0, height = 0;
  std::string body;  ///< SVG elements, which use the classes of drawing_style()
  bool empty() const { return body.empty(); }
};

/// Which thread makes which value out of which. Rows go down with time; columns are threads (circles: their
/// registers) and places of shared memory (squares). In each stands the number of the thread that makes it, in
/// its warp's colour; what never reaches the result is pale. Lines of other files than `main_file` are named
/// with theirs.
drawing draw_values(const block_trace&, std::string_view main_file);
/// One request: a row a lane, a column a bank; the number is the pass in which a lane has its turn.
drawing draw_banks(const sample&);
/// One request to global memory: a row a sector that it touches, a column 4 bytes; the number is the lane that wants them.
drawing draw_sectors(const sample&);
/// A column an instruction of the warp, a row a lane.
drawing draw_lanes(const block_trace&, unsigned warp);

std::string values_in_text(const block_trace&, std::string_view main_file);
std::string banks_in_text(const sample&);
std::string sectors_in_text(const sample&);
std::string lanes_in_text(const block_trace&, unsigned warp);

/// The colours, by media query for light and dark; to be put once into a page or a file.
std::string drawing_style();
/// An element to stand in a page.
std::string to_svg(const drawing&, const std::string& label);
struct titled_drawing {
  std::string title;
  drawing what;
};
/// A file of its own, with the drawings below each other.
std::string to_svg_file(const std::vector<titled_drawing>&);

/// The pass over the banks in which each lane is served, 1 first; 0 for lanes that are off.
std::vector<unsigned> passes_of(const request&);

}  // namespace lens
