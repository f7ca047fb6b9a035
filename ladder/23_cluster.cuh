// SPDX-License-Identifier: Apache-2.0
// cluster: eight blocks form a cluster and read each other's shared memory; one atomic a cluster.
//
// Since compute capability 9.0 the blocks of a cluster run at once on neighbouring SMs, and the
// shared memory of all of them is one address space. Eight sums become one without a trip to global
// memory. Two barriers of the cluster: the words must be there before they are read, and a block
// may not leave while another still reads its word.
#pragma once
#include <cooperative_groups.h>

#include "21_vector_load.cuh"

namespace ladder::inline WF_BUILD {

inline constexpr unsigned cluster_blocks = 8;  // the most that every GPU with clusters allows

template <class T>
__global__ void cluster_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  const auto cluster = cooperative_groups::this_cluster();
  __shared__ sum_t<T> word;
  sum_t<T> sum = block_sum(vector_thread_sum(x, n));
  if (threadIdx.x == 0) word = sum;
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < 32) {
    const bool mine = threadIdx.x < cluster.num_blocks();
    sum = warp_sum(mine ? *cluster.map_shared_rank(&word, threadIdx.x) : sum_t<T>(0));
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
  cluster.sync();
#endif
}

template <class T>
cudaError_t cluster(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  if (r.capability < 90) return r.refuse("clusters need compute capability 9.0");
  const std::uint64_t wanted = resident_blocks(r, n, r.block * (16 / sizeof(T)));
  const std::uint64_t blocks = divide_up(wanted, cluster_blocks) * cluster_blocks;
  r.depth = vector_depth<T>(n, blocks * r.block) + 5 + double(blocks / cluster_blocks);
  r.shape.cluster = cluster_blocks;
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster_blocks;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  return launch_with(&attribute, r, cluster_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
