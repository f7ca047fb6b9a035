// SPDX-License-Identifier: Apache-2.0
// The body of machine.hpp for the device that this is compiled for.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "fused.cuh"
#include "machine.hpp"
#include "own.cuh"

namespace machines::inline WF_BUILD {

inline std::string text(cudaError_t e) { return e == cudaSuccess ? "" : cudaGetErrorString(e); }

template <class R, class... T>
std::string run_own(const own_request& r, R reduction = {}) {
  using namespace wf::device;
  const void* const x[] = {r.x, r.y};
  const std::int64_t stride[] = {r.stride, r.stride};
  workspace w;
  cudaError_t e = cudaSuccess;
  for (int twice = 0; twice < 2 && e == cudaSuccess; ++twice) {  // the scratch is left as it was
    e = reduce_with<plain_fold<R, T...>, T...>({reduction}, x, stride, static_cast<std::uint64_t>(r.n), r.out, w, nullptr,
                                               {r.blocks, r.threads});
  }
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  return text(e);
}

inline std::string reduce_own(const own_request& r) {
  switch (r.which) {
    case own::longest_run: return run_own<longest_run, std::int32_t>(r);
    case own::polynomial: return run_own<polynomial, std::uint8_t>(r);
    case own::wide_state: return run_own<wide_state, std::uint16_t>(r);
    case own::triples: return run_own<triples, triple>(r);
    case own::weighted: return run_own<weighted, std::int32_t, std::int32_t>(r);
    case own::in_order: return run_own<in_order<std::uint64_t>, std::uint64_t>(r);
    case own::racing: return run_own<racing, std::int32_t>(r, {static_cast<std::uint64_t*>(r.out)});
  }
  return "no such reduction";
}

inline std::string why_not() {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e != cudaSuccess) return text(e);
  return count > 0 ? "" : "no device";
}
inline void* allocate(std::size_t bytes) {
  void* p = nullptr;
  if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
  cudaGetLastError();
  return nullptr;
}
inline void free_memory_of(void* p) { cudaFree(p); }
inline void* allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  return cudaMallocHost(&p, bytes) == cudaSuccess ? p : nullptr;
}
inline void free_pinned(void* p) { cudaFreeHost(p); }
inline std::string upload(void* to, const void* from, std::size_t bytes) {
  return text(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
inline std::string download(void* to, const void* from, std::size_t bytes) {
  const cudaError_t e = cudaDeviceSynchronize();
  return text(e == cudaSuccess ? cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) : e);
}
inline void* make_stream() {
  cudaStream_t s = nullptr;
  return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess ? s : nullptr;
}
inline void free_stream(void* s) { cudaStreamDestroy(static_cast<cudaStream_t>(s)); }
inline std::string wait(void* s) { return text(cudaStreamSynchronize(static_cast<cudaStream_t>(s))); }
inline std::string replay(void* stream, void (*work)(void*), void* context, int times) {
  const auto s = static_cast<cudaStream_t>(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaError_t e = cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  if (e == cudaSuccess) {
    work(context);
    e = cudaStreamEndCapture(s, &graph);
  }
  if (e == cudaSuccess) e = cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; e == cudaSuccess && i < times; ++i) e = cudaGraphLaunch(exec, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);
  if (exec != nullptr) cudaGraphExecDestroy(exec);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return text(e);
}
inline std::int64_t free_memory() {
  std::size_t free_bytes = 0, all = 0;
  cudaDeviceSynchronize();
  return cudaMemGetInfo(&free_bytes, &all) == cudaSuccess ? static_cast<std::int64_t>(free_bytes) : -1;
}

inline machine machine_of(const wf::device_library& library) {
  return {&library,   why_not,    allocate, free_memory_of, allocate_pinned, free_pinned, upload, download,
          reduce_own, fused_ops,  fuse,     make_stream,    free_stream,     wait,        replay, free_memory};
}

}  // namespace machines::inline WF_BUILD
