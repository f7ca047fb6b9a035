// SPDX-License-Identifier: Apache-2.0
/// \file words.hpp
/// What the pages of `warpfold explain` say, in the language that the reader asked for.
#pragma once

#include <string>
#include <string_view>

namespace lens {

enum class language { english, chinese };
/// WARPFOLD_LANG=zh makes it Chinese, which the program of a user's kernel inherits.
language page_language();

/// A sentence or a label as it is in the page's language; itself where there is no translation, as of names.
std::string said(std::string_view english);

/// A whole page: its text is said(), element by element. Code, sources and the names of kernels stay as they are.
std::string in_page_language(const std::string& html);

}  // namespace lens
