// SPDX-License-Identifier: Apache-2.0
// What the runtime says of a launch that cannot be, and of a kernel that goes wrong.
#include <cuda_runtime.h>

#include <cstdio>

/// Without the comparison with n, the last block writes past the end.
__global__ void fill(int* out, int n, bool guarded) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!guarded || i < n) out[i] = i;
}

__global__ void give_up() { __trap(); }

static void tell(const char* what, cudaError_t e) { std::printf("%-44s %s\n", what, cudaGetErrorName(e)); }

template <class... P, class... A>
static cudaError_t start(int blocks, int threads, void (*kernel)(P...), A... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  return cudaLaunchKernelEx(&config, kernel, arguments...);  // what kernel<<<blocks, threads>>>(…) does, with an answer
}

int main() {
  int* out = nullptr;
  if (cudaMalloc(&out, 1000 * sizeof(int)) != cudaSuccess) return std::puts("no GPU"), 0;

  tell("a block of 2048 threads", start(1, 2048, fill, out, 1000, true));
  tell("cudaGetLastError", cudaGetLastError());
  tell("cudaGetLastError, again", cudaGetLastError());
  tell("a block of 256 threads", start(4, 256, fill, out, 1000, true));
  tell("cudaDeviceSynchronize", cudaDeviceSynchronize());

  (void)start(1, 32, give_up);
  const cudaError_t fault = cudaDeviceSynchronize();
  tell("a kernel that traps, once it is waited for", fault);
  tell("cudaGetLastError", cudaGetLastError());
  tell("cudaGetLastError, again", cudaGetLastError());
  tell("cudaMalloc", cudaMalloc(&out, 4));
  return fault == cudaSuccess;
}
