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
#if defined(__CUDACC__)
#include "../src/measure/read.cuh"
#include "../src/measure/timer.cuh"
#endif

namespace ladder::inline WF_BUILD {

#if defined(__CUDACC__)

__global__ void empty_kernel() {}

using wf::measure::read_way;
using wf::measure::reading;
using wf::measure::replay;

class timer {
 public:
  timer(cudaStream_t stream, std::uint64_t l2_bytes, unsigned sms)
      : stream_(stream), flush_bytes_(std::max<std::uint64_t>(3 * l2_bytes, 64 << 20)), on_{sms, l2_bytes} {
    check(cudaMalloc(&flush_, flush_bytes_ + 16), "cudaMalloc");
    check(cudaMemset(flush_, 0, flush_bytes_ + 16), "cudaMemset");
  }
  ~timer() { cudaFree(flush_); }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  /// work() enqueues on the stream. What cannot be captured is timed as it is enqueued.
  template <class Work>
  timing by_graph(const Work& work, bool hot) {
    std::optional<replay> one;
    try {
      one.emplace(stream_, 1, [&](int) { work(); });
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
    const replay many(stream_, times, [&](int) { work(); });
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
    for (const read_way& way : wf::measure::read_ways)
      if (way.how == reading::passing)
        best = std::min(best, by_graph([&] { read(way, from, bytes); }, hot).median);
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
  void flush() { read({reading::filling}, flush_, flush_bytes_); }

 private:
  template <class Work>
  timing by_events(const Work& work, bool hot) {
    const double guess = seconds(work);
    return sample(guess, "events", [&] {
      if (!hot) flush();
      return seconds(work);
    });
  }

  void read(const read_way& way, const void* from, std::uint64_t bytes) {
    auto* out = reinterpret_cast<unsigned*>(static_cast<char*>(flush_) + flush_bytes_);
    check(wf::measure::enqueue_read(way, from, bytes, out, on_, stream_), "cudaLaunchKernelEx");
  }

  template <class Enqueue>
  double seconds(const Enqueue& enqueue) const {
    return watch_.seconds(stream_, enqueue);
  }

  /// At least 7 samples, 15 of quick runs; of runs that take over a quarter of a second three will
  /// do.
  template <class Once>
  static timing sample(double guess, std::string_view method, const Once& once) {
    const int samples = guess > 0.25 ? 3 : guess > 0.01 ? 7 : 15;
    std::vector<double> all;
    for (int k = 0; k < samples; ++k) all.push_back(once());
    const wf::measure::spread found = wf::measure::spread_of(std::move(all));
    timing t;
    t.median = found.median;
    t.least = found.least;
    t.most = found.most;
    t.samples = samples;
    t.method = method;
    return t;
  }

  cudaStream_t stream_;
  std::uint64_t flush_bytes_;
  wf::measure::read_device on_;
  wf::measure::stopwatch watch_;
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
