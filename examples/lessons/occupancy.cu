// SPDX-License-Identifier: Apache-2.0
// How many blocks fit on a multiprocessor: asked of the runtime, for blocks of several sizes and appetites.
#include <cuda_runtime.h>

#include <cstdio>

extern __shared__ float tile[];

/// Each thread keeps a word of dynamic shared memory.
__global__ void keep(const float* x, float* out) {
  tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  if (cudaFuncSetAttribute(keep, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024) != cudaSuccess)
    return std::puts("no GPU that gives a block 200 KiB of shared memory"), 0;
  std::printf("threads   shared KiB   blocks   warps   of 64\n");
  for (const int threads : {32, 64, 256, 768, 1024})
    for (const int kib : {0, 16, 48, 100, 200}) {
      int blocks = 0;
      if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, keep, threads, std::size_t(kib) * 1024) != cudaSuccess) return 1;
      const int warps = blocks * threads / 32;
      std::printf("%7d %12d %8d %7d %6d%%\n", threads, kib, blocks, warps, 100 * warps / 64);
    }
  // [carve out]
  cudaFuncSetAttribute(keep, cudaFuncAttributePreferredSharedMemoryCarveout, 50);  // percent of the most
  // [/carve out]
}
