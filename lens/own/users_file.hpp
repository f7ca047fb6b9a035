// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lens/sources.hpp>

#include <string>

namespace lens::own {

/// The program made of a user's file has one file to show. Both strings must live as long as it.
void show_file(const std::string& path, const std::string& text);

}  // namespace lens::own
