// SPDX-License-Identifier: Apache-2.0
// A matrix turned over: straight from global memory, through a tile with conflicts, and through a padded one.
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                      \
  if (cudaError_t e = (call); e != cudaSuccess) {                                        \
    std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e));     \
    return 1;                                                                            \
  }

constexpr int tile = 32, rows = 8;

__global__ void naive(float* out, const float* in, int width, int height) {
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (int j = 0; j < tile; j += rows)
    if (x < width && y + j < height) out[x * height + y + j] = in[(y + j) * width + x];
}

template <int Padding>
__global__ void tiled(float* out, const float* in, int width, int height) {
  __shared__ float cells[tile][tile + Padding];
  int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (int j = 0; j < tile; j += rows)
    if (x < width && y + j < height) cells[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * tile + threadIdx.x;
  y = blockIdx.x * tile + threadIdx.y;
  for (int j = 0; j < tile; j += rows)
    if (x < height && y + j < width) out[(y + j) * height + x] = cells[threadIdx.x][threadIdx.y + j];
}

using kernel = void (*)(float*, const float*, int, int);

int main() {
  const int width = 130, height = 97;
  std::vector<float> in(width * height), out(width * height);
  for (int i = 0; i < width * height; ++i) in[i] = float(i);
  float *from, *to;
  CHECK(cudaMalloc(&from, in.size() * sizeof(float)));
  CHECK(cudaMalloc(&to, in.size() * sizeof(float)));
  CHECK(cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
  const struct {
    const char* name;
    kernel function;
  } kernels[] = {{"naive", naive}, {"tile", tiled<0>}, {"padded tile", tiled<1>}};
  const dim3 block(tile, rows), grid((width + tile - 1) / tile, (height + tile - 1) / tile);
  for (const auto& k : kernels) {
    CHECK(cudaMemset(to, 0, in.size() * sizeof(float)));
    // [launch]
    k.function<<<grid, block>>>(to, from, width, height);
    CHECK(cudaGetLastError());       // could it start?
    CHECK(cudaDeviceSynchronize());  // did it end well? Not in a finished program: it waits for the GPU
    // [/launch]
    CHECK(cudaMemcpy(out.data(), to, in.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) wrong += out[x * height + y] != in[y * width + x];
    std::printf("%s: %d of %d wrong\n", k.name, wrong, width * height);
  }
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}
