// SPDX-License-Identifier: Apache-2.0
// occupancy: vector_load again, over block sizes and blocks an SM.
//
// The kernel is the same; only the launch changes. Enough threads must be resident to cover the
// memory's latency: with several 16-byte loads in flight a thread, that is fewer than the SM can
// hold. Below it the memory idles; above it more threads bring nothing, and large blocks leave more
// idle at the end. The occupancy query says how many blocks fit; the table says how many are
// needed.
#pragma once
#include <algorithm>

#include "21_vector_load.cuh"

namespace ladder::inline WF_BUILD {

/// per_sm 0: as many blocks as fit.
template <class T, unsigned block, unsigned per_sm>
cudaError_t occupancy(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  int fit = 0;
  cudaError_t e =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, vector_load_sum<T>, int(block), 0);
  if (e != cudaSuccess) return e;
  if (fit < std::max(1, int(per_sm)))
    return r.refuse("only " + std::to_string(fit) + " blocks of " + std::to_string(block) +
                    " fit on an SM");
  r.block = block;
  r.blocks_per_sm = per_sm != 0 ? per_sm : unsigned(fit);
  const std::uint64_t blocks = resident_blocks(r, n, r.block * (16 / sizeof(T)));
  r.depth = vector_depth<T>(n, blocks * r.block) + double(blocks);
  if (e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, vector_load_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
