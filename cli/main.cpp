// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "interrupt.hpp"
#include "nearest.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>
#include <warpfold/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <unistd.h>

namespace cli {

void complain(std::string_view text) {
  std::fflush(stdout);  // so that results and problems keep their order where both go to one place
  const std::string line = "warpfold: " + wf::io::printable_name(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

namespace {

/// A mapped file that another process cuts short ends the program with this signal. Several threads may read it at
/// once: the first one reports, and the others wait for its exit.
void report_bus_error(int) {
  static std::atomic_flag reported;  // lock-free, as a signal handler needs
  while (reported.test_and_set()) ::pause();
  constexpr char line[] = "warpfold: a file shrank or its disk failed while it was read\n";
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line, sizeof line - 1);
  ::_exit(bad_input);
}

int status_of(const wf::error& e) {
  const bool device = e.code() == wf::errc::no_device || e.code() == wf::errc::device;
  return device ? device_failed : bad_input;
}

/// Empty if the word is an option or a command.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands({})) names.push_back(c->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return {};
  const std::string meant = nearest(word, names);
  return "no command " + wf::io::quoted(word) + (meant.empty() ? "" : "; did you mean " + meant + "?") + "; see: warpfold --help";
}

int run(int argc, char** argv) {
  CLI::App app{"warpfold: exact and fast parallel reductions", "warpfold"};
  app.set_version_flag("--version", std::string("warpfold ") + wf::version(), "Print the version and exit");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 a result was wrong, 2 bad usage or bad input, 3 the device failed.");
  run_state state;
  add_reductions(app, state);
  add_info(app, state);
  add_tune(app, state);
#if WARPFOLD_HAS_LADDER
  add_ladder(app, state);
  add_explain(app, state);
  add_profile(app, state);
  add_run(app, state);
#endif
  if (const std::string problem = argc > 1 ? unknown_command(app, argv[1]) : ""; !problem.empty()) {
    complain(problem);
    return bad_input;
  }
  // Behind the program's name all is the program's, options too.
  if (argc > 3 && std::string_view(argv[1]) == "run" && argv[2][0] != '-') {
    state.behind.assign(argv + 3, argv + argc);
    argc = 3;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& e) {
    if (e.get_exit_code() == 0) {  // --help and --version come as exceptions too
      app.exit(e);
    } else {
      const auto commands = app.get_subcommands();
      complain(std::string(e.what()) + "; see: warpfold " +
               (commands.empty() ? "" : commands.front()->get_name() + " ") + "--help");
      state.exit_status = bad_input;
    }
  } catch (const wf::error& e) {
    complain(e.what());
    state.exit_status = status_of(e);
  }
  return state.exit_status;
}

}  // namespace
}  // namespace cli

int main(int argc, char** argv) {
  // A reader that has seen enough ends the program quietly, also where the parent ignores SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGBUS, cli::report_bus_error);
  cli::watch_signals();
  int status;
  try {
    status = cli::run(argc, argv);
  } catch (const cli::interrupted& i) {
    cli::end_by(i);
  } catch (const std::bad_alloc&) {
    cli::complain("out of memory");
    status = cli::bad_input;
  } catch (const std::exception& e) {  // no more threads
    cli::complain(e.what());
    status = cli::bad_input;
  }
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0 || failed) {
    cli::complain(std::string("standard output cannot be written: ") + std::strerror(errno));
    if (status == cli::done) status = cli::bad_input;
  }
  return status;
}
