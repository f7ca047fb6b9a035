// SPDX-License-Identifier: Apache-2.0
// Compiled with instrumentation; observer_test.cpp launches it. The line numbers are part of the test.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {
__global__ void observed(int* out, __half2* pair) {
  if (threadIdx.x == 1) {
    atomicAdd(out, 5);                                                                      // line 11
    cuda::atomic_ref<int, cuda::thread_scope_device>(*out).load(cuda::memory_order_acquire);  // 12
    atomicCAS(out, 5, 6);                                                                   // 13
    cuda::atomic_ref<int, cuda::thread_scope_block>(*out).store(7, cuda::memory_order_release);  // 14
    atomicAdd(pair, __half2{1.0f, 2.0f});                                                   // 15
    __threadfence();
  }
  __syncthreads();
  __syncwarp();
  cooperative_groups::this_grid().sync();
}
// As before Volta: each lane reads what its neighbour had before anybody writes.
__global__ void in_step(int* cells) {
  volatile int* c = cells;
  c[threadIdx.x] = c[(threadIdx.x + 1) % 32];
}
// Compilers would make these variables a constant, and nothing at all.
__global__ void never_written(float* out) {
  __shared__ float s[64];
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void never_read() {
  __shared__ float s[64];
  s[threadIdx.x + 1] = 1;
}
template <class T>
__global__ void never_read_of_a_template() {
  __shared__ T s[64];
  s[threadIdx.x + 1] = 1;
}
}  // namespace

cudaError_t launch_observed(int* out, void* pair) {
  cudaLaunchAttribute whole{};
  whole.id = cudaLaunchAttributeCooperative;
  whole.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 2;
  config.blockDim = 40;
  config.attrs = &whole;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, observed, out, static_cast<__half2*>(pair));
}

cudaError_t launch_in_step(int* cells) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 32;
  return cudaLaunchKernelEx(&config, in_step, cells);
}

cudaError_t launch_half_used(int which, float* out) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 64;
  if (which == 0) return cudaLaunchKernelEx(&config, never_written, out);
  return which == 1 ? cudaLaunchKernelEx(&config, never_read) : cudaLaunchKernelEx(&config, never_read_of_a_template<int>);
}
