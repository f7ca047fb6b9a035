// SPDX-License-Identifier: Apache-2.0
/// \file progress.hpp
/// A line on standard error while a long explanation runs: what is done now, how far it is, and about how long it will take.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace lens {

/// From a second after construction until destruction, which wipes the line. Silent if standard error is no terminal.
class progress {
 public:
  /// It calls `shown` when a line stands there and when it is gone. Without, a handler of SIGINT, SIGTERM and SIGHUP wipes it, and
  /// the program ends as it would.
  explicit progress(std::string label, void (*shown)(bool) = nullptr);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

 private:
  friend void now(const char*, unsigned, unsigned);
  struct part {
    const char* what = "preparing";
    unsigned at = 0, of = 1;
    std::uint64_t begun = 0, blocks = 0;  ///< for all launches, when the part began
  };
  void watch();
  void draw();

  std::string label_;
  void (*shown_)(bool);
  std::mutex mutex_;
  part part_;
  std::condition_variable ended_;
  bool end_ = false;
  std::chrono::steady_clock::time_point start_;
  std::thread watcher_;
};

/// What is done now: the part `at` (from 0) of `of`, which take about as long as each other. Nothing where no progress is shown.
void now(const char* what, unsigned at, unsigned of);

/// "3 s", "2 min", "1.5 h".
std::string duration_text(double seconds);

}  // namespace lens
