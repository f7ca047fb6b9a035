// SPDX-License-Identifier: Apache-2.0
/// \file json_file.hpp
/// The figures of a benchmark, as a file.
#pragma once

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

/// A figure to so many decimal places.
inline double rounded(double figure, int places) {
  const double unit = std::pow(10.0, places);
  return std::round(figure * unit) / unit;
}

/// False where it cannot be written.
inline bool write_json(const char* path, const nlohmann::ordered_json& figures) {
  std::ofstream to(path);
  to << figures.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) << '\n';
  to.close();
  return static_cast<bool>(to);
}
