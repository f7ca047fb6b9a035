// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simt/composite_observer.hpp>
#include <simt/entry.hpp>
#include <simt/machine.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <cuda_runtime_api.h>
#include <lens/progress.hpp>
#include <nlohmann/json.hpp>
#include <warpfold/error.hpp>

#include "explaining.hpp"
#include "undo.hpp"
#include "users_file.hpp"

namespace lens::own {
namespace {

using simt::detail::launch_shape;

constexpr std::size_t most_explained = 32, most_traces = 8;

/// Launches that are alike are explained once.
using alike = std::tuple<const void*, std::array<std::uint32_t, 9>, std::uint64_t>;
alike key_of(const launch_shape& s, const void* kernel) {
  return {kernel, {s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.cluster[0], s.cluster[1], s.cluster[2]}, s.shared_bytes};
}

struct program {
  std::string file, text, html, svg, command;
  std::vector<std::string> kinds;
  bool as_json = false;
  int output = -1;  ///< standard output, which the program's own goes beside of
  std::mutex mutex;
  explanation told;
  std::map<alike, std::size_t> seen;  ///< place in told.kernels; or none, if it was not explained
  std::uint64_t launches = 0, left_out = 0;
  std::vector<std::string> faults;
};
program& the_program() {
  static program p;
  return p;
}
constexpr std::size_t none = static_cast<std::size_t>(-1);

/// What a kernel prints is printed by the run that counts for the program.
class silence {
 public:
  silence() : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~silence() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;

 private:
  int kept_;
};

void merge(program& p, explanation&& one, const alike& key) {
  p.seen[key] = p.told.kernels.size();
  for (kernel_counts& k : one.kernels) p.told.kernels.push_back(std::move(k));
  p.told.total += one.total;
  p.told.longest_queue = std::max(p.told.longest_queue, one.longest_queue);
  for (ladder::race_pair& r : one.races) {
    const auto is_same = [&](const ladder::race_pair& x) {
      return x.kernel == r.kernel && x.a.file == r.a.file && x.a.line == r.a.line && x.b.file == r.b.file && x.b.line == r.b.line &&
             x.a.access == r.a.access && x.b.access == r.b.access;
    };
    if (std::none_of(p.told.races.begin(), p.told.races.end(), is_same)) p.told.races.push_back(std::move(r));
  }
  for (block_trace& t : one.traces)
    if (p.told.traces.size() < most_traces) p.told.traces.push_back(std::move(t));
}

void explain_once(program& p, const launch_shape& shape, const alike& key, const std::function<cudaError_t()>& run) {
  undo_log memory;
  const auto again = [&]() -> std::string {
    memory.restore();
    simt::clear_fault();
    simt::options& options = simt::current_options();
    simt::observer* const watching = options.watch;
    simt::composite_observer both{&memory, watching != nullptr ? watching : &memory};
    options.watch = watching != nullptr ? static_cast<simt::observer*>(&both) : &memory;
    const cudaError_t e = run();
    options.watch = watching;
    if (e == cudaSuccess) return {};
    const simt::fault_report fault = simt::last_fault();
    return fault.what == simt::fault::none ? std::string("the launch was refused") : fault.text;
  };
  explanation one;
  const std::uint64_t blocks = std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  const std::uint64_t threads = blocks * shape.block[0] * shape.block[1] * shape.block[2];
  const silence quiet;
  std::optional<progress> bar(std::in_place, fmt::format("explain {}, launch {}", p.file, p.launches));
  const std::string fault = add_counts_and_races(one, again, blocks);
  if (fault.empty() && threads <= most_drawn && p.told.traces.size() < most_traces) add_traces(one, again);
  bar.reset();
  memory.restore();
  simt::clear_fault();
  if (!fault.empty()) {
    p.faults.push_back(fault);
    p.seen[key] = none;
    return;
  }
  merge(p, std::move(one), key);
}

cudaError_t on_launch(const launch_shape& shape, const void* kernel, const std::function<cudaError_t()>& run) {
  program& p = the_program();
  {
    const std::lock_guard lock(p.mutex);
    ++p.launches;
    const alike key = key_of(shape, kernel);
    if (const auto known = p.seen.find(key); known != p.seen.end()) {
      if (known->second != none) ++p.told.kernels[known->second].launches;
    } else if (p.seen.size() >= most_explained) {
      ++p.left_out;
    } else {
      explain_once(p, shape, key, run);
    }
  }
  return run();
}

void write_report(int status, void*) {
  program& p = the_program();
  simt::detail::on_launch = nullptr;
  std::fflush(nullptr);
  dup2(p.output, STDOUT_FILENO);
  p.told.setting = fmt::format("{} launch{}", p.launches, p.launches == 1 ? "" : "es") + p.told.setting;
  if (p.left_out != 0) p.told.setting += fmt::format(" · {} not explained, of more than {} kinds", p.left_out, most_explained);
  if (status != 0) p.told.setting += fmt::format(" · the program ended with status {}", status);
  for (const std::string& f : p.faults)
    if (f != simt::last_fault().text) std::fprintf(stderr, "warpfold: %s\n", f.c_str());
  int wrong = p.told.races.empty() && p.faults.empty() ? status : 1;
  if (p.launches == 0) {
    std::fprintf(stderr, "warpfold: %s launched no kernel\n", p.file.c_str());
    wrong = status != 0 ? status : 1;
  } else if (!p.told.kernels.empty()) {
    try {
      write_wanted("--html", p.html, [&] { return to_html(p.told, nullptr, p.command); });
      write_wanted("--svg", p.svg, [&] { return drawings_file(p.told, p.kinds); });
    } catch (const wf::error& e) {
      std::fprintf(stderr, "warpfold: %s\n", e.what());
      wrong = 2;
    }
    const std::string text = p.as_json ? to_json(p.told, nullptr, p.command) : to_text(p.told);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  std::fflush(nullptr);
  _exit(wrong);
}

}  // namespace

bool explain_launches(const char* request) {
  program& p = the_program();
  std::ifstream in(request);
  const nlohmann::json j = nlohmann::json::parse(in);
  p.file = j["file"];
  p.html = j["html"];
  p.svg = j["svg"];
  p.kinds = j["kinds"].get<std::vector<std::string>>();
  p.command = j["command"];
  p.as_json = j["json"];
  std::ifstream source(j["path"].get<std::string>(), std::ios::binary);
  p.text.assign(std::istreambuf_iterator<char>(source), {});
  show_file(p.file, p.text);
  p.told.name = j["name"];
  p.told.file = p.file;
  p.told.is_stair = true;  // nothing is known of what is right
  p.told.lesson = head_of(p.text).text;
  p.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  simt::detail::on_launch = on_launch;
  on_exit(write_report, nullptr);
  return true;
}

}  // namespace lens::own
