// SPDX-License-Identifier: Apache-2.0
// One page that needs nothing but itself: style and drawing are inline, nothing is fetched.
#include <fmt/format.h>

#include "report.hpp"
#include "text.hpp"

namespace lens::profile {

const char* const page_style = R"(
:root{color-scheme:light dark;--text:#1f2328;--soft:#656d76;--line:#d0d7de;--back:#fff;--roof:#0969da;--point:#cf222e}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--soft:#9198a1;--line:#3d444d;--back:#0d1117;--roof:#4493f8;--point:#f85149}}
body{margin:0 auto;max-width:1080px;padding:24px 20px 60px;font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back)}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:34px 0 8px;border-bottom:1px solid var(--line);padding-bottom:4px}
p{margin:4px 0}.soft{color:var(--soft)}.bad{color:var(--point)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px;margin:8px 0 18px}
td,th{padding:3px 14px 3px 0;text-align:right;white-space:nowrap;font-weight:400;vertical-align:top}
th{color:var(--soft);border-bottom:1px solid var(--line)}td:first-child,th:first-child{text-align:left}
td.cause{white-space:normal;text-align:left;max-width:44ch}
svg.roofline{width:100%;max-width:760px;height:auto}
svg text{fill:var(--text);font:12px system-ui,sans-serif}svg text.soft{fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1}.roof{fill:none;stroke:var(--roof);stroke-width:2.5}
.gap{stroke:var(--point);stroke-width:1;stroke-dasharray:3 3}.point{fill:var(--point)}
footer{margin-top:44px;color:var(--soft);font-size:13px}
)";

std::string to_html(const profile& p, const std::string& command) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<title>{0} profiled</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0} profiled</h1>\n<p class=\"soft\">{2}</p>\n<p>{3}</p>\n<p>{4}</p>\n",
      escaped(p.name), page_style, escaped(heading(p)), escaped(subject(p)), escaped(verdict(p)));
  for (const std::string& line : omissions(p)) page += "<p class=\"bad\">" + escaped(line) + "</p>\n";
  if (p.event_time)
    page += fmt::format("<p>median {}, min {}, max {} of {} runs</p>\n", duration(p.event_time->median),
                        duration(p.event_time->least), duration(p.event_time->most), p.event_time->samples);
  if (!p.kernels.empty())
    page += "<h2>Kernels</h2>\n" + table_html(times_table(kernel_times(p), "kernel")) +
            table_html(shapes_table(p));
  if (!p.transfers.empty())
    page += "<h2>Copies and fills</h2>\n" + table_html(times_table(p.transfers, "by the device"));
  if (!p.calls.empty())
    page += "<h2>CUDA runtime calls</h2>\n" + table_html(times_table(p.calls, "on the host"));
  if (p.roof) {
    page += std::string("<h2>Roofline</h2>\n<p class=\"soft\">Both ceilings are measured on this device; ") +
            (p.counted_operations ? "operations and bytes are as counted." : "shown are " + operations_of_its_own(p) + ".") +
            "</p>\n" + roofline_svg(*p.roof);
    for (const std::string& line : point_lines(*p.roof)) page += "<p>" + escaped(line) + "</p>\n";
  }
  if (!p.counts.empty())
    page += fmt::format("<h2>Hardware counters</h2>\n<p class=\"soft\">Of one more run, on {} in {} passes; "
                        "rows that are zero are left out.</p>\n",
                        escaped(p.chip), p.passes) +
            table_html(counters_table(p, source::sass)) + table_html(counters_table(p, source::hardware));
  return page + "<footer>" + escaped(command) + "</footer>\n</body>\n</html>\n";
}

}  // namespace lens::profile
