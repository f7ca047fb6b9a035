// SPDX-License-Identifier: Apache-2.0
/// \file own_source.hpp
/// A user's CUDA file as text: what a host compiler cannot read, and what must be known before it does.
#pragma once

#include <string>
#include <vector>

namespace cli {

/// The names behind `__global__ void`.
std::vector<std::string> kernels_in(const std::string& text);

/// The names behind `extern __shared__`, which somebody must define.
std::vector<std::string> dynamic_shared_in(const std::string& text);

/// For a host compiler: without `<<<…>>>` and without what main() does, neither of which is ever run, and
/// with the file's own name and lines in what the compiler says.
std::string prepared_source(const std::string& text, const std::string& file);

}  // namespace cli
