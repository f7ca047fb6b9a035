// SPDX-License-Identifier: Apache-2.0
// Three reductions of device memory by warpfold: a sum, the greatest element, a mean.
#include <warpfold/gpu.hpp>

void three(const wf::gpu& place, const float* x, std::size_t n, float* out);
void three(const wf::gpu& place, const float* x, std::size_t n, float* out) {
  const std::span values(x, n);
  wf::sum(place, values, out);
  wf::max(place, values, out + 1);
  wf::mean(place, values, out + 2);
}
int main() {}
