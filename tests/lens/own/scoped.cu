// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory in namespaces, a kernel of PTX that is not asked for, a race beside a barrier that part of a block misses.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace outer::inner {
extern __shared__ float cells[];
template <class T>
__global__ void turned(const T* x, T* y) {
  extern __shared__ int places[];
  places[threadIdx.x] = static_cast<int>(blockDim.x - 1 - threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = x[places[threadIdx.x]];
}
}  // namespace outer::inner

__global__ void clock_of(unsigned* y) {
  unsigned l;
  asm("mov.u32 %0, %%laneid;" : "=r"(l));
  y[threadIdx.x] = l;
}

__device__ unsigned lane_by_ptx() {
  unsigned l;
  asm("mov.u32 %0, %%laneid;" : "=r"(l));
  return l;
}
__device__ unsigned twice_lane() { return 2 * lane_by_ptx(); }
__global__ void calls_ptx(unsigned* y) { y[threadIdx.x] = twice_lane(); }

/// Lane 0 sees 0 or 31, by the order of the lanes.
__global__ void misses(int* out) {
  volatile int* seen = out;
  *seen = static_cast<int>(threadIdx.x);
  if (*seen == 31 && threadIdx.x == 0) return;
  __syncthreads();
}

/// Reads what another warp writes, if it has had its turn, and then half of the block waits for the other.
__global__ void reads_and_misses(int* out) {
  __shared__ int cells[64];
  cells[threadIdx.x] = 1;
  out[threadIdx.x] = cells[63 - threadIdx.x];
  if (threadIdx.x < 32) __syncthreads();
}
