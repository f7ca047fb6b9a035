// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "interrupt.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;
constexpr const char* wipe = "\r\033[K";

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

progress_bar::progress_bar(std::string label, std::uint64_t total)
    : label_(std::move(label)), total_(total) {
  if (::isatty(STDERR_FILENO)) watcher_ = std::thread([this] { watch(); });
}

progress_bar::~progress_bar() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void progress_bar::watch() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, 1s, [this] { return end_; })) return;
  line_is_shown(true);
  do {
    draw(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  } while (!ended_.wait_for(lock, 100ms, [this] { return end_; }));
  line_is_shown(false);
  std::fputs(wipe, stderr);
}

void progress_bar::draw(double seconds) const {
  const auto done = static_cast<double>(done_.load(std::memory_order_relaxed));
  std::array<char, 64> figures;
  std::string bar;
  if (total_ > 0) {
    const double part = std::min(1.0, done / static_cast<double>(total_));
    std::snprintf(figures.data(), figures.size(), "%3.0f%%  %.1f GB/s", 100 * part,
                  done / seconds / 1e9);
    constexpr std::size_t width = 24;
    const auto filled = static_cast<std::size_t>(part * width);
    bar.append(1, '[').append(filled, '#').append(width - filled, '.').append("] ");
  } else {
    std::snprintf(figures.data(), figures.size(), "%.2f GB  %.1f GB/s", done / 1e9,
                  done / seconds / 1e9);
  }
  const std::string tail = bar + figures.data();
  const std::size_t columns = terminal_columns() - 1;  // a full line would wrap
  std::string line = label_ + " ";
  if (line.size() + tail.size() > columns)
    line = tail.size() < columns ? line.substr(0, columns - tail.size()) : "";
  line = wipe + line + tail.substr(0, columns);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace cli
