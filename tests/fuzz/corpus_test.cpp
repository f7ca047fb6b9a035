// SPDX-License-Identifier: Apache-2.0
// The fuzzer's entry over its corpus and over cut and damaged copies of it, for any compiler.
#include "npy_entry.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WARPFOLD_FUZZ_CORPUS)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

void check(const std::string& content) { check_npy(std::as_bytes(std::span(content))); }

TEST(npy_corpus, is_there_and_keeps_its_promises) {
  const auto files = corpus();
  ASSERT_GE(files.size(), 100u);
  for (const auto& content : files) check(content);
}

TEST(npy_corpus, cut_off_at_every_byte) {
  for (const auto& content : corpus())
    for (std::size_t size = 0; size < content.size(); ++size) check(content.substr(0, size));
}

TEST(npy_corpus, with_damaged_bytes) {
  constexpr std::uint64_t seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  const std::string telling = "{}()[]'\",:-0123456789<>=|fiubcLOV \n\0\xff";
  for (const auto& original : corpus()) {
    if (original.empty()) continue;
    for (int k = 0; k < 100; ++k) {
      std::string content = original;
      for (std::uint64_t damage = random() % 3 + 1; damage > 0; --damage) {
        // Mostly within the header.
        const std::size_t at =
            random() % std::min<std::size_t>(content.size(), random() % 4 ? 128 : content.size());
        content[at] =
            random() % 2 ? telling[random() % telling.size()] : static_cast<char>(random());
      }
      check(content);
    }
  }
}

}  // namespace
