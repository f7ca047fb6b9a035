// SPDX-License-Identifier: Apache-2.0
// Reductions of your own on a GPU: the range of the data, and how far two arrays are apart; alone, of rows, and fused with the
// library's. Mark the members WF_HD, and the same type runs on the host too.
//
//     nvcc -std=c++20 own_gpu_reduction.cu $(pkg-config --cflags --libs warpfold-gpu)
#include <cstdio>
#include <span>
#include <vector>

// [gpu.cuh]
#include <warpfold/gpu.cuh>  // with nvcc: reductions of your own, fused ones, and each level for your own kernels
// [/gpu.cuh]

struct my_range {
  struct state { float least, greatest; };
  static constexpr bool commutes = true;
  WF_HD state identity() const { return {3e38f, -3e38f}; }
  WF_HD state lift(float x, std::int64_t) const { return {x, x}; }
  WF_HD state combine(state a, state b) const {
    return {a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest : b.greatest};
  }
  WF_HD float finish(state s, std::int64_t) const { return s.greatest - s.least; }
};

/// The largest |x - y|.
struct my_distance {
  static constexpr bool commutes = true;
  WF_HD float identity() const { return 0; }
  WF_HD float lift(float x, float y, std::int64_t) const { return x > y ? x - y : y - x; }
  WF_HD float combine(float a, float b) const { return a > b ? a : b; }
  WF_HD float finish(float s, std::int64_t) const { return s; }
};

struct product { WF_HD float operator()(float x, float y) const { return x * y; } };

#if defined(__SIMT__)
using place_type = wf::simulated_gpu;  // the same source on a CPU
#else
using place_type = wf::gpu;
#endif

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("no GPU: nothing to show"), 0;
  constexpr std::size_t n = 1 << 20, rows = 1 << 10, parts = n / 16;
  std::vector<float> host_vector(n);
  for (std::size_t i = 0; i < n; ++i) host_vector[i] = static_cast<float>(i * 7919 % 1000);
  float *memory = nullptr, *device_out = nullptr;
  cudaMalloc(&memory, n * sizeof(float));
  cudaMalloc(&device_out, (7 + rows + 2 * parts) * sizeof(float));
  cudaMemcpy(memory, host_vector.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  float *const of_rows = device_out + 7, *const means = of_rows + rows, *const deviations = means + parts;
  const std::span<const float> values(memory, n), x = values.first(n / 2), y = values.last(n / 2);
  const wf::view<const float> matrix(memory, {rows, n / rows});

  const place_type place;
  // [own]
  wf::reduce(place, values, device_out, my_range{});
  // [/own]
  // [own and fused]
  wf::reduce(place, x, y, device_out + 1, my_distance{});                      // for two inputs
  wf::reduce(place, x, y, device_out + 2, wf::transform(product{}), wf::sum);  // sums f(x, y), without an array of them
  wf::fuse(wf::mean, wf::std_dev, wf::min, my_range{})(place, values, device_out + 3, device_out + 4, device_out + 5, device_out + 6);
  wf::reduce(place, matrix, of_rows, my_range{}, wf::axis{1});                 // axes, segments and labels of all of these
  wf::fuse(wf::mean, wf::std_dev)(place, values, means, deviations, wf::segments_of{16});
  auto [mean, deviation] = wf::fuse(wf::mean, wf::std_dev)(place, host_vector);  // copies, waits
  // [/own and fused]

  std::vector<float> got(7 + rows + 2 * parts);
  cudaMemcpy(got.data(), device_out, got.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(memory);
  cudaFree(device_out);
  const std::span<const float> all(host_vector), first = all.first(n / 2), second = all.last(n / 2), last = all.last(16);
  std::printf("range %g, mean %g, standard deviation %g, range %g; two halves are %g apart\n", got[0], mean, deviation, got[6], got[1]);
  const bool of_all = got[0] == 999 && mean == wf::mean(all) && deviation == wf::std_dev(all) && got[3] == mean && got[4] == deviation && got[5] == 0 && got[6] == 999;
  const bool of_two = got[1] == wf::reduce(first, second, my_distance{}) && got[2] == wf::dot(first, second);
  const bool of_parts = got[7] == wf::reduce(all.first(n / rows), my_range{}) && got[6 + rows + parts] == wf::mean(last) && got.back() == wf::std_dev(last);
  return of_all && of_two && of_parts ? 0 : 1;
}
