// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lens {

/// `ladder::lens_build::tree_sum<float>(…)` is tree_sum<float>.
std::string short_name(const std::string&);

/// `ladder/build/../07_tree.cuh` is ladder/07_tree.cuh: how a file was included says nothing.
std::string plain_path(const std::string&);

}  // namespace lens
