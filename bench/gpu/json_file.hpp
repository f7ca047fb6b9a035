// SPDX-License-Identifier: Apache-2.0
/// \file json_file.hpp
/// The figures of a benchmark, as a file.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

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

/// Figures that are written when it is destroyed, if a path was given. A path that cannot be written ends the program before anything is
/// measured.
class json_file {
 public:
  json_file(const char* program, std::string path) : path_(std::move(path)) {
    if (path_.empty() || std::ofstream(path_)) return;
    std::fprintf(stderr, "%s: cannot write %s\n", program, path_.c_str());
    std::exit(2);
  }
  ~json_file() {
    if (!path_.empty() && !write_json(path_.c_str(), figures)) std::fprintf(stderr, "cannot write %s\n", path_.c_str());
  }
  json_file(const json_file&) = delete;
  json_file& operator=(const json_file&) = delete;

  nlohmann::ordered_json figures;

 private:
  std::string path_;
};
