// SPDX-License-Identifier: Apache-2.0
// A side stair: what the type of the sum, and the order of the additions, do to the result.
//
// An f16 has 11 bits: 2048 + 1 is 2048 again, and a serial f16 sum of ones stops there for ever. A
// tree of f16 additions is right for ones up to 2^15, as it adds equals, and an f32 sum of f16
// elements is right further still. A serial sum's error grows with n, a tree's with log n. That is
// why the rungs sum f16 in f32, and why a parallel sum is more accurate than a loop.
#pragma once
#include <vector>

#include <warpfold/detail/exact/sum_state.hpp>

#include "check.cuh"
#include "rung.cuh"

namespace ladder::inline WF_BUILD {

__device__ inline float precision_add(float a, float b) { return a + b; }
__device__ inline __half precision_add(__half a, __half b) { return __hadd(a, b); }

/// One thread adds all, in the order of the array.
template <class S>
__global__ void precision_serial(S* x, std::uint64_t n) {
  S sum = x[0];
  for (std::uint64_t i = 1; i < n; ++i) sum = precision_add(sum, x[i]);
  x[0] = sum;
}

/// x[i] += x[i + half] for what lies above half: one level of the tree.
template <class S>
__global__ void precision_level(S* x, std::uint64_t n, std::uint64_t half) {
  const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i + half < n) x[i] = precision_add(x[i], x[i + half]);
}

/// The sum in x[0], in type S throughout.
template <class S>
cudaError_t precision_sum(S* x, std::uint64_t n, bool by_tree, cudaStream_t stream) {
  run r;
  r.stream = stream;
  r.block = by_tree ? 256 : 1;
  if (!by_tree) return launch(r, precision_serial<S>, 1, 0, x, n);
  for (std::uint64_t width = n; width > 1; width = divide_up(width, 2)) {
    const std::uint64_t half = divide_up(width, 2);
    const cudaError_t e =
        launch(r, precision_level<S>, blocks_for(half, r.block), 0, x, width, half);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

template <class S>
double precision_result(const std::vector<float>& data, bool by_tree, cudaStream_t stream) {
  std::vector<S> elements(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) elements[i] = S(data[i]);
  device_memory x(data.size() * sizeof(S));
  auto* p = static_cast<S*>(x.get());
  copy_in(p, elements.data(), data.size() * sizeof(S), stream);
  check(precision_sum(p, data.size(), by_tree, stream), "precision");
  check(cudaStreamSynchronize(stream), "precision");
  S sum;
  check(cudaMemcpy(&sum, p, sizeof sum, cudaMemcpyDeviceToHost), "precision");
  return static_cast<double>(static_cast<float>(sum));
}

/// Sums of f16 elements, ones and uniform in [0, 1), for n = 2^10, 2^12 … up to `most`.
inline std::vector<precision_row> run_precisions(std::uint64_t most, cudaStream_t stream) {
  std::vector<precision_row> rows;
  for (const bool ones : {true, false})
    for (std::uint64_t n = 1024; n <= most; n *= 4) {
      std::vector<float> data(n);
      auto exact = wf::exact::sum_state<float>::identity();
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto hash = static_cast<std::uint32_t>((i + 1) * 0x9e3779b97f4a7c15ull >> 40);
        data[i] = ones ? 1.0f : static_cast<float>(hash & 2047) / 2048;  // 11 bits: an f16
        exact.add(data[i]);
      }
      const auto add = [&](std::string_view sum, double result) {
        rows.push_back({ones ? "ones" : "uniform", sum, n, result, exact.value<double>()});
      };
      add("f16 serial", precision_result<__half>(data, false, stream));
      add("f16 tree", precision_result<__half>(data, true, stream));
      add("f32 serial", precision_result<float>(data, false, stream));
      add("f32 tree", precision_result<float>(data, true, stream));
    }
  return rows;
}

}  // namespace ladder::inline WF_BUILD
