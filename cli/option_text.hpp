// SPDX-License-Identifier: Apache-2.0
/// \file option_text.hpp
/// What stands behind options, read strictly. A check gives an empty text, or what is wrong in one line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Any text but an empty one, as "$FILE" gives where FILE is not set.
std::string check_file_name(const std::string& text);

/// Bytes from the start of a file: 0 to 2^63 - 1.
std::string check_offset(const std::string& text);

/// A whole number of 64 bits with a sign.
std::string check_correction(const std::string& text);

/// A number that is 0 or more, and not infinite.
std::string check_tolerance(const std::string& text);

/// "0,-1" as numbers; nothing if it is not that.
std::optional<std::vector<int>> axes_of(std::string_view text);
std::string check_axes(const std::string& text);

/// `256`, `16x16`, `8x8x4`. Throws wf::error (bad_argument) that names the option.
std::array<std::uint32_t, 3> extent_option(const std::string& option, const std::string& text);

}  // namespace cli
