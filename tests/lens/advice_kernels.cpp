// SPDX-License-Identifier: Apache-2.0
#include "advice_kernels.hpp"

#include <cuda_runtime.h>

namespace {

template <int Row, bool Swizzled>
__global__ void turn(float* x) {
  __shared__ float cells[32 * Row];
  const unsigned t = threadIdx.x, row = threadIdx.y;
  cells[row * Row + (Swizzled ? t ^ row : t)] = x[row * 32 + t];
  __syncthreads();
  x[row * 32 + t] = cells[t * Row + (Swizzled ? row ^ t : row)];  // a column each
}

__global__ void strided(float* x) {
  __shared__ float cells[256];
  const unsigned t = threadIdx.x;
  cells[t] = x[t];
  __syncthreads();
  for (unsigned s = 1; s < 256; s *= 2) {
    const unsigned i = 2 * s * t;
    if (i < 256) cells[i] += cells[i + s];
    __syncthreads();
  }
  if (t == 0) x[0] = cells[0];
}

template <int Step>
__global__ void step(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * Step];
}
__global__ void gather(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * i * 37 % 4096];
}

template <bool Modulo>
__global__ void tree(float* x) {
  __shared__ float cells[256];
  const unsigned t = threadIdx.x;
  cells[t] = x[t];
  __syncthreads();
  for (unsigned k = 1; k < 256; k *= 2) {
    const unsigned s = Modulo ? k : 128 / k;
    if (Modulo ? t % (2 * s) == 0 : t < s) cells[t] += cells[t + s];
    __syncthreads();
  }
  if (t == 0) x[0] = cells[0];
}

template <bool ByWarp>
__global__ void half_work(float* x) {
  const unsigned t = threadIdx.x;
  if ((ByWarp ? t / 32 : t) % 2 == 0)
    for (int k = 0; k < 20; ++k) x[t] = x[t] * 1.5f + static_cast<float>(k % 3);
}

template <bool WarpFirst>
__global__ void add_up(int* sum) {
  int mine = static_cast<int>(threadIdx.x);
  if (WarpFirst) {
    for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
  } else {
    atomicAdd(sum, mine);
  }
}
__global__ void add_in_shared(int* sum) {
  __shared__ int own;
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  atomicAdd(&own, 1);
  __syncthreads();
  if (threadIdx.x == 0) sum[blockIdx.x] = own;
}

__global__ void copy(const float* x, float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x]; }

template <int Operations>
__global__ void compute(float* x) {
  float mine = x[threadIdx.x];
  for (int k = 0; k < Operations; ++k) mine = mine * 1.25f + 0.5f;
  x[threadIdx.x] = mine;
}

template <bool Barrier>
__global__ void neighbour(float* x) {
  __shared__ float cells[64];
  cells[threadIdx.x] = x[threadIdx.x];
  if (Barrier) __syncthreads();
  x[threadIdx.x] = cells[63 - threadIdx.x];
}
__global__ void shift(float* x) {
  __shared__ float cells[65];
  cells[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x == 0) cells[0] = 0;
  __syncthreads();
  cells[threadIdx.x] = cells[threadIdx.x + 1];
  __syncthreads();
  x[threadIdx.x] = cells[threadIdx.x];
}
__global__ void count(int* x) { *x += 1; }

template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), dim3 grid, dim3 block, unsigned shared, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

void launch_subject(subject what) {
  float *x, *y;
  int* sum;
  cudaMalloc(&x, 1 << 16);
  cudaMalloc(&y, 1 << 16);
  cudaMalloc(&sum, 1 << 12);
  cudaMemset(x, 0, 1 << 16);
  cudaMemset(sum, 0, 1 << 12);
  switch (what) {
    case subject::column_of_tile: run(turn<32, false>, 1, dim3(32, 32), 0, x); break;
    case subject::padded_tile: run(turn<33, false>, 1, dim3(32, 32), 0, x); break;
    case subject::swizzled_tile: run(turn<32, true>, 1, dim3(32, 32), 0, x); break;
    case subject::strided_tree: run(strided, 1, 256, 0, x); break;
    case subject::every_eighth: run(step<8>, 4, 256, 0, x, y); break;
    case subject::neighbours: run(step<1>, 4, 256, 0, x, y); break;
    case subject::gathered: run(gather, 4, 256, 0, x, y); break;
    case subject::odd_lanes_work: run(half_work<false>, 1, 256, 0, x); break;
    case subject::whole_warps_work: run(half_work<true>, 1, 256, 0, x); break;
    case subject::modulo_tree: run(tree<true>, 1, 256, 0, x); break;
    case subject::sequential_tree: run(tree<false>, 1, 256, 0, x); break;
    case subject::all_to_one: run(add_up<false>, 4, 256, 0, sum); break;
    case subject::warp_adds_first: run(add_up<true>, 4, 256, 0, sum); break;
    case subject::shared_to_one: run(add_in_shared, 4, 256, 0, sum); break;
    case subject::one_warp_blocks: run(copy, 16, 16, 0, x, y); break;
    case subject::full_blocks: run(copy, 16, 256, 0, x, y); break;
    case subject::ragged_blocks: run(copy, 16, 100, 0, x, y); break;
    case subject::much_shared: run(copy, 16, 256, 100 * 1024, x, y); break;
    case subject::one_flop_a_word: run(compute<1>, 1, 256, 0, x); break;
    case subject::many_flops_a_word: run(compute<200>, 1, 256, 0, x); break;
    case subject::no_barrier: run(neighbour<false>, 1, 64, 0, x); break;
    case subject::with_barrier: run(neighbour<true>, 1, 64, 0, x); break;
    case subject::in_place_shift: run(shift, 1, 64, 0, x); break;
    case subject::between_blocks: run(count, 2, 1, 0, sum); break;
  }
  cudaFree(x);
  cudaFree(y);
  cudaFree(sum);
}
