// SPDX-License-Identifier: Apache-2.0
// cuda_types.cuh: arrays of CUDA's own element types, by a .cpp with CUDA's headers and no nvcc. Here simt's headers and place stand for
// CUDA's headers and wf::gpu.
#include <type_traits>
#include <vector>

#include <warpfold/cuda_types.cuh>
#include <warpfold/gpu.hpp>

#include "expect.hpp"

static_assert(std::is_same_v<wf::stands_for<__half>::type, wf::f16> && std::is_same_v<wf::stands_for<__nv_bfloat16>::type, wf::bf16>);
static_assert(std::is_same_v<wf::stands_for<float2>::type, wf::c64> && std::is_same_v<wf::stands_for<double2>::type, wf::c128>);

int main() {
  const std::vector<__half> halves(100, __float2half(0.5F));
  const std::vector<float2> complex_numbers(100, float2{1, -1});
  const wf::simulated_gpu place;
  expect(static_cast<float>(wf::sum(place, halves)) == 50);  // a wf::f16
  expect(wf::sum(place, complex_numbers) == wf::c64(100, -100));
}
