// SPDX-License-Identifier: Apache-2.0
// Every rung has its page, and what the pages quote is what the rungs are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path root = WARPFOLD_SOURCE;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The bodies of the blocks fenced as ```cuda.
std::vector<std::string> quotes(const std::string& page) {
  std::vector<std::string> all;
  const std::string open = "```cuda\n", close = "```";
  for (auto at = page.find(open); at != page.npos; at = page.find(open, at)) {
    const auto begin = at + open.size(), end = page.find("\n" + close, begin);
    EXPECT_NE(end, page.npos);
    all.push_back(page.substr(begin, end + 1 - begin));
    at = end;
  }
  return all;
}

std::vector<fs::path> rungs() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(root / "ladder")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".cuh") &&
        (name.starts_with("stair_") || (name[0] >= '0' && name[0] <= '9')))
      all.push_back(entry.path());
  }
  return all;
}

TEST(pages, quote_their_rungs_as_they_are) {
  EXPECT_EQ(rungs().size(), 28u);
  const std::string index = text_of(root / "docs/ladder/README.md");
  for (const fs::path& rung : rungs()) {
    const std::string page_name = rung.stem().string() + ".md";
    SCOPED_TRACE(page_name);
    const std::string source = text_of(rung), page = text_of(root / "docs/ladder" / page_name);
    const auto quoted = quotes(page);
    EXPECT_FALSE(quoted.empty());
    for (const std::string& q : quoted) EXPECT_NE(source.find(q), source.npos) << q;
    EXPECT_NE(index.find("(" + page_name + ")"), index.npos) << "not in the index";
  }
}

}  // namespace
