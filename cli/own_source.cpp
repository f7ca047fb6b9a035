// SPDX-License-Identifier: Apache-2.0
#include "own_source.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cli {
namespace {

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t k = from; k < std::min(to, text.size()); ++k)
    if (text[k] != '\n') text[k] = ' ';
}

/// Where the parenthesis of a raw string opens whose R is at i, as in uR"mark(…)mark"; npos if none begins there.
std::size_t raw_string_at(const std::string& text, std::size_t i) {
  if (text.compare(i, 2, "R\"") != 0) return text.npos;
  // Not the end of a longer name; u8, u, U and L may stand before.
  std::size_t name = i;
  while (name > 0 && (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_')) --name;
  const std::string before = text.substr(name, i - name);
  if (!before.empty() && before != "u8" && before != "u" && before != "U" && before != "L") return text.npos;
  const auto open = text.find_first_of("() \\\n\"", i + 2);
  return open != text.npos && text[open] == '(' && open - i - 2 <= 16 ? open : text.npos;
}

/// The text with comments and the insides of strings blank, and everything else where it was.
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
    } else if (const std::size_t open = raw_string_at(text, i); open != text.npos) {
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";  // R"mark( … )mark"
      end = text.find(close, open);
      end = end == text.npos ? text.size() : end + close.size();
      blank(code, i + 2, end - 1);
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

/// A word, or one character of another kind. Patterns of the standard library recurse, and end the program where a
/// declaration has 100 KB.
struct token {
  std::size_t from, to;
};
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class tokens {
 public:
  explicit tokens(const std::string& code) : code_(code) {
    for (std::size_t i = 0; i < code.size();) {
      std::size_t end = i + 1;
      if (is_word(code[i]))
        while (end < code.size() && is_word(code[end])) ++end;
      if (std::isspace(static_cast<unsigned char>(code[i])) == 0) all_.push_back({i, end});
      i = end;
    }
  }

  std::size_t size() const { return all_.size(); }
  std::size_t position(std::size_t k) const { return all_[k].from; }
  /// The first token at or behind a place of the text.
  std::size_t from(std::size_t place) const {
    const auto found = std::lower_bound(all_.begin(), all_.end(), place, [](const token& one, std::size_t at) { return one.from < at; });
    return static_cast<std::size_t>(found - all_.begin());
  }
  std::string_view text(std::size_t k) const {
    return k < size() ? std::string_view(code_).substr(all_[k].from, all_[k].to - all_[k].from) : std::string_view();
  }
  bool is(std::size_t k, std::string_view what) const { return text(k) == what; }
  bool is_name(std::size_t k) const { return k < size() && is_word(code_[all_[k].from]); }
  /// Behind the parenthesis that closes the one at k.
  std::size_t behind_parentheses(std::size_t k) const {
    int depth = 0;
    for (; k < size(); ++k) {
      depth += is(k, "(") ? 1 : is(k, ")") ? -1 : 0;
      if (depth == 0) return k + 1;
    }
    return k;
  }
  /// Behind `word(…)` at k, if that is there.
  std::size_t behind_call(std::size_t k, std::string_view word) const {
    return is(k, word) && is(k + 1, "(") ? behind_parentheses(k + 1) : k;
  }

 private:
  const std::string& code_;
  std::vector<token> all_;
};

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

/// Whether the declaration that `at` is within begins with the word.
bool is_template_at(const std::string& code, std::size_t at) {
  const auto before = code.find_last_of(";{}", at);
  const auto from = before == code.npos ? 0 : before + 1;
  return code.substr(from, at - from).find("template") != std::string::npos;
}

/// The namespaces around a token.
class scopes {
 public:
  /// Token k; all are shown, in order.
  void see(const tokens& t, std::size_t k) {
    if (t.is(k, "namespace")) {
      // `a::inline b` and `inline namespace b` need not be written to name what is within b.
      scope name;
      std::size_t end = k + 1;
      name.is_unnamed = t.is(end, "{");
      for (bool hidden = k > 0 && t.is(k - 1, "inline"); t.is_name(end);) {
        if (t.is(end, "inline")) hidden = true, ++end;
        if (t.is_name(end)) {
          name.whole.append(t.text(end)).append("::");
          if (!hidden) name.written.append(t.text(end)).append("::");
        }
        hidden = false;
        end += t.is(end + 1, ":") && t.is(end + 2, ":") ? 3 : 1;
        if (!t.is(end - 1, ":")) break;
      }
      if (t.is(end, "{")) next_ = name;
    } else if (t.is(k, "{")) {
      open_.push_back(std::exchange(next_, {}));
    } else if (t.is(k, "}") && !open_.empty()) {
      open_.pop_back();
    }
  }
  /// `ns::`, as it is written to name something there.
  std::string written() const { return joined(&scope::written); }
  std::string whole() const { return joined(&scope::whole); }
  bool is_in_namespaces_alone() const {
    return std::all_of(open_.begin(), open_.end(), [](const scope& s) { return s.is_unnamed || !s.whole.empty(); });
  }
  bool is_unnamed() const {
    return std::any_of(open_.begin(), open_.end(), [](const scope& s) { return s.is_unnamed; });
  }

 private:
  struct scope {
    std::string written, whole;
    bool is_unnamed = false;
  };
  std::string joined(std::string scope::*part) const {
    std::string all;
    for (const scope& s : open_) all += s.*part;
    return all;
  }
  std::vector<scope> open_;  // for each brace
  scope next_;               // the next one's
};

/// The name of the kernel whose `__global__` is token k; no word if none is declared there.
std::size_t kernel_name_at(const tokens& t, std::size_t k) {
  if (!t.is(k, "__global__")) return t.size();
  for (++k;;) {
    const std::size_t behind = t.is(k, "static") || t.is(k, "inline") ? k + 1 : t.behind_call(k, "__launch_bounds__");
    if (behind == k) break;
    k = behind;
  }
  if (!t.is(k, "void")) return t.size();
  k = t.behind_call(k + 1, "__launch_bounds__");
  return t.is_name(k) && t.is(k + 1, "(") ? k : t.size();
}

struct function_text {
  std::string_view name;
  std::pair<std::size_t, std::size_t> body;
};
/// The `__device__` functions, not variables, that have a body and are no members of classes.
std::vector<function_text> device_functions(const std::string& code, const tokens& t) {
  std::vector<function_text> all;
  scopes around;
  for (std::size_t k = 0; k < t.size(); ++k) {
    around.see(t, k);
    if (!t.is(k, "__device__") || !around.is_in_namespaces_alone()) continue;
    std::size_t name = k + 1;
    const auto is_end = [&t](std::size_t at) { return t.is(at, ";") || t.is(at, "{") || t.is(at, "=") || t.is(at, "__device__"); };
    while (name < t.size() && !is_end(name) && !(t.is_name(name) && t.is(name + 1, "("))) ++name;
    if (!t.is_name(name) || is_end(name) || t.is(name, "operator")) continue;
    const auto body = function_body(code, t.position(name));
    if (body.first < body.second) all.push_back({t.text(name), body});
  }
  return all;
}

/// Bodies of kernels other than the one that is asked for, and of the functions that it does not reach.
std::vector<std::pair<std::size_t, std::size_t>> unused_bodies(const std::string& code, const tokens& t, const std::string& kernel) {
  const auto functions = device_functions(code, t);
  std::vector<std::pair<std::size_t, std::size_t>> used, unused;
  for (std::size_t k = 0; k < t.size(); ++k) {
    const std::size_t own = kernel_name_at(t, k);
    if (own < t.size()) (t.is(own, kernel) ? used : unused).push_back(function_body(code, t.position(k)));
  }
  std::vector<std::pair<std::size_t, std::size_t>> bodies = unused;
  bodies.insert(bodies.end(), used.begin(), used.end());
  std::multimap<std::string_view, std::pair<std::size_t, std::size_t>> left;
  for (const function_text& f : functions) left.emplace(f.name, f.body), bodies.push_back(f.body);
  std::sort(bodies.begin(), bodies.end());
  const auto reach = [&](std::string_view name) {
    const auto [from, to] = left.equal_range(name);
    for (auto f = from; f != to; ++f) used.push_back(f->second);
    left.erase(from, to);
  };
  // Named where no function is, as by a macro or a variable: used, for all that is known. Its own name stands before `(` once a body.
  std::map<std::string_view, std::size_t> named;
  std::size_t next = 0, end = 0;
  for (std::size_t k = 0; k < t.size(); ++k) {
    for (; next < bodies.size() && bodies[next].first <= t.position(k); ++next) end = std::max(end, bodies[next].second);
    if (t.position(k) >= end && left.contains(t.text(k))) ++named[t.text(k)];
  }
  for (const auto& [name, times] : named)
    if (times > left.count(name)) reach(name);
  for (std::size_t at = 0; at < used.size(); ++at) {
    const auto [from, to] = used[at];
    for (std::size_t k = t.from(from); k < t.size() && t.position(k) < to; ++k)
      if (left.contains(t.text(k))) reach(t.text(k));
  }
  for (const auto& [name, body] : left) unused.push_back(body);
  std::sort(unused.begin(), unused.end());
  return unused;
}

}  // namespace

std::vector<kernel_name> kernels_in(const std::string& text) {
  const std::string code = code_of(text);
  const tokens t(code);
  std::vector<kernel_name> all;
  std::set<std::string> seen;
  scopes around;
  for (std::size_t k = 0; k < t.size(); ++k) {
    around.see(t, k);
    if (const std::size_t name = kernel_name_at(t, k); name < t.size()) {
      const kernel_name found{around.written(), std::string(t.text(name)), is_template_at(code, t.position(k))};
      if (seen.insert(found.written()).second) all.push_back(found);
    }
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
  const std::string code = code_of(text), base = base_of(kernel);
  std::vector<std::size_t> launches;
  for (auto at = code.find("<<<"); at != code.npos; at = code.find("<<<", at + 1)) launches.push_back(at);
  if (launches.empty()) return 0;
  const tokens t(code);
  const auto line_in = [&](std::size_t declaration) {
    const auto [from, to] = function_body(code, declaration);
    const auto at = std::lower_bound(launches.begin(), launches.end(), from);
    return at != launches.end() && *at < to ? line_at(code, *at) : 0;
  };
  for (std::size_t k = 0; k < t.size(); ++k)
    if (const std::size_t name = kernel_name_at(t, k); name < t.size() && t.is(name, base))
      if (const int line = line_in(t.position(k))) return line;
  for (std::size_t k = 0; k < t.size(); ++k)
    if (t.is(k, "__device__"))
      if (const int line = line_in(t.position(k))) return line;
  return 0;
}

namespace {

/// A type by its words, without const, as the lens calls it.
std::string element_of(const std::vector<std::string>& words) {
  static const std::map<std::string, std::string> known_types{
      {"float", "f32"}, {"double", "f64"}, {"bool", "bool"}, {"half", "f16"}, {"__half", "f16"}, {"__nv_bfloat16", "bf16"}, {"nv_bfloat16", "bf16"},
      {"int8_t", "i8"}, {"int16_t", "i16"}, {"int32_t", "i32"}, {"int64_t", "i64"}, {"uint8_t", "u8"}, {"uint16_t", "u16"}, {"uint32_t", "u32"},
      {"uint64_t", "u64"}, {"size_t", "u64"}, {"ptrdiff_t", "i64"}};
  if (words.size() == 1)
    if (const auto known = known_types.find(words.front()); known != known_types.end()) return known->second;
  int longs = 0;
  bool is_unsigned = false, is_signed = false, is_char = false, is_short = false, is_int = false;
  for (const std::string& w : words) {
    bool* const seen = w == "unsigned" ? &is_unsigned : w == "signed" ? &is_signed : w == "char" ? &is_char : w == "short" ? &is_short
                       : w == "int" ? &is_int : nullptr;
    if (w == "long") ++longs;
    else if (seen == nullptr) return {};
    else *seen = true;
  }
  if (words.empty() || (is_char && !is_unsigned && !is_signed && longs + is_short + is_int != 0)) return {};
  return std::string(is_unsigned ? "u" : "i") + (is_char ? "8" : is_short ? "16" : longs > 0 ? "64" : "32");
}

/// `const float* __restrict__ x`: its words up to the pointer, or up to the name.
void read_type(parameter_text& p, const std::vector<std::string>& words) {
  std::vector<std::string> type;
  int stars = 0;
  for (const std::string& w : words) {
    if (w == "*") ++stars;
    else if (w == "const" && stars == 0) p.is_constant = true;
    else if (w == "std" || w == ":" || w == "const" || w == "volatile" || w == "__restrict__" || w == "__restrict" || w == "restrict") continue;
    else if (stars == 0) type.push_back(w);
    else if (!is_word(w.front())) return;  // an array, a function
  }
  if (stars > 1) return;
  if (p.element = element_of(type); p.element.empty() && stars == 0 && type.size() > 1) {
    type.pop_back();  // the name
    p.element = element_of(type);
  }
}

}  // namespace

std::optional<std::vector<parameter_text>> parameters_of(const std::string& text, const std::string& kernel) {
  const std::string code = code_of(text), base = base_of(kernel);
  const tokens t(code);
  std::optional<std::vector<parameter_text>> found;
  for (std::size_t k = 0; k < t.size(); ++k) {
    const std::size_t name = kernel_name_at(t, k);
    if (name == t.size() || !t.is(name, base)) continue;
    if (found) return {};
    found.emplace();
    const std::size_t close = t.behind_parentheses(name + 1) - 1;
    int depth = 0;
    parameter_text one;
    std::size_t first = name + 2;
    for (std::size_t at = first; at <= close && at < t.size(); ++at) {
      if (t.is(at, ".") || t.is(at, "=")) return {};
      if (depth == 0 && (t.is(at, ",") || at == close)) {
        const std::string_view written = std::string_view(code).substr(t.position(first), t.position(at) - t.position(first));
        for (const char c : written)
          if (const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0; !is_space || !one.text.ends_with(' ')) one.text += is_space ? ' ' : c;
        while (one.text.ends_with(' ')) one.text.pop_back();
        std::vector<std::string> words;
        for (std::size_t w = first; w < at; ++w) words.emplace_back(t.text(w));
        read_type(one, words);
        if (!one.text.empty() && one.text != "void") found->push_back(one);
        one = {};
        first = at + 1;
        continue;
      }
      depth += t.is(at, "(") || t.is(at, "<") || t.is(at, "[") ? 1 : t.is(at, ")") || t.is(at, ">") || t.is(at, "]") ? -1 : 0;
      one.is_pointer |= t.is(at, "*") || t.is(at, "[");
    }
  }
  return found;
}

int main_line(const std::string& text) {
  const std::string code = code_of(text);
  const tokens t(code);
  for (std::size_t k = 0; k + 2 < t.size(); ++k)
    if (t.is(k, "int") && t.is(k + 1, "main") && t.is(k + 2, "(")) return line_at(text, t.position(k));
  return 0;
}

std::vector<shared_name> dynamic_shared_in(const std::string& text) {
  const std::string code = code_of(text);
  const tokens t(code);
  std::vector<shared_name> all;
  scopes around;
  for (std::size_t k = 0; k < t.size(); ++k) {
    around.see(t, k);
    if (!t.is(k, "extern")) continue;
    std::size_t end = t.behind_call(k + 1, "__align__");
    if (!t.is(end, "__shared__")) continue;
    while (end < t.size() && !t.is(end, ";") && !t.is(end, "{") && !t.is(end, "}")) ++end;
    if (!t.is(end, ";") || !t.is(end - 1, "]") || !t.is(end - 2, "[") || !t.is_name(end - 3) || t.is(end - 3, "__shared__")) continue;
    const shared_name s{around.whole(), std::string(t.text(end - 3)), line_at(text, t.position(k)), around.is_unnamed()};
    const auto same = [&](const shared_name& x) { return x.scope == s.scope && x.name == s.name; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(s);
  }
  return all;
}

std::string prepared_source(const std::string& text, const std::string& file, const std::string& kernel) {
  const std::string code = code_of(text);
  std::string all = text;
  for (std::size_t at = 0; (at = code.find("<<<", at)) != code.npos;) {
    const auto end = code.find(">>>", at);
    if (end == code.npos) break;
    blank(all, at, end + 3);
    at = end + 3;
  }
  const tokens t(code);
  for (std::size_t k = 0; k < t.size(); ++k) {
    if (!t.is(k, "int") || !t.is(k + 1, "main") || !t.is(k + 2, "(")) continue;
    const auto [from, to] = body_after(code, t.position(k));
    blank(all, from, to);
    break;
  }
  // What the kernel does not use need not be what simt compiles. In what is no C++ bodies may lie in one another.
  std::size_t done = 0;
  for (const auto& [from, to] : unused_bodies(code, t, base_of(kernel))) {
    if (from < done) continue;
    done = to;
    for (std::size_t k = t.from(from); k < t.size() && t.position(k) < to; ++k)
      if (t.is(k, "asm") || t.is(k, "__asm__") || t.is(k, "__asm")) {
        blank(all, from, to);
        constexpr std::string_view instead = "__trap();";  // loud, should it be reached all the same
        const auto at = t.position(k);
        if (at + instead.size() <= to && all.find('\n', at) >= at + instead.size()) all.replace(at, instead.size(), instead);
        break;
      }
  }
  std::string name;
  for (const char c : file) {
    if (c == '"' || c == '\\') name += '\\';
    name += c;
  }
  return "#line 1 \"" + name + "\"\n" + all + "\n";
}

}  // namespace cli
