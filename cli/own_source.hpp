// SPDX-License-Identifier: Apache-2.0
/// \file own_source.hpp
/// A user's CUDA file as text: what a host compiler cannot read, and what must be known before it does.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cli {

/// A name behind `__global__ void`.
struct kernel_name {
  std::string scope;  ///< `ns::`, or empty
  std::string name;
  bool is_template = false;

  /// As it is to be asked for: `ns::k<…>`.
  std::string written() const { return scope + name + (is_template ? "<…>" : ""); }
};
std::vector<kernel_name> kernels_in(const std::string& text);
std::string list_of(const std::vector<kernel_name>&);

/// `k` of `ns::k<float, 4>`.
std::string base_of(const std::string& kernel);

/// Why the compiler knows no kernel of this name, in words for its author.
std::string naming_mistake(const std::string& kernel, const std::vector<kernel_name>&);

/// The line of a `<<<` within the kernel, or within a __device__ function, which it may call; 0 if there is none.
int launch_within(const std::string& text, const std::string& kernel);

/// A parameter of a kernel, as written.
struct parameter_text {
  std::string text;
  bool is_pointer = false;  ///< not where a name stands for one (`using p = float*`)
  bool is_constant = false; ///< what the pointer is to
  std::string element;      ///< `f32` of float and of float*; empty where only a compiler knows
};
/// Nothing where the text does not tell all: packs, defaults, several kernels of the name.
std::optional<std::vector<parameter_text>> parameters_of(const std::string& text, const std::string& kernel);

/// The line of main(); 0 if the file has none.
int main_line(const std::string& text);

/// A declaration behind `extern __shared__`, which needs a definition elsewhere.
struct shared_name {
  std::string scope, name;  ///< `ns::`, `cells`
  int line = 0;
  bool is_unnamed = false;  ///< within a namespace without a name, where nobody else can define it
};
std::vector<shared_name> dynamic_shared_in(const std::string& text);

/// For a host compiler: without `<<<…>>>` and without what main() does, neither of which is ever run, and
/// with the file's own name and lines in what the compiler says.
std::string prepared_source(const std::string& text, const std::string& file, const std::string& kernel);

}  // namespace cli
