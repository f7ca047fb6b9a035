// SPDX-License-Identifier: Apache-2.0
/// Twenty kernels that are not the ladder's, each with counters that a pencil can derive (twenty_test.cpp): a stencil, transposes,
/// products, histograms, scans, softmax, attention, gathers, compaction. twenty.cu launches them as a whole program.
#pragma once

#include <cuda_runtime.h>

namespace twenty {

constexpr int n = 4096, threads = 256;

__global__ void copy(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
__global__ void copy_by_fours(const float4* x, float4* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
__global__ void copy_shifted(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i + 1];
}
__global__ void stencil(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];
}
__global__ void stencil_in_shared(const float* x, float* y) {
  __shared__ float cells[threads + 2];
  const int i = blockIdx.x * threads + threadIdx.x, t = threadIdx.x;
  cells[t + 1] = x[i];
  if (t == 0) cells[0] = i > 0 ? x[i - 1] : 0.0f;
  if (t == threads - 1) cells[threads + 1] = i < n - 1 ? x[i + 1] : 0.0f;
  __syncthreads();
  y[i] = cells[t] + cells[t + 1] + cells[t + 2];
}

constexpr int side = 64;  // blocks of 32 x 8 turn a tile of 32 x 32
__global__ void transpose(const float* x, float* y) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) y[column * side + row + k] = x[(row + k) * side + column];
}
template <int width>
__global__ void transpose_tiled(const float* x, float* y) {
  __shared__ float tile[32][width];
  const int column = threadIdx.x, row = threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[row + k][column] = x[(blockIdx.y * 32 + row + k) * side + blockIdx.x * 32 + column];
  __syncthreads();
  for (int k = 0; k < 32; k += 8) y[(blockIdx.x * 32 + row + k) * side + blockIdx.y * 32 + column] = tile[column][row + k];
}

constexpr int rows = 64, columns = 64;
__global__ void matvec_thread_a_row(const float* a, const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < columns; ++k) sum += a[row * columns + k] * x[k];
  y[row] = sum;
}
__device__ inline float over_warp(float sum) {
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  return sum;
}
__global__ void matvec_warp_a_row(const float* a, const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int k = lane; k < columns; k += 32) sum += a[row * columns + k] * x[k];
  sum = over_warp(sum);
  if (lane == 0) y[row] = sum;
}
__global__ void matmul(const float* a, const float* b, float* c) {  // matrices of 32 x 32, by tiles of 16 x 16
  __shared__ float of_a[16][16], of_b[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int first = 0; first < 32; first += 16) {
    of_a[ty][tx] = a[row * 32 + first + tx];
    of_b[ty][tx] = b[(first + ty) * 32 + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += of_a[ty][k] * of_b[k][tx];
    __syncthreads();
  }
  c[row * 32 + column] = sum;
}

constexpr int bins = 64;
__global__ void histogram(const int* x, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&counts[x[i] % bins], 1);
}
__global__ void histogram_in_shared(const int* x, int* counts) {
  __shared__ int own[bins];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  if (t < bins) own[t] = 0;
  __syncthreads();
  atomicAdd(&own[x[i] % bins], 1);
  __syncthreads();
  if (t < bins) atomicAdd(&counts[t], own[t]);
}
__global__ void radix_count(const int* x, int* counts) {  // counts the digit of 4 bits from bit 4 on
  __shared__ int own[16];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  if (t < 16) own[t] = 0;
  __syncthreads();
  atomicAdd(&own[x[i] >> 4 & 15], 1);
  __syncthreads();
  if (t < 16) counts[blockIdx.x * 16 + t] = own[t];
}
__global__ void scan(const int* x, int* y) {  // each block by itself, by doubling steps and two arrays
  __shared__ int cells[2][threads];
  const int i = blockIdx.x * threads + threadIdx.x, t = threadIdx.x;
  int now = 0;
  cells[0][t] = x[i];
  __syncthreads();
  for (int step = 1; step < threads; step *= 2, now = 1 - now) {
    int sum = cells[now][t];
    if (t >= step) sum += cells[now][t - step];
    cells[1 - now][t] = sum;
    __syncthreads();
  }
  y[i] = cells[now][t];
}
__global__ void softmax(const float* x, float* y) {  // a warp a row of 64
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const float a = x[row * 64 + lane], b = x[row * 64 + 32 + lane];
  float most = fmaxf(a, b);
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
  const float p = expf(a - most), q = expf(b - most);
  float sum = p + q;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  y[row * 64 + lane] = p / sum;
  y[row * 64 + 32 + lane] = q / sum;
}
__global__ void attention_row(const float* q, const float* keys, const float* values, float* out) {  // one query, 64 keys of 64
  __shared__ float weight[64];
  const int t = threadIdx.x, lane = t % 32;
  const float q0 = q[lane], q1 = q[32 + lane];
  for (int key = t / 32; key < 64; key += 2) {
    const float score = over_warp(q0 * keys[key * 64 + lane] + q1 * keys[key * 64 + 32 + lane]);
    if (lane == 0) weight[key] = expf(score);
  }
  __syncthreads();
  float sum = 0, all = 0;
  for (int key = 0; key < 64; ++key) {
    const float w = weight[key];
    all += w;
    sum += w * values[key * 64 + t];
  }
  out[t] = sum / all;
}
__global__ void gather(const float* x, const int* index, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[index[i] * 8 % n];
}
__global__ void tree(const float* x, float* sums) {
  __shared__ float cells[threads];
  const int t = threadIdx.x;
  cells[t] = x[blockIdx.x * threads + t];
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (t < step) cells[t] += cells[t + step];
  }
  if (t == 0) sums[blockIdx.x] = cells[0];
}
__global__ void keep_even(const int* x, int* y, int* kept) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const int value = x[i];
  const bool is_even = value % 2 == 0;
  const unsigned chosen = __ballot_sync(0xffffffff, is_even);
  int first = 0;
  if (lane == 0) first = atomicAdd(kept, __popc(chosen));
  first = __shfl_sync(0xffffffff, first, 0);
  if (is_even) y[first + __popc(chosen & ((1u << lane) - 1))] = value;
}

/// LAUNCH(kernel, grid, block, arguments…) of each, on arrays of n and some more elements; `ints` are 0, 1, 2 ….
#define TWENTY_LAUNCHES(LAUNCH, x, y, ints, counts)                                                          \
  LAUNCH(twenty::copy, 16, 256, x, y)                                                                        \
  LAUNCH(twenty::copy_by_fours, 4, 256, reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y))    \
  LAUNCH(twenty::copy_shifted, 16, 256, x, y)                                                                \
  LAUNCH(twenty::stencil, 16, 256, x, y)                                                                     \
  LAUNCH(twenty::stencil_in_shared, 16, 256, x, y)                                                           \
  LAUNCH(twenty::transpose, dim3(2, 2), dim3(32, 8), x, y)                                                   \
  LAUNCH(twenty::transpose_tiled<32>, dim3(2, 2), dim3(32, 8), x, y)                                         \
  LAUNCH(twenty::transpose_tiled<33>, dim3(2, 2), dim3(32, 8), x, y)                                         \
  LAUNCH(twenty::matvec_thread_a_row, 1, 64, x, x, y)                                                        \
  LAUNCH(twenty::matvec_warp_a_row, 8, 256, x, x, y)                                                         \
  LAUNCH(twenty::matmul, dim3(2, 2), dim3(16, 16), x, x, y)                                                  \
  LAUNCH(twenty::histogram, 16, 256, ints, counts)                                                           \
  LAUNCH(twenty::histogram_in_shared, 16, 256, ints, counts)                                                 \
  LAUNCH(twenty::radix_count, 16, 256, ints, counts)                                                         \
  LAUNCH(twenty::scan, 16, 256, ints, counts)                                                                \
  LAUNCH(twenty::softmax, 4, 256, x, y)                                                                      \
  LAUNCH(twenty::attention_row, 1, 64, x, x, x, y)                                                           \
  LAUNCH(twenty::gather, 16, 256, x, ints, y)                                                                \
  LAUNCH(twenty::tree, 16, 256, x, y)                                                                        \
  LAUNCH(twenty::keep_even, 16, 256, ints, counts, counts + twenty::n)

}  // namespace twenty
