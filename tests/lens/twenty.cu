// SPDX-License-Identifier: Apache-2.0
// The twenty kernels of twenty.cuh as a program: `warpfold explain tests/lens/twenty.cu --json` counts them without a GPU, and
// `scripts/gpu run OUT kernels` sets an H100's counters beside that.
#include "twenty.cuh"

#include <cstdio>
#include <vector>

int main() {
  constexpr int all = twenty::n + 64;
  float *x, *y;
  int *ints, *counts;
  cudaMalloc(&x, all * sizeof(float));
  cudaMalloc(&y, all * sizeof(float));
  cudaMalloc(&ints, all * sizeof(int));
  cudaMalloc(&counts, all * sizeof(int));
  std::vector<int> order(all);
  for (int i = 0; i < all; ++i) order[i] = i;
  cudaMemset(x, 0, all * sizeof(float));
  cudaMemset(counts, 0, all * sizeof(int));
  cudaMemcpy(ints, order.data(), all * sizeof(int), cudaMemcpyHostToDevice);
  const float* in = x;
#define LAUNCH(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__);
  TWENTY_LAUNCHES(LAUNCH, in, y, ints, counts)
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("20 kernels: %s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
