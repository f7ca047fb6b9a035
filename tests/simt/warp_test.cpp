// SPDX-License-Identifier: Apache-2.0
#include "launching.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace {

struct pair16 {
  double a;
  std::uint64_t b;
};

// What the programming guide says the lane reads.
int source_of(int kind, int lane, int x, int width) {
  const int row = lane / width * width;
  switch (kind) {
    case 0: return row + (x & (width - 1));
    case 1: return lane - row >= x ? lane - x : lane;
    case 2: return lane - row + x < width ? lane + x : lane;
    default: return (lane ^ x) < row + width ? lane ^ x : lane;
  }
}

template <class T>
__global__ void shuffles(const T* in, T* out, int kind, int x, int width) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, full = 0xffffffffu;
  const T v = in[i];
  T r{};
  if (kind == 0) r = __shfl_sync(full, v, x, width);
  if (kind == 1) r = __shfl_up_sync(full, v, static_cast<unsigned>(x), width);
  if (kind == 2) r = __shfl_down_sync(full, v, static_cast<unsigned>(x), width);
  if (kind == 3) r = __shfl_xor_sync(full, v, x, width);
  out[i] = r;
}

template <class T>
void check_shuffles(T (*make)(int)) {
  std::vector<T> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[static_cast<std::size_t>(i)] = make(i);
  for (int kind = 0; kind < 4; ++kind)
    for (int width : {2, 8, 16, 32})
      for (int x : {0, 1, 3, 7, 15, 16, 31}) {
        ASSERT_EQ(run(shuffles<T>, 1, 64, in.data(), out.data(), kind, x, width), cudaSuccess);
        for (int i = 0; i < 64; ++i) {
          const int from = i / 32 * 32 + source_of(kind, i % 32, x, width);
          ASSERT_EQ(std::memcmp(&out[static_cast<std::size_t>(i)], &in[static_cast<std::size_t>(from)], sizeof(T)), 0)
              << "kind " << kind << " width " << width << " x " << x << " lane " << i;
        }
      }
}

TEST(warp, shuffles_of_every_kind_width_and_size) {
  check_shuffles<int>([](int i) { return i * 3 - 50; });
  check_shuffles<double>([](int i) { return i * 0.5; });
  check_shuffles<std::uint16_t>([](int i) { return static_cast<std::uint16_t>(i * 999); });
  check_shuffles<pair16>([](int i) { return pair16{i * 0.25, static_cast<std::uint64_t>(i) << 40}; });
}

__global__ void votes(unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned* mine = out + 8 * t;
  mine[0] = __ballot_sync(~0u, t % 3 == 0);
  mine[1] = static_cast<unsigned>(__any_sync(~0u, t == 40));
  mine[2] = static_cast<unsigned>(__all_sync(~0u, t < 32));
  mine[3] = __match_any_sync(~0u, t / 5);
  int all = -1;
  mine[4] = __match_all_sync(~0u, 7.5, &all);
  mine[5] = static_cast<unsigned>(all);
  mine[6] = __match_all_sync(~0u, static_cast<long long>(t), &all);
  mine[7] = static_cast<unsigned>(all);
}

TEST(warp, votes_and_matches) {
  std::vector<unsigned> out(64 * 8);
  ASSERT_EQ(run(votes, 1, 64, out.data()), cudaSuccess);
  for (unsigned t = 0; t < 64; ++t) {
    unsigned thirds = 0, same = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned other = t / 32 * 32 + lane;
      thirds |= static_cast<unsigned>(other % 3 == 0) << lane;
      same |= static_cast<unsigned>(other / 5 == t / 5) << lane;
    }
    const unsigned* mine = &out[8 * t];
    EXPECT_EQ(mine[0], thirds);
    EXPECT_EQ(mine[1], t >= 32);
    EXPECT_EQ(mine[2], t < 32);
    EXPECT_EQ(mine[3], same);
    EXPECT_EQ(mine[4], ~0u);
    EXPECT_EQ(mine[5], 1u);
    EXPECT_EQ(mine[6], 0u);
    EXPECT_EQ(mine[7], 0u);
  }
}

__global__ void reductions(const int* in, int* out) {
  const int v = in[threadIdx.x];
  const auto u = static_cast<unsigned>(v);
  int* mine = out + 8 * threadIdx.x;
  mine[0] = __reduce_add_sync(~0u, v);
  mine[1] = __reduce_min_sync(~0u, v);
  mine[2] = __reduce_max_sync(~0u, v);
  mine[3] = static_cast<int>(__reduce_min_sync(~0u, u));
  mine[4] = static_cast<int>(__reduce_max_sync(~0u, u));
  mine[5] = static_cast<int>(__reduce_and_sync(~0u, u));
  mine[6] = static_cast<int>(__reduce_or_sync(~0u, u));
  mine[7] = static_cast<int>(__reduce_xor_sync(~0u, u));
}

TEST(warp, reductions_signed_and_unsigned) {
  int in[32], out[32 * 8];
  unsigned u_min = ~0u, u_max = 0, u_and = ~0u, u_or = 0, u_xor = 0;
  int sum = 0, least = 1 << 30, most = -(1 << 30);
  for (int i = 0; i < 32; ++i) {
    in[i] = (i * 7919) % 101 - 50;
    const auto u = static_cast<unsigned>(in[i]);
    sum += in[i], least = std::min(least, in[i]), most = std::max(most, in[i]);
    u_min = std::min(u_min, u), u_max = std::max(u_max, u), u_and &= u, u_or |= u, u_xor ^= u;
  }
  ASSERT_EQ(run(reductions, 1, 32, in, out), cudaSuccess);
  const int expected[] = {sum, least, most, static_cast<int>(u_min), static_cast<int>(u_max),
                          static_cast<int>(u_and), static_cast<int>(u_or), static_cast<int>(u_xor)};
  for (int i = 0; i < 32 * 8; ++i) EXPECT_EQ(out[i], expected[i % 8]) << i;
}

// Halves of a warp work with masks of their own, out of step with each other.
__global__ void halves(int* out) {
  const unsigned lane = threadIdx.x;
  int v = static_cast<int>(lane);
  if (lane < 16) {
    for (int k = 8; k > 0; k /= 2) v += __shfl_down_sync(0x0000ffffu, v, static_cast<unsigned>(k), 16);
  } else {
    v = __reduce_max_sync(0xffff0000u, v);
    __syncwarp(0xffff0000u);
  }
  __syncwarp();
  out[lane] = v;
}

TEST(warp, disjoint_masks_do_not_meet) {
  int out[32];
  ASSERT_EQ(run(halves, 1, 32, out), cudaSuccess);
  EXPECT_EQ(out[0], 120);
  for (int i = 16; i < 32; ++i) EXPECT_EQ(out[i], 31);
}

__global__ void last_warp(int* out) {
  int v = 1;
  for (unsigned k = 16; k > 0; k /= 2) {
    const int other = __shfl_down_sync(~0u, v, k);
    if (threadIdx.x % 32 + k < (blockDim.x - threadIdx.x / 32 * 32)) v += other;
  }
  out[threadIdx.x] = v;
}

TEST(warp, a_last_warp_that_is_not_full) {
  int out[45];
  ASSERT_EQ(run(last_warp, 1, 45, out), cudaSuccess);
  EXPECT_EQ(out[0], 32);
  EXPECT_EQ(out[32], 13);
}

__global__ void active(unsigned* out) {
  const unsigned t = threadIdx.x;
  out[3 * t] = __activemask();
  if (t % 2 == 0) out[3 * t + 1] = __activemask();
  else if (t % 4 == 1) out[3 * t + 1] = __ballot_sync(__activemask(), 1);
  else out[3 * t + 1] = 0;
  __syncwarp();
  out[3 * t + 2] = __activemask();
}

TEST(warp, active_lanes_are_those_on_the_same_path) {
  unsigned out[96];
  ASSERT_EQ(run(active, 1, 32, out), cudaSuccess);
  for (unsigned t = 0; t < 32; ++t) {
    EXPECT_EQ(out[3 * t], ~0u);
    EXPECT_EQ(out[3 * t + 1], t % 2 == 0 ? 0x55555555u : t % 4 == 1 ? 0x22222222u : 0u);
    EXPECT_EQ(out[3 * t + 2], ~0u);
  }
}

__global__ void one_shuffle_each(int* out) {
  int v = static_cast<int>(threadIdx.x);
  v += __shfl_xor_sync(~0u, v, 1);
  __syncwarp();
  out[threadIdx.x] = v + __any_sync(~0u, v > 3);
}

TEST(warp, a_warp_counts_once) {
  int out[96];
  simt::reset_stats();
  ASSERT_EQ(run(one_shuffle_each, 1, 96, out), cudaSuccess);
  const auto s = simt::stats();
  EXPECT_EQ(s.shuffles, 3u);
  EXPECT_EQ(s.warp_syncs, 3u);
  EXPECT_EQ(s.collectives, 3u);
}

}  // namespace
