// SPDX-License-Identifier: Apache-2.0
// A product of matrices by tiles in shared memory, against the host's.
#include <cstdio>
#include <random>
#include <vector>

#define TILE 16

struct matrix {
  int width, height;
  float* elements;
  __host__ __device__ float& at(int row, int column) const { return elements[row * width + column]; }
};

__global__ void multiply(const matrix a, const matrix b, matrix c) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < (a.width + TILE - 1) / TILE; ++k) {
    const int x = k * TILE + threadIdx.x, y = k * TILE + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < a.height && x < a.width ? a.at(row, x) : 0;
    tile_b[threadIdx.y][threadIdx.x] = y < b.height && column < b.width ? b.at(y, column) : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < c.height && column < c.width) c.at(row, column) = sum;
}

matrix on_device(const std::vector<float>& host, int height, int width) {
  matrix m{width, height, nullptr};
  cudaMalloc(&m.elements, sizeof(float) * width * height);
  if (!host.empty()) cudaMemcpy(m.elements, host.data(), sizeof(float) * width * height, cudaMemcpyHostToDevice);
  return m;
}

int main() {
  const int m = 50, n = 70, k = 40;
  std::mt19937 random(7);
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (float& x : a) x = float(random() % 16) - 8;  // whole numbers: every order of additions is exact
  for (float& x : b) x = float(random() % 16) - 8;
  const matrix da = on_device(a, m, k), db = on_device(b, k, n), dc = on_device({}, m, n);
  multiply<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(da, db, dc);
  if (cudaError_t e = cudaGetLastError()) return std::printf("%s\n", cudaGetErrorString(e)), 1;
  cudaMemcpy(c.data(), dc.elements, sizeof(float) * m * n, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      wrong += sum != c[i * n + j];
    }
  std::printf("c[0][0] = %g, c[%d][%d] = %g, %d of %d wrong\n", c[0], m - 1, n - 1, c[m * n - 1], wrong, m * n);
  for (const matrix& x : {da, db, dc}) cudaFree(x.elements);
  return wrong != 0;
}
