// SPDX-License-Identifier: Apache-2.0
// The sectors that one request touches: what of them a lane wants, and what moves for nothing.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "drawing.hpp"
#include "drawing_parts.hpp"

namespace lens {
namespace {

constexpr unsigned sector_bytes = 32, word_bytes = 4, most_sectors = 32;
constexpr unsigned nobody = ~0u, several = ~1u;

/// Which lane wants each byte.
struct touched_sector {
  std::array<unsigned, sector_bytes> lane;
  touched_sector() { lane.fill(nobody); }
};

/// The sectors by their numbers; the lowest one is 0.
std::map<std::uint64_t, touched_sector> sectors_of(const request& r) {
  std::map<std::uint64_t, touched_sector> by_address, all;
  for (unsigned l = 0; l < 32; ++l)
    for (std::uint64_t b = r.address[l]; (r.mask >> l & 1u) && b < r.address[l] + r.size; ++b) {
      unsigned& who = by_address[b / sector_bytes].lane[b % sector_bytes];
      who = who == nobody ? l : several;
    }
  for (auto& [number, s] : by_address) all[number - by_address.begin()->first] = s;
  return all;
}

std::string name_of_lane(unsigned lane) { return lane == several ? "*" : std::to_string(lane); }

}  // namespace

drawing draw_sectors(const sample& s) {
  constexpr int left = 150, top = 22, high = 13, byte = 6;
  drawing d;
  if (s.what.mask == 0) return d;
  const auto all = sectors_of(s.what);
  d.width = left + static_cast<int>(sector_bytes) * byte + 8;
  for (unsigned w = 0; w < sector_bytes / word_bytes; ++w)
    d.body += text(left + static_cast<int>(w * word_bytes) * byte + 8, 12, "soft", std::to_string(w));
  std::string grid, wanted, unused, numbers, labels;
  int y = top;
  unsigned shown = 0;
  std::uint64_t before = 0;
  for (const auto& [number, sector] : all) {
    if (shown == most_sectors) break;
    if (shown++ != 0 && number != before + 1) y += 4;  // sectors between them are not touched
    before = number;
    labels += text(0, y + 10, "ink", fmt::format("sector {}, byte {}", number, number * sector_bytes));
    for (unsigned b = 0, end; b < sector_bytes; b = end) {
      for (end = b + 1; end < sector_bytes && sector.lane[end] == sector.lane[b] && (sector.lane[b] < several || end % word_bytes != 0);) ++end;
      const int x = left + static_cast<int>(b) * byte, wide = static_cast<int>(end - b) * byte;
      const std::string name = name_of_lane(sector.lane[b]);
      (sector.lane[b] == nobody ? unused : wanted) += fmt::format("M{} {}h{}v{}h-{}z", x + 1, y + 1, wide - 1, high - 1, wide - 1);
      if (sector.lane[b] != nobody && 5 * static_cast<int>(name.size()) < wide)
        numbers += text(x + (wide - 5 * static_cast<int>(name.size())) / 2 + 1, y + 11, "on pass", name);
    }
    y += high;
    grid += fmt::format("M{} {}h{}", left, y, static_cast<int>(sector_bytes) * byte);
  }
  d.body += labels + path("palefill", unused) + path("livefill", wanted) + path("grid", grid) + numbers;
  if (shown < all.size()) {
    d.body += text(left, y + 12, "soft", fmt::format("and {} more", all.size() - shown));
    y += 14;
  }
  d.height = y + 8;
  return d;
}

std::string sectors_in_text(const sample& s) {
  const auto sectors = sectors_of(s.what);
  std::string all;
  unsigned shown = 0;
  for (const auto& [number, sector] : sectors) {
    if (shown++ == most_sectors) return all + fmt::format("and {} more\n", sectors.size() - most_sectors);
    all += fmt::format("sector {:>4}, byte {:>6}  ", number, number * sector_bytes);
    for (unsigned w = 0; w < sector_bytes; w += word_bytes) {
      const auto* const first = &sector.lane[w];
      const auto* const wants = std::find_if(first, first + word_bytes, [](unsigned l) { return l != nobody; });
      all += fmt::format(" {:>2}", wants == first + word_bytes ? "." : name_of_lane(*wants));
    }
    all += "\n";
  }
  return all;
}

}  // namespace lens
