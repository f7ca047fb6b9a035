// SPDX-License-Identifier: Apache-2.0
#include "words.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "words_zh.hpp"

namespace lens {
namespace {

/// A sentence with {} where a number or a name stands.
struct pattern {
  std::regex english;
  std::string chinese;  ///< with $1, $2 … in place of {}; each is said() itself
};

std::string as_regex(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("{}")) {
      all += "(.+?)";
      ++i;
    } else {
      if (std::string_view(R"(\^$.|?*+()[]{})").find(text[i]) != std::string_view::npos) all += '\\';
      all += text[i];
    }
  }
  return all;
}

const std::vector<pattern>& patterns() {
  static const std::vector<pattern> all = [] {
    std::vector<pattern> made;
    for (const auto& [english, chinese] : words_in_chinese)
      if (english.find("{}") != english.npos) made.push_back({std::regex(as_regex(english)), std::string(chinese)});
    return made;
  }();
  return all;
}

std::string with_entities(const std::string& text, bool to) {
  std::string all = text;
  for (const auto& [plain, entity] : {std::pair{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}}) {
    const std::string_view from = to ? plain : entity, into = to ? entity : plain;
    for (std::size_t at = 0; (at = all.find(from, at)) != all.npos; at += into.size()) all.replace(at, from.size(), into);
  }
  return all;
}

}  // namespace

language page_language() {
  const char* wanted = std::getenv("WARPFOLD_LANG");
  return wanted != nullptr && std::string_view(wanted) == "zh" ? language::chinese : language::english;
}

std::string said(std::string_view english) {
  if (page_language() == language::english) return std::string(english);
  static const std::unordered_map<std::string_view, std::string_view> whole(std::begin(words_in_chinese), std::end(words_in_chinese));
  if (const auto at = whole.find(english); at != whole.end()) return std::string(at->second);
  const std::string text(english);
  if (std::none_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c); })) return text;
  for (const pattern& p : patterns()) {
    std::smatch found;
    if (!std::regex_match(text, found, p.english)) continue;
    std::string all;
    for (std::size_t i = 0; i < p.chinese.size(); ++i) {
      if (p.chinese[i] == '$' && i + 1 < p.chinese.size()) all += said(found[static_cast<std::size_t>(p.chinese[++i] - '0')].str());
      else all += p.chinese[i];
    }
    return all;
  }
  return text;
}

std::string in_page_language(const std::string& html) {
  if (page_language() == language::english) return html;
  std::string all;
  int kept = 0;  // elements whose text stays as it is, and in which we are
  for (std::size_t at = 0; at < html.size();) {
    if (html[at] == '<') {
      const auto end = html.find('>', at);
      std::string tag = html.substr(at, end + 1 - at);
      const bool closes = tag.starts_with("</");
      for (const std::string_view name : {"style", "code", "script"})
        if (tag.starts_with("<" + std::string(name)) || tag == "</" + std::string(name) + ">") kept += closes ? -1 : 1;
      if (tag.starts_with("<td class=\"text\"")) ++kept;
      else if (tag == "</td>" && kept > 0) --kept;
      static const std::regex attribute(R"re(^(.* (?:title|aria-label)=")([^"]*)(".*)$)re");
      if (std::smatch found; std::regex_match(tag, found, attribute))
        tag = found[1].str() + with_entities(said(with_entities(found[2].str(), false)), true) + found[3].str();
      all += tag == "<html lang=\"en\">" ? "<html lang=\"zh\">" : tag;
      at = end + 1;
      continue;
    }
    const auto end = std::min(html.find('<', at), html.size());
    const std::string text = html.substr(at, end - at);
    const auto first = text.find_first_not_of(" \n"), last = text.find_last_not_of(" \n");
    if (kept > 0 || first == text.npos) all += text;
    else
      all += text.substr(0, first) + with_entities(said(with_entities(text.substr(first, last + 1 - first), false)), true) +
             text.substr(last + 1);
    at = end;
  }
  return all;
}

}  // namespace lens
