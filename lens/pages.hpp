// SPDX-License-Identifier: Apache-2.0
/// \file pages.hpp
/// The counters and drawings in the pages of docs/ladder, made by running the rungs.
#pragma once

#include <ladder/ladder.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace lens {

/// What stands between the marks of a page, marks included, is replaced; a page without marks gets them before
/// its last section. Of a page that has one mark only, throws wf::error (bad_input).
std::string with_block(const std::string& page, const std::string& block, const std::string& path);

/// Renews folder/NN_name.md and folder/drawings/NN_name.svg for every rung and the transpose; the paths of what
/// it wrote. Throws wf::error (bad_input) for a page that is not there or cannot be written.
std::vector<std::string> write_pages(ladder::place& lens, const std::string& folder);

}  // namespace lens
