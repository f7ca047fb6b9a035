// SPDX-License-Identifier: Apache-2.0
// A reduction of your own on a GPU: the range of the data, in one pass, alone and fused with the library's. Mark its
// members WF_HD, and the same type runs on the host too.
//
//     nvcc -std=c++20 own_gpu_reduction.cu $(pkg-config --cflags --libs warpfold-gpu)
#include <cstdio>
#include <span>
#include <vector>

#include <warpfold/gpu.cuh>

struct range_of {
  struct state { float least, greatest; };
  static constexpr bool commutes = true;
  WF_HD state identity() const { return {3e38f, -3e38f}; }
  WF_HD state lift(float x, std::int64_t) const { return {x, x}; }
  WF_HD state combine(state a, state b) const {
    return {a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest : b.greatest};
  }
  WF_HD float finish(state s, std::int64_t) const { return s.greatest - s.least; }
};

#if defined(__SIMT__)
using place = wf::simulated_gpu;  // the same source on a CPU
#else
using place = wf::gpu;
#endif

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("no GPU: nothing to show"), 0;
  std::vector<float> x(1'000'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000);
  float *values = nullptr, *out = nullptr;  // out: the range, then mean, standard deviation and range
  cudaMalloc(&values, x.size() * sizeof(float));
  cudaMalloc(&out, 4 * sizeof(float));
  cudaMemcpy(values, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  const std::span<const float> on_device(values, x.size());

  const place gpu;
  wf::reduce(gpu, on_device, out, range_of{});
  wf::fuse(wf::mean, wf::std_dev, range_of{})(gpu, on_device, out + 1, out + 2, out + 3);  // one kernel

  float got[4] = {};
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(values);
  cudaFree(out);
  std::printf("range %g, mean %g, standard deviation %g, range %g\n", got[0], got[1], got[2], got[3]);
  return got[0] == 999 && got[1] == wf::mean(x) && got[2] == wf::std_dev(x) && got[3] == 999 ? 0 : 1;
}
