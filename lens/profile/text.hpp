// SPDX-License-Identifier: Apache-2.0
/// \file text.hpp
/// Numbers and markup, as the reports of a profile write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lens::profile {

/// `3.12 T`, `950 G`, `12`: three digits and a power of 1000, a blank between.
std::string scaled(double);
/// `12.3 µs`
std::string duration(double seconds);
/// A count in full; fractions with three digits; `-` for NaN.
std::string number(double);
std::string escaped(std::string_view);

/// Columns: the first to the left, the others to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows);
std::string table_html(const std::vector<std::vector<std::string>>& rows);

/// The name of a kernel without its namespaces' and parameters' noise: `tree_sum<float>`.
std::string kernel_name(const std::string& demangled);

}  // namespace lens::profile
