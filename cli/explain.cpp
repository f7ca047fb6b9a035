// SPDX-License-Identifier: Apache-2.0
#include "beside.hpp"
#include "commands.hpp"
#include "counts.hpp"
#include "interrupt.hpp"
#include "nearest.hpp"
#include "output.hpp"
#include "option_text.hpp"
#include "own_kernel.hpp"
#include "own_program.hpp"

#include <lens/explanation.hpp>
#include <lens/pages.hpp>
#include <lens/progress.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cli {
namespace {

/// Everything is run three times or so, and drawn: more would tell no more.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 26;

/// The most shared memory of a block on a GPU of compute capability 9.0, as on simt.
constexpr std::uint64_t most_shared = 227 * 1024;

struct explain_command {
  std::string rung, versus, n = "64K", dtype = "f32", device = "simt", html, svg, pages;
  std::string block = "256", grid, shared = "0", expect, language;
  double tolerance = 0;
  std::vector<std::string> arguments, kinds;
  unsigned cluster = 1;
  std::uint64_t seed = 1;
  bool json = false, list = false, cooperative = false;
  // The first that the user gave of the options that are not for a rung, a kernel, --list, --pages.
  std::string not_for_rungs, not_for_kernels, not_for_list, not_for_pages;
  std::string not_for_programs;
  std::vector<std::string> program_arguments;
};

using names = std::vector<std::string>;

/// Empty if none of them was.
std::string first_given(const CLI::App& command, const names& options) {
  for (const std::string& option : options)
    if (command.count(option) != 0) return option;
  return {};
}

std::string command_of(const explain_command& q, std::uint64_t n) {
  std::string text = "warpfold explain " + q.rung;
  if (!q.versus.empty()) text += " --vs " + q.versus;
  return text + " --n " + std::to_string(n) + " --block " + q.block + " --dtype " + q.dtype;
}

unsigned block_of(const explain_command& q) {
  const auto threads = count_option("--block", q.block);
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    throw wf::error(wf::errc::bad_argument, "--block " + q.block + ": not a multiple of 32 from 32 to 1024");
  return static_cast<unsigned>(threads);
}

std::uint64_t elements_of(const explain_command& q) {
  const std::uint64_t n = count_option("--n", q.n);
  if (n > most_elements)
    throw wf::error(wf::errc::bad_argument, "--n " + wf::io::quoted(q.n) + ": explain runs up to 2^26 (64M) elements");
  return n;
}

int run_beside(const explain_command& q) {
  if (!q.svg.empty()) throw wf::error(wf::errc::bad_argument, "--device gpu: not with --svg, which draws what runs on simt");
  if (!q.versus.empty()) throw wf::error(wf::errc::bad_argument, "--device gpu: not with --vs, which shows what simt counts");
  return explain_on_gpu({q.rung, *wf::dtype_named(q.dtype), elements_of(q), block_of(q), q.html, q.json});
}

int run_own_kernel(const explain_command& q, own_kernel_request asked) {
  if (!q.not_for_kernels.empty())
    throw wf::error(wf::errc::bad_argument, "explain " + q.rung + ": --n, --dtype and --device are for rungs; a kernel of "
                                            "your own takes --grid, --block, --shared and an --arg for each parameter");
  if (q.grid.empty()) throw wf::error(wf::errc::bad_argument, "explain " + q.rung + ": how many blocks? --grid 256");
  asked.grid = extent_option("--grid", q.grid);
  asked.block = extent_option("--block", q.block);
  asked.shared = count_option("--shared", q.shared);
  if (asked.shared > most_shared)
    throw wf::error(wf::errc::bad_argument, "--shared " + q.shared + ": a block has up to 227K (" + std::to_string(most_shared) +
                                                " bytes) of shared memory");
  asked.arguments = q.arguments;
  asked.seed = q.seed;
  asked.cluster = q.cluster;
  asked.cooperative = q.cooperative;
  asked.html = q.html;
  asked.svg = q.svg;
  asked.kinds = q.kinds;
  asked.json = q.json;
  asked.expect = q.expect;
  asked.tolerance = q.tolerance;
  if (q.versus.empty()) return explain_own_kernel(asked);
  own_kernel_request versus = asked;
  if (!names_own_kernel(q.versus, versus))
    throw wf::error(wf::errc::bad_argument, "--vs " + wf::io::quoted(q.versus) + ": beside a kernel of your own stands another: FILE.cu:KERNEL");
  if (q.json) throw wf::error(wf::errc::bad_argument, "--json: not with --vs of kernels of your own; explain each");
  return compare_own_kernels(asked, versus);
}

int run_list(const explain_command& q) {
  if (!q.not_for_list.empty())
    throw wf::error(wf::errc::bad_argument, "--list names all that there is, also with --json and --dtype: not with " + q.not_for_list);
  const names all = lens::names_to_explain(*ladder::open_lens(), *wf::dtype_named(q.dtype));
  std::string text;
  for (const std::string& name : all) text += name + "\n";
  print(q.json ? nlohmann::json(all).dump() + "\n" : text);
  return done;
}

int run_pages(const explain_command& q) {
  if (!q.not_for_pages.empty())
    throw wf::error(wf::errc::bad_argument, "--pages renews the pages of all rungs: not with " + q.not_for_pages);
  for (const std::string& path : lens::write_pages(*ladder::open_lens(), q.pages)) print(path + "\n");
  return done;
}

/// FILE.cu without a kernel's name, where it has a main(): all that it launches.
bool is_own_program(const std::string& what) {
  std::error_code none;
  return what.ends_with(".cu") && std::filesystem::is_regular_file(what, none) && has_main(what);
}

int run_program_explained(const explain_command& q) {
  const std::string given = q.not_for_programs;
  if (!given.empty())
    throw wf::error(wf::errc::bad_argument, given + " is not for a whole program, which launches its kernels itself; of one kernel: warpfold explain " +
                                                q.rung + ":KERNEL");
  return run_own_program({q.rung, q.html, q.svg, q.program_arguments, q.kinds, true, q.json});
}

/// The message for a name that nothing has: it suggests a similar one.
void check_rung(const std::string& name, const ladder::place& lens, wf::dtype type) {
  const names known = lens::names_to_explain(lens, type);
  const auto has_name = [&](const std::string& k) { return k == name || k.substr(0, k.find('/')) == name; };
  if (name.empty() || std::any_of(known.begin(), known.end(), has_name)) return;
  const std::string meant = nearest(name, known);
  throw wf::error(wf::errc::bad_argument, "no rung " + name + " for " + std::string(wf::info(type).name) +
                                              (meant.empty() ? "" : "; did you mean " + meant + "?") + "; warpfold explain --list names them");
}

void write_drawings(const explain_command& q, const lens::explanation& e) {
  const std::string drawn = drawings_file(e, q.kinds);
  if (drawn.empty()) throw wf::error(wf::errc::bad_argument, "--svg " + wf::io::quoted(q.svg) + ": of " + e.name + " there is nothing to draw");
  write_page(q.svg, drawn, "--svg");
}

int run_explain(const explain_command& q) {
  if (!q.language.empty() && q.html.empty() && q.pages.empty())
    throw wf::error(wf::errc::bad_argument, "--lang " + q.language + ": it sets the language of the page that --html FILE writes; the terminal gets English");
  if (!q.kinds.empty() && q.svg.empty()) throw wf::error(wf::errc::bad_argument, "--draw says what --svg FILE draws, which is not given");
  if (!q.language.empty()) setenv("WARPFOLD_LANG", q.language.c_str(), 1);  // the program of one's own kernel reads it, too
  if (!q.pages.empty()) return run_pages(q);
  if (q.list) return run_list(q);
  if (is_own_program(q.rung)) return run_program_explained(q);
  if (!q.program_arguments.empty())
    throw wf::error(wf::errc::bad_argument, "explain: " + wf::io::quoted(q.program_arguments.front()) + " is an argument too many: only a whole program FILE.cu takes its own");
  if (own_kernel_request own; names_own_kernel(q.rung, own)) return run_own_kernel(q, std::move(own));
  if (!q.not_for_rungs.empty())
    throw wf::error(wf::errc::bad_argument, q.not_for_rungs + " is for a kernel of your own: warpfold explain FILE.cu:KERNEL");
  if (q.device == "gpu") return run_beside(q);
  const auto lens = ladder::open_lens();
  const wf::dtype type = *wf::dtype_named(q.dtype);
  check_rung(q.rung, *lens, type);
  check_rung(q.versus, *lens, type);
  if (q.rung.empty())
    throw wf::error(wf::errc::bad_argument, "explain: which rung? warpfold explain --list names them");
  lens::explain_request asked;
  asked.type = type;
  asked.n = elements_of(q);
  asked.block = block_of(q);
  asked.rung = q.rung;
  const auto explained = [&](const std::string& rung) {
    asked.rung = rung;
    const lens::progress bar("explain " + rung, line_is_shown);
    return explain(*lens, asked);
  };
  const lens::explanation told = explained(q.rung);
  std::optional<lens::explanation> versus;
  if (!q.versus.empty()) versus = explained(q.versus);
  const lens::explanation* other = versus ? &*versus : nullptr;
  const std::string command = command_of(q, asked.n);
  if (!q.html.empty()) write_page(q.html, to_html(told, other, command));
  if (!q.svg.empty()) write_drawings(q, told);
  if (q.json) print(to_json(told, other, command));
  else print(other != nullptr ? to_text(told, *other) : to_text(told));
  const auto wrong = [](const lens::explanation& e) { return !e.right && !e.expected_wrong; };
  return wrong(told) || (versus && wrong(*versus)) ? wrong_result : done;
}

}  // namespace

void add_explain(CLI::App& app, run_state& state) {
  auto q = std::make_shared<explain_command>();
  CLI::App* command = app.add_subcommand(
      "explain", "Why a rung is as fast as it is: its counters, races and drawings from simt, with or without a GPU");
  command->add_option("WHAT", q->rung,
                      "A rung, as tree_modulo or warp_leader/flat; transpose, overlap, precision; a kernel of your own: FILE.cu:KERNEL; or all that a "
                      "program of your own launches: FILE.cu");
  command->add_option("ARGS", q->program_arguments, "Arguments of a whole program FILE.cu")->allow_extra_args();
  command->add_option("--vs", q->versus, "Compare with this rung; a kernel of your own with another, FILE.cu:KERNEL, of the same arguments")
      ->option_text("RUNG");
  command->add_option("--expect", q->expect, "For your own kernel: what its first output array (out: in --arg) should hold")
      ->check(CLI::Validator(check_file_name, ""))
      ->option_text("FILE.npy");
  command->add_option("--tolerance", q->tolerance, "Relative difference from --expect that floats may have")
      ->check(CLI::Validator(check_tolerance, ""))
      ->capture_default_str();
  command->add_option("--n", q->n, "Elements: 1000, 64K, 2^16, 1e6; up to 2^26")->capture_default_str();
  command->add_option("--block", q->block, "Threads per block: a multiple of 32; for your own kernel also 16x16")
      ->capture_default_str();
  command->add_option("--dtype", q->dtype, "Element type")
      ->check(CLI::IsMember({"f32", "f64", "i32", "f16"}))
      ->capture_default_str();
  command->add_option("--device", q->device, "gpu: simt's counters beside the hardware's, of RUNG or of all")
      ->check(CLI::IsMember({"simt", "gpu"}))
      ->capture_default_str();
  command->add_option("--grid", q->grid, "For your own kernel: blocks, as 256 or 16x16")->option_text("BLOCKS");
  command
      ->add_option("--arg", q->arguments,
                   "For your own kernel, one for each parameter: f32[1M]:uniform, out:f32[1], x.npy, i32=1000, 0.5. An array is filled "
                   "with zeros, ones, iota, uniform or normal; those marked out: begin as zeros and are shown")
      ->option_text("ARG")
      ->allow_extra_args(false);
  command->add_option("--shared", q->shared, "For your own kernel: bytes of dynamic shared memory")->option_text("BYTES");
  command->add_flag("--cooperative", q->cooperative, "For your own kernel: a launch with a barrier of the grid");
  command->add_option("--cluster", q->cluster, "For your own kernel: blocks per cluster")->check(CLI::Range(1, 16))->option_text("BLOCKS");
  command->add_option("--seed", q->seed, "Seed of your own kernel's arrays")->capture_default_str();
  command->add_option("--html", q->html, "Also write a page of its own, with drawings")->check(CLI::Validator(check_file_name, ""))->option_text("FILE");
  command->add_option("--svg", q->svg, "Also write the drawings alone, as one SVG file")->check(CLI::Validator(check_file_name, ""))->option_text("FILE");
  command->add_option("--draw", q->kinds, "Write only these drawings to --svg: values, banks, sectors, lanes")
      ->option_text("KIND,…")
      ->delimiter(',')
      ->check(CLI::IsMember({"values", "banks", "sectors", "lanes"}))
      ->allow_extra_args(false);
  command->add_option("--lang", q->language, "Language of the page, en or zh; the variable WARPFOLD_LANG sets it, too")->check(CLI::IsMember({"en", "zh"}));
  command->add_flag("--json", q->json, "Print JSON");
  command->add_flag("--list", q->list, "Name what can be explained and exit");
  command->add_option("--pages", q->pages, "Renew the counters and drawings of the rungs' pages in this folder")
      ->check(CLI::Validator(check_file_name, ""))
      ->option_text("DIR");
  command->callback([q, command, &state] {
    names all{"--grid", "--arg", "--shared", "--cooperative", "--cluster", "--seed", "--expect", "--tolerance"};
    q->not_for_rungs = first_given(*command, all);
    q->not_for_kernels = first_given(*command, {"--n", "--dtype", "--device"});
    q->not_for_programs = first_given(*command, {"--vs", "--n", "--dtype", "--device", "--block", "--grid", "--arg", "--shared", "--cooperative", "--cluster", "--seed", "--expect", "--tolerance"});
    all.insert(all.begin(), {"WHAT", "--vs", "--n", "--block", "--device", "--html", "--svg", "--draw"});
    q->not_for_list = first_given(*command, all);
    all.insert(all.end(), {"--dtype", "--json", "--list"});
    q->not_for_pages = first_given(*command, all);
    state.exit_status = run_explain(*q);
  });
}

}  // namespace cli
