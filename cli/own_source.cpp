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

int line_at(const std::string& text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
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

/// The body of the function whose declaration goes on at `at`; empty where none follows.
std::pair<std::size_t, std::size_t> function_body(const std::string& code, std::size_t at) {
  int depth = 0;
  for (; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0 && code[at] == ';') break;
    if (depth == 0 && code[at] == '{') return body_after(code, at);
  }
  return {at, at};
}

std::string scope_at(const std::string& code, std::size_t at) {
  static const std::regex pattern(R"(\bnamespace\s+(\w[\w:]*)\s*\{)");
  std::string scope;
  for (std::sregex_iterator each(code.begin(), code.end(), pattern), end; each != end; ++each) {
    const auto [from, to] = body_after(code, static_cast<std::size_t>(each->position()));
    if (from <= at && at < to) scope += (*each)[1].str() + "::";
  }
  return scope;
}

/// Whether the declaration that `at` is within begins with the word.
bool is_template_at(const std::string& code, std::size_t at) {
  const auto before = code.find_last_of(";{}", at);
  const auto from = before == code.npos ? 0 : before + 1;
  return code.substr(from, at - from).find("template") != std::string::npos;
}

const std::regex& kernel_pattern() {
  static const std::regex pattern(
      R"(__global__\s+(?:(?:static|inline|__launch_bounds__\s*\([^)]*\))\s+)*void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()");
  return pattern;
}

}  // namespace

std::vector<kernel_name> kernels_in(const std::string& text) {
  const std::string code = code_of(text);
  std::vector<kernel_name> all;
  for (std::sregex_iterator each(code.begin(), code.end(), kernel_pattern()), end; each != end; ++each) {
    const auto at = static_cast<std::size_t>(each->position());
    const kernel_name k{scope_at(code, at), (*each)[1].str(), is_template_at(code, at)};
    const auto same = [&](const kernel_name& x) { return x.written() == k.written(); };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(k);
  }
  return all;
}

std::string list_of(const std::vector<kernel_name>& kernels) {
  std::string all;
  for (const kernel_name& k : kernels) all += (all.empty() ? "" : ", ") + k.written();
  return all;
}

std::string base_of(const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  const auto scope = name.rfind("::");
  return scope == name.npos ? name : name.substr(scope + 2);
}

std::string naming_mistake(const std::string& kernel, const std::vector<kernel_name>& kernels) {
  const std::string base = base_of(kernel);
  std::vector<kernel_name> of_name;
  for (const kernel_name& k : kernels)
    if (k.name == base) of_name.push_back(k);
  if (of_name.empty()) return "no such kernel";
  if (of_name.size() > 1) return "write which one is meant: " + list_of(of_name);
  const kernel_name& one = of_name.front();
  const auto arguments = kernel.find('<');
  const bool is_scoped = kernel.starts_with(one.scope) || kernel.starts_with("::" + one.scope);
  if (one.is_template && arguments == kernel.npos) return "it is a template: write its arguments, " + one.written();
  if (!one.is_template && arguments != kernel.npos) return "it is no template: write " + one.written();
  if (!is_scoped) return "it is in a namespace: write " + one.scope + kernel.substr(kernel.find(base));
  return one.is_template ? "its arguments do not fit the template " + one.scope + base : "the name does not fit what the file has";
}

int launch_within(const std::string& text, const std::string& kernel) {
  static const std::regex device_pattern(R"(\b__device__\b)");
  const std::string code = code_of(text);
  const auto line_in = [&](std::size_t declaration) {
    const auto [from, to] = function_body(code, declaration);
    const auto at = code.find("<<<", from);
    return at < to ? line_at(code, at) : 0;
  };
  for (std::sregex_iterator each(code.begin(), code.end(), kernel_pattern()), end; each != end; ++each)
    if ((*each)[1] == base_of(kernel))
      if (const int line = line_in(static_cast<std::size_t>(each->position()))) return line;
  for (std::sregex_iterator each(code.begin(), code.end(), device_pattern), end; each != end; ++each)
    if (const int line = line_in(static_cast<std::size_t>(each->position()))) return line;
  return 0;
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
