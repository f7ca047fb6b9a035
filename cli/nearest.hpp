// SPDX-License-Identifier: Apache-2.0
/// \file nearest.hpp
/// What a mistyped word may have meant.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Letters to change, add, leave out, or exchange with the next one.
inline std::size_t typing_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1])});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) row[k] = std::min(row[k], before[k - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

/// Empty if nothing is near: more than a third of its letters would be others.
inline std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  const auto best = std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return typing_distance(word, a) < typing_distance(word, b);
  });
  if (best == known.end() || 3 * typing_distance(word, *best) > std::max(word.size(), best->size())) return {};
  return *best;
}

}  // namespace cli
