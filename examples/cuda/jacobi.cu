// SPDX-License-Identifier: Apache-2.0
// Heat in a plate by Jacobi's method: tiles of 16 x 8 cells with a rim in shared memory, two arrays by turns, and the greatest
// change by an atomic maximum of floats, made of atomicCAS.
//   warpfold run examples/cuda/jacobi.cu        or: nvcc examples/cuda/jacobi.cu && ./a.out
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const cudaError_t status = (call);                                                       \
    if (status != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(EXIT_FAILURE);                                                               \
    }                                                                                        \
  } while (0)

constexpr int wide = 16, high = 8;

__device__ void atomic_max(float* place, float value) {
  int* const bits = reinterpret_cast<int*>(place);
  int seen = *bits, before;
  do {
    before = seen;
    seen = atomicCAS(bits, before, __float_as_int(fmaxf(value, __int_as_float(before))));
  } while (seen != before);
}

__global__ void jacobi(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, float* change) {
  __shared__ float tile[high + 2][wide + 2];
  const int x = blockIdx.x * wide + threadIdx.x, y = blockIdx.y * high + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  if (x < nx && y < ny) {
    tile[ty][tx] = in[y * nx + x];
    if (tx == 1 && x > 0) tile[ty][0] = in[y * nx + x - 1];
    if (tx == wide && x + 1 < nx) tile[ty][wide + 1] = in[y * nx + x + 1];
    if (ty == 1 && y > 0) tile[0][tx] = in[(y - 1) * nx + x];
    if (ty == high && y + 1 < ny) tile[high + 1][tx] = in[(y + 1) * nx + x];
  }
  __syncthreads();
  if (x == 0 || y == 0 || x >= nx - 1 || y >= ny - 1) return;
  const float next = 0.25f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
  out[y * nx + x] = next;
  atomic_max(change, fabsf(next - tile[ty][tx]));
}

int main(int argc, char** argv) {
  const int nx = argc > 1 ? std::atoi(argv[1]) : 50, ny = 37;
  const std::size_t bytes = sizeof(float) * nx * ny;
  std::vector<float> plate(nx * ny);
  for (int i = 0; i < nx; ++i) plate[i] = 1;  // the upper edge is hot
  float *cells[2], *change;
  CHECK(cudaMalloc(&cells[0], bytes));
  CHECK(cudaMalloc(&cells[1], bytes));
  CHECK(cudaMalloc(&change, sizeof(float)));
  CHECK(cudaMemcpy(cells[0], plate.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(cells[1], cells[0], bytes, cudaMemcpyDeviceToDevice));
  const dim3 block(wide, high), grid((nx + wide - 1) / wide, (ny + high - 1) / high);
  float most = 1;
  int step = 0;
  for (; step < 100 && most > 1e-2f; ++step) {
    CHECK(cudaMemset(change, 0, sizeof(float)));
    jacobi<<<grid, block>>>(cells[step % 2], cells[(step + 1) % 2], nx, ny, change);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&most, change, sizeof most, cudaMemcpyDeviceToHost));
  }
  CHECK(cudaMemcpy(plate.data(), cells[step % 2], bytes, cudaMemcpyDeviceToHost));
  std::printf("%d steps, the last changes %.5f at most; at an eighth of the height: %.6f\n", step, most, plate[ny / 8 * nx + nx / 2]);
  for (float* p : {cells[0], cells[1], change}) CHECK(cudaFree(p));
}
