// SPDX-License-Identifier: Apache-2.0
#include "launching.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <vector>

namespace cg = cooperative_groups;

namespace {

template <unsigned Size>
__global__ void tiles(int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<Size>(block);
  int* mine = out + 6 * block.thread_rank();
  const int v = static_cast<int>(block.thread_rank());
  mine[0] = cg::reduce(tile, v, cg::plus<int>());
  mine[1] = cg::reduce(tile, v, cg::greater<int>());
  mine[2] = tile.shfl(v, 0);
  mine[3] = static_cast<int>(tile.ballot(v % 2));
  mine[4] = static_cast<int>(tile.meta_group_rank() * 1000 + tile.thread_rank());
  tile.sync();
  mine[5] = tile.shfl_down(v, 1);
}

template <unsigned Size>
void check_tiles() {
  const unsigned threads = 96;
  std::vector<int> out(6 * threads);
  ASSERT_EQ(run(tiles<Size>, 1, dim3(threads / 2, 2), out.data()), cudaSuccess);
  for (unsigned t = 0; t < threads; ++t) {
    const unsigned first = t / Size * Size, last = first + Size - 1;
    unsigned odd = 0;
    for (unsigned i = 0; i < Size; ++i) odd |= ((first + i) % 2) << i;
    EXPECT_EQ(out[6 * t], static_cast<int>((first + last) * Size / 2)) << Size << " " << t;
    EXPECT_EQ(out[6 * t + 1], static_cast<int>(last));
    EXPECT_EQ(out[6 * t + 2], static_cast<int>(first));
    EXPECT_EQ(out[6 * t + 3], static_cast<int>(odd));
    EXPECT_EQ(out[6 * t + 4], static_cast<int>(t / Size * 1000 + t % Size));
    EXPECT_EQ(out[6 * t + 5], static_cast<int>(t == last ? t : t + 1));
  }
}

TEST(groups, tiles_of_every_size) {
  check_tiles<1>();
  check_tiles<2>();
  check_tiles<4>();
  check_tiles<8>();
  check_tiles<16>();
  check_tiles<32>();
}

__global__ void coalesced(unsigned* out) {
  const unsigned t = threadIdx.x;
  if (t % 3 == 0) {
    const auto group = cg::coalesced_threads();
    const unsigned sum = cg::reduce(group, t, cg::plus<unsigned>());
    out[t] = sum * 100 + group.size();
  }
}

TEST(groups, coalesced_threads_are_the_taken_branch) {
  unsigned out[32] = {};
  ASSERT_EQ(run(coalesced, 1, 32, out), cudaSuccess);
  for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 3 == 0 ? 165u * 100 + 11 : 0u);
}

__global__ void sum_of_indexes(unsigned* out) {
  out[threadIdx.x] = cg::reduce(cg::tiled_partition<8>(cg::this_thread_block()), threadIdx.x, cg::plus<unsigned>());
}

TEST(groups, a_built_in_variable_is_reduced_as_a_number) {
  unsigned out[32] = {};
  ASSERT_EQ(run(sum_of_indexes, 1, 32, out), cudaSuccess);
  for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(out[t], t / 8 * 64 + 28);
}

__global__ void tile_of_a_tile(unsigned* out) {
  const cg::thread_block_tile<16> half = cg::tiled_partition<16>(cg::this_thread_block());
  const cg::thread_block_tile<4, cg::thread_block_tile<16, cg::thread_block>> quarter =
      cg::tiled_partition<4>(cg::tiled_partition<16>(cg::this_thread_block()));
  const cg::thread_block_tile<4> any = quarter;
  unsigned* mine = out + 6 * threadIdx.x;
  mine[0] = half.meta_group_rank() * 10 + half.meta_group_size();
  mine[1] = quarter.meta_group_rank() * 10 + quarter.meta_group_size();
  mine[2] = any.meta_group_rank() * 10 + any.meta_group_size();
  mine[3] = any.shfl(threadIdx.x, 1);
  mine[4] = cg::tiled_partition<2>(half).meta_group_size();
  mine[5] = any.thread_rank();
}

TEST(groups, a_tile_knows_which_of_its_parents_it_is) {
  unsigned out[6 * 48] = {};
  ASSERT_EQ(run(tile_of_a_tile, 1, 48, out), cudaSuccess);
  for (unsigned t = 0; t < 48; ++t) {
    const unsigned* mine = out + 6 * t;
    EXPECT_EQ(mine[0], t / 16 * 10 + 3) << t;
    EXPECT_EQ(mine[1], t % 16 / 4 * 10 + 4) << t;
    EXPECT_EQ(mine[2], mine[1]) << t;
    EXPECT_EQ(mine[3], t / 4 * 4 + 1) << t;
    EXPECT_EQ(mine[4], 8u) << t;
    EXPECT_EQ(mine[5], t % 4) << t;
  }
}

/// By a number that only the run knows: tiles of the block, and of every third thread.
__global__ void partitions(unsigned* out, unsigned size) {
  const auto tile = cg::tiled_partition(cg::this_thread_block(), size);
  unsigned* mine = out + 4 * threadIdx.x;
  mine[0] = cg::reduce(tile, threadIdx.x, cg::plus<unsigned>());
  mine[1] = tile.meta_group_rank() * 1000 + tile.meta_group_size() * 100 + tile.num_threads();
  if (threadIdx.x < 32 && threadIdx.x % 3 == 0) {
    const auto third = cg::tiled_partition(cg::coalesced_threads(), size);
    mine[2] = cg::reduce(third, threadIdx.x, cg::plus<unsigned>());
    mine[3] = third.meta_group_rank() * 1000 + third.meta_group_size() * 100 + third.num_threads();
  }
}

TEST(groups, partitions_of_a_size_known_at_run_time) {
  constexpr unsigned threads = 40, thirds = 11;
  for (unsigned size : {1u, 4u, 16u, 32u}) {
    unsigned out[4 * threads] = {};
    ASSERT_EQ(run(partitions, 1, threads, out, size), cudaSuccess) << simt::last_fault().text;
    const auto check = [size](const unsigned* mine, unsigned rank, unsigned all, unsigned stride) {
      unsigned sum = 0, count = 0;
      for (unsigned i = rank / size * size; i < all && i / size == rank / size; ++i, ++count) sum += i * stride;
      EXPECT_EQ(mine[0], sum) << size << " " << rank;
      EXPECT_EQ(mine[1], rank / size * 1000 + (all + size - 1) / size * 100 + count) << size << " " << rank;
    };
    for (unsigned t = 0; t < threads; ++t) check(out + 4 * t, t, threads, 1);
    for (unsigned i = 0; i < thirds; ++i) check(out + 4 * 3 * i + 2, i, thirds, 3);
  }
  for (unsigned size : {0u, 3u, 64u}) {
    unsigned out[4 * threads] = {};
    EXPECT_EQ(run(partitions, 1, threads, out, size), cudaErrorLaunchFailure);
    EXPECT_EQ(simt::last_fault().what, simt::fault::trap);
    simt::clear_fault();
  }
}

__global__ void rotate_blocks(int* cells, int* out, int rounds) {
  const auto grid = cg::this_grid();
  const unsigned blocks = gridDim.x, b = blockIdx.x;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x == 0) cells[b] = static_cast<int>(b) * 10 + r;
    grid.sync();
    if (threadIdx.x == 0) out[b] += cells[(b + 1) % blocks];
    grid.sync();
  }
  if (grid.thread_rank() == 0) out[blocks] = grid.is_valid() ? static_cast<int>(grid.size()) : -1;
}

TEST(groups, grid_sync_in_every_order_and_number_of_permits) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u, 0u})
      for (unsigned blocks : {1u, 2u, 7u, 64u}) {
        const options_for scope(order, permits);
        std::vector<int> cells(blocks), out(blocks + 1);
        simt::reset_stats();
        ASSERT_EQ(run_cooperative(rotate_blocks, blocks, 40, cells.data(), out.data(), 3), cudaSuccess)
            << simt::last_fault().text;
        for (unsigned b = 0; b < blocks; ++b) EXPECT_EQ(out[b], static_cast<int>((b + 1) % blocks) * 30 + 3);
        EXPECT_EQ(out[blocks], static_cast<int>(blocks * 40));
        EXPECT_EQ(simt::stats().grid_syncs, 6u);
      }
}

TEST(groups, a_cooperative_grid_that_does_not_fit) {
  int per_multiprocessor = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, rotate_blocks, 512, 0), cudaSuccess);
  EXPECT_EQ(per_multiprocessor, 4);
  std::vector<int> cells(17), out(18);
  EXPECT_EQ(run_cooperative(rotate_blocks, 17, 512, cells.data(), out.data(), 1), cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
  EXPECT_EQ(run_cooperative(rotate_blocks, 16, 512, cells.data(), out.data(), 1), cudaSuccess);
}

__global__ void cluster_sum(const int* in, int* out) {
  __shared__ int partial;
  __shared__ int spread[8];
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
  if (threadIdx.x == 0) partial = in[blockIdx.x];
  cluster.sync();
  // Everybody writes into everybody's memory, and reads the first one's.
  if (threadIdx.x < size) cluster.map_shared_rank(spread, threadIdx.x)[rank] = *cluster.map_shared_rank(&partial, rank);
  const auto token = cluster.barrier_arrive();
  cluster.barrier_wait(token);
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < size; ++i) sum += spread[i];
    out[blockIdx.x] = sum + *cluster.map_shared_rank(&partial, 0);
  }
  cluster.sync();
}

TEST(groups, clusters_share_their_memory) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u})
      for (unsigned size : {1u, 2u, 4u, 8u}) {
        const options_for scope(order, permits);
        const unsigned blocks = 16;
        std::vector<int> in(blocks), out(blocks);
        for (unsigned i = 0; i < blocks; ++i) in[i] = static_cast<int>(i * i);
        ASSERT_EQ(run_clusters(cluster_sum, blocks, 64, size, in.data(), out.data()), cudaSuccess)
            << simt::last_fault().text;
        for (unsigned b = 0; b < blocks; ++b) {
          const unsigned first = b / size * size;
          int sum = in[first];
          for (unsigned i = 0; i < size; ++i) sum += in[first + i];
          EXPECT_EQ(out[b], sum) << "cluster of " << size << ", block " << b;
        }
      }
}

__global__ void cluster_shape(unsigned* out) {
  const auto cluster = cg::this_cluster();
  const dim3 in = cluster.block_index(), all = cluster.dim_blocks();
  const unsigned linear = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 0)
    out[linear] = cluster.block_rank() + 100 * in.x + 1000 * in.y + 10000 * in.z + 100000 * (all.x + all.y + all.z);
  cluster.sync();
}

TEST(groups, clusters_of_three_dimensions) {
  unsigned out[4 * 2 * 4];
  simt::reset_stats();
  ASSERT_EQ(run_clusters(cluster_shape, dim3(4, 2, 4), 33, dim3(2, 1, 2), out), cudaSuccess);
  for (unsigned z = 0; z < 4; ++z)
    for (unsigned y = 0; y < 2; ++y)
      for (unsigned x = 0; x < 4; ++x)
        EXPECT_EQ(out[x + 4 * (y + 2 * z)], x % 2 + 2 * (z % 2) + 100 * (x % 2) + 10000 * (z % 2) + 500000);
  EXPECT_EQ(simt::stats().cluster_syncs, 8u);
}

__global__ void who_owns(unsigned* out, const int* not_shared) {
  __shared__ int word;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) word = 1;
  cluster.sync();
  const unsigned size = cluster.num_blocks();
  if (threadIdx.x < size)
    out[blockIdx.x * size + threadIdx.x] = cluster.query_shared_rank(cluster.map_shared_rank(&word, threadIdx.x));
  cluster.sync();
  if (not_shared != nullptr && threadIdx.x == 0) out[0] = cluster.query_shared_rank(not_shared);
}

TEST(groups, shared_memory_tells_the_rank_of_its_block) {
  for (unsigned size : {1u, 4u}) {
    unsigned out[8 * 4] = {};
    ASSERT_EQ(run_clusters(who_owns, 8, 32, size, out, nullptr), cudaSuccess) << simt::last_fault().text;
    for (unsigned i = 0; i < 8 * size; ++i) EXPECT_EQ(out[i], i % size);
    const int elsewhere = 0;
    EXPECT_EQ(run_clusters(who_owns, 8, 32, size, out, &elsewhere), cudaErrorIllegalAddress);
    EXPECT_NE(simt::last_fault().text.find("not an address of shared memory"), std::string::npos);
    simt::clear_fault();
  }
}

}  // namespace
