// SPDX-License-Identifier: Apache-2.0
/// \file counts.hpp
/// Counts of elements as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

/// 1000, 1M and 32K (units of 1024), 2^20, 1e6. Throws wf::error (bad_argument) that names the option if it is
/// none of these, or over 2^40.
std::uint64_t count_option(std::string_view option, const std::string& text);

}  // namespace cli
