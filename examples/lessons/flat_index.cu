// SPDX-License-Identifier: Apache-2.0
// One number in place of two: a matrix of 10 rows of 100, and two nested loops flattened to one counter.
#include <cuda_runtime.h>

#include <cstdio>

/// row[i], column[i] of element i of a matrix stored row after row.
__global__ void places(int* row, int* column, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  row[i] = i / columns;
  column[i] = i % columns;
}

/// The matrix read column after column: neighbouring threads are `columns` words apart.
__global__ void turned(const float* x, float* out, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) out[i] = x[i % rows * columns + i / rows];
}

/// How many tiles each leader (lane 0 of a warp) finds, and how many elements of them there are.
/// ladder/04_warp_leader.cuh adds those elements.
__global__ void leaders(unsigned long long* tiles_of, unsigned long long* elements_of, unsigned long long n) {
  const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long step = gridDim.x * blockDim.x;
  if (threadIdx.x % 32 != 0) return;
  const unsigned long long tiles = (n - first + step - 1) / step;
  unsigned long long elements = 0;
  for (unsigned long long k = 0; k < tiles * 32; ++k)
    if (first + k / 32 * step + k % 32 < n) ++elements;
  tiles_of[first / 32] = tiles;
  elements_of[first / 32] = elements;
}

/// Adds those elements up; out begins as zero.
__global__ void leader_sums(const float* x, float* out, unsigned long long n) {
  const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long step = gridDim.x * blockDim.x;
  if (threadIdx.x % 32 != 0) return;
  const unsigned long long tiles = (n - first + step - 1) / step;
  float sum = 0;
  for (unsigned long long k = 0; k < tiles * 32; ++k) {
    const unsigned long long i = first + k / 32 * step + k % 32;
    if (i < n) sum += x[i];
  }
  atomicAdd(out, sum);
}

/// The same number written in another way: right for n > first, and nearly 2^64 / step where n <= first.
__global__ void leaders_unguarded(unsigned long long* tiles_of, unsigned long long n) {
  const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long step = gridDim.x * blockDim.x;
  if (threadIdx.x % 32 == 0) tiles_of[first / 32] = (n - 1 - first) / step + 1;
}

int main() {
  unsigned long long *tiles = nullptr, *elements = nullptr, seen[2];
  if (cudaMalloc(&tiles, sizeof seen) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMalloc(&elements, sizeof seen);
  leaders<<<2, 32>>>(tiles, elements, 100);
  cudaMemcpy(seen, elements, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%llu and %llu elements\n", seen[0], seen[1]);
  return seen[0] + seen[1] != 100;
}
