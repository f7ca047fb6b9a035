// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

namespace lens {
namespace {

constexpr std::string_view unnamed = "(anonymous namespace)";

/// A name's templates: `f<(lambda)>::g` ends behind `g`, at the parameters.
std::size_t end_of_name(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (text[i] != '(' || depth != 0) continue;
    if (!text.substr(i).starts_with(unnamed)) return i;
    i += unnamed.size() - 1;
  }
  return text.size();
}

/// Takes the namespaces away from the name and from the names in its template arguments.
std::string without_scopes(std::string_view text) {
  std::string result;
  std::size_t word = 0;  // where the name that is being written began, in `result`
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(unnamed)) {
      i += unnamed.size() - 1;
    } else if (text.substr(i).starts_with("::")) {
      result.resize(word);
      ++i;
    } else {
      result += text[i];
      if (text[i] == '<' || text[i] == ',' || text[i] == ' ' || text[i] == '(') word = result.size();
    }
  }
  return result;
}

}  // namespace

std::string short_name(const std::string& name) {
  std::string text = without_scopes(std::string_view(name).substr(0, end_of_name(name)));
  // CUDA's names of types that are others here.
  for (const auto& [own, cudas] : {std::pair{"small_float<f16_format, __half_raw>", "__half"}, {"small_float<bf16_format, __nv_bfloat16_raw>", "__nv_bfloat16"}})
    for (std::size_t at; (at = text.find(own)) != text.npos;) text.replace(at, std::string_view(own).size() + text.substr(at).starts_with(std::string(own) + " >"), cudas);
  if (text.starts_with("void ")) text.erase(0, 5);  // for a template the demangler tells the type
  return text;
}

std::string plain_path(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

}  // namespace lens
