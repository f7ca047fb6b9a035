// SPDX-License-Identifier: Apache-2.0
/// \file beside.hpp
/// `warpfold explain RUNG --device gpu`: what simt counts beside what the GPU counts.
#pragma once

#include <warpfold/io/dtype.hpp>

#include <cstdint>
#include <string>

namespace cli {

struct beside_request {
  std::string rung;  ///< empty: all of them, and the transposes
  wf::dtype type = wf::dtype::f32;
  std::uint64_t n = 65536;
  unsigned block = 256;
  std::string html;
  bool json = false;
};

/// Prints; the exit status: wrong_result if a difference has no known cause. Throws wf::error: no_device
/// without a GPU or counters.
int explain_on_gpu(const beside_request&);

}  // namespace cli
