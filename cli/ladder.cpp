// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "counts.hpp"
#include "option_text.hpp"

#include <ladder/report.hpp>
#include <ladder/runner.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace cli {
namespace {

struct ladder_request {
  std::string n = "1M", dtype, data = "uniform", device = "auto", input;
  std::vector<std::string> only;
  unsigned block = 256, blocks_per_sm = 0;
  std::uint64_t seed = 1;
  bool json = false, list = false, hot = false, stairs = false;
};

const std::map<std::string, ladder::distribution> distributions{
    {"ones", ladder::distribution::ones},
    {"uniform", ladder::distribution::uniform},
    {"normal", ladder::distribution::normal},
    {"hard", ladder::distribution::hard}};

/// CLI11 2.1 would take -1 for 2^64 - 1.
std::string check_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool whole = code == std::errc{} && end == text.data() + text.size();
  return whole ? "" : wf::io::quoted(text) + " is not a seed from 0 to 2^64 - 1";
}

wf::io::array_file open_input(const std::string& path, const std::string& dtype) {
  auto file = wf::io::array_file::open(path);
  const wf::io::array_layout& layout = file.layout();
  const std::string found(wf::info(layout.type).name);
  if (layout.type != wf::dtype::f32 && layout.type != wf::dtype::f64 &&
      layout.type != wf::dtype::i32 && layout.type != wf::dtype::f16)
    throw wf::error(wf::errc::bad_input, file.name() + ": elements of " + found +
                                             "; the ladder sums f32, f64, i32 and f16");
  if (!dtype.empty() && dtype != found)
    throw wf::error(wf::errc::bad_input, file.name() + ": elements of " + found + ", not of " +
                                             dtype + " as --dtype says");
  return file;
}

ladder::array read_input(wf::io::array_file& file) {
  const wf::io::array_layout& layout = file.layout();
  ladder::array a(layout.type, layout.count);
  const std::size_t size = wf::info(layout.type).size;
  std::uint64_t at = 0;
  for (auto piece = file.next(); !piece.empty(); piece = file.next()) {
    std::memcpy(a.data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  if (layout.order != wf::native_order)
    for (std::uint64_t k = 0; k < a.n; ++k)
      std::reverse(a.data() + k * size, a.data() + (k + 1) * size);
  return a;
}

/// The place asked for; of `auto` the GPU if there is one.
std::unique_ptr<ladder::place> open_place(const std::string& device) {
  if (device == "simt") return ladder::open_simt();
  try {
    if (auto gpu = ladder::open_cuda()) return gpu;
    if (device == "gpu")
      throw wf::error(wf::errc::no_device, "--device gpu: this build has no CUDA; simt is there");
  } catch (const wf::error& e) {
    if (device == "gpu" || e.code() != wf::errc::no_device) throw;
  }
  return ladder::open_simt();
}

/// Checks this before anything is allocated; `what` names what has n elements.
void check_memory(const ladder::place& place, wf::dtype type, std::uint64_t n, const std::string& what) {
  const std::uint64_t bytes = n * wf::info(type).size;
  const bool gpu = place.facts().place == "gpu";
  const auto host = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  // On simt the device's memory is the host's, too.
  const std::uint64_t copies = gpu ? 1 : 3, there = gpu ? std::min(host, place.facts().free_bytes) : host;
  if (bytes > there / copies)
    throw wf::error(wf::errc::bad_argument, what + ": takes " + std::to_string((bytes >> 20) * copies) +
                                                " MiB, and there are " + std::to_string(there >> 20));
}

/// What runs now, on standard error, if that is a terminal.
class progress_line {
 public:
  ~progress_line() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void operator()(std::string_view name, std::size_t done, std::size_t of) {
    if (!terminal_) return;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%3zu%% %.*s", of == 0 ? 0 : 100 * done / of,
                 static_cast<int>(name.size()), name.data());
    std::fflush(stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0, shown_ = false;
};

/// The command that runs the same again, with the options that were left out.
std::string command_of(const ladder_request& q, wf::dtype type, std::uint64_t n) {
  const std::string device = "warpfold ladder --device " + q.device, json = q.json ? " --json" : "";
  if (q.stairs) return device + " --n " + std::to_string(n) + " --stairs" + json;
  std::string text = device + " --dtype " + std::string(wf::info(type).name);
  text += q.input.empty() ? " --n " + std::to_string(n) + " --data " + q.data + " --seed " + std::to_string(q.seed)
                          : " --input " + q.input;
  text += " --block " + std::to_string(q.block);
  if (q.blocks_per_sm != 0) text += " --blocks-per-sm " + std::to_string(q.blocks_per_sm);
  for (const std::string& name : q.only)
    text += (&name == &q.only.front() ? " --only " : ",") + name;
  return text + (q.hot ? " --hot" : "") + json;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int run_ladder_command(const ladder_request& q) {
  const std::uint64_t count = count_option("--n", q.n);
  if (q.block < 32 || q.block > 1024 || q.block % 32 != 0)
    throw wf::error(wf::errc::bad_argument, "--block " + std::to_string(q.block) +
                                                ": not a multiple of 32 from 32 to 1024");
  wf::dtype type = q.dtype.empty() ? wf::dtype::f32 : *wf::dtype_named(q.dtype);
  std::optional<wf::io::array_file> file;
  if (!q.input.empty()) {
    file = open_input(q.input, q.dtype);
    type = file->layout().type;
  }
  const auto place = open_place(q.device);
  if (q.list) {
    print(q.json ? ladder::list_json(place->rungs(type)) : ladder::list_of(place->rungs(type)));
    return done;
  }
  ladder::options o;
  o.type = type;
  o.n = file ? file->layout().count : count;
  check_memory(*place, type, o.n, file ? file->name() : "--n " + std::to_string(o.n));
  std::optional<ladder::array> input;
  if (file) input = read_input(*file);
  o.data = distributions.at(q.data);
  o.seed = q.seed;
  o.input = input ? &*input : nullptr;
  o.only = q.only;
  o.asked = {q.block, q.blocks_per_sm};
  o.hot = q.hot;
  const std::string command = command_of(q, type, o.n);
  if (q.stairs) {
    const ladder::stairs s = ladder::run_stairs(*place, o.n);
    print(q.json ? to_json(s, command) : to_table(s));
    return s.any_wrong() ? wrong_result : done;
  }
  const auto lens = place->facts().place == "simt" ? ladder::open_lens() : nullptr;
  ladder::report r;
  {
    progress_line line;
    r = run_ladder(o, *place, lens.get(), std::ref(line));
  }
  print(q.json ? to_json(r, command) : to_table(r));
  return r.any_wrong() ? wrong_result : done;
}

}  // namespace

void add_ladder(CLI::App& app, run_state& state) {
  auto q = std::make_shared<ladder_request>();
  CLI::App* command = app.add_subcommand(
      "ladder", "Every classic way of summing on a GPU: verified, timed on a GPU, counted on simt");
  auto* n = command->add_option("--n", q->n, "Elements: 1000, 1M (2^20), 2^20, 1e6")->capture_default_str();
  auto* dtype = command->add_option("--dtype", q->dtype, "Element type (default: f32, or the file's)")
                    ->check(CLI::IsMember({"f32", "f64", "i32", "f16"}));
  auto* only = command->add_option("--only", q->only, "Rungs, as atomic,cpu/kahan")->delimiter(',');
  auto* block =
      command->add_option("--block", q->block, "Threads per block, a multiple of 32")->capture_default_str();
  auto* blocks_per_sm = command
                            ->add_option("--blocks-per-sm", q->blocks_per_sm,
                                         "Blocks per multiprocessor (default: each rung's own number)")
                            ->check(CLI::Range(1, 64));
  auto* data = command->add_option("--data", q->data, "The data to sum, without --input")
                   ->check(CLI::IsMember({"ones", "uniform", "normal", "hard"}))
                   ->capture_default_str();
  auto* seed = command->add_option("--seed", q->seed, "Seed of the data")
                   ->check(CLI::Validator(check_seed, ""))
                   ->capture_default_str();
  auto* input = command->add_option("--input", q->input, "Sum this .npy file")
                    ->check(CLI::Validator(check_file_name, ""))
                    ->excludes(n)
                    ->excludes(data)
                    ->excludes(seed);
  command->add_option("--device", q->device, "Where to run; auto is a GPU if there is one, else simt")
      ->check(CLI::IsMember({"auto", "gpu", "simt"}))
      ->capture_default_str();
  command->add_flag("--json", q->json, "Print JSON");
  auto* hot = command->add_flag("--hot", q->hot, "Do not flush the L2 before each timed run");
  auto* stairs = command->add_flag("--stairs", q->stairs, "The side stairs instead: transpose, overlap, precision");
  auto* list = command->add_flag("--list", q->list, "Name the rungs and exit");
  // What would not be heeded is refused.
  for (CLI::Option* other : {only, block, blocks_per_sm, data, seed, input, hot}) {
    stairs->excludes(other);
    list->excludes(other);
  }
  stairs->excludes(dtype);
  list->excludes(n)->excludes(stairs);
  command->callback([q, &state] { state.exit_status = run_ladder_command(*q); });
}

}  // namespace cli
