// SPDX-License-Identifier: Apache-2.0
#include "explaining.hpp"

#include <simt/machine.hpp>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include <lens/progress.hpp>
#include <lens/report.hpp>
#include <warpfold/error.hpp>

#include "races.hpp"

namespace lens::own {
namespace {

constexpr std::size_t most_rows = 30;

/// Empty, or the fault that ended it.
std::string add_counts(explanation& e, const repeatable& run) {
  std::string fault;
  auto kernels = count([&] {
    if (fault.empty()) fault = run();
  });
  if (!fault.empty()) return fault;
  e.kernels = std::move(kernels);
  for (const kernel_counts& k : e.kernels) {
    e.total += k.total;
    e.longest_queue = std::max(e.longest_queue, k.longest_queue);
  }
  return {};
}

std::uint64_t events_of(const explanation& e) {
  std::uint64_t all = 0;
  for (const kernel_counts& k : e.kernels) all += k.events;
  return all;
}

}  // namespace

std::string add_counts_and_races(explanation& e, const repeatable& run, std::uint64_t blocks, const std::function<void()>& counted) {
  now("counting", 0, 2 + most_schedules(blocks));
  const std::string fault = add_counts(e, run);
  const simt::fault_report first = simt::last_fault();
  std::string later;
  if (!fault.empty()) {
    if (first.what != simt::fault::uninitialised_read) return fault;
    simt::current_options().unwritten_reads = true;
    later = add_counts(e, run);
    simt::current_options().unwritten_reads = false;
  }
  if (counted && later.empty()) counted();  // else nothing can be read back
  simt::current_options().unwritten_reads = !fault.empty();
  const judgement j = judge_races(run, blocks, events_of(e));
  simt::current_options().unwritten_reads = false;
  e.races = j.races;
  if (!fault.empty()) {
    const ladder::race_pair* race = race_on(e.races, first.where);
    if (race == nullptr) return fault;
    if (!later.empty()) return race_line(*race) + "; it also fails: " + later;
    e.setting += " · counted past a read of shared memory that came before its write";
  } else if (!j.fault.empty() && e.races.empty()) {
    return j.fault;
  } else if (!j.fault.empty()) {
    e.setting += " · it also fails: " + j.fault;
  }
  if (j.runs < j.schedules) e.setting += fmt::format(" · races judged in {} schedules of {}", j.runs, j.schedules);
  return {};
}

void add_traces(explanation& e, const repeatable& run) {
  now("drawing", 9, 10);
  simt::options& options = simt::current_options();
  const bool before = options.unwritten_reads;
  options.unwritten_reads = true;  // whatever is wrong has been reported
  tracing trace;
  options.watch = &trace;
  run();
  options.watch = nullptr;
  options.unwritten_reads = before;
  for (block_trace t : trace.launches()) {
    if (t.rows.size() > most_rows) {
      t.rows_left_out = t.rows.size() - most_rows;
      t.rows.resize(most_rows);
    }
    e.traces.push_back(std::move(t));
  }
}

void write_wanted(const char* option, const std::string& path, const std::function<std::string()>& text) {
  if (path.empty()) return;
  const std::string made = text();
  if (made.empty()) throw wf::error(wf::errc::bad_argument, std::string(option) + " " + path + ": there is nothing to draw; launches of up to " +
                                                                std::to_string(most_drawn) + " threads are drawn");
  std::ofstream file(path, std::ios::binary);
  file << made;
  file.close();
  if (!file) throw wf::error(wf::errc::bad_input, std::string(option) + " " + path + ": cannot be written");
}

}  // namespace lens::own
