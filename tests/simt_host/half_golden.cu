// SPDX-License-Identifier: Apache-2.0
// Writes half_golden.txt: what a GPU (CC 9.0) computes. Not part of the build:
//   nvcc -std=c++20 -arch=sm_90 half_golden.cu -o half_golden && ./half_golden 20 > half_golden.txt
// A second argument is the name of a case: prints its results one by one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "half_cases.hpp"

template <class Case>
__global__ void checksum(std::uint64_t count, unsigned long long* sum) {
  std::uint64_t mine = 0;
  for (std::uint64_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
    mine += half_cases::term<Case>(i);
  atomicAdd(sum, mine);
}

template <class Case>
__global__ void results(std::uint64_t count, std::uint64_t* out) {
  for (std::uint64_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
    out[i] = Case::run(half_cases::mix(i));
}

template <class Case>
void run(const char* name, int log2_count, const char* wanted) {
  const std::uint64_t count = 1ull << log2_count;
  if (wanted != nullptr && std::strcmp(name, wanted) != 0) return;
  unsigned long long sum = 0;
  void* memory = nullptr;
  cudaMalloc(&memory, wanted != nullptr ? count * 8 : 8);
  if (wanted != nullptr) {
    results<Case><<<1024, 256>>>(count, static_cast<std::uint64_t*>(memory));
    std::vector<std::uint64_t> host(count);
    cudaMemcpy(host.data(), memory, count * 8, cudaMemcpyDeviceToHost);
    for (std::uint64_t i = 0; i < count; ++i)
      std::printf("%016llx\n", static_cast<unsigned long long>(host[i]));
  } else {
    cudaMemset(memory, 0, 8);
    checksum<Case><<<1024, 256>>>(count, static_cast<unsigned long long*>(memory));
    cudaMemcpy(&sum, memory, 8, cudaMemcpyDeviceToHost);
    std::printf("%s %d %016llx\n", name, log2_count, sum);
  }
  cudaFree(memory);
  if (const cudaError_t e = cudaGetLastError()) {
    std::fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(e));
    std::exit(3);
  }
}

int main(int argc, char** argv) {
  const int log2_count = argc > 1 ? std::atoi(argv[1]) : 20;
  const char* const wanted = argc > 2 ? argv[2] : nullptr;
#define HALF_RUN(name, T, T2, M, expression) \
  run<half_cases::name##_case>(#name, log2_count, wanted);
  HALF_CASES(HALF_RUN)
}
