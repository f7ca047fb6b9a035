// SPDX-License-Identifier: Apache-2.0
// Extremes, positions and counts by loops written from the definitions.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "typeless.hpp"

namespace wf::test {

// The numbers of x as V: floats as double, integers as 128 bits.
template <class V>
std::vector<V> values(const numbers& x) {
  std::vector<V> out;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_same_v<V, double>) out.push_back(number(x, i));
    else out.push_back(whole(x, i));
  }
  return out;
}

inline bool is_nan(double x) { return std::isnan(x); }
inline bool is_nan(i128) { return false; }
// -0 below +0; NaN apart.
inline bool below(double x, double y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); }
inline bool below(i128 x, i128 y) { return x < y; }

/// For no numbers the places are -1, the count 0.
template <class V>
struct told {
  V least{}, greatest{};
  bool nan = false;
  std::int64_t argmin = -1, argmax = -1, nonzero = 0;
};

template <class V>
told<V> loop(const std::vector<V>& x) {
  told<V> t;
  bool any = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    t.nonzero += is_nan(x[i]) || x[i] != 0;
    if (is_nan(x[i])) {
      if (!t.nan) t.argmin = t.argmax = at;
      t.nan = true;
      continue;
    }
    if (!any || below(x[i], t.least)) t.least = x[i];
    if (!any || below(t.greatest, x[i])) t.greatest = x[i];
    any = true;
    if (t.nan) continue;
    if (t.argmin < 0 || x[i] < x[static_cast<std::size_t>(t.argmin)]) t.argmin = at;
    if (t.argmax < 0 || x[i] > x[static_cast<std::size_t>(t.argmax)]) t.argmax = at;
  }
  if constexpr (std::is_same_v<V, double>)
    if (t.nan) t.least = t.greatest = std::numeric_limits<double>::quiet_NaN();
  return t;
}

}  // namespace wf::test
