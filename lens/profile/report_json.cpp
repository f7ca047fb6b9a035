// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cmath>

#include "report.hpp"

namespace lens::profile {
namespace {

using json = nlohmann::ordered_json;

json of(const statistics& s) {
  return {{"name", s.name},       {"calls", s.count}, {"total_s", s.total}, {"average_s", s.average},
          {"median_s", s.median}, {"min_s", s.least}, {"max_s", s.most},    {"spread", s.spread}};
}

json of(const std::vector<statistics>& all) {
  json list = json::array();
  for (const statistics& s : all) list.push_back(of(s));
  return list;
}

json of(const roofline& r) {
  json points = json::array();
  for (const roofline_point& p : r.points)
    points.push_back({{"name", p.name},
                      {"operations", p.operations},
                      {"bytes", p.bytes},
                      {"seconds", p.seconds},
                      {"intensity", p.intensity()},
                      {"of_ceiling", r.reached(p)}});
  return {{"operation", r.operation},
          {"read_bytes_per_s", r.bytes_per_second},
          {"operations_per_s", r.operations_per_second},
          {"points", points}};
}

}  // namespace

std::string to_json(const profile& p, const std::string& command) {
  json j{{"command", command},
         {p.asked.reduction ? "reduction" : "rung", p.name},
         {"n", p.asked.n},
         {"dtype", wf::info(p.asked.type).name},
         {"block", p.asked.block},
         {"runs", p.asked.runs},
         {"hot", p.asked.hot},
         {"device", p.facts.device},
         {"driver", p.facts.driver},
         {"result", p.result},
         {"exact", p.exact},
         {"right", p.right},
         {"omitted", omissions(p)}};
  if (p.clocks)
    j["clocks"] = {{"sm_mhz", p.clocks->sm_mhz}, {"memory_mhz", p.clocks->memory_mhz},
                   {"driver", p.clocks->driver}};
  if (p.event_time)
    j["event_time"] = {{"median_s", p.event_time->median}, {"min_s", p.event_time->least},
                       {"max_s", p.event_time->most}, {"samples", p.event_time->samples}};
  j["kernels"] = json::array();
  for (const profiled_kernel& k : p.kernels) {
    json one = of(k.time);
    one["grid"] = k.first.grid;
    one["block"] = k.first.block;
    one["registers"] = k.first.registers;
    one["static_shared_bytes"] = k.first.static_shared;
    one["dynamic_shared_bytes"] = k.first.dynamic_shared;
    one["local_bytes"] = k.first.local_bytes;
    j["kernels"].push_back(one);
  }
  j["transfers"] = of(p.transfers);
  j["calls"] = of(p.calls);
  if (!p.counts.empty()) {
    j["chip"] = p.chip;
    j["passes"] = p.passes;
    j["counters"] = json::array();
    for (const auto& c : p.counts) {
      json one{{"kernel", c.name}};
      for (const metric& m : metrics()) {
        const double v = c.counted.of(m.name);
        one[std::string(m.name)] = std::isfinite(v) ? json(v) : json(nullptr);
      }
      j["counters"].push_back(one);
    }
  }
  if (p.roof) {
    j["roofline"] = of(*p.roof);
    j["roofline"]["counted"] = p.counted_operations;
  }
  return j.dump(2) + "\n";
}

}  // namespace lens::profile
