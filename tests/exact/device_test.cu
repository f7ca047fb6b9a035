// SPDX-License-Identifier: Apache-2.0
// The same source on the host and on a GPU: states and rounded values, word by word.
#include <gtest/gtest.h>

#include <cstring>

#include <warpfold/detail/exact/products.hpp>
#include <warpfold/exact_sum.hpp>

#include "../support/exact_families.hpp"
#include "words.hpp"

namespace wf::test {
namespace {

// Everything that a kernel may want of the exact core. All members are 64-bit: no padding.
template <class T>
struct everything {
  exact::sum_state<T> sum;
  exact::dot_state<T> dot;
  exact::squares_state<T> squares;
  exact::moments_state<T> moments;
  std::uint64_t value[5][9];
};

template <class U>
WF_HD std::uint64_t bits_of(U x) {
  return static_cast<std::uint64_t>(exact::format<U>::to_bits(x));
}

template <class T>
WF_HD void compute(const T* x, const T* y, int n, everything<T>& out) {
  out.sum = exact::sum_state<T>::identity();
  out.dot = exact::dot_state<T>::identity();
  out.squares = exact::squares_state<T>::identity();
  out.moments = exact::moments_state<T>::identity();
  auto half = out.moments;
  for (int i = 0; i < n; ++i) {
    out.sum.add(x[i]);
    out.dot.add(x[i], y[i]);
    out.squares.add(x[i]);
    (i % 2 != 0 ? half : out.moments).add(x[i]);
  }
  out.moments.merge(half);
  constexpr rounding modes[] = {rounding::nearest, rounding::zero, rounding::away, rounding::up,
                                rounding::down};
  for (int m = 0; m < 5; ++m) {
    std::uint64_t* v = out.value[m];
    v[0] = bits_of(out.sum.value(modes[m]));
    v[1] = bits_of(out.sum.template value<f16>(modes[m]));
    v[2] = bits_of(out.sum.template value<double>(modes[m]));
    v[3] = bits_of(out.sum.template round_pair<float>(modes[m]).lo);
    v[4] = bits_of(out.dot.value(modes[m]));
    v[5] = bits_of(out.squares.norm(modes[m]));
    v[6] = bits_of(out.moments.mean(modes[m]));
    v[7] = bits_of(out.moments.var(1, modes[m]));
    v[8] = bits_of(out.moments.template std<double>(0, modes[m]));
  }
  out.sum.normalise();
  out.dot.normalise();
  out.squares.normalise();
  out.moments.normalise();
}

template <class T>
__global__ void compute_each(const T* x, const T* y, int n, int cases, everything<T>* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < cases) compute(x + i * n, y + i * n, n, out[i]);
}

template <class T>
class device : public testing::Test {};
using element_types = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(device, element_types);

TYPED_TEST(device, gives_the_words_of_the_host) {
  using T = TypeParam;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  generator random(seed());
  constexpr int n = 24;
  std::vector<T> x, y;
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (const family k : all_families) {
      for (const T v : make<T>(k, n, random)) x.push_back(v);
      const family l = repeat % 2 != 0 ? k : family::finite_bits;
      for (const T v : make<T>(l, n, random)) y.push_back(v);
    }
  }
  const int cases = static_cast<int>(x.size()) / n;
  T *dx = nullptr, *dy = nullptr;
  everything<T>* dout = nullptr;
  std::vector<everything<T>> got(static_cast<std::size_t>(cases));
  ASSERT_EQ(cudaMalloc(&dx, x.size() * sizeof(T)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&dy, y.size() * sizeof(T)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&dout, got.size() * sizeof got[0]), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(dx, x.data(), x.size() * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(dy, y.data(), y.size() * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(cases + 31) / 32);
  config.blockDim = dim3(32);
  ASSERT_EQ(cudaLaunchKernelEx(&config, compute_each<T>, static_cast<const T*>(dx),
                               static_cast<const T*>(dy), n, cases, dout),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy(got.data(), dout, got.size() * sizeof got[0], cudaMemcpyDefault),
            cudaSuccess);
  for (int i = 0; i < cases; ++i) {
    everything<T> want;
    compute(x.data() + i * n, y.data() + i * n, n, want);
    EXPECT_EQ(std::memcmp(&got[static_cast<std::size_t>(i)], &want, sizeof want), 0)
        << name(all_families[i % std::size(all_families)]) << ", case " << i;
  }
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dout);
}

__global__ void guess_each(const std::uint64_t* x, int n, std::uint64_t* inverse, std::uint64_t* root) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  inverse[i] = exact::divisor::of(x[i]).inverse;
  root[i] = exact::integer_root(exact::u128{x[i] | std::uint64_t{1} << 62} << 64 | x[n - 1 - i]);
}

// A GPU guesses reciprocals and roots in its own way: what comes of them is the host's.
TEST(device_arithmetic, gives_the_hosts_inverses_and_roots) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  const std::vector<std::uint64_t> x = words_of_all_lengths(1 << 20, seed());
  const int n = static_cast<int>(x.size());
  std::uint64_t *dx = nullptr, *dinverse = nullptr, *droot = nullptr;
  std::vector<std::uint64_t> inverse(x.size()), root(x.size());
  const std::size_t bytes = x.size() * sizeof x[0];
  ASSERT_EQ(cudaMalloc(&dx, bytes), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&dinverse, bytes), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&droot, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(n + 127) / 128);
  config.blockDim = dim3(128);
  ASSERT_EQ(cudaLaunchKernelEx(&config, guess_each, static_cast<const std::uint64_t*>(dx), n, dinverse, droot), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(inverse.data(), dinverse, bytes, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(root.data(), droot, bytes, cudaMemcpyDefault), cudaSuccess);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(inverse[i], exact::divisor::of(x[i]).inverse) << x[i];
    const exact::u128 square = exact::u128{x[i] | std::uint64_t{1} << 62} << 64 | x[x.size() - 1 - i];
    ASSERT_EQ(root[i], exact::integer_root(square)) << x[i];
  }
  cudaFree(dx);
  cudaFree(dinverse);
  cudaFree(droot);
}

// nvcc's host pass has refused code that g++ takes: it must instantiate the host side too.
TEST(nvcc, compiles_the_host_side) {
  exact_sum s;
  s.add(std::vector<double>(3000, 0.5));
  s.add(std::vector<float>(3000, 0.5f));
  s.add(std::vector<int>(3000, -1));
  EXPECT_EQ(s.value(), 0);
  EXPECT_EQ(exact_sum::from_bytes(s.to_bytes()), s);
  auto moments = exact::moments_state<float>::identity();
  const std::vector<float> y(6000, 3.0f);
  exact::accumulate(moments, y.data(), y.size());
  EXPECT_EQ(moments.var(), 0);
}

}  // namespace
}  // namespace wf::test
