// SPDX-License-Identifier: Apache-2.0
// One page that needs nothing but itself: styles and drawings are inline, nothing is fetched.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "advice.hpp"
#include "drawing_parts.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "words.hpp"

namespace lens {
namespace {

constexpr std::string_view page_style = R"(
:root{color-scheme:light dark;--text:#1f2328;--soft:#656d76;--line:#d0d7de;--back:#fff;--code:#f6f8fa;--hot:255,140,0;--bad:#cf222e;--good:#1a7f37;--link:#0969da}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--soft:#9198a1;--line:#3d444d;--back:#0d1117;--code:#151b23;--hot:255,160,40;--bad:#f85149;--good:#3fb950;--link:#4493f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:24px 20px 60px;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;overflow-wrap:break-word;color:var(--text);background:var(--back)}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 8px;border-bottom:1px solid var(--line);padding-bottom:4px}
h3{font-size:15px;margin:22px 0 6px}
.soft{color:var(--soft)}.lesson{max-width:75ch}.lesson p{margin:8px 0}
.bad{color:var(--bad)}.good{color:var(--good)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
td,th{padding:3px 12px 3px 0;text-align:right;white-space:nowrap;font-weight:400}
th{color:var(--soft);border-bottom:1px solid var(--line)}td:first-child,th:first-child{text-align:left}
table.source{font:12.5px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border:1px solid var(--line);border-radius:6px;border-collapse:separate;border-spacing:0;width:100%}
table.source td,table.source th{padding:0 8px;vertical-align:top}
table.source th{padding:5px 8px;font-family:system-ui,sans-serif;font-size:12px}
table.source .number,table.source .text{position:sticky;background:var(--code);text-align:left}
table.source .number{left:0;min-width:44px;width:44px;text-align:right;color:var(--soft)}
table.source .text{left:44px;width:100%;min-width:min(52ch,56vw);padding:0 8px 0 calc(2ch + 8px);text-indent:-2ch;white-space:pre-wrap;overflow-wrap:anywhere;border-right:1px solid var(--line)}
table.source tr.raced .text{color:var(--bad);font-weight:600}
table.source tr.share td{color:var(--soft)}table.source tr.share .text{font-style:italic;padding-left:calc(6ch + 8px)}
table.source tr.gap td{height:14px}
.large{display:none}.drawn{display:block}
@media(max-width:600px){table.compared td,table.compared th{white-space:normal;padding-right:8px}table.compared th{overflow-wrap:anywhere}.drawn svg{max-width:100%;height:auto}.drawn:has(:checked){overflow-x:auto}.drawn:has(:checked) svg{max-width:none}.large{display:inline;margin:0 6px 0 0}.drawn label{font-size:12px;color:var(--soft)}
table.counts,table.counts tbody,table.counts tr,table.source,table.source tbody,table.source tr{display:block}table.counts th,table.source th{display:none}
table.counts tr{padding:6px 0;border-bottom:1px solid var(--line)}table.counts td{display:inline-block;padding:0 10px 0 0}table.counts td:first-child{display:block;font-weight:600}
table.counts td:empty,table.source td:empty:not(.number):not(.text){display:none}table.counts td[title]:before,table.source td[title]:before{content:attr(title) ' ';color:var(--soft)}
table.source td{display:inline-block}table.source .number{position:static}table.source .text{position:static;border-right:0;width:calc(100% - 44px)!important;min-width:0!important}table.source td[title]{margin-left:44px;border-radius:4px}table.source td[title]~td[title]{margin-left:4px}table.source tr.gap td{display:block}
body{padding:16px 12px 40px}table.source{font-size:11.5px}table.source .number{min-width:36px;width:36px;padding:0 5px 0 2px}table.source .text{left:36px}table.source td,table.source th{padding-left:6px;padding-right:6px}table.source .text{padding-left:calc(2ch + 6px)}}
dl{display:grid;grid-template-columns:max-content auto;gap:2px 14px;font-size:13px;color:var(--soft)}dt{color:var(--text)}dd{margin:0}
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);padding:1px 4px;border-radius:4px}
ul{margin:6px 0;padding-left:22px}
a{color:var(--link)}
footer{margin-top:48px;color:var(--soft);font-size:13px}
)";

/// What stands between two backticks is code.
std::string with_code(const std::string& text) {
  std::string all;
  bool is_code = false;
  for (std::size_t at = 0; at <= text.size();) {
    auto tick = text.find('`', at);
    if (!is_code && tick != text.npos && text.find('`', tick + 1) == text.npos) tick = text.npos;  // the last, alone
    const auto end = std::min(tick, text.size());
    const std::string part = escaped(text.substr(at, end - at));
    all += is_code ? "<code>" + part + "</code>" : part;
    is_code = tick != text.npos && !is_code;
    at = end + 1;
  }
  return all;
}

/// A rung's lesson in Chinese: the first section of its page, as plain text with backticks. Empty if there is none.
std::string lesson_in_chinese(const explanation& e) {
  if (page_language() != language::chinese) return {};
  const source_file* page = find_source("docs/zh/ladder/" + std::filesystem::path(e.file).stem().string() + ".md");
  if (page == nullptr) return {};
  const auto heading = page->text.find("\n## ");
  const auto begin = page->text.find("\n\n", heading), end = page->text.find("\n## ", begin);
  if (heading == page->text.npos || begin == page->text.npos || end == page->text.npos) return {};
  std::string all;
  const std::string_view body = page->text.substr(begin, end - begin);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '*') continue;
    if (body[i] == '[') continue;
    if (body.substr(i).starts_with("](")) i = std::min(body.find(')', i), body.size() - 1);
    else if (body.substr(i).starts_with("\n  ")) i += 2;  // a list's item goes on
    else all += body[i];
  }
  return all;
}

std::string lesson_of(const explanation& e) {
  const std::string chinese = lesson_in_chinese(e), &lesson = chinese.empty() ? e.lesson : chinese;
  std::string all = "<div class=\"lesson\">";
  std::size_t at = 0;
  while (at <= lesson.size()) {
    const auto end = std::min(lesson.find('\n', at), lesson.size());
    if (end > at) all += "<p>" + with_code(lesson.substr(at, end - at)) + "</p>\n";
    at = end + 1;
  }
  return all + "</div>\n";
}

constexpr std::string_view documents = "https://github.com/warpfold/warpfold/blob/main/docs/";

/// The lesson about the subject of a rule.
std::string lesson_link(rule what) {
  std::string_view page;
  switch (what) {
    case rule::bank_conflicts: page = "banks"; break;
    case rule::uncoalesced:
    case rule::missing_barrier: page = "memory"; break;
    case rule::divergence: page = "threads"; break;
    case rule::one_address: page = "finishing"; break;
    case rule::occupancy: page = "occupancy"; break;
    case rule::memory_bound: page = "intensity"; break;
  }
  return fmt::format("{}{}lessons/{}.md", documents, page_language() == language::chinese ? "zh/" : "", page);
}

/// A rung's page in the documents, and that of the rung after it.
std::string links_of(const explanation& e) {
  const std::string folder = std::string(documents) + (page_language() == language::chinese ? "zh/ladder/" : "ladder/");
  const auto link = [&](const std::string& stem, const std::string& words) {
    return "<a href=\"" + escaped(folder + stem + ".md") + "\">" + escaped(words) + "</a>";
  };
  if (!e.file.starts_with("ladder/")) {
    const std::string lessons = std::string(documents) + (page_language() == language::chinese ? "zh/lessons" : "lessons") + "/README.md";
    return "<p><a href=\"" + escaped(lessons) + "\">All lessons</a></p>\n";
  }
  const std::string stem = std::filesystem::path(e.file).stem().string();
  std::string all = "<p>" + link(stem, "The lesson's page"), next;
  for (const source_file& f : sources())  // in the order of their numbers
    if (const std::string other = std::filesystem::path(f.path).stem().string();
        f.path.starts_with("ladder/") && other > stem && other[0] <= '9' && (next.empty() || other < next))
      next = other;
  if (stem[0] <= '9' && !next.empty()) all += " · " + link(next, "the next rung") + " (<code>" + escaped(next.substr(3)) + "</code>)";
  return all + "</p>\n";
}

std::string memory_html(const counters& c) {
  bool any_global = false, any_shared = false, any_atomic = false;  // columns of nothing are left out
  for (const memory_row& row : memory_rows) {
    const bool is_there = (c.*row.counts).requests != 0;
    any_global |= is_there && !row.in_shared;
    any_shared |= is_there && row.in_shared;
    any_atomic |= is_there && row.is_atomic;
  }
  std::string all = "<div class=\"scroll\"><table class=\"counts\"><tr><th></th><th>requests</th><th>lanes a request</th>";
  if (any_global) all += "<th>sectors</th><th>sectors a request</th><th>bytes used</th>";
  if (any_shared) all += "<th>wavefronts</th><th>conflicts</th><th>ways at most</th>";
  all += any_atomic ? "<th>turns</th></tr>\n" : "</tr>\n";
  for (const memory_row& row : memory_rows) {
    const memory_counts& m = c.*row.counts;
    if (m.requests == 0) continue;
    const auto cell = [&](std::string_view title, const std::string& text, bool is_bad = false) {
      all += text.empty() ? "<td></td>"
                          : fmt::format("<td{} title=\"{}\">{}</td>", is_bad ? " class=\"bad\"" : "", title, text);
    };
    const auto number = [](std::uint64_t n) { return fmt::format("{}", n); };
    const bool shared = row.in_shared;
    all += fmt::format("<tr><td>{}</td>", row.name);
    cell("requests", number(m.requests));
    cell("lanes a request", per(m.lanes, m.requests, 1));
    if (any_global) {
      cell("sectors", shared ? "" : number(m.sectors));
      cell("sectors a request", shared ? "" : per(m.sectors, m.requests, 2));
      cell("bytes used", shared ? "" : per(100 * m.useful_bytes, 32 * m.sectors, 0) + " %");
    }
    if (any_shared) {
      cell("wavefronts", shared ? number(m.wavefronts) : "");
      cell("conflicts", shared ? number(m.conflicts()) : "", m.conflicts() != 0);
      cell("ways at most", shared ? number(m.ways) : "");
    }
    if (any_atomic) cell("turns", row.is_atomic ? number(m.turns) : "");
    all += "</tr>\n";
  }
  return all + "</table></div>\n";
}

/// A number's share of the largest in its column tints its cell.
double weight(const std::string& text, double most) {
  return text.empty() || most == 0 ? 0 : std::stod(text) / most;
}

/// How to read each kind of drawing that there is.
std::string legend_of(const std::vector<picture>& all, bool is_rung) {
  const auto has = [&](auto kind) { return std::any_of(all.begin(), all.end(), kind); };
  std::string words = "<p class=\"soft\">";
  if (has([](const picture& p) { return p.trace != nullptr && !p.of_lanes; }))
    words +=
        "<b>Who adds what to what</b>: time goes down. The axis numbers the threads, and the places of shared memory by their addresses: "
        "a circle at 4 is t4, what thread 4 holds in registers, a square there is s4, the fifth place. The number in it is the thread that "
        "makes the value, its colour that thread's warp; * stands for several threads. Lines come from what a value is made of; pale ones "
        "never reach the result. A node pointed at tells its sum: in <code>t4: s8 = s8 + s10</code> thread 4 adds place 10 to place 8. <span>Small "
        "squares above a load are a leader's elements, in their own columns; a red node is a word that several threads write at once.</span><br>\n";
  if (has([](const picture& p) { return p.banks != nullptr; }))
    words += "<b>Banks</b>: a row a lane, a column a bank; the number is the pass over the banks in which the lane is served.<br>\n";
  if (has([](const picture& p) { return p.sectors != nullptr; }))
    words += "<b>Sectors</b>: a row a sector of 32 bytes, a column 4 bytes of it; the number is the lane that wants them, and what is grey moves for nothing.<br>\n";
  if (has([](const picture& p) { return p.of_lanes; }))
    words += "<b>Lanes</b>: a row a lane, a column an instruction of the warp; coloured where the lane is active.<br>\n";
  if (is_rung && has([](const picture& p) { return p.trace != nullptr; }))
    words += "<span>Rungs are drawn in lock step, so that what is meant is drawn even where a run is judged wrong.</span>\n";
  return words + "</p>\n";
}

/// The numbers of a line, or of a kernel's share in it.
std::string cells_of(const counters& counted, const std::vector<column>& used, const std::vector<double>& most) {
  std::string all;
  for (std::size_t k = 0; k < used.size(); ++k) {
    const std::string text = used[k].text(counted);
    const bool tinted = used[k].name != "lanes" && !text.empty();
    all += tinted ? fmt::format("<td title=\"{}\" style=\"background:rgba(var(--hot),{:.2f})\">{}</td>", used[k].name,
                                0.08 + 0.4 * weight(text, most[k]), text)
           : text.empty() ? "<td></td>"
                          : fmt::format("<td title=\"{}\">{}</td>", used[k].name, text);
  }
  return all;
}

std::string source_of(const explanation& e) {
  const auto files = annotate(e);
  const auto used = columns_for(files);
  std::vector<double> most(used.size());
  for (const annotated_file& f : files)
    for (const annotated_line& l : f.lines)
      for (std::size_t k = 0; k < used.size(); ++k)
        if (const std::string text = used[k].text(l.counted); !text.empty()) most[k] = std::max(most[k], std::stod(text));
  std::string all;
  for (const annotated_file& f : files) {
    all += "<h3>" + escaped(f.path) + "</h3>\n<div class=\"scroll\"><table class=\"source\"><tr><th class=\"number\"></th><th class=\"text\"></th>";
    for (const column& c : used) all += fmt::format("<th title=\"{}\">{}</th>", escaped(c.meaning), c.name);
    all += "</tr>\n";
    int before = 0;
    for (const annotated_line& l : f.lines) {
      if (before != 0 && l.number != before + 1)
        all += fmt::format("<tr class=\"gap\"><td colspan=\"{}\"></td></tr>\n", used.size() + 2);
      before = l.number;
      all += l.raced ? "<tr class=\"raced\">" : "<tr>";
      all += fmt::format("<td class=\"number\">{}</td><td class=\"text\">{}</td>", l.number, escaped(l.text)) +
             cells_of(l.counted, used, most) + "</tr>\n";
      for (const kernel_share& s : l.shares)
        all += "<tr class=\"share\"><td class=\"number\"></td><td class=\"text\">" + escaped(s.kernel) + "</td>" +
               cells_of(s.counted, used, most) + "</tr>\n";
    }
    all += "</table></div>\n";
  }
  all += "<dl>";
  for (const column& c : used) all += fmt::format("<dt>{}</dt><dd>{}</dd>", c.name, escaped(c.meaning));
  return all + "</dl>\n";
}

std::string comparison_of(const explanation& e, const explanation& versus) {
  const auto rows = compare(versus, e);
  std::string all = fmt::format("<h2>Compared with {}</h2>\n<ul>", escaped(versus.name));
  for (const std::string& words : changes_in_words(rows)) all += "<li>" + escaped(words) + "</li>\n";
  all += fmt::format("</ul>\n<div class=\"scroll\"><table class=\"compared\"><tr><th></th><th>{}</th><th>{}</th></tr>\n", escaped(versus.name), escaped(e.name));
  for (const comparison_row& r : rows)
    all += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", r.name, comparison_number(r, r.before), comparison_number(r, r.after));
  return all + "</table></div>\n";
}

/// What holds each kernel back, by rule.
std::string advice_of(const explanation& e) {
  std::string all;
  for (const kernel_counts& k : e.kernels) {
    const auto told = advice_for(e, k);
    if (told.empty()) continue;
    if (e.kernels.size() > 1) all += "<h3>" + escaped(kernel_line(k)) + "</h3>\n";
    all += "<ul class=\"advice\">";
    for (const advice& a : told) all += fmt::format("<li><a href=\"{}\">{}</a>: {}</li>\n", lesson_link(a.what), name_of(a.what), escaped(a.text));
    all += "</ul>\n";
  }
  return all.empty() ? all : "<h2>What holds it back</h2>\n" + all;
}

std::string counts_of(const explanation& e) {
  std::string all;
  for (const kernel_counts& k : e.kernels) {
    all += "<h3>" + escaped(kernel_line(k)) + "</h3>\n" + memory_html(k.total) + "<p class=\"soft\">";
    bool first = true;
    for (const named_count& n : other_counts_of(k)) {
      all += fmt::format("{}{} {}", first ? "" : " · ", n.name, n.text);
      first = false;
    }
    all += "</p>\n<p class=\"soft\">" + escaped(occupancy_line(k)) + "</p>\n";
  }
  if (const std::string work = intensity(e); !work.empty()) all += "<p>" + escaped(work) + "</p>\n";
  return all;
}

}  // namespace

std::string to_html(const explanation& e, const explanation* versus, const std::string& command) {
  std::string all = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  all += "<title>" + escaped(e.name) + " explained</title>\n<style>" + std::string(page_style) + drawing_style() +
         "</style>\n</head>\n<body>\n";
  all += "<h1>" + escaped(e.name) + "</h1>\n<p class=\"soft\">" + escaped(headline(e)) + "</p>\n";
  if (!e.is_stair) all += fmt::format("<p class=\"{}\">{}</p>\n", e.right ? "good" : "bad", escaped(verdict(e)));
  for (const std::string& o : e.outputs) all += "<p>" + escaped(o) + "</p>\n";
  if (e.on_host) all += "<p>It runs on the host: there is no kernel to count.</p>\n";
  if (!e.races.empty()) {
    all += "<h2>Races</h2>\n<ul>";
    for (const ladder::race_pair& r : e.races) all += "<li class=\"bad\">" + escaped(race_line(r)) + "</li>\n";
    all += "</ul>\n";
  }
  all += advice_of(e) + links_of(e) + lesson_of(e);
  const auto pictures = pictures_of(e);
  if (!pictures.empty()) all += "<h2>Drawn from the run</h2>\n" + legend_of(pictures, e.file.starts_with("ladder/"));
  for (const picture& p : pictures)
    all += "<h3>" + escaped(p.title) + "</h3>\n<div class=\"scroll drawn\"><label><input type=\"checkbox\" class=\"large\"><span class=\"large\">larger</span></label>" +
           to_svg(draw(p), p.title) + "</div>\n";
  if (!e.kernels.empty()) all += "<h2>Counted</h2>\n" + counts_of(e);
  all += "<h2>The source, line by line</h2>\n" + source_of(e);
  if (versus != nullptr) all += comparison_of(e, *versus);
  return in_page_language(all + "<footer>Made by <code>" + escaped(command) +
                          "</code>. Counters are those of warps; docs/lens.md tells their rules.</footer>\n</body>\n</html>\n");
}

}  // namespace lens
