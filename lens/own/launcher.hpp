// SPDX-License-Identifier: Apache-2.0
/// \file launcher.hpp
/// One launch of a user's kernel, which can be repeated: every run begins with the same arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "own_kernel.hpp"

namespace lens::own {

/// The command, as the JSON that `warpfold explain` passes on.
struct request {
  std::string file, text, kernel, html, svg, command;
  std::uint32_t grid[3], block[3];
  std::uint64_t shared = 0, seed = 1;
  unsigned cluster = 1;
  bool cooperative = false, as_json = false;
  std::vector<std::string> kinds;  ///< what of --svg is drawn; none: all
  std::vector<std::string> arguments, given;  ///< a file's array spelled as one, and as the user wrote it
  std::string json_file;  ///< also written
  std::string versus, versus_name;  ///< that of another kernel, to be compared with; or nothing
  bool is_quiet = false;  ///< and nothing is printed
  std::string expect_file, expect_array, expect_bytes;  ///< what the first array marked out: should hold; or nothing
  double tolerance = 0;

  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint64_t threads() const { return blocks() * block[0] * block[1] * block[2]; }
};

class launcher {
 public:
  /// Throws wf::error (device) if there is no memory for the arrays.
  launcher(const kernel&, const request&, std::vector<argument>);
  ~launcher();
  launcher(const launcher&) = delete;
  launcher& operator=(const launcher&) = delete;

  /// Empty, or what the launch was refused or failed for. What the kernel prints goes to standard error, and
  /// nowhere after the first run.
  std::string run();

  /// What the arrays marked out: hold, a line each.
  std::vector<std::string> outputs() const;

  /// Empty, or how the first array marked out: differs from what is expected of it.
  std::string difference() const;

 private:
  std::vector<void*> fill_arrays();

  const kernel& kernel_;
  const request& request_;
  std::vector<argument> arguments_;
  std::vector<void*> arrays_;
  bool has_run_ = false;
};

}  // namespace lens::own
