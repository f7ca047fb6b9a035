// SPDX-License-Identifier: Apache-2.0
/// \file output.hpp
/// Where a command's results go.
#pragma once

#include <string>

namespace cli {

void print(const std::string& text);  ///< to standard output

/// What --html writes, or another option. Throws wf::error (bad_input) with the reason if it cannot.
void write_page(const std::string& path, const std::string& text, const std::string& option = "--html");

}  // namespace cli
