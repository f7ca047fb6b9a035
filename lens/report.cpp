// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "advice.hpp"
#include "drawing_parts.hpp"

namespace lens {

std::string headline(const explanation& e) {
  if (!e.setting.empty()) return fmt::format("{} · {} · {}", e.name, e.file, e.setting);
  std::string all = fmt::format("{} · {} · {} {}", e.name, e.file, e.asked.n, wf::info(e.asked.type).name);
  if (!e.on_host && !e.is_stair) all += fmt::format(", blocks of {}", e.asked.block);
  return all;
}

std::string verdict(const explanation& e) {
  std::string all = fmt::format("result {}, exact sum {}: ", e.result, e.exact);
  if (e.expected_wrong) return all + (e.right ? "right by luck" : "wrong as expected");
  return all + (e.right ? "right" : "WRONG, " + e.why);
}

std::string kernel_line(const kernel_counts& k) {
  const std::uint64_t blocks = std::uint64_t{k.grid[0]} * k.grid[1] * k.grid[2];
  const std::uint64_t threads = std::uint64_t{k.block[0]} * k.block[1] * k.block[2];
  std::string all = fmt::format("{}: {} block{} of {} threads", k.name, blocks, blocks == 1 ? "" : "s", threads);
  if (k.shared_bytes != 0) all += fmt::format(", {} bytes of dynamic shared memory", k.shared_bytes);
  if (k.launches > 1) all += fmt::format(", the first of {} launches", k.launches);
  return all;
}

std::string intensity(const explanation& e) {
  const std::uint64_t bytes = e.total.global_bytes(), flops = e.total.flops;
  if ((flops == 0 && e.additions == 0) || bytes == 0) return {};
  std::string all;
  const bool of_floats = flops != 0 && flops >= e.additions;  // else the sum is made of integers, as `exact` makes it
  if (flops != 0) all += fmt::format("{} floating-point operations{}", flops, of_floats ? "" : "; ");
  if (e.additions != 0)
    all += fmt::format("{}{} additions make the sum{}", of_floats ? ", of which " : "", e.additions, of_floats ? "" : ", of integers");
  all += fmt::format("; {} bytes of global memory in sectors: ", bytes);
  return all + fmt::format("{:.3f} {} a byte", static_cast<double>(of_floats ? flops : e.additions) / static_cast<double>(bytes),
                           of_floats ? "FLOPs" : "additions");
}

std::string occupancy_line(const kernel_counts& k) {
  const auto threads = static_cast<unsigned>(k.block[0] * k.block[1] * k.block[2]);
  const occupancy o = occupancy_of(threads, k.shared_bytes);
  return fmt::format("a multiprocessor of an {} holds {} block{} at once, {} warps of 64, with up to {} registers a thread", reference_gpu.name, o.blocks,
                     o.blocks == 1 ? "" : "s", o.warps, o.registers);
}

std::string race_line(const ladder::race_pair& r) {
  const auto side = [](const ladder::race_line& l) { return fmt::format("{} at {}:{}", l.access, l.file, l.line); };
  return fmt::format("race on {} memory: {}, and {} ({} times)", r.space, side(r.a), side(r.b), r.count);
}

std::string per(std::uint64_t a, std::uint64_t b, int digits) {
  return b == 0 ? "-" : fmt::format("{:.{}f}", static_cast<double>(a) / static_cast<double>(b), digits);
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "~";
}

std::string comparison_number(const comparison_row& r, double x) {
  return r.is_ratio ? fmt::format("{:.1f}", x) : fmt::format("{:.0f}", x);
}

std::vector<named_count> other_counts_of(const kernel_counts& k) {
  std::vector<named_count> all;
  const auto add = [&](std::string_view name, std::uint64_t n) {
    if (n != 0) all.push_back({name, fmt::format("{}", n)});
  };
  const counters& c = k.total;
  add("barriers, a warp each", c.barriers);
  add("barriers of the grid or cluster", c.outer_barriers);
  add("__syncwarp", c.warp_syncs);
  add("shuffles", c.shuffles);
  add("votes and warp reductions", c.collectives);
  add("floating-point operations", c.flops);
  all.push_back({"divergent branches", fmt::format("{}", c.divergent)});
  all.push_back({"lanes a basic block", per(c.block_lanes, c.blocks, 1)});
  add("words with atomics", k.atomic_words);
  add("longest queue at one", k.longest_queue);
  return all;
}

std::vector<picture> pictures_of(const explanation& e) {
  std::vector<picture> all;
  const auto named = [&](const std::string& kernel) { return e.traces.size() > 1 ? kernel + ": " : std::string(); };
  const auto where = [&](const block_trace& t) {
    std::string words = fmt::format("block 0 of {}", t.blocks);
    if (e.trace_n != 0) words += fmt::format(", {} elements", e.trace_n);
    if (t.threads > 64) words += fmt::format(", threads 0 to 63 of {}", t.threads);
    return words;
  };
  for (const block_trace& t : e.traces)
    if (!t.rows.empty()) {
      std::string words = where(t);
      if (t.rows_left_out != 0) words += fmt::format(", the first {} rows of {}", t.rows.size(), t.rows.size() + t.rows_left_out);
      all.push_back({named(t.kernel) + "Who adds what to what (" + words + ")", &t, false, nullptr, nullptr, e.file});
    }
  for (const kernel_counts& k : e.kernels) {
    const sample& s = k.worst_shared;
    if (s.what.mask == 0) continue;
    const shared_cost cost = cost_in_shared(s.what);
    std::string title = e.kernels.size() > 1 ? k.name + ": " : "";
    title += fmt::format("Banks of one {} of {} bytes, {}: {} pass{}, {} of them conflicts",
                         s.is_atomic ? "atomic" : s.is_load ? "load" : "store", s.what.size,
                         place_in_words(s.where, e.file), cost.wavefronts, cost.wavefronts == 1 ? "" : "es", cost.conflicts());
    all.push_back({title, nullptr, false, &s, nullptr, e.file});
  }
  for (const kernel_counts& k : e.kernels) {
    const sample& s = k.worst_global;
    if (s.what.mask == 0) continue;
    const global_cost cost = cost_in_global(s.what);
    if (cost.sectors < 2 * fewest_sectors(cost)) continue;
    std::string title = e.kernels.size() > 1 ? k.name + ": " : "";
    title += fmt::format("Sectors of one {} of {} bytes, {}: {} touched, {} would hold its bytes", s.is_load ? "load" : "store", s.what.size,
                         place_in_words(s.where, e.file), cost.sectors, fewest_sectors(cost));
    all.push_back({title, nullptr, false, nullptr, &s, e.file});
  }
  for (const block_trace& t : e.traces)
    if (!t.warps.empty() && !t.warps[0].empty())
      all.push_back({named(t.kernel) + "Lanes active in warp 0 over time (" + where(t) + ")", &t, true, nullptr, nullptr, e.file});
  return all;
}

drawing draw(const picture& p) {
  if (p.banks != nullptr) return draw_banks(*p.banks);
  if (p.sectors != nullptr) return draw_sectors(*p.sectors);
  return p.of_lanes ? draw_lanes(*p.trace, 0) : draw_values(*p.trace, p.main_file);
}

std::string drawings_file(const explanation& e, const std::vector<std::string>& kinds) {
  std::vector<titled_drawing> all;
  for (const picture& p : pictures_of(e))
    if (kinds.empty() || std::find(kinds.begin(), kinds.end(), p.kind()) != kinds.end()) all.push_back({p.title, draw(p)});
  return all.empty() ? "" : to_svg_file(all);
}

}  // namespace lens
