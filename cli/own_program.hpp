// SPDX-License-Identifier: Apache-2.0
/// \file own_program.hpp
/// `warpfold run PROGRAM.cu`, `warpfold explain PROGRAM.cu`: a whole CUDA program, with its main() and its launches
/// `<<<…>>>`, compiled for simt as it is.
#pragma once

#include <string>
#include <vector>

namespace cli {

struct own_program_request {
  std::string file, html, svg;
  std::vector<std::string> arguments;  ///< the program's own
  std::vector<std::string> kinds;      ///< what of --svg is drawn; none: all
  bool explained = false, json = false;
};

/// The program's exit status; explained, 1 where a launch races or faults. Throws wf::error: bad_argument, bad_input
/// (does not compile), unsupported.
int run_own_program(const own_program_request&);

/// Whether the file has a main().
bool has_main(const std::string& file);

}  // namespace cli
