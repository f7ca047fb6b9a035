// SPDX-License-Identifier: Apache-2.0
// The body of machine.hpp for the device that this is compiled for.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "../support/device.cuh"
#include "../support/own_reductions.cuh"
#include "fused.cuh"
#include "machine.hpp"

namespace machines::inline WF_BUILD {

using devices::text;

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

inline void* allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  return cudaMallocHost(&p, bytes) == cudaSuccess ? p : nullptr;
}
inline void free_pinned(void* p) { cudaFreeHost(p); }
inline void* make_stream() {
  cudaStream_t s = nullptr;
  return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess ? s : nullptr;
}
inline void free_stream(void* s) { cudaStreamDestroy(static_cast<cudaStream_t>(s)); }
inline std::string wait(void* s) { return text(cudaStreamSynchronize(static_cast<cudaStream_t>(s))); }
inline std::string replay(void* stream, void (*work)(void*), void* context, int times) {
  return text(devices::replay_graph(static_cast<cudaStream_t>(stream), times, [&] {
    work(context);
    return cudaSuccess;
  }));
}
inline std::int64_t free_memory() {
  std::size_t free_bytes = 0, all = 0;
  cudaDeviceSynchronize();
  return cudaMemGetInfo(&free_bytes, &all) == cudaSuccess ? static_cast<std::int64_t>(free_bytes) : -1;
}
inline std::string capture(void* stream, void (*work)(void*), void* context, void** made) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaError_t e = cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal);
  if (e == cudaSuccess) {
    work(context);
    e = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  }
  if (e == cudaSuccess) e = cudaGraphInstantiate(&ready, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  *made = ready;
  return text(e);
}
inline std::string launch(void* graph, void* stream) { return text(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream))); }
inline void free_graph(void* graph) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

inline machine machine_of(const wf::device_library& library) {
  return {devices::device_here(), &library, allocate_pinned, free_pinned, reduce_own, fused_ops, fuse,
          make_stream,            free_stream, wait,           replay,      free_memory, capture,    launch, free_graph};
}

}  // namespace machines::inline WF_BUILD
