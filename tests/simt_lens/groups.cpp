// SPDX-License-Identifier: Apache-2.0
// Compiled as instrumented CUDA: kernels of cooperative groups, and the launch of all.
#include "kernels.hpp"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "registry.hpp"

namespace cg = cooperative_groups;

namespace lens_test {

namespace {

__device__ float by_block[64];

template <bool Sync>
__global__ void grid_sum(const float* in, float* out, unsigned n) {
  if (threadIdx.x == 0) {
    float x = 0;
    for (unsigned i = blockIdx.x; i < n; i += gridDim.x) x += in[i];
    by_block[blockIdx.x] = x;  // @grid-store
  }
  if (Sync) cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    float x = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) x += by_block[b];  // @grid-load
    *out = x;
  }
}

template <bool Sync>
__global__ void cluster_sum(const float* in, float* out, unsigned n) {
  __shared__ float mine;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    float x = 0;
    for (unsigned i = blockIdx.x; i < n; i += gridDim.x) x += in[i];
    mine = x;  // @cluster-store
  }
  __syncthreads();
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    float x = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r) x += *cluster.map_shared_rank(&mine, r);
    atomicAdd(out, x);
  }
  if (Sync) cluster.sync();
  if (threadIdx.x == 0) mine = 0;  // @cluster-clear
  cluster.sync();
}

__global__ void cluster_writes_into_others(const float* in, float* out, unsigned) {
  __shared__ float from_others[8];
  cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  const unsigned me = cluster.block_rank();
  if (threadIdx.x < cluster.num_blocks()) cluster.map_shared_rank(from_others, threadIdx.x)[me] = in[me];
  cluster.sync();
  if (threadIdx.x == 0) {
    float x = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r) x += from_others[r];
    out[blockIdx.x] = x;
  }
}

__global__ void cluster_past_the_end(const float*, float* out, unsigned n) {
  __shared__ float s[32];
  cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = 1;
  cluster.sync();
  out[threadIdx.x] = cluster.map_shared_rank(s, 1 - cluster.block_rank())[threadIdx.x + n];  // @cluster-past
  cluster.sync();
}

__global__ void tiles(const float* in, float* out, unsigned) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  tile.sync();
  float x = s[threadIdx.x ^ 7];
  for (unsigned d = 4; d > 0; d /= 2) x += tile.shfl_down(x, d);
  if (tile.thread_rank() == 0) out[threadIdx.x / 8] = x;
}

const registered all[] = {
    {"grid_sum", grid_sum<true>},
    {"grid_sum_without_sync", grid_sum<false>},
    {"cluster_sum", cluster_sum<true>},
    {"cluster_sum_clears_early", cluster_sum<false>},
    {"cluster_writes_into_others", cluster_writes_into_others},
    {"cluster_past_the_end", cluster_past_the_end},
    {"tiles", tiles},
};

}  // namespace

std::span<const registered> group_kernels() { return all; }

}  // namespace lens_test
