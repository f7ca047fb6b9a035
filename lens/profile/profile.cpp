// SPDX-License-Identifier: Apache-2.0
#include "profile.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include <warpfold/error.hpp>

#include <lens/verdict.hpp>

#include "ceilings.hpp"
#include "reduction.hpp"
#include "text.hpp"
#include "unavailable.hpp"

namespace lens::profile {
namespace {

std::size_t index_of(std::span<const ladder::rung_info> rungs, const profile_request& q) {
  for (std::size_t k = 0; k < rungs.size(); ++k)
    if (full_name(rungs[k]) == q.rung) return k;
  // A rung's name alone is its first variant.
  for (std::size_t k = 0; k < rungs.size(); ++k)
    if (rungs[k].name == q.rung) return k;
  throw wf::error(wf::errc::bad_argument,
                  "no rung or reduction " + q.rung + " for " + std::string(wf::info(q.type).name) +
                      "; warpfold ladder --list names the rungs, docs/reductions.md the reductions");
}

void check_block(const ladder::rung_info& rung, unsigned block) {
  if (rung.fixed_block) return;
  const std::string name = full_name(rung) + ": a block of " + std::to_string(block);
  if (block < rung.min_block)
    throw wf::error(wf::errc::bad_argument, name + ": needs at least " + std::to_string(rung.min_block));
  if (rung.power_of_two && !std::has_single_bit(block))
    throw wf::error(wf::errc::bad_argument, name + ": its tree needs a power of two");
}

/// Statistics by name, in the order of the first of each.
template <class Record>
std::vector<statistics> by_name(const std::vector<Record>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> all;
  for (const Record& r : records) {
    if (!all.contains(r.name)) order.push_back(r.name);
    all[r.name].push_back(r.seconds);
  }
  std::vector<statistics> result;
  for (const std::string& name : order) result.push_back(summary(name, all[name]));
  return result;
}

void take_trace(profile& p, trace t) {
  for (kernel_record& k : t.kernels) k.name = kernel_name(k.name);
  for (statistics& s : by_name(t.kernels)) {
    const auto first = std::find_if(t.kernels.begin(), t.kernels.end(),
                                    [&](const kernel_record& k) { return k.name == s.name; });
    p.kernels.push_back({*first, s});
  }
  p.transfers = by_name(t.transfers);
  p.calls = by_name(t.calls);
  p.dropped = t.dropped;
}

void add_roofline(profile& p, ladder::place& gpu) {
  roofline r;
  const std::uint64_t bytes = p.input_bytes;
  const std::uint64_t large =
      std::max(std::min(std::uint64_t{2} << 30, gpu.facts().free_bytes / 4), bytes);
  r.bytes_per_second = static_cast<double>(large) / gpu.read_seconds(large, false);
  r.operations_per_second = arithmetic_ceiling(p.asked.type);
  r.operation = p.asked.type == wf::dtype::i32   ? "i32 op"
                : p.asked.type == wf::dtype::f64 ? "f64 FLOP"
                                                 : "f32 FLOP";
  // Integers have no counter of their additions alone, and exact sums hardly a float among theirs: of
  // those the additions that any sum needs are the operations.
  double flops = 0;
  for (const auto& c : p.counts) flops += c.counted.flops();
  const double needed = p.asked.n == 0 ? 0 : static_cast<double>(p.asked.n - 1);
  p.counted_operations =
      p.asked.type != wf::dtype::i32 && p.counts.size() == p.kernels.size() && flops >= needed;
  if (p.counted_operations) {
    for (std::size_t k = 0; k < p.counts.size(); ++k)
      r.points.push_back({p.kernels[k].first.name, p.counts[k].counted.flops(),
                          p.counts[k].counted.sector_bytes(), p.kernels[k].time.median});
  } else {
    double seconds = 0;
    for (const profiled_kernel& k : p.kernels)
      seconds += k.time.total / static_cast<double>(std::max(1u, p.asked.runs));
    if (p.kernels.empty() && p.event_time) seconds = p.event_time->median;
    r.points.push_back({p.name, needed, static_cast<double>(bytes), seconds});
  }
  p.roof = std::move(r);
}

/// Which kernels the runs launch, each run a window.
trace names_of(const std::vector<std::function<void()>>& runs) {
  recording r;
  for (const auto& run : runs) {
    r.open();
    run();
    r.close();
  }
  return r.finish();
}

counted counted_runs(const std::vector<std::function<void()>>& runs, const trace& names,
                     bool instructions_alone) {
  const auto all = [&] {
    for (const auto& run : runs) run();
  };
  counted c = count_kernels(all, instructions_alone, std::max<std::size_t>(1, names.kernels.size()));
  if (c.kernels.size() != names.kernels.size())
    throw unavailable("counters of " + std::to_string(c.kernels.size()) + " kernels, where " +
                      std::to_string(names.kernels.size()) + " ran");
  return c;
}

using around = std::function<void(bool)>;

/// What is measured: runs it once and waits; runs it again and again, and says when; times it by events.
struct subject_runs {
  std::function<void()> once;
  std::function<void(const around&)> repeat;
  std::function<ladder::timing()> time;
};

void measure(profile& p, ladder::place& gpu, const subject_runs& subject) {
  try {
    recording r;
    subject.repeat([&](bool begin) { begin ? r.open() : r.close(); });
    take_trace(p, r.finish());
  } catch (const unavailable& e) {
    p.no_trace = e.what();
    p.event_time = subject.time();
  }
  p.clocks = ladder::read_clocks(p.facts.pci);
  if (p.asked.counters) {
    try {
      // In the counted run the place's own fills and copies are not kernels.
      const std::vector<std::function<void()>> once{subject.once};
      const trace names = names_of(once);
      counted c = counted_runs(once, names, false);
      p.chip = c.chip;
      p.passes = c.passes;
      for (std::size_t k = 0; k < c.kernels.size(); ++k)
        p.counts.push_back({kernel_name(names.kernels[k].name), std::move(c.kernels[k])});
    } catch (const unavailable& e) {
      p.no_counters = e.what();
    }
  }
  if (p.asked.roofline && p.asked.n > 0) add_roofline(p, gpu);
}

}  // namespace

statistics summary(std::string name, std::vector<double> all) {
  statistics s;
  s.name = std::move(name);
  s.count = all.size();
  if (all.empty()) return s;
  std::sort(all.begin(), all.end());
  for (const double x : all) s.total += x;
  s.average = s.total / static_cast<double>(all.size());
  s.median = all[all.size() / 2];
  s.least = all.front();
  s.most = all.back();
  s.spread = s.median > 0 ? (all[all.size() * 3 / 4] - all[all.size() / 4]) / s.median : 0;
  return s;
}

std::vector<std::vector<profile::named_counts>> count_runs(const std::vector<std::function<void()>>& runs) {
  const trace names = names_of(runs);
  const counted c = counted_runs(runs, names, true);
  std::vector<std::vector<profile::named_counts>> result(runs.size());
  for (std::size_t k = 0; k < c.kernels.size(); ++k)
    result[names.kernels[k].window].push_back({kernel_name(names.kernels[k].name), c.kernels[k]});
  return result;
}

std::size_t rung_to_profile(std::span<const ladder::rung_info> rungs, const profile_request& q) {
  const std::size_t at = index_of(rungs, q);
  if (rungs[at].on_host)
    throw wf::error(wf::errc::bad_argument, full_name(rungs[at]) + " runs on the CPU: there is no kernel to profile");
  check_block(rungs[at], q.block);
  return at;
}

profile profile_rung(ladder::place& gpu, const profile_request& q) {
  const std::size_t at = rung_to_profile(gpu.rungs(q.type), q);
  const ladder::rung_info rung = gpu.rungs(q.type)[at];
  profile p;
  p.asked = q;
  p.name = full_name(rung);
  p.facts = gpu.facts();
  p.expected_wrong = rung.expected_wrong;
  p.input_bytes = q.n * wf::info(q.type).size;

  const ladder::array data = ladder::make_data(q.type, q.data, q.n, q.seed);
  gpu.load(q.type, data.data(), q.n);
  const ladder::request asked{q.block, 0, 0};
  const ladder::outcome ran = gpu.run(at, asked);  // loads the kernels, too
  if (!ran.refused.empty()) throw wf::error(wf::errc::bad_argument, p.name + ": " + ran.refused);
  lens::judge(p, rung, data, ran);
  if (!p.right && !p.expected_wrong) return p;  // no time is shown of a wrong sum
  measure(p, gpu, {[&] { gpu.run(at, asked); },
                   [&](const around& hook) { gpu.repeat(at, asked, q.runs, q.hot, hook); },
                   [&] { return gpu.time(at, asked, q.hot); }});
  return p;
}

profile profile_reduction(ladder::place& gpu, const wf::device_library& library, const profile_request& q) {
  profile p;
  p.asked = q;
  p.name = p.what = reduction_name(*q.reduction);
  if (q.accuracy == wf::accuracy::fast) p.name += ", fast";
  p.facts = gpu.facts();

  const ladder::array data = ladder::make_data(q.type, q.data, q.n, q.seed);
  reduction_subject subject(gpu, library, *q.reduction, q.accuracy, data, q.seed, q.data);
  p.input_bytes = subject.input_bytes();
  const ladder::place::work once = [&](void* stream) { subject(stream); };
  gpu.finish(once);  // loads the kernels, and takes the scratch memory
  const auto judged = subject.judge();
  p.result = judged.result;
  p.exact = judged.exact;
  p.right = judged.right;
  p.why = judged.why;
  if (!p.right) return p;
  measure(p, gpu, {[&] { gpu.finish(once); },
                   [&](const around& hook) { gpu.repeat(once, q.runs, q.hot, hook); },
                   [&] { return gpu.time(once, q.hot); }});
  return p;
}

}  // namespace lens::profile
