// SPDX-License-Identifier: Apache-2.0
/// \file device.cuh
/// Memory of the device that this is compiled for, and the body of device.hpp.
#pragma once

#include <cuda_runtime.h>

#include "device.hpp"

namespace devices::inline WF_BUILD {

inline std::string text(cudaError_t e) { return e == cudaSuccess ? "" : cudaGetErrorString(e); }

inline std::string why_not() {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e != cudaSuccess) return text(e);
  return count > 0 ? "" : "no device";
}
inline void* allocate(std::size_t bytes) {
  void* p = nullptr;
  if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}
inline void free_memory_of(void* p) { static_cast<void>(cudaFree(p)); }
inline std::string upload(void* to, const void* from, std::size_t bytes) { return text(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice)); }
inline std::string download(void* to, const void* from, std::size_t bytes) {
  const cudaError_t e = cudaDeviceSynchronize();
  return text(e == cudaSuccess ? cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) : e);
}

inline device_functions device_here() { return {why_not, allocate, free_memory_of, upload, download}; }

/// A piece of it that frees itself.
struct device_bytes {
  void* p = nullptr;
  cudaError_t error = cudaSuccess;
  explicit device_bytes(std::size_t bytes) { error = cudaMalloc(&p, bytes); }
  ~device_bytes() { cudaFree(p); }
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
};

/// Captures `work` on the stream once, and launches the graph `times` times.
template <class Work>
cudaError_t replay_graph(cudaStream_t stream, int times, Work work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaError_t e = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (e == cudaSuccess) {
    const cudaError_t enqueued = work(), ended = cudaStreamEndCapture(stream, &graph);
    e = enqueued != cudaSuccess ? enqueued : ended;
  }
  if (e == cudaSuccess) e = cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; e == cudaSuccess && i < times; ++i) e = cudaGraphLaunch(exec, stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
  if (exec != nullptr) cudaGraphExecDestroy(exec);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return e;
}

}  // namespace devices::inline WF_BUILD
