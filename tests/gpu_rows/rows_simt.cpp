// SPDX-License-Identifier: Apache-2.0
#include "rows_machine.cuh"

#include <atomic>

#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

const rows_machine& simt_rows() {
  static const rows_machine m = machines::rows_machine_here();
  return m;
}

namespace machines::inline WF_BUILD {

namespace {

std::atomic<int> added_again = 0;

/// Sums of f32 that tell how many rows no certificate accepted.
struct counted_rows : wf::device::certified_rows<float, wf::device::terms::sum> {
  using base = wf::device::certified_rows<float, wf::device::terms::sum>;
  __device__ void exactly(typename base::room& shared, const wf::device::row_view<1>& v, std::uint64_t row, bool by_block,
                          unsigned char* out) const {
    if ((by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(wf::device::lane_index())) == 0) ++added_again;
    base::exactly(shared, v, row, by_block, out);
  }
};

}  // namespace

}  // namespace machines::inline WF_BUILD

int simt_uncertain_rows(const wf::rows_request& r) {
  machines::added_again = 0;
  wf::device::workspace w;
  const machines::counted_rows sums{{{r.what, r.options.rounding, r.options.correction}}};
  if (enqueue_rows(sums, r, w, nullptr) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return -1;
  return machines::added_again;
}
