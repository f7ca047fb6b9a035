// SPDX-License-Identifier: Apache-2.0
// What a lane gets from a shuffle whose source lies outside of the warp, or of a part of it. Each lane offers its
// own number, so that what it gets is the number of the lane that it read.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void down(int* out, int step, int width) { out[threadIdx.x] = __shfl_down_sync(~0u, int(threadIdx.x), step, width); }
__global__ void up(int* out, int step, int width) { out[threadIdx.x] = __shfl_up_sync(~0u, int(threadIdx.x), step, width); }
__global__ void exchange(int* out, int mask, int width) { out[threadIdx.x] = __shfl_xor_sync(~0u, int(threadIdx.x), mask, width); }
__global__ void from(int* out, int lane, int width) { out[threadIdx.x] = __shfl_sync(~0u, int(threadIdx.x), lane, width); }

/// The sum of the lanes' numbers, 496, as a loop of `down` makes it: in lane 0 alone.
__global__ void sums(int* out) {
  int sum = int(threadIdx.x);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  out[threadIdx.x] = sum;
}

/// A full mask where half of the warp is elsewhere.
__global__ void half_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(~0u, int(threadIdx.x), 1);
}

int main() {
  int *out = nullptr, seen[32];
  if (cudaMalloc(&out, sizeof seen) != cudaSuccess) return std::puts("no GPU"), 0;
  down<<<1, 32>>>(out, 1, 32);
  cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  for (const int lane : seen) std::printf("%d ", lane);
  std::puts("");
  return seen[31] != 31;
}
