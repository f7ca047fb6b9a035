// SPDX-License-Identifier: Apache-2.0
// The first lane of each warp adds its warp's elements over a grid stride, with one atomic a warp: in float and in half.
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                                           \
  {                                                                                             \
    cudaError_t err = (x);                                                                      \
    if (err != cudaSuccess) {                                                                   \
      printf("%s at %s:%d\n", cudaGetErrorName(err), __FILE__, __LINE__);                       \
      exit(1);                                                                                  \
    }                                                                                           \
  }

template <typename T>
__global__ void warp_leader(const T* input, T* output, size_t n) {
  const size_t first = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize * warpSize;
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  if (threadIdx.x % warpSize == 0) {
    T sum = T(0);
    for (size_t begin = first; begin < n; begin += stride)
      for (size_t i = begin; i < begin + warpSize && i < n; ++i) sum = sum + input[i];
    atomicAdd(output, sum);
  }
}

template <typename T>
float sum_of(const std::vector<T>& host, int grid, int block) {
  T *input, *output, result;
  CUDA_CHECK(cudaMalloc((void**)&input, host.size() * sizeof(T)));
  CUDA_CHECK(cudaMalloc((void**)&output, sizeof(T)));
  CUDA_CHECK(cudaMemcpy(input, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(output, 0, sizeof(T)));
  warp_leader<<<grid, block>>>(input, output, host.size());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(&result, output, sizeof(T), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(input));
  CUDA_CHECK(cudaFree(output));
  return float(result);
}

int main() {
  for (size_t n : {1000u, 1024u, 1500u, 2048u}) {
    std::vector<float> x(n, 1.0f);
    std::vector<__half> h(n, __float2half(1.0f));
    printf("n %4zu: float %.0f, half %.0f\n", n, sum_of(x, 4, 128), sum_of(h, 4, 128));
  }
  return 0;
}
