// SPDX-License-Identifier: Apache-2.0
// Writes runtime_golden.txt: what CUDA 13 gives on a GPU. Not part of the build:
//   g++ -std=c++20 runtime_golden.cpp -lcudart -o runtime_golden && ./runtime_golden >
//   runtime_golden.txt
#include <cuda_runtime.h>

#include "capture_cases.hpp"

int main() {
  run_runtime_cases();
  run_capture_cases();
  std::fputs(output.c_str(), stdout);
}
