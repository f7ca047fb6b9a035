// SPDX-License-Identifier: Apache-2.0
/// \file check.cuh
/// What becomes of a failed call, and device memory that frees itself.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>
#include <utility>

#include <warpfold/error.hpp>

#include "ladder.hpp"

#if defined(__SIMT__)
#include <simt/machine.hpp>
#endif

namespace ladder::inline WF_BUILD {

/// Throws wf::error: what was done, and the call's own text; on simt the fault's, which tells more.
inline void check(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return;
  std::string text = cudaGetErrorString(error);
  cudaGetLastError();
#if defined(__SIMT__)
  if (simt::last_fault().what != simt::fault::none) text = simt::last_fault().text;
  simt::clear_fault();
#endif
  throw wf::error(wf::errc::device, std::string(what) + ": " + text);
}

class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::uint64_t bytes) { check(cudaMalloc(&p_, bytes), "cudaMalloc"); }
  device_memory(device_memory&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  device_memory& operator=(device_memory&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~device_memory() { cudaFree(p_); }
  void* get() const { return p_; }

 private:
  void* p_ = nullptr;
};

/// On the stream that will read it: a copy by cudaMemcpy() is over for the host before it is for a
/// non-blocking stream.
inline void copy_in(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copy to the device");
  check(cudaStreamSynchronize(stream), "copy to the device");
}

}  // namespace ladder::inline WF_BUILD
