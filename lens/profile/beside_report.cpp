// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "beside.hpp"
#include "report.hpp"
#include "text.hpp"

namespace lens::profile {
namespace {

std::string difference_text(const beside_row& r) {
  if (r.equal()) return "equal";
  return (r.difference() > 0 ? "+" : "") + number(r.difference());
}

std::string cause_text(const beside_row& r) {
  if (r.equal()) return "";
  return r.why != nullptr ? std::string(r.why->name) : "UNEXPLAINED";
}

/// Each once, in the order of their first rows.
std::vector<const cause*> causes_in(const beside& b) {
  std::vector<const cause*> all;
  for (const beside_kernel& k : b.kernels)
    for (const beside_row& r : k.rows)
      if (r.why != nullptr && std::find(all.begin(), all.end(), r.why) == all.end()) all.push_back(r.why);
  return all;
}

}  // namespace

std::string to_text(const beside& b) {
  std::string text = fmt::format("{}: {} elements of {}, blocks of {}\n", b.rung, b.n, b.dtype, b.block);
  if (!b.refused.empty()) return text + "  " + b.refused + "\n";
  for (const beside_kernel& k : b.kernels) {
    table rows{{k.name, "simt", "GPU", "difference", "cause"}};
    for (const beside_row& r : k.rows)
      rows.push_back({std::string(r.counter), number(r.simt), number(r.gpu), difference_text(r), cause_text(r)});
    text += "\n" + table_text(rows);
  }
  for (const cause* c : causes_in(b)) text += fmt::format("\n  {}: {}\n", c->name, c->reason);
  return text;
}

std::string to_json(const std::vector<beside>& all, const beside_origin& from) {
  using json = nlohmann::ordered_json;
  json causes = json::object(), rungs = json::array();
  std::uint64_t compared = 0, equal = 0, unexplained = 0, exact = 0, exact_equal = 0;
  for (const beside& b : all) {
    json one{{"rung", b.rung}, {"dtype", b.dtype}, {"n", b.n}, {"block", b.block}};
    if (!b.refused.empty()) one["refused"] = b.refused;
    one["kernels"] = json::array();
    for (const beside_kernel& k : b.kernels) {
      json rows = json::array();
      for (const beside_row& r : k.rows) {
        json row{{"counter", r.counter}, {"simt", r.simt}, {"gpu", r.gpu}, {"difference", r.difference()}};
        if (!r.equal()) row["cause"] = r.why != nullptr ? json(r.why->name) : json(nullptr);
        if (r.why != nullptr) causes[std::string(r.why->name)] = r.why->reason;
        ++compared;
        equal += r.equal();
        exact += r.to_the_unit;
        exact_equal += r.to_the_unit && r.equal();
        unexplained += !r.explained();
        rows.push_back(row);
      }
      json counted = json::object();
      for (const metric& m : metrics())
        if (const double v = k.gpu.of(m.name); m.from == source::sass && v != 0 && !std::isnan(v))
          counted[std::string(m.name)] = v;
      one["kernels"].push_back({{"kernel", k.name}, {"counters", rows}, {"gpu_metrics", counted}});
    }
    rungs.push_back(one);
  }
  json metrics = json::object();
  for (const shared_counter& c : shared_counters()) metrics[std::string(c.name)] = c.metrics;
  const json j{{"command", from.command},
               {"device", from.device},
               {"driver", from.driver},
               {"multiprocessors", from.multiprocessors},
               {"compared", compared},
               {"equal", equal},
               {"of_memory_operations", {{"compared", exact}, {"equal", exact_equal}}},
               {"unexplained", unexplained},
               {"metrics", metrics},
               {"causes", causes},
               {"rungs", rungs}};
  return j.dump(1) + "\n";
}

std::string to_html(const std::vector<beside>& all, const std::string& device, const std::string& command) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<title>simt beside hardware</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>simt beside hardware</h1>\n<p class=\"soft\">{}</p>\n",
      page_style, escaped(device));
  for (const beside& b : all) {
    page += fmt::format("<h2>{}</h2>\n<p class=\"soft\">{} elements of {}, blocks of {}</p>\n", escaped(b.rung), b.n,
                        b.dtype, b.block);
    if (!b.refused.empty()) page += "<p class=\"bad\">" + escaped(b.refused) + "</p>\n";
    for (const beside_kernel& k : b.kernels) {
      table rows{{k.name, "simt", "GPU", "difference", "cause"}};
      for (const beside_row& r : k.rows)
        rows.push_back({std::string(r.counter), number(r.simt), number(r.gpu), difference_text(r), cause_text(r)});
      page += table_html(rows);
    }
    for (const cause* c : causes_in(b))
      page += fmt::format("<p><b>{}</b>: {}</p>\n", escaped(c->name), escaped(c->reason));
  }
  return page + "<footer>" + escaped(command) + "</footer>\n</body>\n</html>\n";
}

}  // namespace lens::profile
