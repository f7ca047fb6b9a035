// SPDX-License-Identifier: Apache-2.0
// `warpfold explain FILE.cu:KERNEL`, driven as a user would.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/wait.h>

namespace {

using nlohmann::json;

struct finished {
  int status;
  std::string text;
};

/// With `errors`, what it says on standard error, else what it prints.
finished run(const std::string& words, bool errors = false, const std::string& before = "") {
  const std::string command =
      before + " " + WARPFOLD + " explain " + words + (errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> piece;
  for (std::size_t n; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) text.append(piece.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

std::string kernel(const std::string& name) { return std::string("'") + KERNELS + "/kernels.cu:" + name + "'"; }

json told(const std::string& words, int status = 0) {
  const finished f = run(words + " --json");
  EXPECT_EQ(f.status, status) << words;
  if (f.text.empty()) {
    ADD_FAILURE() << words << ": " << run(words, true).text;
    return {};
  }
  return json::parse(f.text);
}

/// One line that ends the sentence, and status 2.
void refused(const std::string& words, const std::string& saying, int status = 2, const std::string& before = "") {
  const finished f = run(words, true, before);
  EXPECT_EQ(f.status, status) << words;
  EXPECT_NE(f.text.find(saying), f.text.npos) << words << " says: " << f.text;
  EXPECT_EQ(std::count(f.text.begin(), f.text.end(), '\n'), 1) << f.text;
}

TEST(own_kernel, the_example_has_conflicts_and_its_padding_ends_them) {
  for (const int padding : {0, 1}) {
    const json j = told("'" EXAMPLES "/own_kernel.cu:column_sums<" + std::to_string(padding) +
                        ">' --grid 8 --block 32x8 --arg f32[64K]:ones --arg out:f32[256] --arg 256");
    const auto& c = j["kernels"][0]["counters"];
    const std::uint64_t requests = 256 * 256 / 32;  // a warp reads 32 elements at a time
    EXPECT_EQ(c["global_load"]["requests"], requests);
    EXPECT_EQ(c["shared_load"]["requests"], requests);
    EXPECT_EQ(c["shared_load"]["conflicts"], padding == 0 ? 31 * requests : 0);
    EXPECT_EQ(c["shared_store"]["conflicts"], 0);
    EXPECT_EQ(j["outputs"][0], "f32[256] after the run: 256, 256, 256, 256, 256, 256, 256, 256 …");
    EXPECT_TRUE(j["races"].empty());
    bool line = false;
    for (const auto& l : j["kernels"][0]["lines"])
      if (l["counters"].contains("shared_load")) line = l["file"].get<std::string>().ends_with("examples/own_kernel.cu");
    EXPECT_TRUE(line);
  }
}

TEST(own_kernel, text_and_page_show_the_users_lines) {
  const std::string page = testing::TempDir() + "/own.html";
  const finished f = run(kernel("tree") + " --grid 4 --block 64 --shared 256 --arg f32[256]:ones --arg out:f32[4] --html " + page);
  EXPECT_EQ(f.status, 0);
  for (const char* part : {"f32[4] after the run: 64, 64, 64, 64", "256 bytes of dynamic shared memory",
                           "cells[threadIdx.x] = x[", "Who adds what to what", "4 blocks of 64 threads"})
    EXPECT_NE(f.text.find(part), f.text.npos) << part;
  std::ifstream in(page);
  const std::string html{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(html.find("<svg"), html.npos);
  EXPECT_NE(html.find("cells[threadIdx.x] = x["), html.npos);
  std::filesystem::remove(page);
}

TEST(own_kernel, templates_types_and_cooperative_launches) {
  const json scaled = told(kernel("users::scale<__half>") + " --grid 2 --block 64 --arg out:f16[1000] --arg f16=2 --arg u64=1000");
  EXPECT_EQ(scaled["kernels"][0]["counters"]["global_load"]["bytes"], 2000);
  const json met = told(kernel("meeting") + " --grid 8 --block 32 --cooperative --arg out:i32[8]", 1);  // lanes store the same word
  EXPECT_EQ(met["outputs"][0], "i32[8] after the run: 8, 1, 1, 1, 1, 1, 1, 1");
  EXPECT_EQ(met["kernels"][0]["counters"]["outer_barriers"], 8);
}

TEST(own_kernel, races_and_faults_are_told_and_exit_1) {
  const json j = told(kernel("racing") + " --grid 1 --block 32 --arg out:i32[1]", 1);
  ASSERT_EQ(j["races"].size(), 1u);
  EXPECT_EQ(j["races"][0]["a"]["line"], 17);
  refused(kernel("unchecked") + " --grid 1 --block 32 --arg f32[32] --arg out:f32[32]", "kernels.cu:15: out of bounds", 1);
}

TEST(own_kernel, another_compiler_makes_the_same_counts) {
  for (const std::string name : {"g++", "clang++"}) {
    if (std::system((name + " --version >/dev/null 2>&1").c_str()) != 0) continue;
    const finished f = run(kernel("copy") + " --grid 4 --block 256 --arg f32[1000] --arg out:f32[1000] --arg 1000 --json", false, "CXX=" + name);
    ASSERT_EQ(f.status, 0) << name;
    EXPECT_EQ(json::parse(f.text)["kernels"][0]["counters"]["global_store"]["requests"], 32) << name;
  }
}

TEST(own_kernel, what_is_wrong_is_one_line) {
  const std::string shape = " --grid 1 --block 32 ";
  refused("nowhere.cu:k" + shape, "no file 'nowhere.cu'");
  refused(kernel("copi") + shape, "has no kernel copi; it has copy, unchecked, racing, tree, scale, meeting, by_value");
  refused(kernel("copy"), "--grid 256");
  refused(kernel("copy") + " --grid 0 --block 32", "--grid '0': write 256, 16x16 or 8x8x4");
  refused(kernel("copy") + shape + "--n 5", "are for rungs");
  refused("tree_modulo --arg 1", "a kernel of your own");
  refused(std::string(KERNELS) + "/broken.cu:broken" + shape + "--arg 0 --arg f32[32]", "broken.cu:4: ");
  refused(std::string(KERNELS) + "/ptx.cu:lane" + shape + "--arg u32[32]", "inline PTX");
  refused(kernel("copy") + shape, "needs a C++ compiler, and no-compiler does not run", 2, "CXX=no-compiler");
}

TEST(own_kernel, wrong_arguments_are_one_line) {
  const std::string copy = kernel("copy") + " --grid 1 --block 32 ";
  refused(copy + "--arg f32[32]", "takes 3 arguments: const f32*, f32*, i32, and --arg was given 1 times");
  refused(copy + "--arg f64[32] --arg f32[32] --arg 32", "--arg f64[32] (parameter 1): the kernel's pointer is to f32");
  refused(copy + "--arg out:f32[32] --arg f32[32] --arg 32", "to const");
  refused(copy + "--arg f32[many] --arg f32[32] --arg 32", "the count is none");
  refused(copy + "--arg f32[8]:purple --arg f32[8] --arg 8", "no filling purple of f32");
  refused(copy + "--arg f32[8] --arg f32[8] --arg 3e10", "no i32");
  refused(copy + "--arg 8 --arg f32[8] --arg 8", "wants an array");
  refused(kernel("by_value") + " --grid 1 --block 1 --arg 1 --arg out:i32[1]", "a struct or a class");
}

}  // namespace
