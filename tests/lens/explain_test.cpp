// SPDX-License-Identifier: Apache-2.0
// `warpfold explain`, driven as a user would, and the pages that it renews.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;

struct finished {
  int status;
  std::string text;
};

finished explain(const std::string& arguments, bool errors = false) {
  const std::string command =
      std::string(WARPFOLD) + " explain " + arguments + (errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> piece;
  for (std::size_t n; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) text.append(piece.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
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
  while (at < list.text.size()) {
    const auto end = list.text.find('\n', at);
    const std::string name = list.text.substr(at, end - at);
    at = end + 1;
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
  for (const std::string type : {"f32", "f64", "i32", "f16"})
    for (const std::string n : {"0", "1", "1000"})
      for (const std::string rung : {"tree_modulo", "shuffle_block", "vector_load", "last_block"}) {
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
  const std::string text = text_of(page);
  for (const std::string part : {"<!DOCTYPE html>", "<svg", "prefers-color-scheme", "s[cell] += s[cell + step];", "Compared with tree_modulo"})
    EXPECT_NE(text.find(part), text.npos) << part;
  for (const std::string part : {"http:", "https:", "<script", "<link", "src=", "@import", "url("})
    EXPECT_EQ(text.find(part), text.npos) << part;
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

// What the documents show is what the rungs do. To renew them: warpfold explain --pages docs/ladder
TEST(pages, show_what_the_rungs_count_today) {
#ifdef __clang__
  GTEST_SKIP() << "the pages are made by a g++ build: basic blocks are the compiler's";
#endif
  const fs::path committed = WARPFOLD_SOURCE "/docs/ladder", made = fs::path(testing::TempDir()) / "ladder_pages";
  fs::remove_all(made);
  fs::create_directories(made);
  for (const auto& entry : fs::directory_iterator(committed))
    if (entry.path().extension() == ".md") fs::copy_file(entry.path(), made / entry.path().filename());
  ASSERT_EQ(explain("--pages " + made.string()).status, 0);
  std::size_t pages = 0, drawings = 0;
  for (const auto& entry : fs::directory_iterator(made))
    if (entry.path().extension() == ".md") {
      ++pages;
      EXPECT_TRUE(text_of(entry.path()) == text_of(committed / entry.path().filename())) << entry.path().filename();
    }
  for (const auto& entry : fs::directory_iterator(made / "drawings")) {
    ++drawings;
    EXPECT_TRUE(text_of(entry.path()) == text_of(committed / "drawings" / entry.path().filename())) << entry.path().filename();
  }
  EXPECT_EQ(pages, 29u);
  EXPECT_EQ(drawings, 25u) << "24 rungs with a kernel, and the transpose";
}

}  // namespace
