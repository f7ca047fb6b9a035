// SPDX-License-Identifier: Apache-2.0
// How fast arrays of the host come to a GPU that sums them, as JSON: GiB/s of wf::sum(place, x), of memory that is pageable and of memory that is
// pinned, beside cudaMemcpy of the same pageable memory and a sum of what it gave.
//
//     bench_gpu_host_arrays [--json FILE]
//
// A time is the least of 9, of the host's clock; the ways take turns.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <warpfold/gpu.hpp>

#include "json_file.hpp"
#include "measure.hpp"

namespace {

/// The allocator of a vector whose memory is pinned.
template <class T>
struct pinned {
  using value_type = T;
  T* allocate(std::size_t n) {
    T* p = nullptr;
    WF_CHECK(cudaMallocHost(&p, n * sizeof(T)));
    return p;
  }
  void deallocate(T* p, std::size_t) { cudaFreeHost(p); }
  bool operator==(const pinned&) const { return true; }
};

double microseconds(const std::function<float()>& work, float wanted) {
  const auto from = std::chrono::steady_clock::now();
  const float got = work();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - from;
  if (got != wanted) {
    std::fprintf(stderr, "bench_gpu_host_arrays: a sum is %g, not %g\n", static_cast<double>(got), static_cast<double>(wanted));
    std::exit(1);
  }
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  const char* json = nullptr;
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) json = argv[2];
  else if (argc != 1) {
    std::fprintf(stderr, "bench_gpu_host_arrays: there is --json FILE and nothing else\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "bench_gpu_host_arrays: no GPU here\n");
    return 3;
  }
  cudaDeviceProp p{};
  WF_CHECK(cudaGetDeviceProperties(&p, 0));
  nlohmann::ordered_json figures = {{"device", p.name}, {"rows", nlohmann::ordered_json::array()}};
  try {
    const wf::gpu place;
    for (const std::size_t n : {std::size_t{1} << 18, std::size_t{1} << 20, std::size_t{1} << 21, std::size_t{1} << 22, std::size_t{1} << 24, (std::size_t{1} << 26) + 3, std::size_t{1} << 28}) {
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 1021) - 300;
      const std::vector<float, pinned<float>> fixed(x.begin(), x.end());
      const float wanted = wf::sum(x);
      float* d = nullptr;
      WF_CHECK(cudaMalloc(reinterpret_cast<void**>(&d), n * sizeof *d));
      const std::function<float()> ways[] = {[&] { return wf::sum(place, x); }, [&] { return wf::sum(place, fixed); },
                                             [&] {
                                               WF_CHECK(cudaMemcpy(d, x.data(), n * sizeof *d, cudaMemcpyHostToDevice));
                                               return wf::sum(place, std::span<const float>(d, n));
                                             },
                                             [&] { return wf::sum(place, std::span<const float>(d, n)); }};
      double least[std::size(ways)] = {1e30, 1e30, 1e30, 1e30};
      ways[2]();
      for (int k = 0; k < 10; ++k)  // the first to warm up
        for (std::size_t w = 0; w < std::size(ways); ++w)
          if (const double us = microseconds(ways[w], wanted); k > 0) least[w] = std::min(least[w], us);
      WF_CHECK(cudaFree(d));
      const double gib = static_cast<double>(n * sizeof(float)) / (1 << 30) * 1e6;
      const nlohmann::ordered_json row = {{"bytes", n * sizeof(float)}, {"pageable", rounded(gib / least[0], 2)}, {"pinned", rounded(gib / least[1], 2)},
                                          {"cudaMemcpy of pageable", rounded(gib / least[2], 2)}, {"on the device", rounded(gib / least[3], 1)}};
      figures["rows"].push_back(row);
      std::printf("%s\n", row.dump().c_str());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gpu_host_arrays: %s\n", e.what());
    return 1;
  }
  if (json != nullptr && !write_json(json, figures)) {
    std::fprintf(stderr, "bench_gpu_host_arrays: cannot write %s\n", json);
    return 1;
  }
}
