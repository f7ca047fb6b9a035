// SPDX-License-Identifier: Apache-2.0
// One sum over all GPUs of a machine: a share of the array each, all at once, and their sums added on the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

/// One word a block. Integers, so that the order does not matter.
__global__ void share_sum(const int* x, unsigned* out, int n) {
  unsigned s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += unsigned(x[i]);
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(~0u, s, step);
  if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}

struct share {
  int first = 0, count = 0;
  cudaStream_t stream = nullptr;
  int* x = nullptr;
  unsigned *out = nullptr, sum = 0;
};

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    if (const cudaError_t e = (call); e != cudaSuccess) {                                                    \
      std::printf("%s:%d: %s: %s\n", "several_gpus.cu", __LINE__, #call, cudaGetErrorString(e));             \
      return 1;                                                                                              \
    }                                                                                                        \
  } while (false)

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return std::puts("no GPU"), 0;
  std::vector<int> x(1000003);
  std::iota(x.begin(), x.end(), 1);
  std::vector<share> shares(gpus);
  const int each = (int(x.size()) + gpus - 1) / gpus;
  for (int g = 0; g < gpus; ++g) {  // starts all: nothing here waits for a GPU
    share& s = shares[g];
    s.first = std::min(g * each, int(x.size()));
    s.count = std::min(each, int(x.size()) - s.first);
    CHECK(cudaSetDevice(g));  // memory, streams and launches belong to the current device
    CHECK(cudaStreamCreate(&s.stream));
    CHECK(cudaMalloc(&s.x, std::max(s.count, 1) * sizeof(int)));
    CHECK(cudaMalloc(&s.out, sizeof(unsigned)));
    CHECK(cudaMemsetAsync(s.out, 0, sizeof(unsigned), s.stream));
    CHECK(cudaMemcpyAsync(s.x, x.data() + s.first, s.count * sizeof(int), cudaMemcpyHostToDevice, s.stream));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(128);
    config.blockDim = dim3(256);
    config.stream = s.stream;
    CHECK(cudaLaunchKernelEx(&config, share_sum, static_cast<const int*>(s.x), s.out, s.count));
    CHECK(cudaMemcpyAsync(&s.sum, s.out, sizeof(unsigned), cudaMemcpyDeviceToHost, s.stream));
  }
  unsigned sum = 0;
  for (int g = 0; g < gpus; ++g) {
    CHECK(cudaSetDevice(g));
    CHECK(cudaStreamSynchronize(shares[g].stream));
    std::printf("GPU %d: elements %d to %d, sum %u\n", g, shares[g].first, shares[g].first + shares[g].count - 1, shares[g].sum);
    sum += shares[g].sum;
  }
  const unsigned expected = unsigned(1000003ull * 1000004 / 2);
  std::printf("all: %u, %s\n", sum, sum == expected ? "right" : "WRONG");
  return sum != expected;
}
