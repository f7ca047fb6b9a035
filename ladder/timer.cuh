// SPDX-License-Identifier: Apache-2.0
/// \file timer.cuh
/// Device time: graph replays between events, the L2 flushed before each, the median told with its
/// spread. A place without a GPU has a timer too, that refuses.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include "check.cuh"

namespace ladder::inline WF_BUILD {

#if defined(__CUDACC__)

__global__ void empty_kernel() {}

template <bool streaming>
__device__ uint4 load_pack(const uint4* x) {
  if constexpr (streaming) return __ldcs(x);
  return *x;
}

/// Loads `packs` times 16 bytes, eight loads in flight a thread, and keeps nothing: the floor under
/// every reduction. The store never happens, but the compiler cannot know. Streaming loads are the
/// quicker ones, and leave the L2 to others.
template <bool streaming>
__global__ void read_kernel(const uint4* x, std::uint64_t packs, unsigned* out) {
  constexpr int in_flight = 8;
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned seen = 0;
  for (; i + (in_flight - 1) * stride < packs; i += in_flight * stride) {
    uint4 v[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) v[k] = load_pack<streaming>(x + i + k * stride);
#pragma unroll
    for (int k = 0; k < in_flight; ++k) seen ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  for (; i < packs; i += stride) {
    const uint4 v = load_pack<streaming>(x + i);
    seen ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (seen == 0x9e3779b9u) *out = seen;
}

/// A graph of one piece of work, several times over.
class replay {
 public:
  template <class Work>
  replay(cudaStream_t stream, int times, const Work& work) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    try {
      for (int k = 0; k < times; ++k) work();
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
  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(exec_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class timer {
 public:
  timer(cudaStream_t stream, std::uint64_t l2_bytes, unsigned sms)
      : stream_(stream), flush_bytes_(std::max<std::uint64_t>(3 * l2_bytes, 64 << 20)), sms_(sms) {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
    check(cudaMalloc(&flush_, flush_bytes_ + 16), "cudaMalloc");
    check(cudaMemset(flush_, 0, flush_bytes_ + 16), "cudaMemset");
  }
  ~timer() {
    cudaFree(flush_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  /// work() enqueues on the stream. What cannot be captured is timed as it is enqueued.
  template <class Work>
  timing by_graph(const Work& work, bool hot) {
    std::optional<replay> one;
    try {
      one.emplace(stream_, 1, work);
    } catch (const wf::error&) {
      work();  // throws again, if it was not for the capture
      return by_events(work, hot);
    }
    one->launch(stream_);
    const double guess = seconds([&] { one->launch(stream_); });
    if (!hot)
      return sample(guess, "graph", [&] {
        flush();
        return seconds([&] { one->launch(stream_); });
      });
    const int times = static_cast<int>(std::clamp(400e-6 / guess, 1.0, 100.0));
    const replay many(stream_, times, work);
    many.launch(stream_);
    return sample(guess * times, "graph",
                  [&] { return seconds([&] { many.launch(stream_); }) / times; });
  }

  /// work() returns when all is done: the host's clock.
  template <class Work>
  timing by_clock(const Work& work, bool hot) {
    const auto wall = [&] {
      const auto start = std::chrono::steady_clock::now();
      work();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double guess = wall();
    return sample(guess, "clock", [&] {
      if (!hot) flush();
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      return wall();
    });
  }

  /// The best of several launch shapes.
  double read_seconds(const void* from, std::uint64_t bytes, bool hot) {
    double best = 1e30;
    for (const unsigned block : {256u, 512u, 1024u})
      for (const unsigned per_sm : {1u, 2u, 4u, 8u}) {
        if (block * per_sm > 2048) continue;
        best = std::min(
            best,
            by_graph([&] { read(read_kernel<true>, from, bytes, block, per_sm); }, hot).median);
      }
    return best;
  }

  double empty_seconds(bool hot) {
    return by_graph(
               [&] {
                 cudaLaunchConfig_t config = {};
                 config.gridDim = config.blockDim = dim3(1);
                 config.stream = stream_;
                 check(cudaLaunchKernelEx(&config, empty_kernel), "cudaLaunchKernelEx");
               },
               hot)
        .median;
  }

  /// Leaves other lines in the L2. By reading: written lines would be put back during what is
  /// timed. It takes long enough for the host to enqueue all that is timed behind it.
  void flush() { read(read_kernel<false>, flush_, flush_bytes_, 512, 4); }

 private:
  template <class Work>
  timing by_events(const Work& work, bool hot) {
    const double guess = seconds(work);
    return sample(guess, "events", [&] {
      if (!hot) flush();
      return seconds(work);
    });
  }

  void read(void (*kernel)(const uint4*, std::uint64_t, unsigned*), const void* from,
            std::uint64_t bytes, unsigned block, unsigned per_sm) {
    const std::uint64_t packs = bytes / 16, most = std::uint64_t(per_sm) * sms_;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(
        static_cast<unsigned>(std::clamp<std::uint64_t>((packs + block - 1) / block, 1, most)));
    config.blockDim = dim3(block);
    config.stream = stream_;
    auto* out = reinterpret_cast<unsigned*>(static_cast<char*>(flush_) + flush_bytes_);
    check(cudaLaunchKernelEx(&config, kernel, static_cast<const uint4*>(from), packs, out),
          "cudaLaunchKernelEx");
  }

  template <class Enqueue>
  double seconds(const Enqueue& enqueue) {
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    enqueue();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return ms * 1e-3;
  }

  /// At least 7 samples, 15 of what is quick; of what takes over a quarter of a second three will
  /// do.
  template <class Once>
  static timing sample(double guess, std::string_view method, const Once& once) {
    const int samples = guess > 0.25 ? 3 : guess > 0.01 ? 7 : 15;
    std::vector<double> all;
    for (int k = 0; k < samples; ++k) all.push_back(once());
    std::sort(all.begin(), all.end());
    timing t;
    t.median = all[all.size() / 2];
    t.least = all.front();
    t.most = all.back();
    t.samples = samples;
    t.method = method;
    return t;
  }

  cudaStream_t stream_;
  std::uint64_t flush_bytes_;
  unsigned sms_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void* flush_ = nullptr;
};

#else

class timer {
 public:
  timer(cudaStream_t, std::uint64_t, unsigned) {}
  template <class Work>
  timing by_graph(const Work&, bool) {
    refuse();
  }
  template <class Work>
  timing by_clock(const Work&, bool) {
    refuse();
  }
  double read_seconds(const void*, std::uint64_t, bool) { refuse(); }
  double empty_seconds(bool) { refuse(); }
  void flush() { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("simt has no time of its own to tell");
  }
};

#endif

}  // namespace ladder::inline WF_BUILD
