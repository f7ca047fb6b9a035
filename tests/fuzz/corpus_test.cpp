// SPDX-License-Identifier: Apache-2.0
// Each fuzzer's entry over its corpus and over cut and damaged copies of it, for any compiler.
#include "entries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#if WARPFOLD_FUZZ_TOOLS
#include <cli/own_source.hpp>
#endif

namespace {

struct target {
  const char* name;
  void (*entry)(std::span<const std::byte>);
  std::vector<const char*> folders;
  std::size_t least_files;
  std::string telling;     ///< bytes that damage well
  std::size_t most_cuts;   ///< a file's
  int damaged;             ///< copies of a file
};

void PrintTo(const target& t, std::ostream* out) { *out << t.name; }

std::vector<target> targets() {
  using namespace std::string_literals;
  const std::string bytes = "\0\1\x7f\x80\xff"s;
  std::vector<target> all{
      {"npy", check_npy, {"npy", "raw"}, 100, "{}()[]'\",:-0123456789<>=|fiubcLOV \n\0\xff"s, 4096, 100},
      {"state", check_state, {"state"}, 15, bytes, 40, 40},
      {"words", check_words, {"words"}, 20, bytes, 40, 40},
      {"c_api", check_c_api, {"c_api"}, 20, bytes, 100, 100},
      {"request", check_request, {"request"}, 20, bytes, 100, 100},
      {"text", check_text, {"text"}, 5, bytes, 100, 100},
  };
#if WARPFOLD_FUZZ_TOOLS
  all.push_back({"tuning", check_tuning, {"tuning"}, 20, "{}[]\":,-0123456789.e \n\\ntfu", 20, 20});
  all.push_back({"options", check_options, {"options"}, 10, "[]:=-+,x^KMGe0123456789.fiubo \n", 100, 20});
  all.push_back({"source", check_source, {"source"}, 10, "/*\"'\\\n{}()<>;[]:# _", 200, 30});
#endif
  return all;
}

std::vector<std::string> corpus(const target& t) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : t.folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(WARPFOLD_FUZZ_CORPUS) / folder))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

class fuzz_corpus : public ::testing::TestWithParam<target> {
 protected:
  void check(const std::string& content) { GetParam().entry(std::as_bytes(std::span(content))); }
};

TEST_P(fuzz_corpus, is_there_and_keeps_its_promises) {
  const auto files = corpus(GetParam());
  ASSERT_GE(files.size(), GetParam().least_files);
  for (const auto& content : files) check(content);
}

TEST_P(fuzz_corpus, cut_off) {
  for (const auto& content : corpus(GetParam())) {
    const std::size_t step = std::max<std::size_t>(1, content.size() / GetParam().most_cuts);
    for (std::size_t size = 0; size < content.size(); size += step) check(content.substr(0, size));
  }
}

TEST_P(fuzz_corpus, with_damaged_bytes) {
  constexpr std::uint64_t seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  const std::string& telling = GetParam().telling;
  for (const auto& original : corpus(GetParam())) {
    if (original.empty() || original.size() > 65536) continue;
    for (int k = 0; k < GetParam().damaged; ++k) {
      std::string content = original;
      for (std::uint64_t damage = random() % 3 + 1; damage > 0; --damage) {
        // Mostly at the front.
        const std::size_t at =
            random() % std::min<std::size_t>(content.size(), random() % 4 ? 128 : content.size());
        content[at] =
            random() % 2 ? telling[random() % telling.size()] : static_cast<char>(random());
      }
      check(content);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(every, fuzz_corpus, ::testing::ValuesIn(targets()),
                         [](const auto& one) { return std::string(one.param.name); });

#if WARPFOLD_FUZZ_TOOLS
std::string times(const char* what, int n) {
  std::string all;
  for (int k = 0; k < n; ++k) all += what;
  return all;
}

/// Too large for a corpus: a matcher that recurses overflows its stack.
TEST(fuzz_source, what_stands_in_a_declaration_may_be_long) {
  for (const std::string& text :
       {"__global__" + times(" ", 300'000) + "void k() {}\n", "__global__ /*" + times("x", 300'000) + "*/ void k() {}\n",
        "__global__ " + times("static inline ", 30'000) + "void k() {}\n",
        "__global__ __launch_bounds__(" + times("1+", 150'000) + "1) void k() {}\n",
        "extern __shared__ " + times("long ", 60'000) + "x[];\n__global__ void k() {}\n",
        "__global__ void " + times("k", 300'000) + "() {}\nnamespace " + times("n", 100'000) + " { __global__ void k() {} }\n",
        times("{", 100'000) + "__global__ void k() {}\n" + times("(", 100'000)}) {
    const std::string content = "k\n" + text;
    check_source(std::as_bytes(std::span(content)));
  }
}

TEST(fuzz_source, kernels_are_named_as_they_are_asked_for) {
  const auto named = [](const char* text) { return cli::list_of(cli::kernels_in(text)); };
  EXPECT_EQ(named("namespace a::inline B { __global__ void k() {} } inline namespace c { __global__ void j(); }"), "a::k, j");
  EXPECT_EQ(named("namespace a { namespace b::c { } namespace d { __global__ void k(); } }"), "a::d::k");
  EXPECT_EQ(named("__global__ void __launch_bounds__(most(1), 2) k() {}"), "k");
  EXPECT_EQ(named("template <class T> __global__ static void k(T) {}"), "k<…>");
}

TEST(fuzz_tuning, what_is_nested_deep_or_large_is_refused) {
  for (const int n : {100, 100'000}) {
    const std::string nested = times("[", n) + times("]", n);
    for (const std::string& text : {"{\"warpfold_tuning\": " + nested + ", \"gpus\": {}}",
                                    "{\"warpfold_tuning\": 1, \"gpus\": {\"other\": " + nested + "}}",
                                    "{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"overlap\": " + nested + "}}}",
                                    "{\"warpfold_tuning\": 1, \"gpus\": {}" + times(" ", 12 * n) + "}"}) {
      const std::string content = "g\n" + text;
      check_tuning(std::as_bytes(std::span(content)));
    }
  }
}
#endif

}  // namespace
