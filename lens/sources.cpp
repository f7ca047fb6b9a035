// SPDX-License-Identifier: Apache-2.0
#include "sources.hpp"

namespace lens {

const source_file* find_source(std::string_view path) {
  for (const source_file& f : sources())
    if (path == f.path || (path.size() > f.path.size() && path.ends_with(f.path) &&
                           path[path.size() - f.path.size() - 1] == '/'))
      return &f;
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
