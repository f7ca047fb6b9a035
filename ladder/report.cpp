// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ladder {
namespace {

using nlohmann::json;

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

/// 3 significant digits; what is 0 or does not exist is a dash.
std::string short_number(double x) {
  return x == 0 ? "0" : std::isnan(x) ? "nan" : fmt::format("{:.3g}", x);
}
std::string ratio(double x) {
  return x == 0 ? "-" : x < 9.95 ? fmt::format("{:.2f}", x) : fmt::format("{:.0f}", x);
}
std::string percent(double x) { return x == 0 ? "-" : fmt::format("{:.1f}", 100 * x); }
std::string count_text(std::uint64_t x) { return x == 0 ? "-" : fmt::format("{}", x); }

std::string shape_text(const row& r) {
  if (r.rung.on_host) return "one core";
  if (r.ran.shape.launches == 0) return "the library's";
  std::string text = fmt::format("{} × {}", r.ran.shape.block, r.ran.shape.blocks);
  if (r.ran.shape.cluster > 1) text += fmt::format(" /{}", r.ran.shape.cluster);
  return text;
}

std::string spread_text(const timing& t) {
  return fmt::format("{:.0f}%", 100 * (t.most - t.least) / t.median);
}

std::string verdict_text(const row& r) {
  std::string text(to_string(r.said));
  if (r.said == verdict::skipped) text += ": " + r.why;
  if ((r.said == verdict::right || r.said == verdict::no_digit) && r.runs_differ) text += ", runs differ";
  return text;
}

/// The number of digits that are right; every one of them is `all`.
std::string digits_text(double digits) {
  return std::isinf(digits) ? "all" : fmt::format("{:.0f}", std::floor(digits));
}

std::string gpu_line(const report& r, const row& w) {
  (void)r;
  const std::string name = full_name(w.rung);
  if (w.said == verdict::skipped) return fmt::format("{:<17} {}\n", name, verdict_text(w));
  const wf::dtype type = result_type(r.asked.type, w.rung);
  std::string line = fmt::format("{:<17} {:>15} {:>15} {:>8} {:>6} {:>9} ", name, shape_text(w),
                                 result_text(type, w.ran.result), short_number(w.judged.ulps), digits_text(w.judged.digits),
                                 short_number(w.judged.error));
  if (w.time)
    line += fmt::format("{:>10} {:>5} {:>7.1f} {:>6} {:>6} {:>6} {:>6}", time_text(w.time->median),
                        spread_text(*w.time), w.gb_per_s, percent(w.of_read), percent(w.of_ceiling),
                        ratio(w.over_before), ratio(w.over_atomic));
  else
    line += fmt::format("{:>10} {:>5} {:>7} {:>6} {:>6} {:>6} {:>6}", "-", "-", "-", "-", "-", "-",
                        "-");
  return line + "  " + verdict_text(w) + "\n";
}

std::string simt_line(const report& r, const row& w) {
  const std::string name = full_name(w.rung);
  if (w.said == verdict::skipped) return fmt::format("{:<17} {}\n", name, verdict_text(w));
  const wf::dtype type = result_type(r.asked.type, w.rung);
  const counters& c = w.ran.counted;
  const std::string races = w.races ? count_text(w.races->size()) : "";
  return fmt::format(
      "{:<17} {:>14} {:>13} {:>8} {:>6} {:>9} {:>8} {:>8} {:>7} {:>8} {:>8} {:>5} {:>5}  {}\n", name,
      shape_text(w), result_text(type, w.ran.result), short_number(w.judged.ulps), digits_text(w.judged.digits),
      short_number(w.judged.error), count_text(c.threads), count_text(c.barriers),
      count_text(c.warp_syncs), count_text(c.shuffles), count_text(c.atomics),
      count_text(c.grid_syncs + c.cluster_syncs), races,
      verdict_text(w) + (w.n != r.asked.n ? fmt::format(" (n = {})", w.n) : ""));
}

std::string notes(const report& r) {
  std::string text;
  for (const row& w : r.rows)
    if (w.said == verdict::wrong || w.said == verdict::wrong_as_expected)
      text += fmt::format("{}: {}: {}\n", full_name(w.rung), to_string(w.said), w.why);
  for (const row& w : r.rows) {
    if (!w.races) continue;
    for (const race_pair& p : *w.races)
      text += fmt::format("race in {}: {}:{} ({}) with {}:{} ({}), {} memory, {} times\n",
                          full_name(w.rung), p.a.file, p.a.line, p.a.access, p.b.file, p.b.line,
                          p.b.access, p.space, p.count);
  }
  return text.empty() ? text : "\n" + text;
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

std::string gpu_head(const report& r) {
  const std::uint64_t bytes = r.asked.n * wf::info(r.asked.type).size;
  std::string text;
  if (r.clocks)
    text += fmt::format("clocks    SM {} of {} MHz, memory {} of {} MHz; driver {}\n",
                        r.clocks->sm_mhz, r.clocks->most_sm_mhz, r.clocks->memory_mhz,
                        r.clocks->most_memory_mhz, r.clocks->driver);
  text += fmt::format("ceiling   reading {} MiB: {:.1f} GB/s", r.ceiling_bytes >> 20,
                      gb_per_s(r.ceiling_bytes, r.ceiling_seconds));
  if (r.read_seconds > 0)
    text += fmt::format("; reading this n: {}, {:.1f} GB/s", time_text(r.read_seconds),
                        gb_per_s(bytes, r.read_seconds));
  text += fmt::format("; an empty kernel: {}\n", time_text(r.empty_seconds));
  text += fmt::format(
      "time      {}; the median of at least 7 (3 over 0.25 s), spread = (max - min) / median\n",
      r.asked.hot ? "graph replays back to back, the L2 as the run before left it"
                  : "graph replays between events, the L2 flushed before each");
  return text;
}

json number(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }

json line_json(const race_line& l) {
  return {{"file", l.file}, {"line", l.line}, {"access", l.access}};
}

json race_json(const race_pair& p) {
  return {{"kernel", p.kernel},
          {"memory", p.space},
          {"a", line_json(p.a)},
          {"b", line_json(p.b)},
          {"count", p.count}};
}

json facts_json(const place_facts& f) {
  return {{"place", f.place},           {"device", f.device}, {"driver", f.driver},
          {"capability", f.capability}, {"sms", f.sms},       {"l2_bytes", f.l2_bytes}};
}

json rung_json(const rung_info& rung) {
  return {{"name", full_name(rung)},
          {"rung", rung.name},
          {"variant", rung.variant},
          {"file", "ladder/" + std::string(rung.file)},
          {"expected_wrong", rung.expected_wrong}};
}

json row_json(const report& r, const row& w) {
  json j = rung_json(w.rung);
  j["verdict"] = to_string(w.said);
  j["reason"] = w.why;
  j["n"] = w.n;
  if (w.said == verdict::skipped) return j;
  const wf::dtype type = result_type(r.asked.type, w.rung);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * wf::info(type).size);
  const launch_shape& s = w.ran.shape;
  j["result"] = result_text(type, w.ran.result);
  j["result_dtype"] = wf::info(type).name;
  j["result_bits"] = fmt::format("{:0{}x}", w.ran.result & mask, 2 * wf::info(type).size);
  j["error"] = number(w.judged.error);
  j["error_ulps"] = number(w.judged.ulps);
  j["error_bound"] = number(w.judged.bound);
  j["digits_right"] = std::isinf(w.judged.digits) ? json("all") : json(std::floor(w.judged.digits));
  j["runs"] = w.runs;
  j["runs_differ"] = w.runs_differ;
  if (s.launches > 0)
    j["launch"] = {{"block", s.block},
                   {"blocks", s.blocks},
                   {"cluster", s.cluster},
                   {"shared_bytes", s.shared_bytes},
                   {"launches", s.launches}};
  if (w.time) {
    j["seconds"] = {{"median", w.time->median},
                    {"min", w.time->least},
                    {"max", w.time->most},
                    {"samples", w.time->samples},
                    {"method", w.time->method}};
    j["gb_per_s"] = w.gb_per_s;
    j["of_read"] = w.of_read;
    j["of_ceiling"] = w.of_ceiling;
    if (w.over_before > 0) j["speedup_before"] = w.over_before;
    if (w.over_atomic > 0) j["speedup_atomic"] = w.over_atomic;
  }
  if (r.facts.place == "simt" && !w.rung.on_host) {
    const counters& c = w.ran.counted;
    j["counters"] = {{"threads", c.threads},
                     {"barriers", c.barriers},
                     {"warp_syncs", c.warp_syncs},
                     {"shuffles", c.shuffles},
                     {"atomics", c.atomics},
                     {"grid_syncs", c.grid_syncs},
                     {"cluster_syncs", c.cluster_syncs}};
  }
  if (w.races) j["races"] = w.races->size();
  return j;
}

/// A row of a side stair. Where no time was measured, it shows none.
json with_time(json row, double seconds) {
  if (seconds > 0) row["seconds"] = seconds;
  return row;
}

std::string text_of(const json& j) { return j.dump(2, ' ', true, json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string_view to_string(distribution d) {
  switch (d) {
    case distribution::ones: return "ones";
    case distribution::uniform: return "uniform";
    case distribution::normal: return "normal";
    case distribution::hard: return "hard";
  }
  return "";
}

std::string to_table(const report& r) {
  const bool gpu = r.facts.place == "gpu";
  const std::string data =
      r.asked.input ? "a file" : fmt::format("{}, seed {}", to_string(r.asked.data), r.asked.seed);
  std::string text =
      fmt::format("device    {}, {} SMs, compute capability {}.{}; {}\n", r.facts.device,
                  r.facts.sms, r.facts.capability / 10, r.facts.capability % 10, r.facts.driver);
  text += fmt::format("data      {} {} ({}); the exact sum is {}{}\n", r.asked.n,
                      wf::info(r.asked.type).name, data, r.exact,
                      std::isnan(r.condition) ? "" : fmt::format(", its condition number {:.3g}", r.condition));
  if (gpu) {
    text += gpu_head(r);
    text += fmt::format(
        "\n{:<17} {:>15} {:>15} {:>8} {:>6} {:>9} {:>10} {:>5} {:>7} {:>6} {:>6} {:>6} {:>6}  {}\n",
        "rung", "block × grid", "result", "ulps off", "digits", "error", "time", "+-", "GB/s", "% read",
        "% ceil", "× last", "×atomic", "verdict");
    for (const row& w : r.rows) text += gpu_line(r, w);
  } else {
    text += "counts    what the machine counted in one run: a barrier once a block, a shuffle once a warp; there is no time here\n";
    if (r.watched_n > 0)
      text +=
          fmt::format("races     pairs of source lines, of the same kernels instrumented, n = {}\n",
                      r.watched_n);
    text += fmt::format(
        "\n{:<17} {:>14} {:>13} {:>8} {:>6} {:>9} {:>8} {:>8} {:>7} {:>8} {:>8} {:>5} {:>5}  {}\n",
        "rung", "block × grid", "result", "ulps off", "digits", "error", "threads", "barriers", "warp",
        "shuffles", "atomics", "grid", "races", "verdict");
    for (const row& w : r.rows) text += simt_line(r, w);
  }
  return text + notes(r);
}

std::string to_json(const report& r, const std::string& command) {
  json j = facts_json(r.facts);
  j["command"] = command;
  j["n"] = r.asked.n;
  j["dtype"] = wf::info(r.asked.type).name;
  j["data"] = r.asked.input ? "file" : to_string(r.asked.data);
  j["seed"] = r.asked.seed;
  j["exact"] = r.exact;
  j["condition"] = number(r.condition);
  j["hot"] = r.asked.hot;
  if (r.clocks) {
    j["driver_version"] = r.clocks->driver;
    j["clocks_mhz"] = {{"sm", r.clocks->sm_mhz},
                       {"memory", r.clocks->memory_mhz},
                       {"most_sm", r.clocks->most_sm_mhz},
                       {"most_memory", r.clocks->most_memory_mhz}};
  }
  if (r.facts.place == "gpu") {
    j["ceiling"] = {{"bytes", r.ceiling_bytes},
                    {"seconds", r.ceiling_seconds},
                    {"gb_per_s", gb_per_s(r.ceiling_bytes, r.ceiling_seconds)}};
    j["read_seconds"] = r.read_seconds;
    j["empty_kernel_seconds"] = r.empty_seconds;
  } else {
    j["watched_n"] = r.watched_n;
  }
  j["rungs"] = json::array();
  j["races"] = json::array();
  for (const row& w : r.rows) {
    j["rungs"].push_back(row_json(r, w));
    if (!w.races) continue;
    for (const race_pair& p : *w.races) {
      json race = race_json(p);
      race["rung"] = full_name(w.rung);
      j["races"].push_back(race);
    }
  }
  return text_of(j);
}

std::string list_of(std::span<const rung_info> rungs) {
  std::string text;
  for (const rung_info& r : rungs)
    text += fmt::format("{:<18} ladder/{:<26}{}\n", full_name(r), r.file,
                        r.expected_wrong ? "wrong on purpose" : "");
  return text;
}

std::string list_json(std::span<const rung_info> rungs) {
  json j = {{"rungs", json::array()}};
  for (const rung_info& r : rungs) j["rungs"].push_back(rung_json(r));
  return text_of(j);
}

// -- The side stairs
// ------------------------------------------------------------------------------------

stairs run_stairs(place& p, std::uint64_t n) {
  stairs s;
  s.facts = p.facts();
  // The largest square of n elements, a little ragged, so that the edges are seen, too.
  s.transpose_side = static_cast<unsigned>(std::min(std::sqrt(static_cast<double>(n)), 16384.0));
  if (s.transpose_side > 64) s.transpose_side -= 3;
  // Half ones and half zeros: chunks of f32 are exact up to 2^24 ones each.
  s.overlap_n = std::min(n, std::uint64_t{1} << 28);
  s.transposes = p.transposes(s.transpose_side);
  s.overlaps = p.overlaps(s.overlap_n);
  s.precisions = p.precisions(std::min(n, std::uint64_t{1} << 20));
  return s;
}

bool stairs::any_wrong() const {
  for (const transpose_row& r : transposes)
    if (!r.right) return true;
  for (const overlap_row& r : overlaps)
    if (!r.right) return true;
  return false;
}

std::string to_table(const stairs& s) {
  const auto time = [](double seconds) {
    return seconds > 0 ? time_text(seconds) : std::string("-");
  };
  const auto right = [](bool yes) { return yes ? "right" : "WRONG"; };
  const std::uint64_t moved = std::uint64_t{s.transpose_side} * s.transpose_side * 8;
  std::string text = fmt::format("device    {}; {}\n", s.facts.device, s.facts.driver);
  text += fmt::format("\ntranspose, {0} × {0} f32{1:<7} {2:>12} {3:>10} {4:>8}\n", s.transpose_side,
                      "", "shared bytes", "time", "GB/s");
  for (const transpose_row& r : s.transposes)
    text += fmt::format(
        "  {:<30} {:>12} {:>10} {:>8}  {}\n", r.name, r.shared_bytes, time(r.seconds),
        r.seconds > 0 ? fmt::format("{:.1f}", gb_per_s(moved, r.seconds)) : "-", right(r.right));
  text += fmt::format("\noverlap, {} f32 from the host{:<10} {:>10} {:>8}\n", s.overlap_n, "",
                      "time", "GB/s");
  for (const overlap_row& r : s.overlaps)
    text += fmt::format(
        "  {:<9} {} stream{:<21} {:>10} {:>8}  {}\n", r.memory, r.streams, r.streams > 1 ? "s" : "",
        time(r.seconds),
        r.seconds > 0 ? fmt::format("{:.1f}", gb_per_s(s.overlap_n * 4, r.seconds)) : "-",
        right(r.right));
  text += fmt::format("\nprecision, f16 elements {:>12} {:>14} {:>14} {:>12}\n", "n", "exact",
                      "result", "off by");
  for (const precision_row& r : s.precisions)
    text += fmt::format("  {:<9} {:<10} {:>13} {:>14} {:>14} {:>12}\n", r.data, r.sum, r.n, r.exact, r.result,
                        std::isfinite(r.result) ? fmt::format("{:.3g}%", 100 * (r.result - r.exact) / r.exact) : "overflow");
  return text;
}

std::string to_json(const stairs& s, const std::string& command) {
  json j = facts_json(s.facts);
  j["command"] = command;
  j["transpose"] = {{"side", s.transpose_side}, {"rows", json::array()}};
  for (const transpose_row& r : s.transposes)
    j["transpose"]["rows"].push_back(
        with_time({{"name", r.name}, {"right", r.right}, {"shared_bytes", r.shared_bytes}}, r.seconds));
  j["overlap"] = {{"n", s.overlap_n}, {"rows", json::array()}};
  for (const overlap_row& r : s.overlaps)
    j["overlap"]["rows"].push_back(
        with_time({{"memory", r.memory}, {"streams", r.streams}, {"right", r.right}}, r.seconds));
  j["precision"] = json::array();
  for (const precision_row& r : s.precisions)
    j["precision"].push_back({{"data", r.data},
                              {"sum", r.sum},
                              {"n", r.n},
                              {"exact", number(r.exact)},
                              {"result", number(r.result)}});
  return text_of(j);
}

}  // namespace ladder
