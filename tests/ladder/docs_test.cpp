// SPDX-License-Identifier: Apache-2.0
// Every rung has its page, and what the pages quote is what the rungs are. Every folder has its row in docs/hacking.md,
// and every source its licence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
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

/// Every file of the sources, by its path from the root: not what is built, hidden or cached.
std::vector<fs::path> sources() {
  std::vector<fs::path> all;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    const bool built = at.depth() == 0 && (name == "build" || name.starts_with("build-"));
    if (at->is_directory() && (built || name.starts_with(".") || name == "__pycache__"))
      at.disable_recursion_pending();
    else if (at->is_regular_file())
      all.push_back(at->path().lexically_relative(root));
  }
  return all;
}

TEST(hacking, says_what_every_folder_is_for) {
  const std::string page = text_of(root / "docs/hacking.md");
  std::set<std::string> folders;
  for (const fs::path& file : sources()) {
    const auto parts = std::distance(file.begin(), file.end()) - 1;
    const bool library = *file.begin() == "include";
    if (parts == 0 || parts > (library ? 3 : 2)) continue;
    folders.insert(file.parent_path().generic_string());
  }
  EXPECT_GT(folders.size(), 40u);
  for (const std::string& folder : folders)
    EXPECT_NE(page.find("| `" + folder + "` | "), page.npos) << folder << " has no row";
}

TEST(sources, name_their_licence) {
  const std::set<std::string> languages{".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py", ".cmake", ".in"};
  std::size_t seen = 0;
  for (const fs::path& file : sources()) {
    if (!languages.contains(file.extension().string()) && file.filename() != "CMakeLists.txt") continue;
    ++seen;
    EXPECT_NE(text_of(root / file).substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << file;
  }
  EXPECT_GT(seen, 300u);
}

}  // namespace
