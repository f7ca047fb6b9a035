// SPDX-License-Identifier: Apache-2.0
// A user's program in plain C++ that sums on the GPU, by the component `gpu`.
#include <cstdio>
#include <span>
#include <string>
#include <warpfold/gpu.hpp>

#include <cuda_runtime_api.h>

int main() try {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("linked; no GPU here\n");
    return 0;
  }
  if (const std::string why = wf::tuning_problem(); !why.empty()) std::puts(why.c_str());
  const double values[] = {1e308, 1e308, -1e308};
  double sum = 0;
  void *x = nullptr, *out = nullptr;
  cudaMalloc(&x, sizeof values);
  cudaMalloc(&out, sizeof sum);
  cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
  {
    const wf::gpu place;
    wf::sum(place, std::span(static_cast<const double*>(x), 3), static_cast<double*>(out));
    cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  }
  cudaFree(x);
  cudaFree(out);
  std::printf("the GPU's sum is %g\n", sum);
  return sum == 1e308 ? 0 : 1;
} catch (const wf::error& e) {
  std::printf("%s\n", e.what());
  return 1;
}
