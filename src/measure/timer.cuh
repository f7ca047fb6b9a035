// SPDX-License-Identifier: Apache-2.0
/// \file timer.cuh
/// A device's time, for all that measure: the ladder, the benchmarks, tuning and the profiler. Each decides how
/// often, and what lies in the L2 before.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <warpfold/config.hpp>
#include <warpfold/error.hpp>

namespace wf::measure::inline WF_BUILD {

/// Throws wf::error: what was done, and CUDA's own text.
inline void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  cudaGetLastError();  // this call reports the error, so the next one does not
  const bool none = e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver;
  throw error(none ? errc::no_device : errc::device, std::string(what) + ": " + cudaGetErrorString(e));
}

/// Two events, of the current device.
class stopwatch {
 public:
  stopwatch() {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    const cudaError_t e = cudaEventCreate(&end_);
    if (e != cudaSuccess) cudaEventDestroy(begin_);
    check(e, "cudaEventCreate");
  }
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

  /// Seconds that the device takes for what enqueue() enqueues on the stream; waits for it.
  template <class Enqueue>
  double seconds(cudaStream_t stream, const Enqueue& enqueue) const {
    check(cudaEventRecord(begin_, stream), "cudaEventRecord");
    enqueue();
    check(cudaEventRecord(end_, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(ms) * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// A graph of work(0), work(1), … up to `times`, which the device then repeats without the host.
class replay {
 public:
  template <class Work>
  replay(cudaStream_t stream, int times, const Work& work) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      for (int k = 0; k < times; ++k) work(k);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t e = cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    check(e, "cudaGraphInstantiate");
  }
  ~replay() { cudaGraphExecDestroy(exec_); }
  replay(const replay&) = delete;
  replay& operator=(const replay&) = delete;

  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(exec_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

struct spread {
  double median, least, most;
};

/// The middle of the samples, of which there is one at least, and how far they lie apart.
inline spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

}  // namespace wf::measure::inline WF_BUILD
