// SPDX-License-Identifier: Apache-2.0
#include "pages.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <warpfold/error.hpp>

#include "explanation.hpp"
#include "words.hpp"

namespace lens {
namespace {

constexpr std::string_view begin_mark = "<!-- counters: made by `warpfold explain --pages docs/ladder` -->\n",
                           end_mark = "<!-- end of counters -->\n";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw wf::error(wf::errc::bad_input, path.string() + ": cannot be read: " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw wf::error(wf::errc::bad_input, path.string() + ": cannot be written: " + std::strerror(errno));
}

}  // namespace

std::string with_block(const std::string& page, const std::string& block, const std::string& path) {
  const std::string marked = std::string(begin_mark) + "## " + said("What the lens counts") + "\n\n" + block + std::string(end_mark);
  const auto begin = page.find(begin_mark), end = page.find(end_mark);
  if ((begin == page.npos) != (end == page.npos) || (begin != page.npos && end < begin))
    throw wf::error(wf::errc::bad_input, path + ": has one mark of its counters without the other");
  if (begin != page.npos) return page.substr(0, begin) + marked + page.substr(end + end_mark.size());
  const auto last = page.rfind("\n## ");
  if (last == page.npos) return page + "\n" + marked;
  return page.substr(0, last + 1) + marked + page.substr(last);
}

std::vector<std::string> write_pages(ladder::place& lens, const std::string& folder) {
  const std::filesystem::path root(folder);
  std::error_code failed;
  const bool has_drawings = page_language() == language::english;  // other pages show these
  if (has_drawings) std::filesystem::create_directories(root / "drawings", failed);
  if (failed) throw wf::error(wf::errc::bad_input, folder + ": " + failed.message());
  std::vector<std::string> written, names;
  std::set<std::string_view> files;  // a file's first variant stands for it
  for (const ladder::rung_info& r : lens.rungs(wf::dtype::f32))
    if (files.insert(r.file).second) names.push_back(full_name(r));
  names.push_back("transpose");
  for (const std::string& name : names) {
    explain_request q;
    q.rung = name;
    if (name == "transpose") q.n = 128 * 128;
    const explanation e = explain(lens, q);
    const std::string stem = std::filesystem::path(e.file).stem().string();
    const std::string drawn = drawings_file(e, {}), drawing = drawn.empty() ? "" : stem + ".svg";
    const auto page = root / (stem + ".md");
    write_text(page, with_block(read_text(page), page_block(e, drawing), page.string()));
    written.push_back(page.string());
    if (drawn.empty() || !has_drawings) continue;
    write_text(root / "drawings" / drawing, drawn);
    written.push_back((root / "drawings" / drawing).string());
  }
  return written;
}

}  // namespace lens
