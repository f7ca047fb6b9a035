// SPDX-License-Identifier: Apache-2.0
// One launch with a barrier of the whole grid: the blocks' sums, then the first block adds them. Groups instead of masks.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sum(const int* x, int n, int* sums, int* total) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  __shared__ int part[32];
  int mine = 0;
  for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) mine += x[i];
  mine = cg::reduce(warp, mine, cg::plus<int>());
  if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = mine;
  block.sync();
  if (warp.meta_group_rank() == 0) {
    mine = warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()] : 0;
    mine = cg::reduce(warp, mine, cg::plus<int>());
    if (warp.thread_rank() == 0) sums[blockIdx.x] = mine;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    *total = 0;
    for (int b = 0; b < gridDim.x; ++b) *total += sums[b];
  }
}

int main() {
  int n = 30000, supported = 0, per_multiprocessor = 0;
  cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0);
  if (!supported) return std::printf("this device has no barrier of the grid\n"), 0;
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  const int block = 256;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, sum, block, 0);
  const int grid = per_multiprocessor * device.multiProcessorCount < 16 ? per_multiprocessor * device.multiProcessorCount : 16;
  std::vector<int> host(n);
  int expected = 0, result = 0;
  for (int i = 0; i < n; ++i) expected += host[i] = i % 13 - 5;
  int *x, *sums, *total;
  cudaMalloc(&x, n * sizeof(int));
  cudaMalloc(&sums, grid * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemcpy(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  void* arguments[] = {&x, &n, &sums, &total};
  cudaError_t e = cudaLaunchCooperativeKernel((void*)sum, dim3(grid), dim3(block), arguments);
  if (e == cudaSuccess) e = cudaMemcpy(&result, total, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("sum %d, expected %d: %s\n", result, expected, cudaGetErrorString(e));
  cudaFree(x);
  cudaFree(sums);
  cudaFree(total);
  return result != expected;
}
