// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <nlohmann/json.hpp>

#include "advice.hpp"
#include "explanation.hpp"

namespace lens {
namespace {

using json = nlohmann::ordered_json;

json memory_json(const memory_counts& m, const memory_row& row) {
  json j{{"requests", m.requests}, {"lanes", m.lanes}, {"bytes", m.bytes}};
  if (row.in_shared) {
    j["wavefronts"] = m.wavefronts;
    j["ideal_wavefronts"] = m.ideal;
    j["conflicts"] = m.conflicts();
    j["most_ways"] = m.ways;
  } else {
    j["sectors"] = m.sectors;
    j["useful_bytes"] = m.useful_bytes;
  }
  if (row.is_atomic) j["turns"] = m.turns;
  return j;
}

json counters_json(const counters& c) {
  json j;
  for (const memory_row& row : memory_rows)
    if ((c.*row.counts).requests != 0) {
      std::string name(row.name);
      name[name.find(' ')] = '_';
      j[name] = memory_json(c.*row.counts, row);
    }
  const auto add = [&](const char* name, std::uint64_t n) {
    if (n != 0) j[name] = n;
  };
  add("barriers", c.barriers);
  add("outer_barriers", c.outer_barriers);
  add("warp_syncs", c.warp_syncs);
  add("shuffles", c.shuffles);
  add("collectives", c.collectives);
  add("divergent_branches", c.divergent);
  add("basic_blocks", c.blocks);
  add("basic_block_lanes", c.block_lanes);
  add("flops", c.flops);
  return j;
}

/// As counters_json() wrote them.
counters counters_of(const json& j) {
  counters c;
  for (const memory_row& row : memory_rows) {
    std::string name(row.name);
    name[name.find(' ')] = '_';
    if (!j.contains(name)) continue;
    const json& from = j[name];
    auto& m = const_cast<memory_counts&>(c.*row.counts);  // a member of `c`, which is not constant
    m.requests = from["requests"];
    m.lanes = from["lanes"];
    m.bytes = from["bytes"];
    m.sectors = from.value("sectors", 0);
    m.useful_bytes = from.value("useful_bytes", 0);
    m.wavefronts = from.value("wavefronts", 0);
    m.ideal = from.value("ideal_wavefronts", 0);
    m.ways = from.value("most_ways", 0);
    m.turns = from.value("turns", 0);
  }
  c.barriers = j.value("barriers", 0);
  c.outer_barriers = j.value("outer_barriers", 0);
  c.warp_syncs = j.value("warp_syncs", 0);
  c.shuffles = j.value("shuffles", 0);
  c.collectives = j.value("collectives", 0);
  c.divergent = j.value("divergent_branches", 0);
  c.blocks = j.value("basic_blocks", 0);
  c.block_lanes = j.value("basic_block_lanes", 0);
  c.flops = j.value("flops", 0);
  return c;
}

json side_json(const ladder::race_line& l) { return {{"file", l.file}, {"line", l.line}, {"access", l.access}}; }

json explanation_json(const explanation& e) {
  json j;
  if (e.setting.empty())
    j = {{"rung", e.name}, {"file", e.file}, {"lesson", e.lesson}, {"n", e.asked.n},
         {"dtype", wf::info(e.asked.type).name}, {"block", e.asked.block}};
  else
    j = {{"kernel", e.name}, {"file", e.file}, {"lesson", e.lesson}, {"setting", e.setting}, {"outputs", e.outputs}};
  if (!e.is_stair) {
    j["result"] = e.result;
    j["exact"] = e.exact;
    j["right"] = e.right;
    j["expected_wrong"] = e.expected_wrong;
  }
  j["kernels"] = json::array();
  for (const kernel_counts& k : e.kernels) {
    json one{{"name", k.name}, {"grid", k.grid}, {"block", k.block}, {"dynamic_shared_bytes", k.shared_bytes},
             {"launches", k.launches}, {"counters", counters_json(k.total)},
             {"atomic_words", k.atomic_words}, {"longest_queue", k.longest_queue}};
    const occupancy held = occupancy_of(static_cast<unsigned>(k.block[0] * k.block[1] * k.block[2]), k.shared_bytes);
    one["occupancy"] = {{"blocks", held.blocks}, {"warps", held.warps}, {"limit", held.limit}, {"registers", held.registers}};
    one["advice"] = json::array();
    for (const advice& a : advice_for(e, k)) {
      json told{{"rule", name_of(a.what)}, {"text", a.text}};
      if (a.where.line != 0) told.update({{"file", a.where.file}, {"line", a.where.line}});
      one["advice"].push_back(std::move(told));
    }
    one["hardware_names"] = json::array();
    for (const hardware_counter& h : hardware_counters())
      one["hardware_names"].push_back({{"name", h.name}, {"metric", h.metric}, {"value", h.value(k.total)}, {"exact", h.exact}});
    one["lines"] = json::array();
    for (const line_counts& l : k.lines)
      one["lines"].push_back({{"file", l.where.file}, {"line", l.where.line}, {"counters", counters_json(l.counted)}});
    j["kernels"].push_back(std::move(one));
  }
  if (const auto bytes = static_cast<double>(e.total.global_bytes()); bytes != 0) {
    j["global_bytes"] = e.total.global_bytes();
    if (e.additions != 0) {
      j["additions"] = e.additions;
      j["additions_per_byte"] = static_cast<double>(e.additions) / bytes;
    }
    if (e.total.flops != 0) {
      j["flops"] = e.total.flops;
      j["flops_per_byte"] = static_cast<double>(e.total.flops) / bytes;
    }
  }
  j["races"] = json::array();
  for (const ladder::race_pair& r : e.races)
    j["races"].push_back({{"kernel", r.kernel}, {"space", r.space}, {"a", side_json(r.a)}, {"b", side_json(r.b)}, {"count", r.count}});
  return j;
}

}  // namespace

explanation counted_from_json(const std::string& text, const std::string& name) {
  explanation e;
  e.name = name;
  const json all = json::parse(text);
  for (const json& k : all["kernels"]) {
    kernel_counts one;
    one.name = k["name"];
    one.total = counters_of(k["counters"]);
    one.launches = k["launches"];
    one.longest_queue = k["longest_queue"];
    e.total += one.total;
    e.longest_queue = std::max(e.longest_queue, one.longest_queue);
    e.kernels.push_back(std::move(one));
  }
  e.races.resize(all["races"].size());
  return e;
}

std::string to_json(const explanation& e, const explanation* versus, const std::string& command) {
  json j = explanation_json(e);
  j["command"] = command;
  if (versus != nullptr) {
    j["versus"] = explanation_json(*versus);
    const auto rows = compare(*versus, e);
    for (const comparison_row& r : rows)
      j["comparison"].push_back({{"name", r.name}, {"before", r.before}, {"after", r.after}});
    j["changes"] = changes_in_words(rows);
  }
  return j.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace lens
