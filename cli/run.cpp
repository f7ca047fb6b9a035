// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "own_program.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace cli {

void add_run(CLI::App& app, run_state& state) {
  auto q = std::make_shared<own_program_request>();
  CLI::App* command = app.add_subcommand("run", "A whole CUDA program as it is, compiled for simt and run without a GPU");
  command->add_option("PROGRAM", q->file, "The file, with its main() and its launches <<<…>>>; what follows is handed to it")->required();
  command->callback([q, &state] {
    q->arguments = state.behind;
    state.exit_status = run_own_program(*q);
  });
}

}  // namespace cli
