// SPDX-License-Identifier: Apache-2.0
// Launches in all their forms, for the translator: in macros, in templates, through pointers, with deduced and default
// arguments, of overloads, of kernels declared before they are defined, in namespaces without a name.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define LAUNCH(kernel, count, ...) kernel<<<((count) + 63) / 64, 64>>>(__VA_ARGS__)

template <typename T, int N = 4>
__global__ void scale(T* x, int, int n = 100);
template <typename T, int N>
__global__ void __launch_bounds__(256) scale(T* x, int by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * T(N) + T(by);
}

__global__ void set(float* x, const float value) { x[threadIdx.x] = value; }
__global__ void set(double* x, const double value) { x[threadIdx.x] = -value; }
template <typename... Ts>
__global__ void add_all(int* sum, Ts... xs) {
  *sum = (xs + ... + 0);
}

struct params {
  int a;
  float* out;
};
static __global__ void take(const params p) { p.out[threadIdx.x] += p.a; }

namespace a {
namespace {
__global__ void inner(float* x) { x[threadIdx.x] += 1; }
}  // namespace
}  // namespace a
extern "C" __global__ void named(float* x) {
  if (threadIdx.x == 0) x[0] += 0.5f;
}

template <class T>
void through(T* x) {
  scale<<<2, 64>>>(x, 1);
  scale<T, 8><<<dim3(1, 1), 64, 0>>>(x, int{}, 50);
}
template <void (*Kernel)(float*)>
void by_parameter(float* x) {
  Kernel<<<1, 32>>>(x);
}

int main() {
  const int n = 100;
  float* x;
  double* d;
  int* sum;
  if (cudaMalloc(&x, n * sizeof(float)) || cudaMalloc(&d, n * sizeof(double)) || cudaMalloc(&sum, sizeof(int))) return 1;
  LAUNCH(set, 64, x, 2);
  set<<<1, n>>>(x, 1);
  set<<<1, n>>>(d, 1);
  through(x);
  void (*pointer)(float*) = a::inner;
  pointer<<<1, 32>>>(x);
  (n > 50 ? a::inner : named)<<<1, 32>>>(x);
  a::inner<<<[](int k) { return k << 1 >> 1; }(1), 32>>>(x);
  by_parameter<named>(x);
  const std::function<void()> later = [=] { take<<<1, 10>>>(params{3, x}); };
  later();
  add_all<<<1, 1>>>(sum, 1, 2, 3L);
  void* arguments[] = {&x};
  cudaLaunchKernel((void*)named, dim3(1), dim3(1), arguments, 0, nullptr);
  std::vector<float> h(n);
  double first = 0;
  int total = 0;
  cudaMemcpy(h.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(&first, d, sizeof first, cudaMemcpyDeviceToHost);
  cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost);
  std::printf("x0 %g, x9 %g, x40 %g, x99 %g; d %g, sum %d; a <<< in a string, R\"(and >>>)\": %s\n", h[0], h[9], h[40], h[99], first, total,
              cudaGetErrorString(cudaGetLastError()));
}
