// SPDX-License-Identifier: Apache-2.0
/// \file own_build.hpp
/// Users' CUDA files are compiled and linked in a folder of their own: what kernels and whole programs share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

using strings = std::vector<std::string>;
strings words_of(const std::string& text);
strings operator+(strings a, const strings& b);
std::string quoted_for_shell(const std::string& word);

/// A folder that is gone at the end.
class work_folder {
 public:
  work_folder();
  ~work_folder();
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  std::filesystem::path path;
};

/// 127 if it cannot be started. What it says goes to `log`, where one is named; `output` takes its standard output.
int run_program(const strings& command, const std::filesystem::path& log = {}, const std::filesystem::path& output = {});

/// For a program that runs elsewhere; none for none.
std::string absolute_or_none(const std::string& path);
std::string text_of(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

/// The compiler of this program, unless CXX names another; or what else there is.
struct compiler {
  std::string name;
  bool is_clang = false;
};
compiler find_compiler(const std::filesystem::path& log);

/// Where headers and archives are: beside an installed program, else in the build tree.
struct surroundings {
  std::string includes, archives, translator;
};
surroundings find_surroundings();

/// The first error of a compiler's or linker's log, as `file:line: what`; with how many follow.
std::string first_error(const std::string& log);

/// An error if a header that was found, /usr/local/include/curand.h, is of a library that simt does not have; `place` includes it.
void refuse_library(const std::string& place, const std::string& path);
/// Throws wf::error (unsupported) for what simt does not have: inline PTX, a function of CUDA's, a library.
void refuse_known_mistake(const std::string& file, const std::string& said, const std::string& log);

}  // namespace cli
