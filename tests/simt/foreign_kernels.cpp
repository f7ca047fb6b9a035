// SPDX-License-Identifier: Apache-2.0
// Kernels of a file that includes nothing but CUDA's header, and whose object has no table from addresses to units, as
// clang++ makes it. foreign_test.cpp launches it; the line number is part of the test.
#include <cuda_runtime.h>

namespace {
__global__ void traps() {
  if (threadIdx.x == 3) __trap();  // line 8
}
__global__ void asserts_and_reads_the_clock(long* out) {
  assert(out != nullptr);
  const long before = clock();
  *out = clock() - before;
}

cudaLaunchConfig_t one_warp() {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 32;
  return config;
}
}  // namespace

cudaError_t launch_traps() {
  const auto config = one_warp();
  return cudaLaunchKernelEx(&config, traps);
}

cudaError_t launch_clock(long* out) {
  const auto config = one_warp();
  return cudaLaunchKernelEx(&config, asserts_and_reads_the_clock, out);
}
