// SPDX-License-Identifier: Apache-2.0
// What users write.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "helper.cuh"

__global__ void copy(const float* __restrict__ x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

/// No bound is checked.
__global__ void unchecked(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x + 1]; }

__global__ void racing(int* out) { *out = threadIdx.x; }

/// Dynamic shared memory, a helper from another file.
__global__ void __launch_bounds__(256) tree(const float* x, float* out) {
  extern __shared__ float cells[];
  cells[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) cells[threadIdx.x] = added(cells[threadIdx.x], cells[threadIdx.x + step]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = cells[0];
}

namespace users {
template <class T>
__global__ void scale(T* x, T by, unsigned long long n) {
  const auto stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) x[i] = x[i] * by;
}
}  // namespace users

__global__ void meeting(int* words) {
  words[blockIdx.x] = 1;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned k = 0; k < gridDim.x; ++k) sum += words[k];
    words[0] = sum;
  }
}

struct pair_of_ints {
  int a, b;
};
__global__ void by_value(pair_of_ints p, int* out) { *out = p.a + p.b; }

/// The greatest of a warp's elements, and of a block's in a tree.
__global__ void greatest(const float* x, float* out) {
  __shared__ float cells[64];
  cells[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 32) return;
  float v = fmaxf(cells[threadIdx.x], cells[threadIdx.x + 32]);
  cells[threadIdx.x] = v;
  for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_down_sync(~0u, v, step));
  if (threadIdx.x == 0) *out = v;
}

/// A scan: half of what is sent is not added.
__global__ void scanned(const int* x, int* out) {
  int v = x[threadIdx.x];
  for (unsigned step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(~0u, v, step);
    if (threadIdx.x >= step) v += before;
  }
  out[threadIdx.x] = v;
}

/*  copy<<<1, 2>>>(…) in a comment, and "<<<" in a string */
const char* text = "<<< and >>>";

int main() {
  float* x = nullptr;
  cudaMallocManaged(&x, 4096);
  copy<<<1, 256>>>(x, x + 256, 256);
  users::scale<float><<<dim3(1), dim3(32, 1, 1), 0, 0>>>(x, 2, 256);
}
