// SPDX-License-Identifier: Apache-2.0
/// \file captures.cuh
/// What is made once, while streams may be captured into CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>

namespace wf::device::inline WF_BUILD {

/// For as long as it lives its thread may make memory and wait for streams. Captures forbid that to their own thread or to all threads, and
/// would be void.
class beside_captures {
 public:
  beside_captures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  beside_captures(const beside_captures&) = delete;
  ~beside_captures() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace wf::device::inline WF_BUILD
