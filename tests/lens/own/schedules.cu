// SPDX-License-Identifier: Apache-2.0
// What one order of blocks and one schedule of lanes does not show, and what else is new to one run.
#include <cuda_runtime.h>

#include <cstdio>

/// The barrier between the lines is forgotten.
__global__ void missing(const float* x, float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void nobody_writes(float* out) {
  __shared__ float s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

/// Only where block 1 begins before block 0.
__global__ void order(int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1 && atomicAdd(flag, 1) == 0) out[0] = 5;
  if (blockIdx.x == 0 && atomicAdd(flag, 1) != 0) out[0] = 7;
}

/// The lanes of warp 0 wait for warp 1: in lock step it has no turn.
__global__ void waits(volatile int* flag) {
  if (threadIdx.x == 63) *flag = 1;
  else
    while (*flag == 0) {}
}

extern __shared__ float cells[];
__global__ void large(float* out) {
  cells[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
  if (threadIdx.x == 0) printf("printed\n");
}

__global__ void to_pointers(float** p) { p[0][0] = 1; }

__global__ void child(int* out) { out[threadIdx.x] = 1; }
__global__ void parent(int* out) {
  if (threadIdx.x == 0) child<<<1, 64>>>(out);
}

namespace ns {
template <int n>
__global__ void k(float* out) { out[threadIdx.x] = n; }
}  // namespace ns
