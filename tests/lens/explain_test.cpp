// SPDX-License-Identifier: Apache-2.0
// `warpfold explain`, driven as a user would, and the pages that it renews.
#include <gtest/gtest.h>

#include "../support/effort.hpp"
#include "../support/program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

using wf::test::finished;

finished explain(const std::string& arguments, bool errors = false) {
  return wf::test::run_program(std::string(WARPFOLD) + " explain " + arguments, errors);
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(explain, json_tells_counters_by_kernel_and_line) {
  const finished run = explain("tree_strided --vs tree_sequential --json");
  ASSERT_EQ(run.status, 0);
  const auto j = nlohmann::json::parse(run.text);
  EXPECT_EQ(j["rung"], "tree_strided");
  EXPECT_EQ(j["right"], true);
  const auto& kernel = j["kernels"][0];
  EXPECT_EQ(kernel["counters"]["shared_load"]["requests"], 6400);
  EXPECT_EQ(kernel["counters"]["shared_load"]["conflicts"], 17920);
  EXPECT_EQ(kernel["counters"]["shared_store"]["conflicts"], 8960);
  EXPECT_EQ(kernel["counters"]["divergent_branches"], 1536);
  std::uint64_t conflicts = 0;
  for (const auto& line : kernel["lines"])
    if (line["file"] == "ladder/08_tree_strided.cuh" && line["counters"].contains("shared_load"))
      conflicts += line["counters"]["shared_load"]["conflicts"].get<std::uint64_t>();
  EXPECT_EQ(conflicts, 17920u);
  // A warp each in every table: 8 warps of 256 blocks come to 9 barriers, and the lines' make up the kernel's.
  std::uint64_t barriers = 0;
  for (const auto& line : kernel["lines"]) barriers += line["counters"].value("barriers", std::uint64_t{0});
  EXPECT_EQ(kernel["counters"]["barriers"], 8 * 256 * 9);
  EXPECT_EQ(barriers, 8u * 256 * 9);
  EXPECT_EQ(j["versus"]["kernels"][0]["counters"]["shared_load"]["conflicts"], 0);
  const auto& changes = j["changes"];
  EXPECT_NE(std::find(changes.begin(), changes.end(), "new: 26880 bank conflicts"), changes.end());
  EXPECT_TRUE(j["races"].empty());
  for (const auto& h : kernel["hardware_names"])
    if (h["name"] == "shared_load.wavefronts") {
      EXPECT_EQ(h["value"], 24320);
    }
}

TEST(explain, names_the_races_of_the_racing_rungs) {
  for (const std::string rung : {"race", "unroll_warp"}) {
    const finished run = explain(rung + " --n 4096 --json");
    EXPECT_EQ(run.status, 0) << rung;
    const auto j = nlohmann::json::parse(run.text);
    EXPECT_FALSE(j["races"].empty()) << rung;
    EXPECT_EQ(j["expected_wrong"], true);
  }
}

TEST(explain, every_rung_and_stair_is_explained_in_text) {
  const finished list = explain("--list");
  ASSERT_EQ(list.status, 0);
  EXPECT_EQ(std::count(list.text.begin(), list.text.end(), '\n'), 39);
  std::size_t at = 0;
  wf::test::some_of_all chosen;
  while (at < list.text.size()) {
    const auto end = list.text.find('\n', at);
    const std::string name = list.text.substr(at, end - at);
    at = end + 1;
    if (!chosen()) continue;
    const finished run = explain(name + " --n 2000");
    EXPECT_EQ(run.status, 0) << name;
    EXPECT_EQ(run.text.find("WRONG"), run.text.npos) << name;
    EXPECT_NE(run.text.find(name), run.text.npos);
    if (!name.starts_with("cpu/")) {
      EXPECT_NE(run.text.find("global load"), run.text.npos) << name;
    }
  }
}

TEST(explain, every_type_and_odd_sizes_are_right) {
  wf::test::some_of_all chosen;
  for (const std::string type : {"f32", "f64", "i32", "f16"})
    for (const std::string n : {"0", "1", "1000"})
      for (const std::string rung : {"tree_modulo", "shuffle_block", "vector_load", "last_block"}) {
        if (!chosen()) continue;
        const finished run = explain(rung + " --dtype " + type + " --n " + n + " --block 64");
        EXPECT_EQ(run.status, 0) << rung << " " << type << " " << n;
      }
}

// Half precision is arithmetic of the host here; it must not look like branches of the kernel.
TEST(explain, the_type_of_the_elements_does_not_change_divergence) {
  const auto of = [](const std::string& type) {
    return nlohmann::json::parse(explain("shuffle_block --json --dtype " + type).text)["kernels"][0]["counters"]["divergent_branches"];
  };
  EXPECT_EQ(of("f16"), of("f32"));
  EXPECT_EQ(of("f64"), of("f32"));
  EXPECT_EQ(of("i32"), of("f32"));
}

TEST(explain, html_is_one_page_that_fetches_nothing) {
  const fs::path page = fs::path(testing::TempDir()) / "explain.html";
  ASSERT_EQ(explain("tree_strided --vs tree_modulo --html " + page.string()).status, 0);
  // A link fetches nothing until the reader follows it.
  const std::string text = std::regex_replace(text_of(page), std::regex(R"(<a href="https://github\.com/warpfold/[^"]*">)"), "<a>");
  for (const std::string part : {"<!DOCTYPE html>", "<svg", "prefers-color-scheme", "s[cell] += s[cell + step];", "Compared with tree_modulo"})
    EXPECT_NE(text.find(part), text.npos) << part;
  for (const std::string part : {"http:", "https:", "<script", "<link", "src=", "@import", "url("})
    EXPECT_EQ(text.find(part), text.npos) << part;
}

std::string page_of(const std::string& arguments) {
  const fs::path page = fs::path(testing::TempDir()) / "explain.html";
  EXPECT_EQ(explain(arguments + " --html " + page.string()).status, 0) << arguments;
  return text_of(page);
}

TEST(explain, a_page_begins_with_the_verdict_and_what_to_do) {
  const std::string page = page_of("tree_strided --n 4K");
  std::size_t at = 0;
  for (const std::string part : {"class=\"good\">result ", "<h2>What holds it back</h2>", "/docs/lessons/banks.md\">bank conflicts</a>: ", "The lesson's page</a>", "the next rung</a>",
                                 "class=\"lesson\"", "<h2>Drawn from the run</h2>", "<h2>Counted</h2>", "<h2>The source, line by line</h2>"}) {
    const auto found = page.find(part, at);
    ASSERT_NE(found, page.npos) << part << " is not there, or stands above what comes before it";
    EXPECT_EQ(page.find(part, found + 1), page.npos) << part << " twice";
    at = found;
  }
}

TEST(explain, code_in_a_lesson_is_code) {
  const std::string page = page_of("tree_modulo --n 4K");
  const auto lesson = page.find("class=\"lesson\"");
  const std::string text = page.substr(lesson, page.find("</div>", lesson) - lesson);
  EXPECT_NE(text.find("<code>tid % (2 * step) == 0</code>"), text.npos) << text;
  EXPECT_EQ(text.find('`'), text.npos);
}

std::string first_svg(const std::string& page) {
  const auto begin = page.find("<svg");
  return page.substr(begin, page.find("</svg>", begin) - begin);
}

// The three trees make the same sums of other threads, or of other places: that is their lesson.
TEST(explain, drawings_tell_which_thread_adds) {
  struct tree {
    std::string name, threads, second, last;
  };
  for (const tree& t : {tree{"tree_modulo", "32 threads: 0, 2 … 62", "t2: s2 = s2 + s3", "t62: s62 = s62 + s63"},
                        tree{"tree_strided", "32 threads: 0 to 31", "t1: s2 = s2 + s3", "t31: s62 = s62 + s63"},
                        tree{"tree_sequential", "32 threads: 0 to 31", "t1: s1 = s1 + s33", "t31: s31 = s31 + s63"}}) {
    EXPECT_NE(explain(t.name).text.find(t.second), std::string::npos) << t.name;
    const std::string page = page_of(t.name), svg = first_svg(page);
    for (const std::string& part : {t.threads, "<title>" + t.second + "</title>", "<title>" + t.last + "</title>"})
      EXPECT_NE(svg.find(part), svg.npos) << t.name << ": " << part;
    EXPECT_NE(page.find("<b>Who adds what to what</b>"), page.npos) << t.name;
  }
  // Warp 1 has a colour of its own: it adds in one tree and rests in the other.
  const auto adding = [](const std::string& name) {
    const std::string svg = first_svg(page_of(name));
    return svg.find("class=\"warp1\">\n<rect", svg.find("t63: s63 = t63")) != svg.npos;
  };
  EXPECT_TRUE(adding("tree_modulo"));
  EXPECT_FALSE(adding("tree_strided"));
}

// What padding and swizzling change is the load of a column; the store of a row was never in conflict.
TEST(explain, banks_are_drawn_of_the_request_that_tells_most) {
  const std::string text = explain("transpose").text;
  for (const std::string part : {"transpose_tiled<plain_layout>: Banks of one load of 4 bytes, line 55: 32 passes, 31 of them conflicts",
                                 "transpose_tiled<padded_layout>: Banks of one load of 4 bytes, line 55: 1 pass, 0 of them conflicts",
                                 "transpose_tiled<swizzled_layout>: Banks of one load of 4 bytes, line 55: 1 pass, 0 of them conflicts"})
    EXPECT_NE(text.find(part), text.npos) << part;
}

// `exact` adds integers: its few floating-point operations are not the sum.
TEST(explain, a_page_begins_with_the_verdict_and_the_races) {
  const std::string page = page_of("race");
  const auto verdict = page.find("wrong as expected"), races = page.find("<h2>Races</h2>"), lesson = page.find("class=\"lesson\""),
             next = page.find("ladder/03_atomic.md"), drawn = page.find("Drawn from the run");
  EXPECT_LT(verdict, races);
  EXPECT_LT(races, next);
  EXPECT_LT(next, lesson);
  EXPECT_LT(lesson, drawn);
  EXPECT_NE(drawn, page.npos);
  EXPECT_EQ(page_of("exact").find("the next rung"), page.npos);
}

TEST(explain, a_race_is_drawn_as_one_word_that_all_write) {
  const std::string race = page_of("race"), right = page_of("atomic");
  EXPECT_NE(race.find("64 write to one word: a race"), race.npos);
  EXPECT_NE(race.find("<g class=\"badfill\">"), race.npos);
  EXPECT_EQ(right.find("a race"), right.npos);
}

TEST(explain, leaders_are_drawn_with_their_elements) {
  const std::string page = page_of("warp_leader/nested");
  EXPECT_NE(page.find("128 elements each, 32 drawn"), page.npos);
  const std::string flat = page_of("grid_stride");
  EXPECT_EQ(flat.find("elements each"), flat.npos) << "its threads' elements lie a stride apart";
}

TEST(explain, banks_of_a_swizzle_are_not_those_of_padding) {
  const std::string text = explain("transpose --n 16384").text;
  const auto banks = [&](const std::string& layout) {
    const auto at = text.find("\n", text.find(layout + ">: Banks"));
    return text.substr(at, text.find("\n\n", at) - at);
  };
  EXPECT_GT(banks("padded_layout").size(), 1000u);
  EXPECT_NE(banks("padded_layout"), banks("swizzled_layout"));
}

TEST(explain, a_page_in_chinese_is_asked_for_with_a_page) {
  const std::string page = page_of("tree_strided --lang zh");
  EXPECT_NE(page.find("<html lang=\"zh\">"), page.npos);
  EXPECT_NE(page.find("存储体"), page.npos);
  EXPECT_EQ(explain("tree_strided --lang zh", true).status, 2);
}

TEST(explain, additions_of_integers_are_no_floating_point_operations) {
  EXPECT_NE(explain("exact").text.find("; 65535 additions make the sum, of integers; "), std::string::npos);
  EXPECT_NE(explain("tree_modulo --dtype i32").text.find("\n65535 additions make the sum, of integers; "), std::string::npos);
  EXPECT_NE(explain("tree_modulo").text.find("65536 floating-point operations, of which 65535 additions make the sum; "), std::string::npos);
}

TEST(explain, an_atomic_adds_to_what_is_there) {
  const std::string text = explain("shared_atomic").text;
  EXPECT_NE(text.find("add, line 19"), text.npos);
  EXPECT_NE(text.find("t1: s0 = s0 + t1"), text.npos);
}

TEST(explain, drawings_name_files_other_than_the_rungs_own) {
  const std::string text = explain("exact").text, drawn = text.substr(text.find("Who adds what to what"));
  EXPECT_NE(drawn.find("store, exact_small.cuh:"), drawn.npos);
  EXPECT_NE(drawn.find("bytes, exact_thread.cuh:"), drawn.npos);
  EXPECT_EQ(drawn.find(", line "), drawn.npos);
}

TEST(explain, a_line_of_several_kernels_shows_the_share_of_each) {
  const std::string page = page_of("transpose");
  const auto row = [&](const std::string& kernel) {
    const auto line = page.find(">55</td>");
    const auto begin = page.find(kernel, line);
    return page.substr(begin, page.find("</tr>", begin) - begin);
  };
  EXPECT_NE(row("transpose_tiled&lt;plain_layout&gt;").find("63488"), std::string::npos);
  EXPECT_NE(row("transpose_tiled&lt;padded_layout&gt;").find(">2048<"), std::string::npos);
  EXPECT_EQ(row("transpose_tiled&lt;padded_layout&gt;").find("63488"), std::string::npos);
  const std::string text = explain("transpose").text;
  EXPECT_NE(text.find("\n   32.0    2048    8192    2048     63488                 transpose_tiled<plain_layout>\n"), text.npos);
  EXPECT_EQ(page_of("tree_modulo").find("class=\"share\""), std::string::npos) << "one kernel has all";
}

// A phone shows the left of the table, and what is scrolled passes under the code.
TEST(explain, the_code_stands_before_its_counters_and_stays) {
  const std::string page = page_of("tree_strided");
  EXPECT_NE(page.find("<tr><td class=\"number\">22</td><td class=\"text\">    if (cell"), page.npos);
  EXPECT_NE(page.find("position:sticky"), page.npos);
}

TEST(explain, refuses_bad_input_in_one_line) {
  for (const std::string arguments :
       {"", "nothing", "tree_modulo --vs nothing", "tree_modulo --n x", "tree_modulo --n 2^27", "tree_modulo --block 48",
        "tree_modulo --block 96", "unroll_warp --block 32", "tree_modulo --dtype f80", "atomic --html /proc/nowhere/page.html",
        "--pages /proc/nowhere"}) {
    const finished run = explain(arguments, true);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << arguments << ": " << run.text;
  }
}

/// The committed pages are g++ 12's. In the library's own two kernels a compiler decides which shared accesses it joins and which
/// branches it merges; clang++ merges other loads and stores, too.
bool of_kernels_that_compilers_change(const fs::path& page) {
  return page.stem() == "24_record" || page.stem() == "25_exact";
}

[[maybe_unused]] std::string without_what_a_compiler_decides(const std::string& page) {
  std::istringstream lines(page);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("| shared "))
      kept += std::regex_replace(line, std::regex("divergent branches [0-9]+"), "divergent branches") + '\n';
  return kept;
}

// What the documents show is what the rungs do. To renew them: warpfold explain --pages docs/ladder
TEST(pages, show_what_the_rungs_count_today) {
  const fs::path committed = WARPFOLD_SOURCE "/docs/ladder", made = fs::path(testing::TempDir()) / "ladder_pages";
  fs::remove_all(made);
  fs::create_directories(made);
  for (const auto& entry : fs::directory_iterator(committed))
    if (entry.path().extension() == ".md") fs::copy_file(entry.path(), made / entry.path().filename());
  ASSERT_EQ(explain("--pages " + made.string()).status, 0);
  std::size_t pages = 0, drawings = 0;
  for (const auto& entry : fs::recursive_directory_iterator(made)) {
    if (!entry.is_regular_file()) continue;
    const fs::path name = fs::relative(entry.path(), made);
    ++(name.extension() == ".md" ? pages : drawings);
    std::string today = text_of(entry.path()), then = text_of(committed / name);
    if (of_kernels_that_compilers_change(name)) {
#if defined(__clang__)
      continue;
#elif __GNUC__ != 12
      today = without_what_a_compiler_decides(today);
      then = without_what_a_compiler_decides(then);
#endif
    }
    EXPECT_TRUE(today == then) << name;
  }
  EXPECT_EQ(pages, 29u);
  EXPECT_EQ(drawings, 25u) << "24 rungs with a kernel, and the transpose";
}

}  // namespace
