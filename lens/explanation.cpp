// SPDX-License-Identifier: Apache-2.0
#include "explanation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <ladder/runner.hpp>
#include <warpfold/error.hpp>

#include "progress.hpp"
#include "sources.hpp"
#include "verdict.hpp"

namespace lens {
namespace {

/// Small enough to draw, and large enough that every thread of a resident grid has four elements.
constexpr unsigned drawn_block = 64, drawn_elements = 1024;

struct options_guard {
  simt::options before = simt::current_options();
  options_guard() = default;
  options_guard(const options_guard&) = delete;
  options_guard& operator=(const options_guard&) = delete;
  ~options_guard() { simt::current_options() = before; }
};

struct stair {
  std::string_view name, file;
  void (*run)(ladder::place&, std::uint64_t n);
};
unsigned side_of(std::uint64_t n) {
  return static_cast<unsigned>(std::sqrt(static_cast<double>(std::min<std::uint64_t>(n, 1u << 26))));
}
constexpr stair stairs[] = {
    {"transpose", "ladder/stair_transpose.cuh", [](ladder::place& p, std::uint64_t n) { p.transposes(side_of(n)); }},
    {"overlap", "ladder/stair_overlap.cuh", [](ladder::place& p, std::uint64_t n) { p.overlaps(n); }},
    {"precision", "ladder/stair_precision.cuh", [](ladder::place& p, std::uint64_t n) { p.precisions(n); }},
};

void take_kernels(explanation& e, std::vector<kernel_counts> all) {
  e.kernels = std::move(all);
  for (const kernel_counts& k : e.kernels) {
    e.total += k.total;
    e.longest_queue = std::max(e.longest_queue, k.longest_queue);
  }
}

std::size_t index_of(const ladder::place& lens, const explain_request& q) {
  const auto rungs = lens.rungs(q.type);
  for (const bool whole : {true, false})
    for (std::size_t k = 0; k < rungs.size(); ++k)
      if (q.rung == (whole ? full_name(rungs[k]) : std::string(rungs[k].name))) return k;
  throw wf::error(wf::errc::bad_argument, "no rung " + q.rung + " for " + std::string(wf::info(q.type).name) +
                                              "; warpfold explain --list names them");
}

/// On `ones` a wrong order of additions would not show.
ladder::array data_for(const explain_request& q) {
  return ladder::make_data(q.type, ladder::distribution::uniform, q.n, 1);
}

number_types types_of(wf::dtype type) {
  switch (type) {
    case wf::dtype::i32: return {number::i32, number::i32};
    case wf::dtype::f64: return {number::f64, number::f64};
    case wf::dtype::f16: return {number::f32, number::f16};
    default: return {number::f32, number::f32};
  }
}

void check_block(const ladder::rung_info& rung, unsigned block) {
  if (rung.on_host || rung.fixed_block) return;
  const std::string name = full_name(rung) + ": a block of " + std::to_string(block);
  if (block < rung.min_block)
    throw wf::error(wf::errc::bad_argument, name + ": needs at least " + std::to_string(rung.min_block));
  if (rung.power_of_two && !std::has_single_bit(block))
    throw wf::error(wf::errc::bad_argument, name + ": its tree needs a power of two");
}

}  // namespace

explanation explain(ladder::place& lens, const explain_request& q) {
  explanation e;
  e.asked = q;
  const options_guard guard;
  for (const stair& s : stairs) {
    if (q.rung != s.name) continue;
    e.name = s.name;
    e.file = s.file;
    e.is_stair = true;
    e.lesson = head_of(find_source(s.file)->text).text;
    take_kernels(e, count([&] { s.run(lens, q.n); }));
    return e;
  }
  const std::size_t at = index_of(lens, q);
  const ladder::rung_info rung = lens.rungs(q.type)[at];
  check_block(rung, q.block);
  e.name = full_name(rung);
  e.file = "ladder/" + std::string(rung.file);
  e.lesson = head_of(find_source(e.file)->text).text;
  e.on_host = rung.on_host;
  e.expected_wrong = rung.expected_wrong;
  e.additions = q.n < 2 ? 0 : q.n - 1;

  const ladder::array data = data_for(q);
  lens.load(q.type, data.data(), q.n);
  simt::current_options().schedule = schedule_of(rung);
  ladder::outcome ran;
  now("counting", 0, 3);
  take_kernels(e, count([&] { ran = lens.run(at, {q.block, 0}); }));
  if (!ran.refused.empty()) throw wf::error(wf::errc::bad_argument, e.name + ": " + ran.refused);
  judge(e, rung, data, ran);
  if (rung.on_host) return e;
  now("looking for races", 1, 3);
  e.races = run_watched(lens, q.type, at, {q.block, 0}, simt::block_order::forward).races;

  now("drawing", 2, 3);
  explain_request small = q;
  small.block = std::min(q.block, drawn_block);
  small.n = q.n == 0 ? drawn_elements : std::min<std::uint64_t>(q.n, drawn_elements);
  const ladder::array few = data_for(small);
  lens.load(q.type, few.data(), small.n);
  tracing trace(types_of(q.type));
  simt::current_options().watch = &trace;
  simt::current_options().schedule = simt::lane_schedule::lock_step;  // as a GPU has them, where nothing else orders them
  if (lens.run(at, {small.block, 1}).refused.empty()) {
    e.traces = trace.launches();
    e.trace_n = small.n;
    e.trace_block = small.block;
  }
  return e;
}

std::vector<std::string> names_to_explain(const ladder::place& lens, wf::dtype type) {
  std::vector<std::string> names;
  for (const ladder::rung_info& r : lens.rungs(type)) names.push_back(full_name(r));
  for (const stair& s : stairs) names.emplace_back(s.name);
  return names;
}

}  // namespace lens
