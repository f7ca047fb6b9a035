// SPDX-License-Identifier: Apache-2.0
// The body of rows_machine.hpp for the device that this is compiled for.
#pragma once

#include <cuda_runtime.h>

#include "../../src/gpu/rows.cuh"
#include "rows_machine.hpp"

namespace machines::inline WF_BUILD {

inline std::string rows_text(cudaError_t e) { return e == cudaSuccess ? "" : cudaGetErrorString(e); }

inline std::string replay_rows([[maybe_unused]] const wf::rows_request& r, [[maybe_unused]] int times) {
#if defined(__CUDACC__)
  const wf::device::rows_function f = wf::device::find_rows(r.what, r.element, r.accuracy);
  if (f == nullptr) return "no such reduction";
  cudaStream_t s = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  wf::device::workspace w;
  cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  if (e != cudaSuccess) return rows_text(e);
  e = w.prepare(s);
  if (e == cudaSuccess) e = cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  if (e == cudaSuccess) {
    const cudaError_t enqueued = f(r, w, s), ended = cudaStreamEndCapture(s, &graph);
    e = enqueued != cudaSuccess ? enqueued : ended;
  }
  if (e == cudaSuccess) e = cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; e == cudaSuccess && i < times; ++i) e = cudaGraphLaunch(exec, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);
  if (exec != nullptr) cudaGraphExecDestroy(exec);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
  return rows_text(e);
#else
  return "no graphs";
#endif
}

inline rows_machine rows_machine_here() {
  using namespace wf::device;
  return {
      [] {
        int count = 0;
        const cudaError_t e = cudaGetDeviceCount(&count);
        return e != cudaSuccess ? rows_text(e) : std::string(count > 0 ? "" : "no device");
      },
      [](std::size_t bytes) {
        void* p = nullptr;
        return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
      },
      [](void* p) { static_cast<void>(cudaFree(p)); },
      [](void* to, const void* from, std::size_t bytes) { return rows_text(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice)); },
      [](void* to, const void* from, std::size_t bytes) {
        const cudaError_t e = cudaDeviceSynchronize();
        return rows_text(e == cudaSuccess ? cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) : e);
      },
      [](wf::op o, wf::dtype t, wf::accuracy a) { return find_rows(o, t, a) != nullptr; },
      [](const wf::rows_request& r, int times) {
        const rows_function f = r.checked ? find_checked_rows(r.what, r.element) : find_rows(r.what, r.element, r.accuracy);
        if (f == nullptr) return std::string("no such reduction");
        workspace w;
        cudaError_t e = cudaSuccess;
        for (int k = 0; k < times && e == cudaSuccess; ++k) e = f(r, w, nullptr);
        if (e == cudaSuccess) e = cudaDeviceSynchronize();
        return rows_text(e);
      },
      replay_rows};
}

}  // namespace machines::inline WF_BUILD
