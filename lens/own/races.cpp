// SPDX-License-Identifier: Apache-2.0
#include "races.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <simt/race.hpp>

#include <algorithm>
#include <tuple>

#include <lens/names.hpp>
#include <lens/progress.hpp>
#include <lens/sources.hpp>

namespace lens::own {
namespace {

using simt::block_order;
using simt::lane_schedule;

struct way {
  block_order order;
  lane_schedule schedule;
};
/// The first two already differ in both.
constexpr way ways[] = {
    {block_order::forward, lane_schedule::to_barrier},  {block_order::reversed, lane_schedule::lock_step},
    {block_order::shuffled, lane_schedule::to_barrier}, {block_order::forward, lane_schedule::lock_step},
    {block_order::reversed, lane_schedule::to_barrier}, {block_order::shuffled, lane_schedule::lock_step},
};

/// One block has one order, two have two.
std::vector<way> ways_of(std::uint64_t blocks) {
  std::vector<way> all;
  for (way w : ways) {
    if (blocks < 2) w.order = block_order::forward;
    if (blocks < 3 && w.order == block_order::shuffled) continue;
    const auto same = [&](const way& x) { return x.order == w.order && x.schedule == w.schedule; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(w);
  }
  return all;
}

std::string text_of(const way& w) {
  constexpr const char* orders[] = {"forward", "reversed", "shuffled"};
  return fmt::format("blocks {}, lanes {}", orders[static_cast<int>(w.order)],
                     w.schedule == lane_schedule::lock_step ? "in lock step" : "one after the other");
}

/// A run of the detector is 20 to 100 ns an event: some ten seconds in all, but always both schedules.
constexpr std::uint64_t most_events = 200'000'000;
std::size_t runs_of(std::size_t schedules, std::uint64_t events) {
  const std::uint64_t affordable = events == 0 ? 2 : most_events / events;
  return std::min<std::uint64_t>(schedules, std::max<std::uint64_t>(affordable, 2));
}

class options_guard {
 public:
  options_guard() = default;
  ~options_guard() { simt::current_options() = before_; }
  options_guard(const options_guard&) = delete;
  options_guard& operator=(const options_guard&) = delete;

 private:
  simt::options before_ = simt::current_options();
};

std::string shown_path(const std::string& file) {
  const source_file* known = find_source(plain_path(file));
  return known != nullptr ? std::string(known->path) : file;
}

ladder::race_line line_of(const simt::race_side& side) {
  return {shown_path(side.where.file), side.where.line, access_of(side)};
}

void add(std::vector<ladder::race_pair>& all, const simt::race& r) {
  const ladder::race_pair found{r.kernel, r.where == simt::space::shared ? "shared" : "global", line_of(r.a), line_of(r.b), r.count};
  const auto key = [](const ladder::race_pair& p) {
    return std::tie(p.kernel, p.space, p.a.file, p.a.line, p.a.access, p.b.file, p.b.line, p.b.access);
  };
  const auto known = std::find_if(all.begin(), all.end(), [&](const ladder::race_pair& p) { return key(p) == key(found); });
  if (known == all.end()) all.push_back(found);
  else known->count = std::max(known->count, found.count);
}

/// A loop that waits for another warp or block may never end where that one has its turn last: then the run does.
class patient_detector final : public simt::race_detector {
 public:
  explicit patient_detector(std::uint64_t most) : left_(most) {}
  bool has_given_up() const { return left_ == 0; }

  void access(std::uint64_t block, std::uint32_t thread, const simt::memory_access& a) override {
    if (left_ == 0 || --left_ == 0) __trap();
    race_detector::access(block, thread, a);
  }

 private:
  std::uint64_t left_;
};

constexpr double most_seconds_standing = 5;

/// Whether the run came to its end, or to a fault of its own.
bool is_judged(const patient_detector& detector) {
  const simt::fault what = simt::last_fault().what;
  return !detector.has_given_up() && what != simt::fault::deadlock && what != simt::fault::hung;
}

struct watched_run {
  std::string fault;
  bool is_judged;
};
watched_run watched(const std::function<std::string()>& run, std::uint64_t events, std::vector<ladder::race_pair>& races) {
  patient_detector detector(4 * events + 4'000'000);
  simt::current_options().watch = &detector;
  std::string fault = run();
  for (const simt::race& r : detector.races()) add(races, r);
  return {std::move(fault), is_judged(detector)};
}

}  // namespace

unsigned most_schedules(std::uint64_t blocks) { return static_cast<unsigned>(ways_of(blocks).size()); }

judgement judge_races(const std::function<std::string()>& run, std::uint64_t blocks, std::uint64_t events) {
  const options_guard guard;
  simt::options& options = simt::current_options();
  judgement j;
  std::vector<way> all = ways_of(blocks);
  j.schedules = static_cast<unsigned>(all.size());
  all.resize(runs_of(all.size(), events));
  if (options.timeout_seconds == 0 || options.timeout_seconds > most_seconds_standing) options.timeout_seconds = most_seconds_standing;
  for (const way& w : all) {
    now("looking for races", 1 + static_cast<unsigned>(&w - all.data()), 2 + static_cast<unsigned>(all.size()));
    options.order = w.order;
    options.schedule = w.schedule;
    const watched_run ran = watched(run, events, j.races);
    if (!ran.is_judged) continue;
    ++j.runs;
    if (ran.fault.empty()) continue;
    if (j.fault.empty()) j.fault = ran.fault + " (" + text_of(w) + ")";
    if (options.unwritten_reads || simt::last_fault().what != simt::fault::uninitialised_read) continue;
    // What the read was too early for is still to come.
    options.unwritten_reads = true;
    const watched_run after = watched(run, events, j.races);
    if (!after.fault.empty() && j.fault.find(after.fault) == std::string::npos) j.fault += "; it also fails: " + after.fault;
    options.unwritten_reads = false;
  }
  return j;
}

const ladder::race_pair* race_on(const std::vector<ladder::race_pair>& races, const simt::source_line& where) {
  const auto is_here = [&](const ladder::race_line& l) { return l.line == where.line && l.file == shown_path(where.file); };
  const auto found = std::find_if(races.begin(), races.end(), [&](const auto& r) { return is_here(r.a) || is_here(r.b); });
  return found == races.end() ? nullptr : &*found;
}

}  // namespace lens::own
