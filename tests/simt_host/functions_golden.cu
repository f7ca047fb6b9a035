// SPDX-License-Identifier: Apache-2.0
// Writes what a GPU computes, for functions_golden_test.cpp: `scripts/gpu run OUT golden` does, or by hand
//   nvcc -std=c++20 -arch=native tests/simt_host/functions_golden.cu -o functions_golden && ./functions_golden > tests/simt_host/functions_golden.txt
// A line a function: its line of the list, a checksum, and the first answers, of those that CUDA does not promise to the last bit
// more. `functions_golden all` writes more of the answers, of functions of one half every one, to find where simt differs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "functions_golden.hpp"

using functions_golden::answer;

answer* memory = nullptr;                     // on the device, with the checksum behind the answers
answer host[functions_golden::summed + 1];

template <class Line>
__global__ void ask(answer* answers, std::uint64_t count, unsigned long long* sum) {
  std::uint64_t mine = 0;
  for (std::uint64_t i = blockIdx.x * 256ull + threadIdx.x; i < functions_golden::summed; i += gridDim.x * 256ull) {
    const answer a = functions_golden::run<Line>(i);
    if (i < count) answers[i] = a;
    mine += functions_golden::term(i, a);
  }
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

template <class Line>
void write(bool all) {
  if constexpr (functions_golden::facts<Line>::is_asked) {
    using types = typename Line::types;
    const int words = functions_golden::words_of(types{});
    std::uint64_t count = all ? 1024 : functions_golden::kept<Line>();
    if (all && functions_golden::is_of_one_half(types{})) count = functions_golden::summed;
    if (memory == nullptr) cudaMalloc(&memory, sizeof host);
    answer* const sum = memory + functions_golden::summed;
    cudaMemset(sum, 0, sizeof *sum);
    ask<Line><<<64, 256>>>(memory, count, reinterpret_cast<unsigned long long*>(sum));
    const cudaError_t e = cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
      std::fprintf(stderr, "%s: %s\n", Line::text, cudaGetErrorString(e));
      std::exit(3);
    }
    std::printf("%s: %016llx", Line::text, static_cast<unsigned long long>(host[functions_golden::summed].words[0]));
    for (std::uint64_t i = 0; i < count; ++i)
      for (int k = 0; k < words; ++k) std::printf(" %llx", static_cast<unsigned long long>(host[i].words[k]));
    std::printf("\n");
  }
}

int main(int argc, char** argv) {
  const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
#define HAS(...) HAS_AT(__LINE__)
#define HAS_AT(number) HAS_CASE(number)
#define HAS_CASE(number) write<functions_golden::line_##number>(all);
#include "cuda_functions.inc"
}
