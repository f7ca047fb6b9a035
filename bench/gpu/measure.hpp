// SPDX-License-Identifier: Apache-2.0
/// \file measure.hpp
/// Device times of work on a stream, by replays of CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "../../src/measure/timer.cuh"

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
  }
  meter(const meter&) = delete;
  meter& operator=(const meter&) = delete;
  cudaStream_t stream() const { return stream_; }

  /// enqueue(i) is launch i of a graph of `launches`. Seven replays after one that warms up; cold ones
  /// each begin with the L2 overwritten.
  spread time(const std::function<void(int)>& enqueue, int launches, bool cold) {
    const wf::measure::replay graph(stream_, launches, enqueue);
    std::vector<double> us;
    for (int r = 0; r < 8; ++r) {
      if (cold) WF_CHECK(cudaMemsetAsync(flush_, r, flush_bytes_, stream_));
      const double seconds = watch_.seconds(stream_, [&] { graph.launch(stream_); });
      if (r > 0) us.push_back(1e6 * seconds / launches);
    }
    const wf::measure::spread found = wf::measure::spread_of(std::move(us));
    return {static_cast<float>(found.median), static_cast<float>(found.least), static_cast<float>(found.most)};
  }

 private:
  cudaStream_t stream_ = nullptr;
  wf::measure::stopwatch watch_;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
};

}  // namespace bench
