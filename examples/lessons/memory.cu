// SPDX-License-Identifier: Apache-2.0
// Global memory moves in sectors of 32 bytes, and its writes need an order.
#include <cuda_runtime.h>

#include <cstdio>

/// Thread i reads word step * i: 1 is neighbours, 8 a sector each.
template <int step>
__global__ void read_every(const float* x, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i * step];
}

/// Block 0 writes a value and then a flag; block 1 waits for the flag and then reads the value. The flag alone
/// orders nothing: the two fences do.
template <bool fenced>
__global__ void message(int* value, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *value = 42;
    if (fenced) __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    if (fenced) __threadfence();
    *out = *value;
  }
}

int main() {
  int *value = nullptr, *flag = nullptr, *out = nullptr, seen = 0;
  if (cudaMalloc(&value, sizeof(int)) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMalloc(&flag, sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  message<true><<<2, 32>>>(value, flag, out);
  cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%d\n", seen);
  return seen != 42;
}
