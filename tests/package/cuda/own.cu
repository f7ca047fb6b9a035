// SPDX-License-Identifier: Apache-2.0
// A user's reduction on the GPU, by the installed headers.
#include <cstdio>
#include <span>
#include <warpfold/gpu.cuh>

struct greatest {
  static constexpr bool commutes = true;
  WF_HD float identity() const { return -3e38f; }
  WF_HD float lift(float x, std::int64_t) const { return x; }
  WF_HD float combine(float a, float b) const { return a < b ? b : a; }
  WF_HD float finish(float s, std::int64_t) const { return s; }
};

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("linked; no GPU here"), 0;
  float* x = nullptr;
  cudaMallocManaged(&x, 4 * sizeof(float));
  for (int i = 0; i < 3; ++i) x[i] = static_cast<float>(i * i);
  {
    const wf::gpu place;
    wf::reduce(place, std::span<const float>(x, 3), x + 3, greatest{});
    cudaDeviceSynchronize();
  }
  std::printf("the greatest is %g\n", x[3]);
  return x[3] == 4 ? 0 : 1;
}
