// SPDX-License-Identifier: Apache-2.0
/// \file sources.hpp
/// The sources of the rungs, and of the library's headers that their kernels use, within the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lens {

struct source_file {
  std::string_view path;  ///< from the repository's root
  std::string_view text;
};
std::span<const source_file> sources();

/// Nothing if there is none of that path; of an absolute path, the one it ends in.
const source_file* find_source(std::string_view path);
std::vector<std::string_view> lines_of(std::string_view text);

/// A rung's head comment without its marks, and the number of the line behind it.
struct head_comment {
  std::string text;  ///< paragraphs parted by an empty line
  std::size_t end = 0;
};
head_comment head_of(std::string_view text);

}  // namespace lens
