// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "counts.hpp"

#include <lens/explanation.hpp>
#include <lens/pages.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace cli {
namespace {

/// Everything is run three times or so, and drawn: more would tell no more.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 26;

struct explain_command {
  std::string rung, versus, n = "64K", dtype = "f32", html, pages;
  unsigned block = 256;
  bool json = false, list = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string command_of(const explain_command& q, std::uint64_t n) {
  std::string text = "warpfold explain " + q.rung;
  if (!q.versus.empty()) text += " --vs " + q.versus;
  return text + " --n " + std::to_string(n) + " --block " + std::to_string(q.block) + " --dtype " + q.dtype;
}

void write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw wf::error(wf::errc::bad_input, "--html " + wf::io::quoted(path) + ": cannot be written: " +
                                             std::strerror(errno != 0 ? errno : EIO));
}

int run_explain(const explain_command& q) {
  const auto lens = ladder::open_lens();
  const wf::dtype type = *wf::dtype_named(q.dtype);
  if (q.list) {
    for (const std::string& name : lens::names_to_explain(*lens, type)) print(name + "\n");
    return done;
  }
  if (!q.pages.empty()) {
    for (const std::string& path : lens::write_pages(*lens, q.pages)) print(path + "\n");
    return done;
  }
  if (q.rung.empty())
    throw wf::error(wf::errc::bad_argument, "explain: which rung? warpfold explain --list names them");
  if (q.block < 32 || q.block > 1024 || q.block % 32 != 0)
    throw wf::error(wf::errc::bad_argument,
                    "--block " + std::to_string(q.block) + ": not a multiple of 32 from 32 to 1024");
  lens::explain_request asked;
  asked.type = type;
  asked.n = count_option("--n", q.n);
  asked.block = q.block;
  if (asked.n > most_elements)
    throw wf::error(wf::errc::bad_argument, "--n " + wf::io::quoted(q.n) + ": explain runs up to 2^26 (64M) elements");
  asked.rung = q.rung;
  const lens::explanation told = explain(*lens, asked);
  std::optional<lens::explanation> versus;
  if (!q.versus.empty()) {
    asked.rung = q.versus;
    versus = explain(*lens, asked);
  }
  const lens::explanation* other = versus ? &*versus : nullptr;
  const std::string command = command_of(q, asked.n);
  if (!q.html.empty()) write_file(q.html, to_html(told, other, command));
  if (q.json) print(to_json(told, other, command));
  else print(other != nullptr ? to_text(told, *other) : to_text(told));
  const auto wrong = [](const lens::explanation& e) { return !e.right && !e.expected_wrong; };
  return wrong(told) || (versus && wrong(*versus)) ? wrong_result : done;
}

}  // namespace

void add_explain(CLI::App& app, run_state& state) {
  auto q = std::make_shared<explain_command>();
  CLI::App* command = app.add_subcommand(
      "explain", "Why a rung is as fast as it is: counted, raced and drawn on simt, with or without a GPU");
  command->add_option("RUNG", q->rung, "As tree_modulo, warp_leader/flat; transpose, overlap, precision");
  command->add_option("--vs", q->versus, "Compare with this rung")->option_text("RUNG");
  command->add_option("--n", q->n, "Elements: 1000, 64K, 2^16, 1e6")->capture_default_str();
  command->add_option("--block", q->block, "Threads a block, a multiple of 32")->capture_default_str();
  command->add_option("--dtype", q->dtype, "Of the elements")
      ->check(CLI::IsMember({"f32", "f64", "i32", "f16"}))
      ->capture_default_str();
  command->add_option("--html", q->html, "Also write a page of its own, with drawings")->option_text("FILE");
  command->add_flag("--json", q->json, "Print JSON");
  command->add_flag("--list", q->list, "Name what can be explained and exit");
  command->add_option("--pages", q->pages, "Renew the counters and drawings of the rungs' pages in this folder")
      ->option_text("DIR");
  command->callback([q, &state] { state.exit_status = run_explain(*q); });
}

}  // namespace cli
