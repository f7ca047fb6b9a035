// SPDX-License-Identifier: Apache-2.0
// A sum by a tree in shared memory, and by shuffles, timed by events. The times go to standard error.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                    \
  do {                                                                                                 \
    const cudaError_t error_ = (call);                                                                 \
    if (error_ != cudaSuccess) {                                                                       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));             \
      std::exit(EXIT_FAILURE);                                                                         \
    }                                                                                                  \
  } while (0)

__global__ void tree(const float* x, float* sum, int n) {
  extern __shared__ float part[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

template <unsigned Block>
__global__ void shuffles(const float* x, float* sum, int n) {
  __shared__ float part[Block / 32];
  float mine = 0;
  for (int i = blockIdx.x * Block + threadIdx.x; i < n; i += Block * gridDim.x) mine += x[i];
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(0xffffffffu, mine, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = threadIdx.x < Block / 32 ? part[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if (threadIdx.x == 0) atomicAdd(sum, mine);
  }
}

template <class Launch>
void measure(const char* name, float* sum, Launch launch) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaMemset(sum, 0, sizeof(float)));
  CHECK(cudaEventRecord(start));
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float ms = 0, result = 0;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%-10s %.1f\n", name, result);
  std::fprintf(stderr, "%-10s %.3f ms\n", name, ms);
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 100000;
  std::vector<float> x(n);
  double expected = 0;
  for (int i = 0; i < n; ++i) expected += x[i] = static_cast<float>(i % 7);  // any order of additions is exact
  float *device_x = nullptr, *device_sum = nullptr;
  CHECK(cudaMalloc(&device_x, n * sizeof(float)));
  CHECK(cudaMalloc(&device_sum, sizeof(float)));
  CHECK(cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  std::printf("%-10s %.1f\n", "expected", expected);
  const int block = 256, grid = (n + block - 1) / block;
  measure("tree", device_sum, [&] { tree<<<grid, block, block * sizeof(float)>>>(device_x, device_sum, n); });
  measure("shuffles", device_sum, [&] { shuffles<256><<<32, 256>>>(device_x, device_sum, n); });
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_sum));
  return 0;
}
