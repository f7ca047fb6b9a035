// SPDX-License-Identifier: Apache-2.0
#include "launching.hpp"

#include <algorithm>
#include <vector>

extern __shared__ __align__(16) unsigned char test_dynamic_shared[];
SIMT_DEFINE_DYNAMIC_SHARED(test_dynamic_shared)

namespace {

struct place {
  unsigned thread[3], block[3], block_extent[3], grid_extent[3];
};

__global__ void write_places(place* out) {
  const uint3 t = threadIdx;
  const dim3 b = blockIdx;
  const unsigned in_block = t.x + blockDim.x * (t.y + blockDim.y * t.z);
  const unsigned block = b.x + gridDim.x * (b.y + gridDim.y * b.z);
  place& p = out[block * blockDim.x * blockDim.y * blockDim.z + in_block];
  p = {{threadIdx.x, threadIdx.y, threadIdx.z}, {blockIdx.x, blockIdx.y, blockIdx.z},
       {blockDim.x, blockDim.y, blockDim.z}, {gridDim.x, gridDim.y, gridDim.z}};
}

TEST(shapes, grids_and_blocks_of_three_dimensions) {
  const dim3 grid(3, 2, 4), block(5, 7, 3);
  std::vector<place> out(24 * 105);
  ASSERT_EQ(run(write_places, grid, block, out.data()), cudaSuccess);
  std::size_t i = 0;
  for (unsigned bz = 0; bz < 4; ++bz)
    for (unsigned by = 0; by < 2; ++by)
      for (unsigned bx = 0; bx < 3; ++bx)
        for (unsigned z = 0; z < 3; ++z)
          for (unsigned y = 0; y < 7; ++y)
            for (unsigned x = 0; x < 5; ++x, ++i) {
              const unsigned expected[] = {x, y, z, bx, by, bz, 5, 7, 3, 3, 2, 4};
              ASSERT_EQ(std::memcmp(&out[i], expected, sizeof expected), 0) << i;
            }
}

__global__ void note_order(int* next, int* order) {
  if (threadIdx.x == 0) order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x + gridDim.x * blockIdx.y);
}

std::vector<int> order_of(simt::block_order order, std::uint64_t seed) {
  const options_for scope(order, 1, seed);
  int next = 0;
  std::vector<int> seen(30, -1);
  EXPECT_EQ(run(note_order, dim3(10, 3), 64, &next, seen.data()), cudaSuccess);
  return seen;
}

TEST(shapes, blocks_start_in_the_order_asked_for) {
  std::vector<int> forward(30);
  for (int i = 0; i < 30; ++i) forward[static_cast<std::size_t>(i)] = i;
  const std::vector<int> backward(forward.rbegin(), forward.rend());
  EXPECT_EQ(order_of(simt::block_order::forward, 1), forward);
  EXPECT_EQ(order_of(simt::block_order::reversed, 1), backward);
  auto shuffled = order_of(simt::block_order::shuffled, 7);
  EXPECT_EQ(shuffled, order_of(simt::block_order::shuffled, 7));
  EXPECT_NE(shuffled, order_of(simt::block_order::shuffled, 8));
  EXPECT_NE(shuffled, forward);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, forward);
}

__global__ void dynamic(unsigned* out, unsigned words) {
  auto* s = reinterpret_cast<unsigned*>(test_dynamic_shared);
  unsigned untouched = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    untouched += s[i] == 0xffffffffu;
    s[i] = i;
  }
  __syncthreads();
  atomicAdd(&out[blockIdx.x], untouched);
}

cudaError_t run_dynamic(std::size_t bytes, std::vector<unsigned>& out) {
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(out.size());
  config.blockDim = 64;
  config.dynamicSmemBytes = bytes;
  const cudaError_t e = cudaLaunchKernelEx(&config, dynamic, out.data(), static_cast<unsigned>(bytes / 4));
  cudaGetLastError();
  return e;
}

TEST(shapes, dynamic_shared_memory_is_poisoned_and_limited) {
  std::vector<unsigned> out(20);
  ASSERT_EQ(run_dynamic(48 * 1024, out), cudaSuccess);
  for (unsigned v : out) EXPECT_EQ(v, 48u * 256);
  EXPECT_EQ(run_dynamic(48 * 1024 + 4, out), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024), cudaSuccess);
  out.assign(5, 0);
  ASSERT_EQ(run_dynamic(227 * 1024, out), cudaSuccess);
  for (unsigned v : out) EXPECT_EQ(v, 227u * 256);
  EXPECT_EQ(run_dynamic(227 * 1024 + 4, out), cudaErrorInvalidValue);
}

__global__ void nothing() {}

TEST(shapes, launches_that_cuda_refuses) {
  const auto refused = [](dim3 grid, dim3 block) {
    const cudaError_t e = run(nothing, grid, block);
    EXPECT_EQ(cudaGetLastError(), e);
    return e;
  };
  EXPECT_EQ(refused(0, 32), cudaErrorInvalidValue);
  EXPECT_EQ(refused(1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(refused(1, 1025), cudaErrorInvalidValue);
  EXPECT_EQ(refused(1, dim3(32, 33)), cudaErrorInvalidValue);
  EXPECT_EQ(refused(1, dim3(1, 1, 65)), cudaErrorInvalidValue);
  EXPECT_EQ(refused(dim3(1, 65536), 1), cudaErrorInvalidValue);
  EXPECT_EQ(refused(1, 1024), cudaSuccess);
  EXPECT_EQ(run_clusters(nothing, 6, 32, 4), cudaErrorInvalidClusterSize);
  EXPECT_EQ(run_clusters(nothing, 16, 32, 16), cudaErrorInvalidClusterSize);
  cudaGetLastError();
}

struct big {
  double values[20];
  ~big() = default;
};

__global__ void arguments(int a, const __grid_constant__ big b, double c, double* out) {
  out[threadIdx.x] = a + b.values[threadIdx.x] + c;
}

TEST(shapes, arguments_convert_and_are_copied_for_each_thread) {
  big b{};
  for (int i = 0; i < 20; ++i) b.values[i] = i;
  double out[20];
  ASSERT_EQ(run(arguments, 1, 20, short{3}, b, 0.5f, out), cudaSuccess);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(out[i], 3.5 + i);
  int a = 4;
  double c = 0.25;
  double* to = out;
  void* all[] = {&a, &b, &c, &to};
  ASSERT_EQ(cudaLaunchKernel(arguments, 1, 20, all), cudaSuccess);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(out[i], 4.25 + i);
}

__global__ void bits(unsigned* out) {
  out[0] = static_cast<unsigned>(__popc(0xf0f0u));
  out[1] = static_cast<unsigned>(__clz(1));
  out[2] = static_cast<unsigned>(__clz(0));
  out[3] = static_cast<unsigned>(__ffs(0x80));
  out[4] = __brev(1u);
  out[5] = __funnelshift_l(0x80000000u, 1u, 1);
  out[6] = __funnelshift_r(0x80000000u, 1u, 1);
  out[7] = __umulhi(0x80000000u, 6u);
  out[8] = __float_as_uint(1.0f);
  out[9] = __byte_perm(0x33221100u, 0x77665544u, 0x7531u);
  out[10] = static_cast<unsigned>(__dp4a(0x01020304, 0x01010101, 5));
  out[11] = static_cast<unsigned>(max(3, -7) + min(2u, 9u));
  out[12] = static_cast<unsigned>(__clzll(1ll << 40));
  out[13] = __float_as_uint(__fmaf_rn(1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f));
  out[14] = static_cast<unsigned>(warpSize);
}

TEST(shapes, device_functions_on_bits) {
  unsigned out[15];
  ASSERT_EQ(run(bits, 1, 1, out), cudaSuccess);
  const unsigned expected[] = {8, 31, 32, 8, 0x80000000u, 3, 0xc0000000u, 3, 0x3f800000u, 0x77553311u, 15, 5, 23,
                               0xa8800000u, 32};
  for (int i = 0; i < 15; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

}  // namespace
