// SPDX-License-Identifier: Apache-2.0
/// \file block.cuh
/// The level of a block: sums of one value per thread.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// The shared memory that block_sum needs, for one use; a second use needs a barrier before it, or room of its own.
template <class V, int Threads>
struct block_room {
  V of_warp[Threads / 32];
};

/// The sum over a block of Threads threads, in thread 0 only, in a fixed order. It takes one barrier: warp sums
/// go to shared memory, and thread 0 adds them, which beats a second round of shuffles.
template <int Threads, class V>
__device__ __forceinline__ V block_sum(V v, block_room<V, Threads>& room) {
  v = warp_sum(v);
  if constexpr (Threads > 32) {
    if (lane_index() == 0) room.of_warp[warp_index()] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      constexpr int warps = Threads / 32;
      static_assert((warps & (warps - 1)) == 0);
      V w[warps];
#pragma unroll
      for (int i = 0; i < warps; ++i) w[i] = room.of_warp[i];
#pragma unroll
      for (int step = 1; step < warps; step *= 2) {
#pragma unroll
        for (int i = 0; i + step < warps; i += 2 * step) w[i] += w[i + step];
      }
      v = w[0];
    }
  }
  return v;
}

}  // namespace wf::device::inline WF_BUILD
