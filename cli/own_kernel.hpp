// SPDX-License-Identifier: Apache-2.0
/// \file own_kernel.hpp
/// `warpfold explain FILE:KERNEL`: a user's file is compiled against simt with the lens's instrumentation,
/// and linked to a program of its own, which runs the kernel and prints the report.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

/// How this program itself was built, and where what a user's kernel is linked to lies. Options are parted
/// by spaces.
struct toolchain {
  const char *compiler, *gnu_options, *clang_options, *objcopy, *objcopy_options;
  const char* installed;  ///< folder of the archives and headers, from the program's
  const char *archives, *libraries, *includes;  ///< in the build tree
  const char *translator, *clang, *program_options;  ///< for whole programs; empty where it was built without libclang
  const char* begin;                            ///< in the build tree: a header, and beside it that header precompiled by `compiler`
};
extern const toolchain the_toolchain;

struct own_kernel_request {
  std::string file, kernel, html, svg;
  std::vector<std::string> arguments, kinds;  ///< kinds: what of --svg is drawn; none: all
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint64_t shared = 0, seed = 1;
  unsigned cluster = 1;
  bool cooperative = false, json = false;
  std::string expect;     ///< .npy file: what the first array marked out: should hold
  double tolerance = 0;   ///< and how far off, relatively, floats may be
  std::string json_file;  ///< also written, for a comparison
  std::string versus, versus_file, versus_name;  ///< what --vs named, its json_file, and its name in the report; or nothing
  bool is_quiet = false;  ///< then nothing else is
};

/// Parts `dir/x.cu:ns::kernel<float>` if its first part is a file; false if it is no such thing.
bool names_own_kernel(const std::string& text, own_kernel_request&);

/// Counters of one kernel beside another's, with the same arguments: the report of the first, then what is different.
int compare_own_kernels(own_kernel_request, own_kernel_request versus);

/// The program's exit status. Throws wf::error: bad_argument, bad_input (does not compile), unsupported.
int explain_own_kernel(const own_kernel_request&);

}  // namespace cli
