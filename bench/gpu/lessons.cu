// SPDX-License-Identifier: Apache-2.0
/// \file lessons.cu
/// Times of the kernels of examples/lessons, which docs/lessons quotes.
///
///   bench_gpu_lessons [--json FILE]
///
/// Each kernel's result is verified before it is timed. Device times are those of CUDA-graph replays with an empty L2, the median of 7; times
/// of the runtime's calls are the host's, the median of 1001.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "json_file.hpp"
#include "measure.hpp"

// The files as they are, each in a namespace: all have a `main`, and some share names.
namespace memory {
#include "../../examples/lessons/memory.cu"
}
namespace half_atomics {
#include "../../examples/lessons/half_atomics.cu"
}
namespace fusion {
#include "../../examples/lessons/fusion.cu"
}
namespace finish {
#include "../../examples/lessons/finish.cu"
}
namespace errors {
#include "../../examples/lessons/errors.cu"
}
namespace several {
#include "../../examples/lessons/several_gpus.cu"
#undef CHECK
}

namespace {

constexpr int most = 1 << 29;  // floats: read_every<32> reads so many

/// One for each 256th element, zero for the others: every sum here is exact in any order.
__global__ void fill_ones_apart(float* x) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += gridDim.x * blockDim.x) x[i] = i % 256 == 0 ? 1.0f : 0.0f;
}

struct row {
  std::string lesson, name;
  int n;
  double median, least;  // seconds
};

class lessons_bench {
 public:
  lessons_bench() {
    WF_CHECK(cudaMalloc(&x_, std::size_t{most} * 4));
    WF_CHECK(cudaMalloc(&y_, std::size_t{most} * 2));
    WF_CHECK(cudaMalloc(&z_, std::size_t{most} * 2));
    WF_CHECK(cudaMalloc(&out_, 64));
    WF_CHECK(cudaMalloc(&partial_, blocks * 4));
    fill_ones_apart<<<1024, 256, 0, meter_.stream()>>>(x_);
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
  }

  void run() {
    read<1>();
    read<2>();
    read<8>();
    read<32>();
    half();
    for (const int n : {1 << 20, 1 << 24, 1 << 28}) {
      fuse(n);
      end(n);
    }
    calls();
  }

  const std::vector<row>& rows() const { return rows_; }
  void add(const char* lesson, const char* name, int n, double median, double least) {
    rows_.push_back({lesson, name, n, median, least});
    std::printf("%-14s %-28s %10d %12.3f us\n", lesson, name, n, median * 1e6);
  }

 private:
  static constexpr int blocks = 1056;  // 8 for each of an H100's 132 multiprocessors: all are resident

  void time(const char* lesson, const std::string& name, int n, const std::function<void()>& enqueue) {
    const auto t = meter_.time([&](int) { enqueue(); }, 1, true);
    add(lesson, name.c_str(), n, t.median * 1e-6, t.least * 1e-6);
  }

  template <class T>
  void expect(const char* what, const T* at, double wanted) {
    T got;
    WF_CHECK(cudaMemcpyAsync(&got, at, sizeof got, cudaMemcpyDeviceToHost, meter_.stream()));
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    if (static_cast<double>(static_cast<float>(got)) == wanted) return;
    std::fprintf(stderr, "bench_gpu_lessons: %s gives %.9g, not %.9g\n", what, static_cast<double>(static_cast<float>(got)), wanted);
    std::exit(1);
  }
  void zero() { WF_CHECK(cudaMemsetAsync(out_, 0, 64, meter_.stream())); }

  template <int step>
  void read() {
    constexpr int n = 1 << 24;
    const auto once = [&] { memory::read_every<step><<<n / 256, 256, 0, meter_.stream()>>>(x_, y_); };
    once();
    const std::string name = "read_every<" + std::to_string(step) + ">";
    std::vector<float> got(n);
    WF_CHECK(cudaMemcpyAsync(got.data(), y_, std::size_t{n} * 4, cudaMemcpyDeviceToHost, meter_.stream()));
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    for (int i = 0; i < n; ++i) {
      const bool one = i * step % 256 == 0;
      if ((got[static_cast<std::size_t>(i)] != 0) == one) continue;
      std::fprintf(stderr, "bench_gpu_lessons: %s reads a wrong element %d\n", name.c_str(), i);
      std::exit(1);
    }
    time("memory", name, n, once);
  }

  void half() {
    constexpr int n = 1 << 20;
    auto* const h = reinterpret_cast<__half*>(out_);
    const auto one = [&] { half_atomics::count<<<n / 256, 256, 0, meter_.stream()>>>(h); };
    const auto pairs = [&] { half_atomics::count_pairs<<<n / 256, 256, 0, meter_.stream()>>>(reinterpret_cast<__half2*>(out_)); };
    const auto wide = [&] { half_atomics::count_in_f32<<<n / 256, 256, 0, meter_.stream()>>>(out_); };
    zero();
    one();
    expect("count", h, 2048);
    time("half_atomics", "count", n, one);
    zero();
    pairs();
    expect("count_pairs", h + 1, 2048);
    time("half_atomics", "count_pairs", n, pairs);
    zero();
    wide();
    expect("count_in_f32", out_, n);
    time("half_atomics", "count_in_f32", n, wide);
  }

  void fuse(int n) {
    const auto scale = [&] { fusion::scale_and_shift<<<n / 256, 256, 0, meter_.stream()>>>(x_, y_, 2, 1, n); };
    const auto square = [&] { fusion::square<<<n / 256, 256, 0, meter_.stream()>>>(y_, z_, n); };
    const auto sum = [&] { fusion::sum<<<n / 8192, 256, 0, meter_.stream()>>>(z_, out_, n); };
    const auto three = [&] { scale(), square(), sum(); };
    const auto fused = [&] { fusion::fused<<<n / 8192, 256, 0, meter_.stream()>>>(x_, out_, 2, 1, n); };
    const double wanted = n + 8.0 * (n / 256);  // (2 · 1 + 1)² for each 256th, 1² for the others
    zero();
    three();
    expect("scale_and_shift, square, sum", out_, wanted);
    zero();
    fused();
    expect("fused", out_, wanted);
    time("intensity", "scale_and_shift", n, scale);
    time("intensity", "square", n, square);
    time("intensity", "sum", n, sum);
    time("intensity", "all three", n, three);
    time("intensity", "fused", n, fused);
  }

  void end(int n) {
    const auto atomic = [&] { finish::by_atomic<<<blocks, 256, 0, meter_.stream()>>>(x_, out_, n); };
    const auto passes = [&] {
      finish::by_two_passes<<<blocks, 256, 0, meter_.stream()>>>(x_, partial_, n);
      finish::by_two_passes<<<1, 256, 0, meter_.stream()>>>(partial_, out_, blocks);
    };
    const auto sync = [&] {
      const float* x = x_;
      void* arguments[] = {&x, &partial_, &out_, &n};
      WF_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(finish::by_grid_sync), blocks, 256, arguments, 0, meter_.stream()));
    };
    zero();
    atomic();
    expect("by_atomic", out_, n / 256);
    zero();
    passes();
    expect("by_two_passes", out_, n / 256);
    zero();
    sync();
    expect("by_grid_sync", out_, n / 256);
    time("finishing", "by_atomic", n, atomic);
    time("finishing", "by_two_passes", n, passes);
    time("finishing", "by_grid_sync", n, sync);
  }

  void call(const char* name, const std::function<void()>& f) {
    std::vector<double> seconds;
    for (int i = 0; i < 1001; ++i) {
      WF_CHECK(cudaDeviceSynchronize());  // not timed: each call begins with an idle GPU
      const auto begin = std::chrono::steady_clock::now();
      f();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    add("errors", name, 1, seconds[seconds.size() / 2], seconds.front());
  }
  void calls() {
    int* const out = reinterpret_cast<int*>(y_);
    const auto launch = [&](int threads) { errors::fill<<<4, threads, 0, meter_.stream()>>>(out, 1000, true); };
    const auto want = [](cudaError_t wanted, cudaError_t got) {
      if (got == wanted) return;
      std::fprintf(stderr, "bench_gpu_lessons: %s, not %s\n", cudaGetErrorName(got), cudaGetErrorName(wanted));
      std::exit(1);
    };
    constexpr cudaError_t refusal = CUDART_VERSION < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
    call("launch", [&] { launch(256); });
    call("launch, cudaGetLastError", [&] { launch(256), want(cudaSuccess, cudaGetLastError()); });
    call("launch, cudaDeviceSynchronize", [&] { launch(256), want(cudaSuccess, cudaDeviceSynchronize()); });
    call("refused, cudaGetLastError", [&] { launch(2048), want(refusal, cudaGetLastError()); });
  }

  bench::meter meter_;
  float *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *out_ = nullptr, *partial_ = nullptr;
  std::vector<row> rows_;
};

/// One array's sum by shares on the machine's first GPUs: the host's time from the first start to the answer, the median of 101.
class shares {
 public:
  shares(int gpus, int n) : all_(static_cast<std::size_t>(gpus)), n_(n / gpus) {
    for (int g = 0; g < gpus; ++g) {
      several::share& s = all_[static_cast<std::size_t>(g)];
      WF_CHECK(cudaSetDevice(g));
      WF_CHECK(cudaStreamCreate(&s.stream));
      WF_CHECK(cudaMalloc(&s.x, std::size_t{4} * static_cast<std::size_t>(n_)));
      WF_CHECK(cudaMalloc(&s.out, sizeof(unsigned)));
      WF_CHECK(cudaMemsetAsync(s.x, 1, std::size_t{4} * static_cast<std::size_t>(n_), s.stream));
      WF_CHECK(cudaStreamSynchronize(s.stream));
    }
    WF_CHECK(cudaMallocHost(&sums_, all_.size() * sizeof(unsigned)));  // pinned, so that its copies wait for nobody
  }
  ~shares() {
    for (std::size_t g = 0; g < all_.size(); ++g) {
      cudaSetDevice(static_cast<int>(g));
      cudaFree(all_[g].x);
      cudaFree(all_[g].out);
      cudaStreamDestroy(all_[g].stream);
    }
    cudaFreeHost(sums_);
    cudaSetDevice(0);
  }
  shares(const shares&) = delete;
  shares& operator=(const shares&) = delete;

  void time(lessons_bench& bench, const char* name, bool waits_behind_each) {
    std::vector<double> seconds;
    for (int i = 0; i < 101; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      for (std::size_t g = 0; g < all_.size(); ++g) {
        start(g);
        if (waits_behind_each) wait(g);
      }
      unsigned sum = 0;
      for (std::size_t g = 0; g < all_.size(); ++g) {
        wait(g);
        sum += sums_[g];
      }
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      const unsigned wanted = 0x01010101u * static_cast<unsigned>(n_) * static_cast<unsigned>(all_.size());
      if (sum == wanted) continue;
      std::fprintf(stderr, "bench_gpu_lessons: %s: %u, not %u\n", name, sum, wanted);
      std::exit(1);
    }
    std::sort(seconds.begin(), seconds.end());
    bench.add("several_gpus", name, n_ * static_cast<int>(all_.size()), seconds[seconds.size() / 2], seconds.front());
  }

 private:
  void start(std::size_t g) {
    several::share& s = all_[g];
    WF_CHECK(cudaSetDevice(static_cast<int>(g)));
    WF_CHECK(cudaMemsetAsync(s.out, 0, sizeof(unsigned), s.stream));
    several::share_sum<<<1056, 256, 0, s.stream>>>(s.x, s.out, n_);
    WF_CHECK(cudaGetLastError());
    WF_CHECK(cudaMemcpyAsync(&sums_[g], s.out, sizeof(unsigned), cudaMemcpyDeviceToHost, s.stream));
  }
  void wait(std::size_t g) {
    WF_CHECK(cudaSetDevice(static_cast<int>(g)));
    WF_CHECK(cudaStreamSynchronize(all_[g].stream));
  }

  std::vector<several::share> all_;
  int n_;
  unsigned* sums_ = nullptr;
};

void time_several(lessons_bench& bench) {
  int gpus = 0;
  WF_CHECK(cudaGetDeviceCount(&gpus));
  for (int k = 1; k <= gpus; k *= 2) {
    shares s(k, 1 << 28);
    const std::string name = std::to_string(k) + (k == 1 ? " GPU" : " GPUs");
    s.time(bench, (name + ", all started first").c_str(), false);
    if (k > 1) s.time(bench, (name + ", a wait behind each").c_str(), true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  for (int i = 1; i < argc; i += 2) {
    if (std::strcmp(argv[i], "--json") != 0 || i + 1 == argc) {
      std::fprintf(stderr, "bench_gpu_lessons: usage: bench_gpu_lessons [--json FILE]\n");
      return 2;
    }
    json = argv[i + 1];
  }
  // What the process's first call costs, before anything else has called the runtime.
  const auto begin = std::chrono::steady_clock::now();
  WF_CHECK(cudaFree(nullptr));
  const double first = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  lessons_bench bench;
  bench.add("profilers", "first call", 1, first, first);
  bench.run();
  time_several(bench);
  if (json.empty()) return 0;
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const row& r : bench.rows()) figures.push_back({{"lesson", r.lesson}, {"name", r.name}, {"n", r.n}, {"seconds", {{"median", r.median}, {"least", r.least}}}});
  if (write_json(json.c_str(), figures)) return 0;
  std::fprintf(stderr, "bench_gpu_lessons: cannot write %s\n", json.c_str());
  return 2;
}
