// SPDX-License-Identifier: Apache-2.0
// grid_sync: one cooperative launch; all blocks meet at a barrier of the whole grid, then block 0
// finishes.
//
// A barrier across blocks can only be met if all of them are resident, so the launch is
// cooperative: the occupancy query says how many blocks fit, and a larger grid is refused. One
// launch, no atomics, the same bits every run. Whether the barrier is cheaper than two_pass's second
// launch is for the table to say.
#pragma once
#include <cooperative_groups.h>

#include "16_shuffle_block.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__global__ void grid_sync_sum(const T* x, std::uint64_t n, sum_t<T>* partial, sum_t<T>* out) {
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  sum_t<T> sum(0);
  for (std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += sum_t<T>(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x != 0) return;
  sum = sum_t<T>(0);
  for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += partial[k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

template <class T>
cudaError_t grid_sync(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  int device = 0, cooperative = 0, fit = 0;
  cudaError_t e = cudaGetDevice(&device);
  if (e == cudaSuccess)
    e = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device);
  if (e != cudaSuccess) return e;
  if (!cooperative) return r.refuse("this device has no cooperative launch");
  e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, grid_sync_sum<T>,
                                                    static_cast<int>(r.block), 0);
  if (e != cudaSuccess) return e;
  if (fit == 0)
    return r.refuse("no block of " + std::to_string(r.block) + " threads fits on an SM");
  // What is asked for beyond what fits would be refused by the launch.
  const std::uint64_t most = std::uint64_t(fit) * r.sms, wanted = resident_blocks(r, n, r.block);
  const std::uint64_t blocks = wanted < most ? wanted : most;
  r.depth = double(divide_up(n, blocks * r.block) + divide_up(blocks, r.block)) + 20;
  auto* partial = partials<sum_t<T>>(r, blocks);
  if (partial == nullptr) return cudaErrorNotSupported;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  return launch_with(&attribute, r, grid_sync_sum<T>, blocks, 0, x, n, partial, out);
}

}  // namespace ladder::inline WF_BUILD
