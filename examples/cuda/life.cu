// SPDX-License-Identifier: Apache-2.0
// Conway's game of life on a torus: blocks of 32 x 8 cells with a rim, rows of pitched memory, copies of two dimensions on a stream.
//   warpfold run examples/cuda/life.cu        or: nvcc examples/cuda/life.cu && ./a.out
#include <cstdio>
#include <utility>

constexpr int width = 40, height = 20;

__global__ void life(const unsigned char* in, size_t in_pitch, unsigned char* out, size_t out_pitch) {
  __shared__ unsigned char cells[10][34];
  for (int j = threadIdx.y; j < 10; j += blockDim.y)
    for (int i = threadIdx.x; i < 34; i += blockDim.x) {
      const int x = (blockIdx.x * 32 + i + width - 1) % width, y = (blockIdx.y * 8 + j + height - 1) % height;
      cells[j][i] = in[y * in_pitch + x];
    }
  __syncthreads();
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  int around = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) around += (i != 1 || j != 1) && cells[threadIdx.y + j][threadIdx.x + i];
  out[y * out_pitch + x] = around == 3 || (around == 2 && cells[threadIdx.y + 1][threadIdx.x + 1]);
}

int main() {
  unsigned char field[height][width] = {};
  field[1][2] = field[2][3] = field[3][1] = field[3][2] = field[3][3] = 1;  // a glider: one cell down and right in four steps
  unsigned char *now, *next;
  size_t now_pitch, next_pitch;
  cudaMallocPitch(&now, &now_pitch, width, height);
  cudaMallocPitch(&next, &next_pitch, width, height);
  cudaMemcpy2D(now, now_pitch, field, width, width, height, cudaMemcpyHostToDevice);
  cudaMemset2D(next, next_pitch, 0, width, height);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
  for (int step = 0; step < 40; ++step) {
    life<<<grid, block, 0, stream>>>(now, now_pitch, next, next_pitch);
    std::swap(now, next);
    std::swap(now_pitch, next_pitch);
  }
  cudaMemcpy2DAsync(field, width, now, now_pitch, width, height, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (field[y][x]) std::printf("(%d, %d) ", x, y);
  std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
