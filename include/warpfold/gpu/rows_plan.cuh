// SPDX-License-Identifier: Apache-2.0
/// \file rows_plan.cuh
/// The host's part of rows: how a view is walked, and by which kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/rows_long.cuh>

namespace wf::device::inline WF_BUILD {

/// Bytes of the largest load of which all rows are whole multiples; 0 where elements do not lie side by side.
template <int Inputs>
int unit_bytes_of(const row_view<Inputs>& v, int item_size, int align) {
  if (align != item_size) return 0;
  if (v.offsets != nullptr) {
    for (int k = 0; k < Inputs; ++k) {
      if (v.n > 1 && v.stride[k][0] != item_size) return 0;
    }
    return item_size;  // where a segment begins only the device knows
  }
  if (v.dims - v.kept > 1) return 0;
  std::uintptr_t all = v.n * static_cast<unsigned>(item_size);
  for (int k = 0; k < Inputs; ++k) {
    if (v.dims > v.kept && v.stride[k][v.kept] != item_size) return 0;
    all |= reinterpret_cast<std::uintptr_t>(v.x[k]);
    for (int d = 0; d < v.kept; ++d) all |= static_cast<std::uintptr_t>(v.stride[k][d]);
  }
  int unit = 16;
  while (unit > item_size && all % static_cast<unsigned>(unit) != 0) unit /= 2;
  return unit;
}

/// Lanes of a row: where rows are short as many as it has loads; those of a whole line where it is long enough; then a warp.
inline int group_log2_of(std::uint64_t units, int unit_bytes) {
  const std::uint64_t most = units * static_cast<unsigned>(unit_bytes) > 2048 ? 32 : unit_bytes >= 16 ? 8 : 16;
  int log2 = 0;
  while ((std::uint64_t{1} << log2) < units && (std::uint64_t{1} << log2) < most) ++log2;
  return log2;
}

template <class Acc>
cudaError_t enqueue_rows(const Acc& acc, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  constexpr int inputs = Acc::inputs;
  if (r.labels != nullptr) return cudaErrorNotSupported;  // they are sorted first
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const int size = acc.item_size(), align = acc.item_align();
  row_view<inputs> v;
  const bool any_order = r.what != op::argmin && r.what != op::argmax;
  if (!make_row_view(v, r, size, align, any_order)) return cudaErrorMisalignedAddress;
  if (v.rows == 0) return cudaSuccess;
  if constexpr (Acc::packs) {
    if (v.n != 0 && are_columns(v, size)) return enqueue_columns(acc, v, r, scratch, stream);
  }
  row_walk w{};
  int unit = unit_bytes_of(v, size, align);
  if constexpr (!Acc::packs) {
    if (unit != 0) unit = size;
  }
  w.unit_bytes = unit != 0 ? unit : size;
  w.unit_items = w.unit_bytes / size;
  w.unit_align = unit != 0 ? unit : align;
  w.straight = v.dims - v.kept <= 1;
  for (int k = 0; k < inputs; ++k) w.step_bytes[k] = unit != 0 ? unit : v.dims > v.kept ? v.stride[k][v.kept] : 0;
  w.answer_bytes = acc.result_size();
  w.units = v.n / static_cast<unsigned>(w.unit_items);
  if constexpr (Acc::packs) {
    const bool few = v.rows < std::uint64_t{scratch.multiprocessors()} * 32;
    const std::uint64_t bytes = v.n * static_cast<unsigned>(size);
    if (v.offsets == nullptr && (bytes >= (1 << 18) || (few && bytes > 8192))) return enqueue_long_rows(acc, v, w, r, scratch, stream);
  }
  w.group_log2 = v.offsets != nullptr ? 5 : group_log2_of(w.units, w.unit_bytes);
  const std::uint64_t groups = 32u >> w.group_log2;
  const std::uint64_t resident = std::uint64_t{scratch.multiprocessors()} * (2048 / rows_threads);
  w.steps = 1 << w.group_log2;
  while (w.steps > 1 && v.rows / (groups * static_cast<unsigned>(w.steps)) < resident * rows_warps) w.steps /= 2;
  const std::uint64_t batch = groups * static_cast<unsigned>(w.steps), batches = (v.rows + batch - 1) / batch;
  const std::uint32_t blocks = at_most(divide_up(batches, rows_warps), static_cast<std::uint32_t>(2 * resident));
  const std::uint64_t lanes = std::uint64_t{1} << w.group_log2;
  const std::uint64_t length = ((w.units + lanes - 1) / lanes + 1) * static_cast<unsigned>(w.unit_items);
  return launch(rows_kernel<Acc>, {blocks, rows_threads, 0, stream, scratch.overlaps()}, v, w, acc,
                acc.facts(v.n, length, 0), static_cast<unsigned char*>(r.out));
}

}  // namespace wf::device::inline WF_BUILD
