// SPDX-License-Identifier: Apache-2.0
/// \file measure.hpp
/// Device times of work on a stream, by replays of CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace bench {

inline void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(3);
}
#define WF_CHECK(call) ::bench::check(call, #call)

struct spread {
  float median, least, greatest;  ///< microseconds a launch
};

/// Owns a stream, and the memory that cold runs overwrite to empty the L2.
class meter {
 public:
  meter() {
    int l2 = 0;
    WF_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    flush_bytes_ = std::size_t{3} * static_cast<std::size_t>(l2);
    WF_CHECK(cudaStreamCreate(&stream_));
    WF_CHECK(cudaMalloc(&flush_, flush_bytes_));
    WF_CHECK(cudaEventCreate(&begin_));
    WF_CHECK(cudaEventCreate(&end_));
  }
  meter(const meter&) = delete;
  meter& operator=(const meter&) = delete;
  cudaStream_t stream() const { return stream_; }

  /// enqueue(i) is launch i of a graph of `launches`. Seven replays after one that warms up; cold ones
  /// each begin with the L2 overwritten.
  spread time(const std::function<void(int)>& enqueue, int launches, bool cold) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    WF_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) enqueue(i);
    WF_CHECK(cudaStreamEndCapture(stream_, &graph));
    WF_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::vector<float> us;
    for (int r = 0; r < 8; ++r) {
      if (cold) WF_CHECK(cudaMemsetAsync(flush_, r, flush_bytes_, stream_));
      WF_CHECK(cudaEventRecord(begin_, stream_));
      WF_CHECK(cudaGraphLaunch(exec, stream_));
      WF_CHECK(cudaEventRecord(end_, stream_));
      WF_CHECK(cudaEventSynchronize(end_));
      float ms = 0;
      WF_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
      if (r > 0) us.push_back(1000 * ms / static_cast<float>(launches));
    }
    WF_CHECK(cudaGraphExecDestroy(exec));
    WF_CHECK(cudaGraphDestroy(graph));
    std::sort(us.begin(), us.end());
    return {us[us.size() / 2], us.front(), us.back()};
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
};

}  // namespace bench
