// SPDX-License-Identifier: Apache-2.0
#include "sources.hpp"

namespace lens {

namespace {

bool is_end_of(std::string_view end, std::string_view path) {
  return !end.empty() && path.ends_with(end) && (path.size() == end.size() || path[path.size() - end.size() - 1] == '/');
}

}  // namespace

const source_file* find_source(std::string_view path) {
  // The folder of either may be left out: that of what is embedded, and by simt that of all below its own source.
  for (const source_file& f : sources())
    if (is_end_of(f.path, path) || is_end_of(path, f.path)) return &f;
  return nullptr;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

head_comment head_of(std::string_view text) {
  head_comment head;
  for (std::string_view line : lines_of(text)) {
    if (!line.starts_with("//")) break;
    ++head.end;
    line.remove_prefix(line.starts_with("// ") ? 3 : 2);
    if (line.starts_with("SPDX")) continue;
    const bool new_paragraph = line.empty();
    if (new_paragraph) head.text += '\n';
    else if (!head.text.empty() && !head.text.ends_with('\n')) head.text += ' ';
    head.text += line;
  }
  return head;
}

}  // namespace lens
