// SPDX-License-Identifier: Apache-2.0
// A sparse matrix times a vector, rows in CSR form: a thread a row, and a warp a row. The matrix is a struct of pointers, handed over by value.
//   warpfold run examples/cuda/spmv.cu        or: nvcc examples/cuda/spmv.cu && ./a.out
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

inline void check(cudaError_t code, const char* file, int line) {
  if (code == cudaSuccess) return;
  std::cerr << file << ':' << line << ": " << cudaGetErrorString(code) << '\n';
  std::exit(code);
}
#define check(call) check((call), __FILE__, __LINE__)

struct csr {
  int rows;
  const int* row_begin;
  const int* column;
  const double* value;
};

__global__ void thread_a_row(csr m, const double* x, double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.rows) return;
  double sum = 0;
  for (int k = m.row_begin[row]; k < m.row_begin[row + 1]; ++k) sum += m.value[k] * x[m.column[k]];
  y[row] = sum;
}

template <unsigned lanes = 32>
__global__ void warp_a_row(const csr m, const double* __restrict__ x, double* __restrict__ y) {
  const unsigned lane = threadIdx.x % lanes;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
  if (row >= m.rows) return;
  double sum = 0;
  for (int k = m.row_begin[row] + lane; k < m.row_begin[row + 1]; k += lanes) sum = fma(m.value[k], __ldg(&x[m.column[k]]), sum);
#pragma unroll
  for (unsigned step = lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) y[row] = sum;
}

template <class T>
const T* on_device(const std::vector<T>& from) {
  T* to = nullptr;
  check(cudaMalloc(&to, from.size() * sizeof(T)));
  check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return to;
}

int main() {
  const int n = 300;
  std::mt19937 random(42);
  std::vector<int> begin{0}, column;
  std::vector<double> value, x(n), y(n), other(n);
  for (int row = 0; row < n; ++row) {
    for (unsigned k = random() % 60; k > 0; --k) {
      column.push_back(random() % n);
      value.push_back(random() % 100);  // whole numbers: any order of additions gives the same sum
    }
    begin.push_back(static_cast<int>(column.size()));
    x[row] = row + 1;
  }
  const csr m{n, on_device(begin), on_device(column), on_device(value)};
  const double* const in = on_device(x);
  double* out = nullptr;
  check(cudaMalloc(&out, n * sizeof(double)));
  thread_a_row<<<(n + 127) / 128, 128>>>(m, in, out);
  check(cudaPeekAtLastError());
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(y.data(), out, n * sizeof(double), cudaMemcpyDeviceToHost));
  warp_a_row<><<<(n * 32 + 127) / 128, 128>>>(m, in, out);
  check(cudaMemcpy(other.data(), out, n * sizeof(double), cudaMemcpyDeviceToHost));
  int differ = 0;
  double total = 0;
  for (int row = 0; row < n; ++row) {
    differ += y[row] != other[row];
    total += y[row];
  }
  std::cout << value.size() << " numbers that are not zero, sum " << total << ", rows that differ " << differ << std::endl;
}
