// SPDX-License-Identifier: Apache-2.0
/// \file cluster.cuh
/// The level of a cluster: blocks that run at once on neighbouring multiprocessors and read each other's
/// shared memory (CC 9.0 on). Any reduction, order kept; see levels.cuh for what R and `room` are.
///
///     __global__ void kernel(const float* x, float* out) {       // launched in clusters of 1 to 8 blocks
///       __shared__ wf::block_states<my_reduction, 256> room;
///       my_reduction r;
///       const std::int64_t i = blockIdx.x * 256 + threadIdx.x;
///       auto s = wf::cluster_reduce(r, r.lift(x[i], i), room.of_warp);
///       if (wf::leads_cluster() && threadIdx.x == 0) *out = r.finish(s, …);
///     }
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/device/cluster_words.cuh>
#include <warpfold/device/levels.cuh>

namespace wf::device::inline WF_BUILD {

/// Whether this block is its cluster's first one; always so below CC 9.0, where each block is a cluster.
__device__ __forceinline__ bool leads_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return true;
#else
  return rank_in_cluster() == 0;
#endif
}

/// The states of all threads of the cluster in the order of its blocks, in thread 0 of the first block
/// only. All threads of all blocks call it. `room` is block_reduce's, at the same address of shared memory in
/// each block; it may be used again at once. It takes two barriers of the cluster (about 1 µs on an H100): the
/// first so that all states are there, the second so that no block ends while others read its memory.
template <class R>
__device__ __forceinline__ state_of<R> cluster_reduce(const R& r, state_of<R> s, void* room) {
  s = device::block_reduce(r, s, room);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  const int blocks = static_cast<int>(blocks_of_cluster());
  auto* of_block = static_cast<state_of<R>*>(room);
  __syncthreads();  // the room was read until here
  if (threadIdx.x == 0) *of_block = s;
  sync_cluster();
  if (rank_in_cluster() == 0 && warp_index() == 0) {
    const int lane = lane_index();
    s = lane < blocks ? *shared_of_block(of_block, static_cast<unsigned>(lane)) : r.identity();
    s = warp_reduce(r, s);
  }
  sync_cluster();
#endif
  return s;
}

}  // namespace wf::device::inline WF_BUILD

namespace wf {
using device::cluster_reduce;
using device::leads_cluster;
}  // namespace wf
