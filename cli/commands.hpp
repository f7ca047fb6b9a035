// SPDX-License-Identifier: Apache-2.0
/// \file commands.hpp
/// The frame of the command line: a function for each command, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

/// Exit statuses, of every command.
enum status : int {
  done = 0,
  wrong_result = 1,  ///< a check of a result failed
  bad_input = 2,     ///< usage, what a file holds, or an output that cannot be written
  device_failed = 3,
};

/// A command's callback leaves its exit status here.
struct run_state {
  int exit_status = done;
  std::vector<std::string> behind;  ///< `warpfold run PROGRAM`: what follows is the program's own
};

/// Each adds its command to `app`. The callback runs within the app's parse(): it prints results to
/// standard output, one line a problem by complain(), and sets the exit status. A wf::error or
/// CLI::Error that leaves it is printed by main(), with status 2, or 3 if a device failed.
void add_reductions(CLI::App& app, run_state& state);
void add_info(CLI::App& app, run_state& state);
void add_tune(CLI::App& app, run_state& state);
void add_ladder(CLI::App& app, run_state& state);
void add_explain(CLI::App& app, run_state& state);
void add_profile(CLI::App& app, run_state& state);
void add_run(CLI::App& app, run_state& state);

/// "warpfold: TEXT" on standard error, as one line whatever the text.
void complain(std::string_view text);

}  // namespace cli
