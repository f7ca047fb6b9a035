// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include <unistd.h>

namespace cli {
namespace {

// All that a handler touches is lock-free.
std::atomic<bool> has_line = false;
std::atomic<int> unwinding = 0, came = 0;
std::atomic<pid_t> child = 0;

void on_signal(int signal) {
  if (has_line.exchange(false)) {
    constexpr char wipe[] = "\r\033[K";
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, wipe, sizeof wipe - 1);
  }
  if (unwinding.load() == 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  came.store(signal);
  if (const pid_t running = child.load(); running > 0) ::kill(running, signal);
}

}  // namespace

void watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    ::sigaction(signal, &action, nullptr);
  }
}

void end_by(const interrupted& i) {
  std::signal(i.signal, SIG_DFL);
  std::raise(i.signal);
  std::_Exit(128 + i.signal);
}

void line_is_shown(bool is) { has_line.store(is); }

unwinding_signals::unwinding_signals() { unwinding.fetch_add(1); }
unwinding_signals::~unwinding_signals() { unwinding.fetch_sub(1); }

void note_child(pid_t pid) {
  child.store(pid);
  if (pid > 0 && came.load() != 0) ::kill(pid, came.load());  // it came before the program was known
}

void check_signals() {
  if (const int signal = came.load(); signal != 0) throw interrupted{signal};
}

}  // namespace cli
