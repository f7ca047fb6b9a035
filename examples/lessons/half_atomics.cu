// SPDX-License-Identifier: Apache-2.0
// Counting in half precision: an atomic that is right each time, and a sum that stops.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>

/// Every thread adds one to one f16.
__global__ void count(__half* out) { atomicAdd(out, __float2half(1.0f)); }

/// Two f16 in one word: even threads add to the first, odd ones to the second. Each half is added by itself.
__global__ void count_pairs(__half2* out) {
  const bool odd = threadIdx.x % 2 != 0;
  atomicAdd(out, __floats2half2_rn(odd ? 0.0f : 1.0f, odd ? 1.0f : 0.0f));
}

/// The cure: the block adds in f32, and rounds once.
__global__ void count_in_f32(float* sum) {
  float one = 1;
  for (int step = 16; step > 0; step /= 2) one += __shfl_down_sync(~0u, one, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, one);
}

int main() {
  __half *out = nullptr, seen;
  if (cudaMalloc(&out, sizeof(__half)) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMemset(out, 0, sizeof(__half));
  count<<<16, 256>>>(out);
  cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%g\n", double(__half2float(seen)));
  return __half2float(seen) != 2048;
}
