// SPDX-License-Identifier: Apache-2.0
// Running sums: each block scans its part in shared memory, one block scans the blocks' sums, all add what came before.
#include <cassert>
#include <cstdio>
#include <vector>

namespace scan {

template <typename T>
__global__ void blocks(T* data, T* sums, int n) {
  extern __shared__ int cells[];  // two buffers
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  int out = 0;
  cells[t] = i < n ? data[i] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const int in = out;
    out = 1 - out;
    const int before = t >= d ? cells[in * blockDim.x + t - d] : 0;
    cells[out * blockDim.x + t] = cells[in * blockDim.x + t] + before;
    __syncthreads();
  }
  if (i < n) data[i] = cells[out * blockDim.x + t];
  if (sums != nullptr && t == blockDim.x - 1) sums[blockIdx.x] = cells[out * blockDim.x + t];
}

template <typename T>
__global__ void add_before(T* data, const T* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) data[i] += sums[blockIdx.x - 1];
}

template <typename T>
void inclusive(T* data, int n, int block = 128) {
  const int grid = (n + block - 1) / block;
  assert(grid <= block);
  T* sums = nullptr;
  cudaMalloc(&sums, grid * sizeof(T));
  blocks<<<grid, block, 2 * block * sizeof(T)>>>(data, sums, n);
  blocks<T><<<1, block, 2 * block * sizeof(T)>>>(sums, nullptr, grid);
  add_before<<<grid, block>>>(data, sums, n);
  cudaFree(sums);
}

}  // namespace scan

int main() {
  const int n = 5000;
  std::vector<int> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = i % 10 - 4;
  int* data;
  if (cudaMallocManaged(&data, n * sizeof(int)) != cudaSuccess) return 1;
  for (int i = 0; i < n; ++i) data[i] = x[i];
  scan::inclusive(data, n);
  if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) {
    std::printf("%s\n", cudaGetErrorString(e));
    return 1;
  }
  int sum = 0, wrong = 0;
  for (int i = 0; i < n; ++i) wrong += (sum += x[i]) != data[i];
  std::printf("last %d, wrong %d\n", data[n - 1], wrong);
  cudaFree(data);
  return wrong != 0;
}
