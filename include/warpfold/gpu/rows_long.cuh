// SPDX-License-Identifier: Apache-2.0
/// \file rows_long.cuh
/// Long rows: a block a row, or several blocks where rows are few. The last block of a row that is done puts the parts together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/rows_columns.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int long_threads = 256;

struct long_walk {
  row_walk row;
  std::uint64_t each;  ///< units of a block
  std::uint32_t parts;
};

template <class Acc>
__global__ void __launch_bounds__(long_threads, resident_blocks(long_threads, 4))
    long_rows_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ long_walk w, const __grid_constant__ Acc acc,
                     const __grid_constant__ facts_of<Acc> facts, unsigned char* out, unsigned char* partials, std::uint32_t* tickets) {
  await_stream();
  constexpr int inputs = Acc::inputs, ahead = inputs == 1 ? 4 : 2;
  using state = typename Acc::state;
  __shared__ state of_warp[long_threads / warp_lanes];
  __shared__ typename room_of<Acc>::type room;
  const std::uint64_t row = blockIdx.x / w.parts;
  const std::uint32_t part = blockIdx.x % w.parts;
  const unsigned char* p[inputs];
  v.begin(row, p);
  const std::uint64_t end = min(w.row.units, (part + std::uint64_t{1}) * w.each);
  const auto items = static_cast<unsigned>(w.row.unit_items);
  typename Acc::running r = acc.start();
  std::uint64_t u = part * w.each + threadIdx.x;
  if (w.row.straight) {
#pragma unroll 1
    for (; u + (ahead - 1) * long_threads < end; u += ahead * long_threads) {
      pack some[ahead][inputs];
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) {
          some[j][k] = load_bytes(p[k] + static_cast<std::int64_t>(u + static_cast<unsigned>(j * long_threads)) * w.row.step_bytes[k], w.row.unit_bytes);
        }
      }
#pragma unroll
      for (int j = 0; j < ahead; ++j) acc.add(r, some[j], w.row.unit_items, (u + static_cast<unsigned>(j * long_threads)) * items);
    }
  }
#pragma unroll 1
  for (; u < end; u += long_threads) {
    std::int64_t at[inputs];
    if (w.row.straight) {
#pragma unroll
      for (int k = 0; k < inputs; ++k) at[k] = static_cast<std::int64_t>(u) * w.row.step_bytes[k];
    } else {
      v.element(u, at);
    }
    pack one[inputs];
#pragma unroll
    for (int k = 0; k < inputs; ++k) one[k] = load_bytes(p[k] + at[k], w.row.unit_bytes);
    acc.add(r, one, w.row.unit_items, u * items);
  }
  state s = block_reduce(acc, acc.total(r), of_warp);
  if (w.parts > 1) {
    auto* const box = reinterpret_cast<state*>(partials) + row * w.parts;
    if (threadIdx.x == 0) box[part] = s;
    if (!last_to_come(tickets + row, w.parts)) return;
    s = acc.identity();
    const std::uint32_t many = (w.parts + long_threads - 1) / long_threads;
    for (std::uint32_t j = threadIdx.x * many; j < min(w.parts, (threadIdx.x + 1) * many); ++j) s = acc.combine(s, box[j]);
    s = block_reduce(acc, s, of_warp);
  }
  unsigned char* const to = out + row * w.row.answer_bytes;
  if constexpr (Acc::proves) {
    __shared__ bool sure;
    if (threadIdx.x == 0) sure = acc.answer(s, v.n, facts, to);
    __syncthreads();
    if (!sure) acc.exactly(room, v, row, true, to);
  } else if (threadIdx.x == 0) {
    acc.answer(s, v.n, facts, to);
  }
}

template <class Acc>
cudaError_t enqueue_long_rows(const Acc& acc, const row_view<Acc::inputs>& v, const row_walk& rows, const rows_request& r, workspace& scratch,
                              cudaStream_t stream) {
  long_walk w{rows, 0, 1};
  // Parts so that all multiprocessors have as much to do, of 64 KiB at least.
  const std::uint64_t wanted = 8 * std::uint64_t{scratch.multiprocessors()};
  const std::uint64_t most = workspace::row_bytes / (v.rows * sizeof(typename Acc::state));
  std::uint64_t parts = (wanted + v.rows - 1) / v.rows, fit = rows.units * static_cast<unsigned>(rows.unit_bytes) >> 16;
  if (parts > fit) parts = fit;
  if (parts > most) parts = most;
  if (parts < 1 || v.rows > workspace::row_tickets) parts = 1;
  w.each = (rows.units + parts - 1) / parts;
  w.parts = static_cast<std::uint32_t>((rows.units + w.each - 1) / w.each);
  if (v.rows * w.parts >= (std::uint64_t{1} << 31)) return cudaErrorInvalidConfiguration;
  const std::uint64_t length = (w.each / long_threads + 2) * static_cast<unsigned>(rows.unit_items);
  return launch(long_rows_kernel<Acc>, {static_cast<unsigned>(v.rows * w.parts), long_threads, 0, stream, scratch.overlaps()}, v, w, acc,
                acc.facts(v.n, length, w.parts), static_cast<unsigned char*>(r.out), scratch.row_states(), scratch.row_counters());
}

}  // namespace wf::device::inline WF_BUILD
