// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <simt/machine.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

namespace lens {
namespace {

using namespace std::chrono_literals;
constexpr const char wipe[] = "\r\033[K";

std::atomic<progress*> current = nullptr;
std::atomic<bool> has_line = false;

void on_signal(int signal) {
  if (has_line.exchange(false)) [[maybe_unused]]
    const auto ignored = ::write(STDERR_FILENO, wipe, sizeof wipe - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// The program's own handlers come back with the line's end.
void line_is_shown(bool is) {
  constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  static struct sigaction before[std::size(signals)];
  has_line.store(is);
  for (std::size_t k = 0; k < std::size(signals); ++k) {
    if (!is) {
      ::sigaction(signals[k], &before[k], nullptr);
      continue;
    }
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ::sigaction(signals[k], nullptr, &before[k]);
    if (before[k].sa_handler == SIG_DFL) ::sigaction(signals[k], &ours, nullptr);
  }
}

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, std::ceil(seconds)));
  if (seconds < 5400) return fmt::format("{:.0f} min", std::ceil(seconds / 60));
  return fmt::format("{:.1f} h", seconds / 3600);
}

progress::progress(std::string label, void (*shown)(bool))
    : label_(std::move(label)), shown_(shown != nullptr ? shown : line_is_shown), start_(std::chrono::steady_clock::now()) {
  if (!::isatty(STDERR_FILENO)) return;
  current.store(this);
  watcher_ = std::thread([this] { watch(); });
}

progress::~progress() {
  if (!watcher_.joinable()) return;
  current.store(nullptr);
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void progress::watch() {
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, 1s, [this] { return end_; })) return;
  shown_(true);
  do draw();
  while (!ended_.wait_for(lock, 200ms, [this] { return end_; }));
  shown_(false);
  std::fputs(wipe, stderr);
}

/// Called with the mutex held.
void progress::draw() {
  const simt::launch_progress blocks = simt::progress_of_launches();
  const auto of = static_cast<double>(blocks.blocks - part_.blocks);
  const double within = of > 0 ? std::min(1.0, static_cast<double>(blocks.begun - part_.begun) / of) : 0;
  const double done = std::min(1.0, (part_.at + within) / part_.of);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  constexpr std::size_t width = 20;
  const auto filled = static_cast<std::size_t>(done * width);
  std::string tail = fmt::format("{} [{}{}] {:.0f}%", part_.what, std::string(filled, '#'), std::string(width - filled, '.'), 100 * done);
  if (done > 0.02) tail += ", about " + duration_text(seconds / done - seconds) + " left";
  const std::size_t columns = terminal_columns() - 1;  // a full line would wrap
  std::string line = label_ + ": ";
  if (line.size() + tail.size() > columns) line = tail.size() < columns ? line.substr(0, columns - tail.size()) : "";
  line = wipe + line + tail.substr(0, columns);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void now(const char* what, unsigned at, unsigned of) {
  progress* const shown = current.load();
  if (shown == nullptr) return;
  const simt::launch_progress blocks = simt::progress_of_launches();
  const std::lock_guard lock(shown->mutex_);
  shown->part_ = {what, at, std::max(of, 1u), blocks.begun, blocks.blocks};
}

}  // namespace lens
