// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <algorithm>

#include <cli/own_source.hpp>

using fuzz::require;

namespace {

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

long lines_of(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

void check_source(std::span<const std::byte> content) {
  const std::string_view all = fuzz::text_of(content);
  const auto line = std::min(all.find('\n'), all.size());
  const std::string asked(all.substr(0, line)), text(all.substr(std::min(line + 1, all.size())));

  const auto kernels = cli::kernels_in(text);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    require(is_word(kernels[k].name) && text.find(kernels[k].name) != text.npos, "a kernel's name that is not in the file");
    for (std::size_t j = 0; j < k; ++j) require(kernels[j].written() != kernels[k].written(), "a kernel is listed twice");
    require(!cli::naming_mistake(kernels[k].name, kernels).empty(), "a mistake without words");
    const int at = cli::launch_within(text, kernels[k].name);
    require(at >= 0 && at <= 1 + lines_of(text), "a launch on no line of the file");
  }
  require(cli::list_of(kernels).empty() == kernels.empty(), "a list of no kernels");
  require(!cli::naming_mistake(asked, kernels).empty(), "a mistake without words");
  (void)cli::launch_within(text, asked);
  for (const cli::shared_name& s : cli::dynamic_shared_in(text)) require(is_word(s.name), "a shared array of no name");

  // Lines and columns stay, for what the compiler says of them.
  const std::string file = "folder/a \"b\".cu", head = "#line 1 \"folder/a \\\"b\\\".cu\"\n";
  const std::string prepared = cli::prepared_source(text, file, asked);
  require(prepared.starts_with(head), "no #line");
  require(prepared.size() == head.size() + text.size() + 1 && lines_of(prepared) == lines_of(text) + 2, "lines are moved");
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = prepared[head.size() + k];
    if (c == text[k] || c == ' ') continue;
    // Where an unused function had PTX there is a trap.
    constexpr std::string_view trap = "__trap();";
    require(std::string_view(prepared).substr(head.size() + k - (trap.size() - 1), 2 * trap.size() - 1).find(trap) != prepared.npos, "a character is changed");
  }
}
