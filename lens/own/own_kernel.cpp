// SPDX-License-Identifier: Apache-2.0
// The program that a user's kernel is linked to: arguments, runs, report.
#include "own_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include <lens/explanation.hpp>
#include <lens/report.hpp>
#include <lens/sources.hpp>
#include <warpfold/error.hpp>

#include "launcher.hpp"
#include "races.hpp"

namespace lens {
namespace {

source_file& users_file() {
  static source_file one;
  return one;
}

}  // namespace

/// Of this program there is one file to show.
std::span<const source_file> sources() { return {&users_file(), 1}; }

namespace own {
namespace {

using nlohmann::json;

/// More threads would make a drawing's trace too large to keep.
constexpr std::uint64_t most_drawn = 1 << 16;
constexpr std::size_t most_rows = 30;

request read_request(const char* path) {
  std::ifstream in(path);
  const json j = json::parse(in);
  request q;
  q.file = j["file"];
  q.kernel = j["kernel"];
  q.html = j["html"];
  q.command = j["command"];
  q.shared = j["shared"];
  q.seed = j["seed"];
  q.cluster = j["cluster"];
  q.cooperative = j["cooperative"];
  q.as_json = j["json"];
  q.arguments = j["arguments"].get<std::vector<std::string>>();
  for (std::size_t k = 0; k < 3; ++k) {
    q.grid[k] = j["grid"][k];
    q.block[k] = j["block"][k];
  }
  std::ifstream source(j["path"].get<std::string>(), std::ios::binary);
  q.text.assign(std::istreambuf_iterator<char>(source), {});
  return q;
}

std::string extent(const std::uint32_t (&d)[3]) {
  std::string text = std::to_string(d[0]);
  if (d[1] * d[2] != 1) text += fmt::format("x{}", d[1]);
  if (d[2] != 1) text += fmt::format("x{}", d[2]);
  return text;
}

explanation heading(const request& q) {
  explanation e;
  e.name = q.kernel;
  e.file = q.file;
  e.is_stair = true;  // nothing is known of what is right
  e.lesson = head_of(q.text).text;
  e.setting = fmt::format("grid {}, blocks of {}", extent(q.grid), extent(q.block));
  for (const std::string& a : q.arguments) e.setting += " · " + a;
  return e;
}

/// A kernel that uses dynamic shared memory, and gets none.
std::string with_hint(const std::string& fault, const request& q) {
  const bool wants_some = q.text.find("extern __shared__") != std::string::npos || q.text.find("extern __align__") != std::string::npos;
  const bool is_about_shared = simt::last_fault().what == simt::fault::out_of_bounds;
  return q.shared == 0 && wants_some && is_about_shared ? fault + "; the file has extern __shared__ memory, of which --shared BYTES gives some" : fault;
}

[[noreturn]] void failed(const std::string& why) { throw wf::error(wf::errc::unsupported, why); }

/// Empty, or the fault that ended it.
std::string add_counts(explanation& e, launcher& l) {
  std::string fault;
  auto kernels = count([&] {
    if (fault.empty()) fault = l.run();
  });
  if (!fault.empty()) return fault;
  e.kernels = std::move(kernels);
  for (const kernel_counts& k : e.kernels) {
    e.total += k.total;
    e.longest_queue = std::max(e.longest_queue, k.longest_queue);
  }
  e.outputs = l.outputs();
  return {};
}

std::uint64_t events_of(const explanation& e) {
  std::uint64_t all = 0;
  for (const kernel_counts& k : e.kernels) all += k.events;
  return all;
}

/// Throws wf::error if a run faults for another reason than a race. A read of shared memory that nobody wrote
/// may have come too early for want of a barrier: then the race is told, and what is counted is a run that goes on.
void add_counts_and_races(explanation& e, launcher& l, const request& q) {
  const std::string fault = add_counts(e, l);
  const simt::fault_report first = simt::last_fault();
  std::string later;
  if (!fault.empty()) {
    if (first.what != simt::fault::uninitialised_read) failed(with_hint(fault, q));
    simt::current_options().unwritten_reads = true;
    later = add_counts(e, l);
  }
  const judgement j = judge_races([&] { return l.run(); }, q.blocks(), events_of(e));
  e.races = j.races;
  if (!fault.empty()) {
    const ladder::race_pair* race = race_on(e.races, first.where);
    if (race == nullptr) failed(fault);
    if (!later.empty()) failed(race_line(*race));
    e.setting += " · counted past a read of shared memory that came before its write";
  } else if (!j.fault.empty() && e.races.empty()) {
    failed(j.fault);
  } else if (!j.fault.empty()) {
    e.setting += " · it also fails: " + j.fault;
  }
  if (j.runs < j.schedules) e.setting += fmt::format(" · races judged in {} schedules of {}", j.runs, j.schedules);
}

void add_traces(explanation& e, launcher& l) {
  tracing trace;
  simt::current_options().watch = &trace;
  l.run();
  simt::current_options().watch = nullptr;
  e.traces = trace.launches();
  for (block_trace& t : e.traces)
    if (t.rows.size() > most_rows) {
      t.rows_left_out = t.rows.size() - most_rows;
      t.rows.resize(most_rows);
    }
}

int run_request(const kernel& k, const request& q) {
  users_file() = {q.file, q.text};
  launcher l(k, q, arguments_for(k, q.arguments, q.seed));
  explanation e = heading(q);
  add_counts_and_races(e, l, q);
  if (q.threads() <= most_drawn) add_traces(e, l);
  if (!q.html.empty()) {
    std::ofstream page(q.html, std::ios::binary);
    page << to_html(e, nullptr, q.command);
    page.close();
    if (!page) throw wf::error(wf::errc::bad_input, "--html " + q.html + ": cannot be written");
  }
  const std::string text = q.as_json ? to_json(e, nullptr, q.command) : to_text(e);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return e.races.empty() ? 0 : 1;
}

}  // namespace

int run(int argc, char** argv, const kernel& k) {
  if (argc != 2) return 2;
  try {
    return run_request(k, read_request(argv[1]));
  } catch (const wf::error& e) {
    std::fprintf(stderr, "warpfold: %s\n", e.what());
    return e.code() == wf::errc::unsupported ? 1 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "warpfold: %s\n", e.what());
    return 2;
  }
}

}  // namespace own
}  // namespace lens
