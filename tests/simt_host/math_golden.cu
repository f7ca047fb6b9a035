// SPDX-License-Identifier: Apache-2.0
// Writes what a GPU computes, for math_golden_test.cpp: `scripts/gpu run OUT golden` does, or by hand
//   nvcc -std=c++17 -arch=native tests/simt_host/math_golden.cu -o math_golden && ./math_golden > tests/simt_host/math_golden.txt
// Without a GPU `warpfold run tests/simt_host/math_golden.cu` prints what simt computes, which is no golden file.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "math_golden.hpp"

template <class Case>
__global__ void ask(unsigned long long* out) {
  out[threadIdx.x] = Case::run(threadIdx.x);
}

template <class Case>
__global__ void sum_up(unsigned long long* sum) {
  std::uint64_t mine = 0;
  for (std::uint64_t i = blockIdx.x * 256ull + threadIdx.x; i < math_golden::summed; i += gridDim.x * 256ull) mine += math_golden::term<Case>(i);
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

template <class Case>
void run(const char* name) {
  static unsigned long long* memory = nullptr;
  unsigned long long host[math_golden::answers + 1] = {};
  if (memory == nullptr) cudaMalloc(&memory, sizeof host);
  cudaMemset(memory, 0, sizeof host);
  ask<Case><<<1, math_golden::answers>>>(memory);
  if (Case::bound == 0) sum_up<Case><<<64, 256>>>(memory + math_golden::answers);
  const cudaError_t e = cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(e));
    std::exit(3);
  }
  std::printf("%s %016llx", name, host[math_golden::answers]);
  for (unsigned i = 0; i < math_golden::answers; ++i) std::printf(" %llx", host[i]);
  std::printf("\n");
}

int main() {
#define MATH_GOLDEN_USE(Case, name) run<math_golden::Case>(name);
  MATH_GOLDEN_CASES
}
