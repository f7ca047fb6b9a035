// SPDX-License-Identifier: Apache-2.0
/// \file program.hpp
/// A program that a test runs: what it prints, and how it ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace wf::test {

struct finished {
  int status;  ///< -1 if a signal ended it
  std::string text;
};

/// Runs a command of the shell. With `errors`, text is what it says on standard error, else what it prints.
inline finished run_program(const std::string& command, bool errors) {
  std::FILE* pipe = popen((command + (errors ? " 2>&1 >/dev/null" : " 2>/dev/null")).c_str(), "r");
  if (pipe == nullptr) return {-1, "popen() failed"};
  std::string text;
  std::array<char, 4096> piece;
  for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) text.append(piece.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace wf::test
