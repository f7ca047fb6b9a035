// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "explanation.hpp"
#include "sources.hpp"

namespace lens {
namespace {

struct line_of_kernels {
  counters counted;
  std::vector<kernel_share> shares;

  void add(const std::string& kernel, const counters& c) {
    counted += c;
    shares.push_back({kernel, c});
  }
  /// A sum hides its parts; the lanes of basic blocks are a mean.
  bool is_sum() const {
    counters c = counted;
    c.blocks = c.block_lanes = 0;
    return shares.size() > 1 && c != counters{};
  }
};

}  // namespace

std::vector<annotated_file> annotate(const explanation& e) {
  std::map<std::string, std::map<int, line_of_kernels>> counted;  // by path and line
  std::set<std::pair<std::string, int>> raced;
  counted[e.file];
  for (const kernel_counts& k : e.kernels)
    for (const line_counts& l : k.lines)
      if (const source_file* f = find_source(l.where.file)) counted[std::string(f->path)][l.where.line].add(k.name, l.counted);
  for (const ladder::race_pair& r : e.races)
    for (const ladder::race_line& l : {r.a, r.b}) raced.emplace(l.file, l.line);

  std::vector<annotated_file> files;
  for (const auto& [path, lines] : counted) {
    const source_file* source = find_source(path);
    annotated_file f;
    f.path = path;
    const bool own = path == e.file;
    const auto text = lines_of(source->text);
    const auto begin = own ? static_cast<int>(head_of(source->text).end) : 0;
    for (int number = begin + 1; number <= static_cast<int>(text.size()); ++number) {
      constexpr int around = 1;
      const auto near = lines.lower_bound(number - around);
      if (!own && (near == lines.end() || near->first > number + around)) continue;
      annotated_line line;
      line.number = number;
      line.text = text[static_cast<std::size_t>(number) - 1];
      if (const auto at = lines.find(number); at != lines.end()) {
        line.counted = at->second.counted;
        if (at->second.is_sum()) line.shares = at->second.shares;
      }
      line.raced = raced.contains({path, number});
      f.lines.push_back(line);
    }
    if (own) files.insert(files.begin(), std::move(f));
    else files.push_back(std::move(f));
  }
  return files;
}

}  // namespace lens
