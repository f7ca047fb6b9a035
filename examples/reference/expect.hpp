// SPDX-License-Identifier: Apache-2.0
// What the examples of the API reference claim.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program with the line where what should hold does not.
inline void expect(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: this does not hold\n", file, line);
  std::exit(1);
}

/// Runs what must throw; gives what is thrown.
template <class Error, class Work>
Error thrown_by(Work work, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  try {
    work();
  } catch (const Error& e) {
    return e;
  }
  std::fprintf(stderr, "%s:%d: nothing was thrown\n", file, line);
  std::exit(1);
}
