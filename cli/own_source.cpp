// SPDX-License-Identifier: Apache-2.0
#include "own_source.hpp"

#include <algorithm>
#include <regex>

namespace cli {
namespace {

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t k = from; k < std::min(to, text.size()); ++k)
    if (text[k] != '\n') text[k] = ' ';
}

/// With comments and the insides of strings blank, and everything else where it was.
std::string code_of(const std::string& text) {
  std::string code = text;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(code, i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      end = text.find("*/", i + 2);
      end = end == text.npos ? text.size() : end + 2;
      blank(code, i, end);
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
      for (end = i + 1; end < text.size() && text[end] != text[i] && text[end] != '\n'; ++end)
        if (text[end] == '\\') ++end;
      blank(code, i + 1, end);
      ++end;
    }
    i = end;
  }
  return code;
}

std::vector<std::string> names_by(const std::string& text, const std::regex& pattern) {
  const std::string code = code_of(text);
  std::vector<std::string> names;
  for (std::sregex_iterator at(code.begin(), code.end(), pattern), end; at != end; ++at)
    if (std::find(names.begin(), names.end(), (*at)[1].str()) == names.end()) names.push_back((*at)[1].str());
  return names;
}

/// What stands between the braces that open at or after `at`.
std::pair<std::size_t, std::size_t> body_after(const std::string& code, std::size_t at) {
  const auto open = code.find('{', at);
  if (open == code.npos) return {code.size(), code.size()};
  int depth = 1;
  auto end = open + 1;
  for (; end < code.size() && depth != 0; ++end) depth += code[end] == '{' ? 1 : code[end] == '}' ? -1 : 0;
  return {open + 1, end - 1};
}

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  static const std::regex pattern(
      R"(__global__\s+(?:(?:static|inline|__launch_bounds__\s*\([^)]*\))\s+)*void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()");
  return names_by(text, pattern);
}

std::vector<std::string> dynamic_shared_in(const std::string& text) {
  static const std::regex pattern(R"(extern\s+(?:__align__\s*\([^)]*\)\s*)?__shared__\s+[^;{}]*?(\w+)\s*\[\s*\]\s*;)");
  return names_by(text, pattern);
}

std::string prepared_source(const std::string& text, const std::string& file) {
  const std::string code = code_of(text);
  std::string all = text;
  for (std::size_t at = 0; (at = code.find("<<<", at)) != code.npos;) {
    const auto end = code.find(">>>", at);
    if (end == code.npos) break;
    blank(all, at, end + 3);
    at = end + 3;
  }
  static const std::regex main_function(R"(\bint\s+main\s*\()");
  if (std::smatch found; std::regex_search(code, found, main_function)) {
    const auto [from, to] = body_after(code, static_cast<std::size_t>(found.position()));
    blank(all, from, to);
  }
  std::string name;
  for (const char c : file) {
    if (c == '"' || c == '\\') name += '\\';
    name += c;
  }
  return "#line 1 \"" + name + "\"\n" + all + "\n";
}

}  // namespace cli
