// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "text.hpp"

namespace lens::profile {

std::string heading(const profile& p) {
  std::string line = fmt::format("{}, {} SMs, {}", p.facts.device, p.facts.sms, p.facts.driver);
  if (p.clocks)
    line += fmt::format("; SM {} of {} MHz, memory {} of {} MHz", p.clocks->sm_mhz,
                        p.clocks->most_sm_mhz, p.clocks->memory_mhz, p.clocks->most_memory_mhz);
  return line;
}

std::string subject(const profile& p) {
  return fmt::format("{}: {} elements of {}, {} runs{}", p.name, p.asked.n,
                     wf::info(p.asked.type).name, p.asked.runs,
                     p.asked.hot ? ", the L2 as the run before left it" : ", the L2 flushed before each");
}

std::string verdict(const profile& p) {
  if (p.right) return fmt::format("{0} {1}: right (exact {0} {2})", p.what, p.result, p.exact);
  if (p.expected_wrong)
    return fmt::format("{0} {1}: wrong, as this rung is meant to be (exact {0} {2})", p.what, p.result, p.exact);
  return fmt::format("{0} {1}: WRONG (exact {0} {2}): {3}; nothing is shown of it", p.what, p.result, p.exact, p.why);
}

table times_table(const std::vector<statistics>& all, const std::string& of) {
  table rows{{of, "calls", "total", "average", "median", "min", "max", "spread"}};
  for (const statistics& s : all)
    rows.push_back({s.name, std::to_string(s.count), duration(s.total), duration(s.average),
                    duration(s.median), duration(s.least), duration(s.most),
                    fmt::format("{:.1f}%", 100 * s.spread)});
  return rows;
}

namespace {

std::string extent(const std::uint32_t (&d)[3]) {
  std::string text = std::to_string(d[0]);
  for (int i = 1; i < 3; ++i)
    if (d[i] > 1 || (i == 1 && d[2] > 1)) text += " x " + std::to_string(d[i]);
  return text;
}

std::string value_text(double v, std::string_view unit) {
  if (std::isnan(v)) return "-";
  if (unit == "%") return fmt::format("{:.1f}%", v);
  if (unit == "B") return scaled(v) + "B";
  return unit.empty() ? number(v) : fmt::format("{:.2f}", v);
}

}  // namespace

table shapes_table(const profile& p) {
  table rows{{"kernel", "grid", "block", "registers", "static shared", "dynamic shared", "local"}};
  for (const profiled_kernel& k : p.kernels)
    rows.push_back({k.first.name, extent(k.first.grid), extent(k.first.block),
                    std::to_string(k.first.registers), std::to_string(k.first.static_shared) + " B",
                    std::to_string(k.first.dynamic_shared) + " B", std::to_string(k.first.local_bytes) + " B"});
  return rows;
}

table counters_table(const profile& p, source from) {
  table rows{{from == source::sass ? "counted by instruction" : "counted by the hardware's units"}};
  for (const auto& c : p.counts) rows[0].push_back(c.name);
  for (const metric& m : metrics()) {
    if (m.from != from) continue;
    std::vector<std::string> row{std::string(m.label)};
    bool any = false;
    for (const auto& c : p.counts) {
      const double v = c.counted.of(m.name);
      any = any || v != 0;
      row.push_back(value_text(v, m.unit));
    }
    if (any) rows.push_back(row);  // most rungs have a third of the 45
  }
  return rows;
}

std::vector<statistics> kernel_times(const profile& p) {
  std::vector<statistics> all;
  for (const profiled_kernel& k : p.kernels) all.push_back(k.time);
  return all;
}

std::vector<std::string> omissions(const profile& p) {
  std::vector<std::string> lines;
  if (!p.no_trace.empty())
    lines.push_back("no times of single kernels and calls: " + p.no_trace +
                    "; shown is the time of the whole, by CUDA events");
  if (p.dropped != 0)
    lines.push_back(fmt::format("CUPTI lost {} activity records: the tables are short of them", p.dropped));
  if (!p.no_counters.empty()) lines.push_back("no hardware counters: " + p.no_counters);
  return lines;
}

std::string operations_of_its_own(const profile& p) {
  return std::string(p.asked.reduction && p.what != "sum" ? "the n - 1 operations" : "the additions") +
         " and bytes that any such " + (p.what == "sum" ? "sum" : "reduction") + " needs";
}

std::string to_text(const profile& p) {
  std::string text = heading(p) + "\n" + subject(p) + "\n" + verdict(p) + "\n";
  for (const std::string& line : omissions(p)) text += line + "\n";
  if (p.event_time)
    text += fmt::format("\n  {}: median {}, min {}, max {} of {} runs\n", p.name,
                        duration(p.event_time->median), duration(p.event_time->least),
                        duration(p.event_time->most), p.event_time->samples);
  if (!p.kernels.empty())
    text += "\n" + table_text(times_table(kernel_times(p), "kernel")) + "\n" + table_text(shapes_table(p));
  if (!p.transfers.empty()) text += "\n" + table_text(times_table(p.transfers, "copies and fills by the device"));
  if (!p.calls.empty()) text += "\n" + table_text(times_table(p.calls, "CUDA runtime call, on the host"));
  if (!p.counts.empty())
    text += fmt::format("\nCounters of one more run, on {} in {} passes\n\n", p.chip, p.passes) +
            table_text(counters_table(p, source::sass)) + "\n" +
            table_text(counters_table(p, source::hardware));
  if (p.roof)
    text += std::string("\nRoofline: ") +
            (p.counted_operations ? "operations and bytes as counted" : operations_of_its_own(p)) +
            "\n\n" + roofline_text(*p.roof);
  return text;
}

}  // namespace lens::profile
