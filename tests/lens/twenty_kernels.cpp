// SPDX-License-Identifier: Apache-2.0
#include "twenty_kernels.hpp"

#include "twenty.cuh"

#include <numeric>
#include <vector>

namespace {

template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

void launch_twenty() {
  constexpr std::size_t all = twenty::n + 64;
  float *x, *y;
  int *ints, *counts;
  cudaMalloc(&x, all * sizeof(float));
  cudaMalloc(&y, all * sizeof(float));
  cudaMalloc(&ints, all * sizeof(int));
  cudaMalloc(&counts, all * sizeof(int));
  std::vector<int> order(all);
  std::iota(order.begin(), order.end(), 0);
  cudaMemset(x, 0, all * sizeof(float));
  cudaMemset(counts, 0, all * sizeof(int));
  cudaMemcpy(ints, order.data(), all * sizeof(int), cudaMemcpyHostToDevice);
  const float* const in = x;
  const int* const indexes = ints;
#define LAUNCH(kernel, grid, block, ...) run(kernel, grid, block, __VA_ARGS__);
  TWENTY_LAUNCHES(LAUNCH, in, y, indexes, counts)
  cudaFree(x);
  cudaFree(y);
  cudaFree(ints);
  cudaFree(counts);
}
