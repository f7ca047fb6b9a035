// SPDX-License-Identifier: Apache-2.0
// `warpfold explain FILE.cu:KERNEL`, driven as a user would.
#include <gtest/gtest.h>

#include "../support/program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using nlohmann::json;
using wf::test::finished;

/// With `errors`, what it says on standard error, else what it prints.
finished run(const std::string& words, bool errors = false, const std::string& before = "") {
  return wf::test::run_program(before + " " + WARPFOLD + " explain " + words, errors);
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
  // The counters stand beside them, whether the file is named from the root or from here.
  EXPECT_NE(html.find("title=\"shared\""), html.npos);
  EXPECT_NE(f.text.find("  shared   meets  "), f.text.npos) << f.text;
  std::filesystem::remove(page);
}

TEST(own_kernel, drawings_tell_where_words_are_read_and_what_has_no_column) {
  const std::string page = testing::TempDir() + "/own_drawing.html";
  const finished f = run("'" EXAMPLES "/own_kernel.cu:column_sums<0>' --grid 1 --block 32x8 --arg f32[1K] "
                         "--arg out:f32[32] --arg 32 --html " + page);
  EXPECT_EQ(f.status, 0);
  EXPECT_NE(f.text.find("read, line 19 "), f.text.npos) << "and not the line of the shuffle behind it";
  EXPECT_NE(f.text.find("t0: s256 = t0, t1: s257 = t1 … (256 beyond 63, not drawn)"), f.text.npos);
  std::ifstream in(page);
  const std::string html{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(html.find(">256 beyond 63, not drawn<"), html.npos);
  std::filesystem::remove(page);
}

TEST(own_kernel, a_drawing_says_what_the_values_say) {
  const std::string most = run(kernel("greatest") + " --grid 1 --block 64 --arg f32[64]:uniform --arg out:f32[1]").text;
  EXPECT_NE(most.find("\nmax, line 61 "), most.npos) << most;
  EXPECT_NE(most.find("32 ################################................................ t0: s0 = max(s0, s32)"), most.npos);
  EXPECT_NE(most.find("\nshuffle, max, line 62 "), most.npos);
  EXPECT_EQ(most.find("add, line"), most.npos);
  const std::string scan = run(kernel("scanned") + " --grid 1 --block 32 --arg i32[32]:uniform --arg out:i32[32]").text;
  EXPECT_NE(scan.find("shuffle, add, line 70    16 ................################ t16: t16 = t16 + t0"), scan.npos) << scan;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(own_kernel, sectors_are_drawn_where_a_request_touches_too_many) {
  const std::string drawn = testing::TempDir() + "/own_sectors.svg", lessons = "'" EXAMPLES "/lessons/memory.cu:read_every<";
  const std::string launch = ">' --grid 1 --block 32 --arg f32[256] --arg out:f32[32]";
  const finished f = run(lessons + "8" + launch + " --svg " + drawn + " --draw sectors");
  EXPECT_EQ(f.status, 0);
  EXPECT_NE(f.text.find("Sectors of one load of 4 bytes, line 11: 32 touched, 4 would hold its bytes\n"
                        "sector    0, byte      0    0  .  .  .  .  .  .  .\n"
                        "sector    1, byte     32    1  .  .  .  .  .  .  .\n"), f.text.npos) << f.text;
  const std::string svg = file_text(drawn);
  EXPECT_NE(svg.find(">sector 31, byte 992<"), svg.npos);
  EXPECT_EQ(svg.find("Lanes active"), svg.npos) << "which --draw did not name";
  EXPECT_EQ(run(lessons + "1" + launch).text.find("Sectors of one"), std::string::npos) << "neighbours fill their sectors";
  refused(lessons + "1" + launch + " --svg " + drawn + " --draw sectors", "there is nothing to draw");
  refused(lessons + "1" + launch + " --draw sectors", "--draw says what --svg FILE draws");
  refused(lessons + "1" + launch + " --svg " + testing::TempDir() + "/none/x.svg", "cannot be written");
  std::filesystem::remove(drawn);
}

// Beyond the end of the warp a lane reads itself, and adds that.
TEST(own_kernel, a_lane_that_reads_itself_in_a_shuffle_adds_to_itself) {
  const std::string text = run("'" EXAMPLES "/lessons/shuffles.cu:sums' --grid 1 --block 32 --arg out:i32[32] --svg " + testing::TempDir() + "/own_sums.svg").text;
  EXPECT_NE(text.find("shuffle, add, line 16    32 ################################ t0: t0 = t16"), text.npos) << text;
  const std::string svg = file_text(testing::TempDir() + "/own_sums.svg");
  EXPECT_NE(svg.find(">t31: t31 = t31 + t31<"), svg.npos);
  EXPECT_NE(svg.find(">t24: t24 = t24 + t24<"), svg.npos);
}

TEST(own_kernel, kernels_of_one_name_are_compared_by_their_files_on_the_page_too) {
  const std::string page = testing::TempDir() + "/own_versus.html", other = testing::TempDir() + "/other.cu";
  std::ofstream(other) << "__global__ void k(float* x) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();\n"
                          "  x[threadIdx.x] = s[63 - threadIdx.x]; }\n";
  const std::string racing = testing::TempDir() + "/racing.cu";
  std::ofstream(racing) << "__global__ void k(float* x) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x];\n"
                           "  x[threadIdx.x] = s[63 - threadIdx.x]; }\n";
  const std::string launch = " --grid 1 --block 64 --arg f32[64]";
  const finished f = run(other + ":k" + launch + " --vs " + racing + ":k --html " + page);
  EXPECT_EQ(f.status, 1) << "one of them races";
  EXPECT_NE(f.text.find("other.cu:k after racing.cu:k:\n"), f.text.npos) << f.text;
  EXPECT_NE(f.text.find("  gone: 1 pairs of lines that race"), f.text.npos) << f.text;
  const std::string html = file_text(page);
  EXPECT_NE(html.find("<h2>Compared with racing.cu:k</h2>"), html.npos);
  EXPECT_NE(html.find(" --vs "), html.npos) << "the command at its end";
  EXPECT_NE(run(other + ":k" + launch + " --vs " + other + ":k").text.find("  no counter is different\n"), std::string::npos);
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

std::string scheduled(const std::string& name) { return std::string("'") + KERNELS + "/schedules.cu:" + name + "'"; }

TEST(own_kernel, a_forgotten_barrier_is_a_race_and_not_only_an_unwritten_word) {
  const json j = told(scheduled("missing") + " --grid 1 --block 64 --arg f32[64]:ones --arg out:f32[64]", 1);
  ASSERT_EQ(j["races"].size(), 1u);
  EXPECT_EQ(j["races"][0]["space"], "shared");
  EXPECT_EQ(j["races"][0]["a"]["line"], 10);
  EXPECT_EQ(j["races"][0]["b"]["line"], 11);
  EXPECT_NE(j["setting"].get<std::string>().find("came before its write"), std::string::npos);
  refused(scheduled("nobody_writes") + " --grid 1 --block 64 --arg out:f32[64]", "that no thread of the block wrote", 1);
}

TEST(own_kernel, races_of_every_order_and_schedule_are_told) {
  const json j = told(scheduled("order") + " --grid 2 --block 32 --arg out:i32[1] --arg out:i32[1]", 1);
  ASSERT_EQ(j["races"].size(), 1u);
  EXPECT_EQ(j["races"][0]["a"]["line"], 24);
  EXPECT_EQ(j["races"][0]["b"]["line"], 25);
  const json waiting = told(scheduled("waits") + " --grid 1 --block 64 --arg out:i32[1]", 1);
  EXPECT_NE(waiting["setting"].get<std::string>().find("races judged in 1 schedules of 2"), std::string::npos);
}

TEST(own_kernel, large_shared_memory_and_printing_and_a_command_that_can_be_run_again) {
  const std::string words = scheduled("large") + " --grid 2 --block 1024 --shared 200K --cluster 2 --cooperative --seed 7 --arg 'out:f32[1K]'";
  const json j = told(words, 1);  // both blocks store the same words
  EXPECT_EQ(j["outputs"][0], "f32[1024] after the run: 1023, 1022, 1021, 1020, 1019, 1018, 1017, 1016 …");
  EXPECT_EQ(j["command"], "warpfold explain " + scheduled("large") +
                              " --grid 2x1x1 --block 1024x1x1 --shared 204800 --cooperative --cluster 2 --arg 'out:f32[1K]' --seed 7");
  EXPECT_EQ(run(words, true).text, "printed\nprinted\n");  // by each block, in the first run alone
  refused(scheduled("large") + " --grid 1 --block 32 --shared 228K --arg out:f32[1K]", "a block has up to 227K (232448 bytes)");
}

TEST(own_kernel, printf_prints_built_in_variables_and_takes_no_other_objects) {
  const std::string shape = ":places --grid 2 --block 1";
  EXPECT_EQ(run(KERNELS "/prints.cu" + shape, true).text, "block 0 of 2, thread 0\nblock 1 of 2, thread 0\n");
  refused(KERNELS "/prints_a_struct.cu" + shape, "no objects of a class: name a member, or convert it; simt compiles");
}

TEST(own_kernel, dynamic_shared_memory_in_a_namespace_and_ptx_of_another_kernel) {
  const std::string turned = KERNELS "/scoped.cu:'outer::inner::turned<__half>' --grid 1 --block 32 --arg f16[32]:iota --arg out:f16[32]";
  const json j = told(turned + " --shared 128");
  EXPECT_EQ(j["outputs"][0], "f16[32] after the run: 31, 30, 29, 28, 27, 26, 25, 24 …");
  EXPECT_EQ(j["kernels"][0]["name"], "turned<__half>");
  refused(turned, "of which --shared BYTES gives some", 1);
  refused(KERNELS "/scoped.cu:clock_of --grid 1 --block 32 --arg u32[32]", "inline PTX");
  refused(KERNELS "/scoped.cu:calls_ptx --grid 1 --block 32 --arg u32[32]", "inline PTX");  // in a function that it calls
  refused(KERNELS "/unnamed.cu:k --grid 1 --block 32 --arg out:i32[32]", "unnamed.cu:5: extern __shared__ cells in a namespace without a name");
}

TEST(own_kernel, a_race_does_not_hide_a_barrier_that_is_missed) {
  const json j = told(KERNELS "/scoped.cu:misses --grid 1 --block 32 --arg out:i32[1]", 1);
  EXPECT_FALSE(j["races"].empty());
  EXPECT_NE(j["setting"].get<std::string>().find("it also fails: misses"), std::string::npos) << j["setting"];
  EXPECT_NE(j["setting"].get<std::string>().find("divergent barrier"), std::string::npos) << j["setting"];
}

TEST(own_kernel, a_read_that_comes_too_early_does_not_hide_it_either) {
  const std::string words = KERNELS "/scoped.cu:reads_and_misses --grid 1 --block 64 --arg out:i32[64]";
  refused(words, "race on shared memory: write at", 1);
  refused(words, "it also fails: reads_and_misses", 1);
  refused(words, "divergent barrier: 32 of 64 threads wait here", 1);
}

TEST(own_kernel, device_functions_are_there_or_named) {
  const json j = told(KERNELS "/math.cu:fast --grid 1 --block 32 --arg f32[32]:ones --arg out:f32[32]");
  const std::string e_and_three = "f32[32] after the run: 5.71828";  // (e + 0 + 1) / 1 + 2 + 0
  EXPECT_EQ(j["outputs"][0].get<std::string>().substr(0, e_and_three.size()), e_and_three);
  refused(KERNELS "/lacks.cu:sums --grid 1 --block 32 --arg u32[32]", "lacks.cu:4: simt does not have CUDA's __isShared");
}

TEST(own_kernel, what_needs_no_compiler_is_told_without_one) {
  const std::string copy = kernel("copy") + " --grid 1 --block 32 ", none = "CXX=no-compiler";
  refused(copy + "--arg f33[32] --arg f32[32] --arg 32", "no type f33", 2, none);
  refused(copy + "--arg f32[many]", "the count is no number such as 1000", 2, none);
  refused(copy + "--arg 'a b'", "an array is written TYPE[COUNT][:FILL]", 2, none);
  refused(copy + "--arg f32[8]:purple", "no filling purple of f32", 2, none);
  refused(kernel("copy") + " --grid 1 --block 32x64 --arg 1", "--block 32x64x1: a block has up to 1024 threads", 2, none);
  refused(copy + "--arg f32[8]", "kernel copy: takes 3 arguments: const float* __restrict__ x, float* y, int n, and --arg was given 1 times", 2, none);
  refused(copy + "--arg 8 --arg f32[8] --arg 8", "--arg 8 (parameter 1, const float* __restrict__ x, of copy in ", 2, none);
  refused(copy + "--arg f64[8] --arg f32[8] --arg 8", "--arg f64[8] (parameter 1): the kernel's pointer is to f32", 2, none);
  refused(copy + "--arg out:f32[8] --arg f32[8] --arg 8", "which is to const", 2, none);
  refused(copy + "--arg f32[8] --arg f32[8] --arg u32=8", "(parameter 3): the kernel's parameter is i32", 2, none);
  refused(copy + "--arg f32[8] --arg f32[8] --arg 0.5", "no i32, as 1000, 64K or 2^20", 2, none);
  refused(copy + "--arg f32[8] --arg f32[8] --arg i32[8]", "the kernel wants one i32, no array", 2, none);
  refused(copy + "--arg f32[8] --arg f32[8] --arg 8", "no folder for compiling in '/nowhere'", 2, "TMPDIR=/nowhere");
}

TEST(own_kernel, file_names_are_quoted_for_the_shell) {
  const std::string file = testing::TempDir() + "/it's.cu";
  std::filesystem::copy_file(std::string(KERNELS) + "/schedules.cu", file, std::filesystem::copy_options::overwrite_existing);
  const json j = told("\"" + file + ":child\" --grid 1 --block 64 --arg out:i32[64]");
  EXPECT_NE(j["command"].get<std::string>().find("/it'\\''s.cu:child' --grid 1x1x1"), std::string::npos) << j["command"];
  std::filesystem::remove(file);
}

TEST(own_kernel, what_simt_has_not_and_wrong_names_are_told_in_the_users_words) {
  const std::string shape = " --grid 1 --block 32 --arg out:f32[64]";
  refused(scheduled("parent") + shape, "schedules.cu:47: a launch from within a kernel");
  refused(scheduled("to_pointers") + shape, "a pointer to pointers");
  refused(scheduled("ns::k") + shape, "it is a template: write its arguments, ns::k<…>");
  refused(scheduled("k<4>") + shape, "it is in a namespace: write ns::k<4>");
  refused(std::string(KERNELS) + "/schedules.cu", "which kernel? " KERNELS "/schedules.cu:NAME; it has missing, nobody_writes, order");
  refused("nowhere.cu", "no file 'nowhere.cu'");
}

TEST(own_kernel, options_of_something_else_are_refused) {
  for (const std::string option : {"--shared 4", "--cooperative", "--cluster 2", "--seed 3"})
    refused("tree_modulo " + option, "is for a kernel of your own");
  refused("tree_modulo --pages /proc/nowhere", "--pages renews the pages of all rungs");
  refused(kernel("copy") + " --list", "--list names all that there is");
  const finished list = run("--list --json");
  EXPECT_EQ(json::parse(list.text)[0], "cpu/serial");
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
  refused(kernel("copi") + shape, "has no kernel copi; it has copy, unchecked, racing, tree, users::scale<…>, meeting, by_value, greatest, scanned");
  refused(kernel("copy"), "--grid 256");
  refused(kernel("copy") + " --grid 0 --block 32", "--grid '0': write 256, 16x16 or 8x8x4");
  refused(kernel("copy") + shape + "--n 5", "are for rungs");
  refused("tree_modulo --arg 1", "a kernel of your own");
  refused(std::string(KERNELS) + "/broken.cu:broken" + shape + "--arg 0 --arg f32[32]", "broken.cu:4: ");
  refused(std::string(KERNELS) + "/ptx.cu:lane" + shape + "--arg u32[32]", "inline PTX");
  refused(kernel("copy") + shape + "--arg f32[8] --arg f32[8] --arg 8", "needs a C++ compiler, and no-compiler does not run", 2, "CXX=no-compiler");
}

TEST(own_kernel, wrong_arguments_are_one_line) {
  const std::string copy = kernel("copy") + " --grid 1 --block 32 ";
  refused(copy + "--arg f32[32]", "takes 3 arguments: const float* __restrict__ x, float* y, int n, and --arg was given 1 times");
  refused(copy + "--arg f64[32] --arg f32[32] --arg 32", "--arg f64[32] (parameter 1): the kernel's pointer is to f32");
  refused(copy + "--arg out:f32[32] --arg f32[32] --arg 32", "to const");
  refused(copy + "--arg f32[many] --arg f32[32] --arg 32", "the count is no number such as 1000");
  refused(copy + "--arg f32[8]:purple --arg f32[8] --arg 8", "no filling purple of f32");
  refused(copy + "--arg f32[8] --arg f32[8] --arg 3e10", "no i32");
  refused(copy + "--arg 8 --arg f32[8] --arg 8", "wants an array");
  refused(kernel("by_value") + " --grid 1 --block 1 --arg 1 --arg out:i32[1]", "a struct or a class");
}

}  // namespace
