// SPDX-License-Identifier: Apache-2.0
// The mean square of (a x + b), in three kernels and in one: the same operations, a fraction of the bytes.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void scale_and_shift(const float* x, float* y, float a, float b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + b;
}

__global__ void square(const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = y[i] * y[i];
}

/// Adds z to out, 32 elements a thread.
__global__ void sum(const float* z, float* out, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += z[i];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(~0u, s, step);
  if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}

/// All three, with y and z in registers.
__global__ void fused(const float* x, float* out, float a, float b, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float y = a * x[i] + b;
    s += y * y;
  }
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(~0u, s, step);
  if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}

/// 128 multiplications and additions for each element that is read and written: no longer held back by memory.
__global__ void deep(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = x[i];
  for (int k = 0; k < 128; ++k) z = z * 0.5f + 1;
  y[i] = z;
}

int main() {
  const int n = 1 << 16;
  float *x = nullptr, *y = nullptr, *z = nullptr, *out = nullptr, seen[2];
  if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&z, n * sizeof(float));
  cudaMalloc(&out, 2 * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(out, 0, 2 * sizeof(float));
  scale_and_shift<<<n / 256, 256>>>(x, y, 2, 1, n);
  square<<<n / 256, 256>>>(y, z, n);
  sum<<<n / 8192, 256>>>(z, out, n);
  fused<<<n / 8192, 256>>>(x, out + 1, 2, 1, n);
  cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%g and %g\n", seen[0] / n, seen[1] / n);
  return seen[0] != n || seen[1] != n;
}
