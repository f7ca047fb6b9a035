// SPDX-License-Identifier: Apache-2.0
// What a call takes of the host: microseconds from the call of a reduction until it returns, beside those of a launch of an empty kernel, as JSON.
//
//     bench_gpu_host [--json FILE]
//
// A sample is 100 calls on a stream that has nothing to do, which is waited for before and after, outside the time; so no call
// waits for room in the stream's queue. The samples of all calls are taken in turns; a time is the median of 301 of them. The empty kernel is launched
// as the library launches (wf::device::launch, with overlap), with as many bytes of parameters as its kernels of whole arrays take. The first time is
// that of the call and its kernels, once, in this order: the driver unpacks and loads what a call is the first to need.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <warpfold/device/launch.cuh>
#include <warpfold/gpu.hpp>

#include "json_file.hpp"
#include "measure.hpp"

namespace {

struct parameters {
  char bytes[128];
};
__global__ void empty(parameters) { wf::device::await_stream(); }

struct call {
  std::string name;
  std::function<void()> work;
  std::vector<double> us;
  double first_ms = 0;
};

double middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const char* json = nullptr;
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) json = argv[2];
  else if (argc != 1) {
    std::fprintf(stderr, "bench_gpu_host: there is --json FILE and nothing else\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "bench_gpu_host: no GPU here\n");
    return 3;
  }
  constexpr std::size_t most = std::size_t{1} << 20;
  float* f = nullptr;
  double* d = nullptr;
  WF_CHECK(cudaMalloc(&f, most * sizeof *f));
  WF_CHECK(cudaMalloc(&d, most * sizeof *d));
  WF_CHECK(cudaMemset(f, 0, most * sizeof *f));
  WF_CHECK(cudaMemset(d, 0, most * sizeof *d));
  void* out = nullptr;
  WF_CHECK(cudaMalloc(&out, 4096));
  cudaStream_t stream = nullptr;
  WF_CHECK(cudaStreamCreate(&stream));
  nlohmann::ordered_json figures;
  try {
    wf::gpu place{stream};
    place.check_pointers(false);
    const auto floats = [&](std::size_t n) { return std::span<const float>(f, n); };
    const auto doubles = [&](std::size_t n) { return std::span<const double>(d, n); };
    std::vector<call> calls;
    const parameters p{};
    const auto add = [&](std::string name, std::function<void()> work) { calls.push_back({std::move(name), std::move(work), {}, 0}); };
    add("launch of an empty kernel", [&] { WF_CHECK(wf::device::launch(empty, {.blocks = 1, .threads = 256, .stream = stream, .overlaps = true}, p)); });
    for (const std::size_t n : {std::size_t{1000}, most}) {
      const std::string of = ", " + std::to_string(n) + " elements";
      add("sum of f32" + of, [&, n] { wf::sum(place, floats(n), static_cast<float*>(out)); });
      add("sum of f64" + of, [&, n] { wf::sum(place, doubles(n), static_cast<double*>(out)); });
      add("fast sum of f32" + of, [&, n] { wf::sum(place, floats(n), static_cast<float*>(out), wf::fast); });
      add("mean of f32" + of, [&, n] { wf::mean(place, floats(n), static_cast<float*>(out)); });
      add("var of f64" + of, [&, n] { wf::var(place, doubles(n), static_cast<double*>(out)); });
      add("norm2 of f32" + of, [&, n] { wf::norm2(place, floats(n), static_cast<float*>(out)); });
      add("dot of f64" + of, [&, n] { wf::dot(place, doubles(n), doubles(n), static_cast<double*>(out)); });
      add("max of f32" + of, [&, n] { wf::max(place, floats(n), static_cast<float*>(out)); });
      add("argmax of f64" + of, [&, n] { wf::argmax(place, doubles(n), static_cast<wf::result<wf::op::argmax, double>*>(out)); });
    }
    add("sum of f32, 16 rows of 1024", [&] { wf::sum(place, wf::view<const float>(f, {16, 1024}), static_cast<float*>(out), wf::axis{1}); });
    add("sum of f32, 16 segments of 1024", [&] { wf::sum(place, floats(16 * 1024), static_cast<float*>(out), wf::segments_of{1024}); });
    for (call& c : calls) {
      const auto from = std::chrono::steady_clock::now();
      c.work();
      WF_CHECK(cudaStreamSynchronize(stream));
      c.first_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
    }
    constexpr int times = 100;
    for (int sample = -20; sample < 301; ++sample) {
      for (call& c : calls) {
        WF_CHECK(cudaStreamSynchronize(stream));
        const auto from = std::chrono::steady_clock::now();
        for (int k = 0; k < times; ++k) c.work();
        const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count() / times;
        if (sample >= 0) c.us.push_back(us);
      }
    }
    WF_CHECK(cudaStreamSynchronize(stream));
    const double launch = middle(calls.front().us);
    figures = {{"benchmark", "host's time of a call"}, {"warpfold", wf::version()}, {"device", wf::cuda_library().trials->name()},
               {"results", nlohmann::ordered_json::array()}};
    for (const call& c : calls) {
      const double us = middle(c.us);
      std::printf("%-40s %7.3f us, %+6.3f over a launch; the first %7.3f ms\n", c.name.c_str(), us, us - launch, c.first_ms);
      figures["results"].push_back({{"call", c.name}, {"us", rounded(us, 3)}, {"least us", rounded(*std::min_element(c.us.begin(), c.us.end()), 3)},
                                    {"over a launch", rounded(us - launch, 3)}, {"first ms", rounded(c.first_ms, 3)}});
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gpu_host: %s\n", e.what());
    return 3;
  }
  if (json == nullptr) return 0;
  if (!write_json(json, figures)) {
    std::fprintf(stderr, "bench_gpu_host: cannot write %s\n", json);
    return 3;
  }
  return 0;
}
