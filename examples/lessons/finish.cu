// SPDX-License-Identifier: Apache-2.0
// Three ways from the blocks' sums to one sum, and a fourth that may wait for ever.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>

/// The block's sum, in thread 0. Blocks of up to 1024 threads, a multiple of 32.
__device__ float block_sum(const float* x, int n) {
  __shared__ float of_warp[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(~0u, s, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned w = 1; w < blockDim.x / 32; ++w) s += of_warp[w];
  return s;
}

__global__ void by_atomic(const float* x, float* out, int n) {
  const float s = block_sum(x, n);
  if (threadIdx.x == 0) atomicAdd(out, s);
}

/// Launched twice: on the elements, and with one block on the blocks' sums.
__global__ void by_two_passes(const float* x, float* partial, int n) {
  const float s = block_sum(x, n);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

__global__ void by_grid_sync(const float* x, float* partial, float* out, int n) {
  const float s = block_sum(x, n);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
  *out = all;
}

/// A barrier by hand: every block counts itself, and waits for the rest. Right while all blocks are resident at
/// once, and nothing sees to that.
__global__ void by_own_barrier(const float* x, float* partial, unsigned* arrived, float* out, int n) {
  const float s = block_sum(x, n);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
  *out = all;
}

int main() {
  const int n = 1 << 16, blocks = 64;
  float *x = nullptr, *partial = nullptr, *out = nullptr, seen = -1;
  if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMalloc(&partial, blocks * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  by_two_passes<<<blocks, 256>>>(x, partial, n);
  by_two_passes<<<1, 256>>>(partial, out, blocks);
  cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%g\n", seen);
  return seen != 0;
}
