// SPDX-License-Identifier: Apache-2.0
// Rung zero: one element a thread. Then two branches: one that splits every warp, and one that splits the block
// between two warps.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

/// out[i] = a[i] + b[i]. The grid is rounded up to whole blocks, so the last threads have no element.
__global__ void add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

/// Even lanes double, odd ones halve: both branches in every warp.
__global__ void by_lane(const float* a, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 2 == 0)
    out[i] = a[i] * 2;
  else
    out[i] = a[i] / 2;
}

/// Even warps double, odd ones halve: one branch a warp.
__global__ void by_warp(const float* a, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x / 32 % 2 == 0)
    out[i] = a[i] * 2;
  else
    out[i] = a[i] / 2;
}

int main() {
  const int n = 1000;
  std::vector<float> a(n), b(n, 0.5f), sum(n);
  for (int i = 0; i < n; ++i) a[i] = float(i);
  float *da = nullptr, *db = nullptr, *dsum = nullptr;
  if (cudaMalloc(&da, n * sizeof(float)) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMalloc(&db, n * sizeof(float));
  cudaMalloc(&dsum, n * sizeof(float));
  cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(da, db, dsum, n);
  cudaMemcpy(sum.data(), dsum, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sum[i] != a[i] + b[i];
  std::printf("%d wrong of %d\n", wrong, n);
  return wrong != 0;
}
