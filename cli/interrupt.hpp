// SPDX-License-Identifier: Apache-2.0
/// \file interrupt.hpp
/// Ctrl-C and its like: what was begun is put away, and then the signal ends the program as it always would.
#pragma once

#include <sys/types.h>

namespace cli {

/// Thrown, and caught by main() alone, where a signal came and something is to be put away first.
struct interrupted {
  int signal;
};

/// For SIGINT, SIGTERM and SIGHUP, unless whoever started the program has them ignored.
void watch_signals();
/// Ends the program by the signal's own effect.
[[noreturn]] void end_by(const interrupted&);

/// A line without an end stands on the terminal: it is wiped if a signal ends the program.
void line_is_shown(bool);

/// While one is there, a signal ends no more than the program that note_child() named; check_signals() throws.
class unwinding_signals {
 public:
  unwinding_signals();
  ~unwinding_signals();
  unwinding_signals(const unwinding_signals&) = delete;
  unwinding_signals& operator=(const unwinding_signals&) = delete;
};
void note_child(pid_t);  ///< 0: it has ended
void check_signals();

}  // namespace cli
