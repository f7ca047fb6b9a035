// SPDX-License-Identifier: Apache-2.0
/// \file cluster_words.cuh
/// What blocks of a cluster ask each other, for code that is compiled for CC 9.0 on: CUDA's own functions, without
/// <cooperative_groups.h>, which nvcc reads in three seconds of a processor a file. simt's has the race detector.
#pragma once

#include <cuda_runtime.h>

#if defined(__SIMT__)
#include <cooperative_groups.h>
#endif

#include <utility>

#include <warpfold/config.hpp>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace wf::device::inline WF_BUILD {

#if defined(__SIMT__)

using cluster_arrival = decltype(cooperative_groups::this_cluster().barrier_arrive());
__device__ __forceinline__ cluster_arrival arrive_at_cluster() { return cooperative_groups::this_cluster().barrier_arrive(); }
__device__ __forceinline__ void wait_for_cluster(cluster_arrival&& here) { cooperative_groups::this_cluster().barrier_wait(std::move(here)); }
__device__ __forceinline__ void sync_cluster() { cooperative_groups::this_cluster().sync(); }
__device__ __forceinline__ unsigned rank_in_cluster() { return cooperative_groups::this_cluster().block_rank(); }
__device__ __forceinline__ unsigned blocks_of_cluster() { return cooperative_groups::this_cluster().num_blocks(); }
template <class T>
__device__ __forceinline__ T* shared_of_block(T* p, unsigned rank) {
  return cooperative_groups::this_cluster().map_shared_rank(p, rank);
}

#else

/// What arrive_at_cluster() gives and wait_for_cluster() takes.
struct cluster_arrival {};
/// The first half of sync_cluster(): what this thread wrote before is seen by those that wait.
__device__ __forceinline__ cluster_arrival arrive_at_cluster() {
  __cluster_barrier_arrive();
  return {};
}
/// The second half: all threads of the cluster have arrived.
__device__ __forceinline__ void wait_for_cluster(cluster_arrival&&) { __cluster_barrier_wait(); }
/// All threads of the cluster call; what they wrote before is seen after.
__device__ __forceinline__ void sync_cluster() { wait_for_cluster(arrive_at_cluster()); }
/// The number of this block among those of its cluster, from 0.
__device__ __forceinline__ unsigned rank_in_cluster() { return __clusterRelativeBlockRank(); }
/// How many blocks the cluster has.
__device__ __forceinline__ unsigned blocks_of_cluster() { return __clusterSizeInBlocks(); }
/// Where p, in this block's shared memory, lies in that block's.
template <class T>
__device__ __forceinline__ T* shared_of_block(T* p, unsigned rank) {
  return static_cast<T*>(__cluster_map_shared_rank(p, rank));
}

#endif

}  // namespace wf::device::inline WF_BUILD

#endif
