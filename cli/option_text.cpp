// SPDX-License-Identifier: Apache-2.0
#include "option_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <regex>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

namespace cli {

std::string check_file_name(const std::string& text) { return text.empty() ? "'' is no file" : ""; }

/// CLI11 2.1 would take -1 for 2^64 - 1, and so all that is too large.
std::string check_offset(const std::string& text) {
  std::int64_t offset = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), offset);
  const bool whole = code == std::errc{} && end == text.data() + text.size();
  return whole && offset >= 0 ? ""
                              : wf::io::quoted(text) + " is not a number of bytes from 0 to 2^63 - 1";
}

/// CLI11 2.1 would clamp what is too large.
std::string check_correction(const std::string& text) {
  std::int64_t correction = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), correction);
  const bool whole = code == std::errc{} && end == text.data() + text.size();
  return whole ? "" : wf::io::quoted(text) + " is not a correction from -2^63 to 2^63 - 1";
}

/// CLI11 2.1 would tell the greatest double in 309 digits, and take nan.
std::string check_tolerance(const std::string& text) {
  char* end = nullptr;
  const double tolerance = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  return whole && tolerance >= 0 && std::isfinite(tolerance) ? "" : wf::io::quoted(text) + " is not a number of 0 or more, as 0.01";
}

std::optional<std::vector<int>> axes_of(std::string_view text) {
  std::vector<int> axes;
  for (const char* p = text.data();;) {
    int one = 0;
    const auto [end, code] = std::from_chars(p, text.data() + text.size(), one);
    if (code != std::errc{}) return std::nullopt;
    axes.push_back(one);
    if (end == text.data() + text.size()) return axes;
    if (*end != ',') return std::nullopt;
    p = end + 1;
  }
}
std::string check_axes(const std::string& text) {
  return axes_of(text) ? "" : wf::io::quoted(text) + " is not a list of axes such as 0 or 0,2 or -1";
}

std::array<std::uint32_t, 3> extent_option(const std::string& option, const std::string& text) {
  static const std::regex pattern(R"((\d{1,10})(?:[x,](\d{1,5}))?(?:[x,](\d{1,5}))?)");
  std::smatch found;
  std::array<std::uint32_t, 3> d{1, 1, 1};
  bool good = std::regex_match(text, found, pattern);
  for (std::size_t k = 0; good && k < 3; ++k)
    if (found[k + 1].matched) {
      const auto value = std::stoull(found[k + 1].str());
      good = value >= 1 && value <= 2147483647;
      d[k] = static_cast<std::uint32_t>(value);
    }
  if (!good) throw wf::error(wf::errc::bad_argument, option + " " + wf::io::quoted(text) + ": write 256, 16x16 or 8x8x4");
  return d;
}

}  // namespace cli
