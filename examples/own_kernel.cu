// SPDX-License-Identifier: Apache-2.0
// A kernel of your own under the lens: the column sums of a matrix, with bank conflicts, and without them
// when the tile has a 33rd column that nobody uses.
#include <cuda_runtime.h>

#include <cstdio>

/// out[c] = the sum of column c of a matrix of side x side. A block sums 32 columns, a warp one row of
/// its tile at a time; then each warp adds the tile's columns, lane by lane.
template <int padding>
__global__ void column_sums(const float* x, float* out, int side) {
  __shared__ float tile[32][32 + padding];
  const int column = blockIdx.x * 32 + threadIdx.x;
  for (int first = 0; first < side; first += 32) {
    for (int row = threadIdx.y; row < 32; row += 8) tile[row][threadIdx.x] = x[(first + row) * side + column];
    __syncthreads();
    // Lanes go down a column: without the padding, 32 words of one bank.
    for (int c = threadIdx.y; c < 32; c += 8) {
      float part = tile[threadIdx.x][c];
      for (int step = 16; step > 0; step /= 2) part += __shfl_down_sync(~0u, part, step);
      if (threadIdx.x == 0) atomicAdd(out + blockIdx.x * 32 + c, part);
    }
    __syncthreads();
  }
}

// As any CUDA program. On a CPU, with what its kernel does counted:
//
//     warpfold explain 'own_kernel.cu:column_sums<0>' --grid 32 --block 32x8 --arg f32[1M] --arg out:f32[1K] --arg 1024
int main() {
  constexpr int side = 1024;
  float *x = nullptr, *out = nullptr;
  if (cudaMallocManaged(&x, sizeof(float) * side * side) != cudaSuccess) return std::puts("no GPU"), 0;
  cudaMallocManaged(&out, sizeof(float) * side);
  for (int i = 0; i < side * side; ++i) x[i] = 1;
  column_sums<1><<<side / 32, dim3(32, 8)>>>(x, out, side);
  cudaDeviceSynchronize();
  std::printf("%g\n", out[0]);
  return out[0] == side ? 0 : 1;
}
