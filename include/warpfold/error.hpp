// SPDX-License-Identifier: Apache-2.0
/// \file error.hpp
/// What the library throws: a code for programs, and one line for people (what, where, what would
/// be right). The library never prints and never aborts.
#pragma once

#if defined(__GNUC__) && !defined(__EXCEPTIONS) && !defined(__CUDACC_RTC__)
#error "warpfold: its C++ headers report errors by exceptions, which -fno-exceptions turns off; leave that option out, or use the C interface, warpfold/warpfold.h"
#endif

#include <stdexcept>
#include <string>

#include <warpfold/export.h>

namespace wf {

/// What kind of thing went wrong: for programs.
enum class errc {
  bad_argument = 1,  ///< a value that the function does not take
  bad_input,         ///< malformed bytes: a file, a stored state
  unsupported,       ///< well-formed, but not in this version or this build
  capacity,          ///< more elements than a state can count
  io,                ///< the operating system refused a file
  no_device,         ///< no usable GPU or driver
  device             ///< a CUDA call failed; the text holds its own words
};

/// What every function of the library throws; what() is one line for people: what, where, what would be right.
///
///     try {
///       wf::sum(matrix, wf::axis{7});
///     } catch (const wf::error& e) {
///       if (e.code() == wf::errc::bad_argument) std::puts(e.what());
///     }
class WF_API error : public std::runtime_error {
 public:
  /// An error of that kind, with its line. Throws std::bad_alloc where there is no room for a copy of it.
  error(errc code, const std::string& what) : std::runtime_error(what), code_(code) {}
  /// Its kind.
  errc code() const noexcept { return code_; }

 private:
  errc code_;
};

}  // namespace wf
