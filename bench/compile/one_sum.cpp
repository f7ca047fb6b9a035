// SPDX-License-Identifier: Apache-2.0
// A program that sums on a GPU, and does no more.
#include <cstdio>
#include <vector>

#include <warpfold/gpu.hpp>

int main() try {
  const std::vector<float> x{1, 2, 3};
  std::printf("%g\n", static_cast<double>(wf::sum(wf::gpu{}, x)));
} catch (const wf::error& e) {
  std::puts(e.what());
}
