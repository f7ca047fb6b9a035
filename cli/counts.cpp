// SPDX-License-Identifier: Apache-2.0
#include "counts.hpp"

#include <charconv>
#include <optional>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

namespace cli {
namespace {

constexpr std::uint64_t most_counted = std::uint64_t{1} << 40;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

/// 1000, 1M and 32K (units of 1024), 2^20, 1e6. Nothing if it is none of these, or over 2^40.
std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t unit = 1;
  std::optional<std::uint64_t> value;
  if (text.starts_with("2^")) {
    value = whole_number(text.substr(2));
    if (!value || *value > 40) return {};
    return std::uint64_t{1} << *value;
  }
  if (const auto e = text.find('e'); e != text.npos) {
    const auto power = whole_number(text.substr(e + 1));
    if (!power || *power > 12) return {};
    for (std::uint64_t k = 0; k < *power; ++k) unit *= 10;
    value = whole_number(text.substr(0, e));
  } else {
    const auto suffix = text.empty() ? text.npos : std::string_view("KMG").find(text.back());
    if (suffix != text.npos) {
      unit = std::uint64_t{1} << (10 * (suffix + 1));
      text.remove_suffix(1);
    }
    value = whole_number(text);
  }
  if (!value || *value > most_counted / unit) return {};
  return *value * unit;
}

}  // namespace

std::uint64_t count_option(std::string_view option, const std::string& text) {
  if (const auto count = parse_count(text)) return *count;
  throw wf::error(wf::errc::bad_argument, std::string(option) + " " + wf::io::quoted(text) +
                                              ": not a count up to 2^40, as 1000, 1M (2^20), 2^20 or 1e6");
}

}  // namespace cli
