// SPDX-License-Identifier: Apache-2.0
/// \file progress.hpp
/// A progress bar on standard error, for work that takes over a second and is watched.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace cli {

/// Shows how far a counter has come, from a second after construction until destruction, which
/// wipes it. Silent if standard error is no terminal.
class progress_bar {
 public:
  /// `total` 0: not known, so only the amount is shown.
  progress_bar(std::string label, std::uint64_t total);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Bytes done: whoever does them adds to it.
  std::atomic<std::uint64_t>& done() { return done_; }

 private:
  void watch();
  void draw(double seconds) const;

  std::string label_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread watcher_;
};

}  // namespace cli
