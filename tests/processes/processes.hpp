// SPDX-License-Identifier: Apache-2.0
// Waiting for a process that may never end.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace wf::test {

/// True if the process ended by itself with status 0. It has `seconds`; then it is killed.
inline bool ended_well(pid_t process, std::string& why, int seconds = 60) {
  if (process < 0) {
    why = "fork() failed";
    return false;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(process, &status, WNOHANG)) == 0;) {
    if (std::chrono::steady_clock::now() > until) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      why = "it was not over after " + std::to_string(seconds) + " s";
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  if (WIFSIGNALED(status)) why = "it ended by signal " + std::to_string(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0) why = "it ended with status " + std::to_string(WEXITSTATUS(status));
  return why.empty();
}

}  // namespace wf::test
