// SPDX-License-Identifier: Apache-2.0
/// \file rows_plan.cuh
/// The host's part of rows: how a view is walked, and by which kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/accumulate/rows_quick_moments.cuh>
#include <warpfold/detail/gpu/kernels/rows_long.cuh>
#include <warpfold/detail/gpu/kernels/rows_prefix.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>
#include <warpfold/detail/gpu/kernels/rows_small.cuh>
#include <warpfold/detail/gpu/kernels/rows_stream.cuh>
#include <warpfold/detail/gpu/kernels/rows_thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Lines that begin and end anywhere are read by units of 16 bytes if they have so many bytes.
inline constexpr std::uint64_t uneven_bytes = 128;

/// Whether lines are side by side in memory, and those of two inputs begin as far behind multiples of 16 bytes as each other.
template <int Inputs>
bool are_uneven(const row_view<Inputs>& v, int item_size) {
  if (v.dims == v.kept) return false;
  std::uintptr_t apart = 0;
  for (int k = 0; k < Inputs; ++k) {
    if (v.dim[v.dims - 1].stride[k] != item_size) return false;
    apart |= reinterpret_cast<std::uintptr_t>(v.x[k]) - reinterpret_cast<std::uintptr_t>(v.x[0]);
    for (int d = 0; d < v.dims - 1; ++d) apart |= static_cast<std::uintptr_t>(v.dim[d].stride[k] - v.dim[d].stride[0]);
  }
  return apart % 16 == 0;
}

/// How many lanes a row gets: where rows are short as many as it has loads; those of a whole line where it is long enough; then a warp.
inline int group_log2_of(std::uint64_t units, int unit_bytes) {
  const std::uint64_t most = units * static_cast<unsigned>(unit_bytes) > 2048 ? 32 : unit_bytes >= 16 ? 8 : 16;
  int log2 = 0;
  while ((std::uint64_t{1} << log2) < units && (std::uint64_t{1} << log2) < most) ++log2;
  return log2;
}

template <row_accumulator Acc>
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
  if (v.offsets != nullptr) {
    if constexpr (prefix_of<Acc>::there) {
      if (enqueue_prefix(acc, v, r, scratch, stream, e)) return e;
    }
    return enqueue_ragged(acc, v, r, scratch, stream);
  }
  if constexpr (quick_of<Acc>::there) {
    if (quick_of<Acc>::fits(acc)) {
      const auto quick = quick_of<Acc>::of(acc);
      if constexpr (quick_of<Acc>::sums) {
        if constexpr (small_elements<typename quick_of<Acc>::type>() < small_long_elements) {
          if (v.n > quick_elements && enqueue_small_rows(quick_of<Acc>::longer_of(acc), v, scratch, stream, r.out, e)) return e;
        }
        if (enqueue_small_rows(quick, v, scratch, stream, r.out, e) || enqueue_front_rows(quick_of<Acc>::longer_of(acc), v, r, scratch, stream, e)) return e;
      }
      if (enqueue_stream_rows(quick, v, scratch, stream, r.out, e) || enqueue_lone_rows(quick_of<Acc>::items_of(acc), v, scratch, stream, r.out, e) || enqueue_lone_columns(quick, v, scratch, stream, r.out, e)) return e;
    }
  } else if constexpr (Acc::packs && !Acc::proves && inputs == 1) {
    if constexpr (unordered_accumulator<Acc>) {
      if (enqueue_small_rows(acc, v, scratch, stream, r.out, e) || enqueue_stream_rows(acc, v, scratch, stream, r.out, e)) return e;
    }
    if (enqueue_lone_rows(acc, v, scratch, stream, r.out, e) || enqueue_lone_columns(acc, v, scratch, stream, r.out, e)) return e;
  }
  if constexpr (Acc::packs) {
    bool walked = true;
    if constexpr (Acc::proves) walked = !acc.states;
    if (v.n != 0 && walked && are_columns(v, size)) {
      if constexpr (quick_of<Acc>::there) {
        const bool straight = v.dims - v.kept <= 1;
        const auto quick = quick_of<Acc>::longer_of(acc);
        if (quick_of<Acc>::fits(acc) && enqueue_front_columns(quick, v, r, scratch, stream, e)) return e;
        if constexpr (quick_of<Acc>::sums) {
          if (quick_of<Acc>::fits(acc) && v.n <= (straight ? quick_column : quick_elements)) return enqueue_columns(quick, v, r, scratch, stream);
        }
      }
      return enqueue_columns(acc, v, r, scratch, stream);
    }
  }
  row_walk w{};
  if constexpr (Acc::proves) w.skip = acc.states;
  const std::uint64_t line = v.n == 0 ? v.n : v.dims > v.kept ? v.dim[v.dims - 1].length : 1;
  if constexpr (Acc::packs) {
    w.whole = are_whole(v, size);
    if (!w.whole && !w.skip && line * static_cast<unsigned>(size) >= uneven_bytes && are_uneven(v, size)) {
      w.whole = true;
      w.uneven = line;
    }
  }
  const int items = w.whole ? 16 / size : 1;
  for (int k = 0; k < inputs; ++k) w.step_bytes[k] = w.whole ? 16 : v.dims > v.kept ? v.dim[v.dims - 1].stride[k] : 0;
  w.answer_bytes = acc.result_size();
  w.units = (line - (w.uneven != 0 ? static_cast<unsigned>(items) - 1 : 0)) / static_cast<unsigned>(items);
  w.lines = line == 0 ? 1 : v.n / line;
  const bool few = v.rows < std::uint64_t{scratch.multiprocessors()} * 32;
  const std::uint64_t bytes = v.n * static_cast<unsigned>(size);
  if (bytes >= (1 << 18) || (few && bytes > 8192)) {
    if constexpr (quick_of<Acc>::there) {
      if (quick_of<Acc>::fits(acc)) {
        if constexpr (quick_of<Acc>::sums) {
          if (v.n <= quick_elements) return enqueue_long_rows(quick_of<Acc>::of(acc), v, w, r, scratch, stream);
        }
        return enqueue_long_rows(quick_of<Acc>::longer_of(acc), v, w, r, scratch, stream);
      }
    }
    if constexpr (has_long_rows<Acc>) return enqueue_long_rows(acc, v, w, r, scratch, stream);
    else return enqueue_ragged(acc, v, r, scratch, stream);  // a kernel that is compiled for segments anyway
  }
  if (w.skip) w.units = 0;
  w.group_log2 = group_log2_of(w.units, w.whole ? 16 : size);
  if (w.uneven != 0) {  // two rounds for what is in no unit
    while (1 << w.group_log2 < items) ++w.group_log2;
  }
  const std::uint64_t resident = std::uint64_t{scratch.multiprocessors()} * (2048 / rows_threads);
  w.single = w.uneven == 0 && v.kept <= 1 && w.lines == 1 && w.units <= std::uint64_t{1} << w.group_log2;
  if constexpr (repeatable_accumulator<Acc>) {
    if (w.whole && w.uneven == 0 && v.kept <= 1 && w.lines == 1 && (w.units == 8 || w.units == 16 || w.units == 32)) {
      w.quads = quad_accumulator<Acc>;
      w.single = false;
      w.group_log2 = 0;
      while (std::uint64_t{4} << w.group_log2 < w.units) ++w.group_log2;
    }
  }
  const std::uint64_t groups = 32u >> w.group_log2;
  w.steps = w.single && w.group_log2 < 2 ? 4 : 1 << w.group_log2;
  while (w.steps > 1 && v.rows / (groups * static_cast<unsigned>(w.steps)) < resident * rows_warps) w.steps /= 2;
  const std::uint64_t batch = groups * static_cast<unsigned>(w.steps), batches = (v.rows + batch - 1) / batch;
  const std::uint32_t blocks = at_most(divide_up(batches, rows_warps), static_cast<std::uint32_t>(2 * resident));
  const std::uint64_t lanes = std::uint64_t{1} << w.group_log2;
  const std::uint64_t length = ((w.units + lanes - 1) / lanes * static_cast<unsigned>(items) + (w.uneven != 0 ? 2 : 0)) * w.lines;
  const auto by = [&](const auto& a) {
    return launch(rows_kernel<std::remove_cvref_t<decltype(a)>>, {blocks, rows_threads, 0, stream, scratch.overlaps()}, v, w, a, a.facts(v.n, length, 0),
                  static_cast<unsigned char*>(r.out));
  };
  if constexpr (quick_of<Acc>::there) {
    if (quick_of<Acc>::fits(acc) && v.n <= quick_elements && length <= quick_length) return by(quick_of<Acc>::of(acc));
  }
  return by(acc);
}

}  // namespace wf::device::inline WF_BUILD
