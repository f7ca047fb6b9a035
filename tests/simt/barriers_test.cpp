// SPDX-License-Identifier: Apache-2.0
#include "launching.hpp"

#include <vector>

namespace {

__global__ void neighbours(const int* in, int* out) {
  __shared__ int cell[1024];
  const unsigned t = threadIdx.x, base = blockIdx.x * blockDim.x;
  cell[t] = in[base + t];
  __syncthreads();
  out[base + t] = cell[(t + 1) % blockDim.x];
}

TEST(barriers, every_block_size_passes_a_value_on) {
  for (unsigned size = 1; size <= 1024; size += size < 70 ? 1 : 53) {
    const unsigned blocks = 3;
    std::vector<int> in(blocks * size), out(blocks * size, -1);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7);
    ASSERT_EQ(run(neighbours, blocks, size, in.data(), out.data()), cudaSuccess) << size;
    for (unsigned b = 0; b < blocks; ++b)
      for (unsigned t = 0; t < size; ++t) ASSERT_EQ(out[b * size + t], in[b * size + (t + 1) % size]) << size;
  }
}

__global__ void votes(int* counts, int* alls, int* anys, int limit) {
  const int t = static_cast<int>(threadIdx.x);
  counts[t] = __syncthreads_count(t < limit);
  alls[t] = __syncthreads_and(t < limit);
  anys[t] = __syncthreads_or(t < limit);
}

TEST(barriers, count_and_or) {
  const int size = 100;
  for (int limit : {0, 1, 57, 99, 100}) {
    std::vector<int> counts(size), alls(size), anys(size);
    ASSERT_EQ(run(votes, 1, size, counts.data(), alls.data(), anys.data(), limit), cudaSuccess);
    for (int t = 0; t < size; ++t) {
      EXPECT_EQ(counts[t], limit);
      EXPECT_EQ(alls[t], limit == size);
      EXPECT_EQ(anys[t], limit > 0);
    }
  }
}

__global__ void tree(const float* in, float* out, unsigned n) {
  __shared__ float s[256];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}

TEST(barriers, a_tree_of_a_million_and_what_is_counted) {
  const unsigned n = 1u << 20;
  const std::vector<float> in(n, 1.0f);
  float out = 0;
  simt::reset_stats();
  ASSERT_EQ(run(tree, n / 256, 256, in.data(), &out, n), cudaSuccess);
  EXPECT_EQ(out, 1048576.0f);
  const auto s = simt::stats();
  EXPECT_EQ(s.blocks, 4096u);
  EXPECT_EQ(s.threads, n);
  EXPECT_EQ(s.barriers, 4096u * 9);
  EXPECT_EQ(s.atomics, 4096u);
  EXPECT_EQ(s.shuffles, 0u);
  EXPECT_NE(s.kernel.find("tree"), std::string::npos) << s.kernel;
}

template <class T>
__global__ void template_shared(T* out) {
  __shared__ T cell[2][32];
  cell[threadIdx.y][threadIdx.x] = static_cast<T>(threadIdx.x + 100 * threadIdx.y);
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = cell[1 - threadIdx.y][31 - threadIdx.x];
}

TEST(barriers, shared_memory_of_templates_and_of_two_dimensions) {
  double out[64];
  ASSERT_EQ(run(template_shared<double>, 1, dim3(32, 2), out), cudaSuccess);
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 32; ++x) EXPECT_EQ(out[y * 32 + x], 31 - x + 100 * (1 - y));
}

}  // namespace
