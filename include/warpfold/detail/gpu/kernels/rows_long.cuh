// SPDX-License-Identifier: Apache-2.0
/// \file rows_long.cuh
/// Long rows: a block a row, or several blocks where rows are few. The last block of a row that is done puts the parts together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/rows_again.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int long_threads = 256, long_warps_log2 = 3;
/// Merges in a block, at most, that an element goes through: of its lanes and warps, and once more where blocks share a row.
inline constexpr int merges_of_block = 2 * (5 + long_warps_log2);
/// Rows of no more bytes have half as many threads, of which more blocks are on their way at once.
inline constexpr std::uint64_t half_block_bytes = 1 << 14;
/// Blocks that a multiprocessor is to hold, as rows_blocks.
template <class Acc>
inline constexpr int long_blocks = Acc::proves && !quick_accumulator<Acc> ? 3 : 4;
/// Bytes of a row that a block has at least, where several share it: fewer if multiprocessors would have nothing to do, and a row is of
/// `split_bytes`. A row of more than `alone_bytes` whose answer is uncertain is shared once more.
inline constexpr std::uint64_t long_share_bytes = 1 << 16, least_share_bytes = 1 << 14, split_bytes = 1 << 17, alone_bytes = 1 << 19;

/// Units that a thread has of a line, at most, where it takes one of several lines at once.
inline constexpr unsigned far_units = 4;

struct long_walk {
  row_walk row;
  std::uint64_t each;  ///< units of a block; lines, where a row has several
  std::uint32_t parts;
  int side_log2;       ///< threads side by side on a line
  int warps_log2;      ///< of a block
};

template <class Acc>
__global__ void __launch_bounds__(long_threads, resident_blocks(long_threads, long_blocks<Acc>))
    long_rows_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ long_walk w, const __grid_constant__ Acc acc,
                     const __grid_constant__ facts_of<Acc> facts, unsigned char* out, unsigned char* partials, std::uint32_t* tickets, std::uint64_t* verdicts) {
  await_stream();
  constexpr int inputs = Acc::inputs;
  using state = typename Acc::state;
  __shared__ state of_warp[long_threads / warp_lanes];
  __shared__ typename room_of<Acc>::type room;
  const std::uint64_t row = blockIdx.x / w.parts;
  const std::uint32_t part = blockIdx.x % w.parts;
  const unsigned char* from[inputs];
  v.begin(row, from);
  const bool one = w.row.lines == 1;
  const unsigned side = 1u << w.side_log2, member = threadIdx.x & (side - 1);
  // Blocks take the units of one line by turns, so that memory is read in one front; of several lines each has some that follow each other.
  const std::uint32_t turns = one ? w.parts : 1, step = turns << w.side_log2;
  const std::uint64_t begin = one ? std::uint64_t{part} << w.side_log2 : part * w.each;
  const std::uint64_t end = w.row.skip ? begin : one ? w.row.units : min(std::uint64_t{w.row.lines}, begin + w.each);
  typename Acc::running r = acc.start();
  state s = acc.identity();
  unsigned rounds = 0;
  const std::uint64_t most = std::uint64_t{rounds_of_chain} * step, last = one ? end : w.row.units;
  // Few units of each line: several lines at once, for each unit again.
  const bool far = !one && w.row.uneven == 0 && v.dims - v.kept == 2 && w.row.units <= far_units * side;
  if (far) {
    const unsigned apart_lines = blockDim.x >> w.side_log2;
    const std::uint64_t stretch = std::uint64_t{rounds_of_chain} * apart_lines;
    by_unit<Acc>(w.row.whole, [&]<bool Whole>() {
      const unsigned char* p[inputs];
      std::int64_t apart[2] = {};
#pragma unroll
      for (int k = 0; k < inputs; ++k) apart[k] = v.dim[v.kept].stride[k];
      constexpr unsigned items = items_of_unit<Whole, Acc>;
#pragma unroll 1
      for (std::uint64_t unit = member; unit < w.row.units; unit += side) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[k] = from[k] + static_cast<std::int64_t>(unit) * w.row.step_bytes[k];
#pragma unroll 1
        for (std::uint64_t line = begin; line < end; line += stretch) {
          add_line<Whole, true>(acc, r, p, apart, line + (threadIdx.x >> w.side_log2), apart_lines, min(end, line + stretch), unit * items, w.row.units * items);
          if constexpr (Acc::proves) {
            if (line + stretch < end || unit + side < w.row.units) {
              s = acc.combine(s, total_of(acc, r, facts));
              r = acc.start();
            }
          }
        }
      }
    });
    __syncwarp();
  }
#pragma unroll 1
  for (std::uint64_t line = far ? end : one ? 0 : begin + (threadIdx.x >> w.side_log2); line < (one && !far ? 1 : end); line += blockDim.x >> w.side_log2) {
    const unsigned char* p[inputs];
#pragma unroll
    for (int k = 0; k < inputs; ++k) p[k] = from[k] + v.line(line, k);
    unsigned before = 0;
    if (w.row.uneven != 0) {
      before = add_edges(acc, r, w.row, p, line, member, side, !one || part == 0);
#pragma unroll
      for (int k = 0; k < inputs; ++k) p[k] += before * static_cast<unsigned>(Acc::fixed_size);
    }
    ++rounds;  // for those, of which a thread has fewer than a unit has elements
#pragma unroll 1
    for (std::uint64_t unit = one ? begin : 0; unit < last; unit += most) {
      const std::uint64_t until = min(last, unit + most);
      by_unit<Acc>(w.row.whole, [&]<bool Whole>() { add_line<Whole>(acc, r, p, w.row.step_bytes, unit + member, step, until, first_of_line<Acc>(w.row, line) + before); });
      if constexpr (Acc::proves) {
        rounds += until - unit == most ? rounds_of_chain : static_cast<unsigned>((until - unit) / step) + 1;
        if (rounds >= rounds_of_chain) {
          s = acc.combine(s, total_of(acc, r, facts));
          r = acc.start();
          rounds = 0;
        }
      }
    }
  }
  s = block_total(acc, acc.combine(s, total_of(acc, r, facts)), of_warp, w.warps_log2);
  if (w.parts > 1) {
    auto* const box = reinterpret_cast<state*>(partials) + row * w.parts;
    if (threadIdx.x == 0) box[part] = s;
    if (!last_to_come(tickets + row, w.parts)) return;
    s = acc.identity();
    const std::uint32_t many = (w.parts + blockDim.x - 1) / blockDim.x;
    for (std::uint32_t j = threadIdx.x * many; j < min(w.parts, (threadIdx.x + 1) * many); ++j) s = acc.combine(s, box[j]);
    s = block_total(acc, s, of_warp, w.warps_log2);
  }
  unsigned char* const to = out + row * w.row.answer_bytes;
  if constexpr (Acc::proves) {
    __shared__ bool sure;
    if (threadIdx.x == 0) {
      sure = acc.answer(s, v.n, facts, to);
      if (verdicts != nullptr) {  // rows_again.cuh adds it
        verdicts[row] = sure ? 0 : row + 1;
        sure = true;
      }
    }
    __syncthreads();
    if (!sure) acc.exactly(room, v, row, true, to);
  } else if (threadIdx.x == 0) {
    acc.answer(s, v.n, facts, to);
  }
}

template <class Acc>
cudaError_t enqueue_long_rows(const Acc& acc, const row_view<Acc::inputs>& v, const row_walk& rows, const rows_request& r, workspace& scratch,
                              cudaStream_t stream) {
  const bool one = rows.lines == 1;
  const std::uint64_t bytes = v.n * static_cast<unsigned>(acc.item_size());
  long_walk w{rows, 0, 1, 0, bytes <= half_block_bytes ? long_warps_log2 - 1 : long_warps_log2};
  const unsigned threads = static_cast<unsigned>(warp_lanes) << w.warps_log2;
  while ((1u << w.side_log2) < threads && (one || (std::uint64_t{1} << w.side_log2) < rows.units)) ++w.side_log2;
  // Parts so that all multiprocessors have as much to do.
  const std::uint64_t resident = std::uint64_t{long_blocks<Acc>} * scratch.multiprocessors(), wanted = 2 * resident, pieces = one ? rows.units : rows.lines;
  const std::uint64_t most = workspace::row_bytes / (v.rows * sizeof(typename Acc::state));
  std::uint64_t limit = bytes / long_share_bytes;
  if (bytes >= split_bytes && v.rows * limit < resident) limit = bytes / least_share_bytes < resident / v.rows ? bytes / least_share_bytes : resident / v.rows;
  for (const std::uint64_t other : {most, pieces}) {
    if (limit > other) limit = other;
  }
  std::uint64_t parts = v.rows >= 4 * wanted ? 1 : parts_in_waves(v.rows, wanted, resident, limit);
  if (parts < 1 || v.rows > workspace::row_tickets) parts = 1;
  w.each = (pieces + parts - 1) / parts;
  w.parts = static_cast<std::uint32_t>((pieces + w.each - 1) / w.each);
  if (v.rows * w.parts >= (std::uint64_t{1} << 31)) return cudaErrorInvalidConfiguration;
  // Rounds of a thread: of its chains, and how many chains.
  const std::uint64_t side = std::uint64_t{1} << w.side_log2, of_line = ((one ? w.each : rows.units) >> w.side_log2) + 3;
  const std::uint64_t all = of_line * (one ? 1 : w.each * side / threads + 1), chain = all < 2 * rounds_of_chain + 2 ? all : 2 * rounds_of_chain + 2;
  const std::uint64_t items = rows.whole ? 16u / static_cast<unsigned>(acc.item_size()) : 1u;
  bool again = false;
  if constexpr (Acc::proves) again = w.parts > 1 && bytes > alone_bytes;
  const cudaError_t e = launch(long_rows_kernel<Acc>, {static_cast<unsigned>(v.rows * w.parts), threads, 0, stream, scratch.overlaps()}, v, w,
                               acc, acc.facts(v.n, chain * items, w.parts + all / rounds_of_chain + 1 + (one ? 0 : far_units) + merges_of_block), static_cast<unsigned char*>(r.out),
                               scratch.row_states(), scratch.row_counters(), again ? scratch.row_verdicts() : static_cast<std::uint64_t*>(nullptr));
  if constexpr (Acc::proves) {
    if (e == cudaSuccess && again) {
      const auto rows_left = static_cast<std::uint32_t>(v.rows);
      if constexpr (quick_accumulator<Acc>) return enqueue_again(acc.complete(), v, rows_left, r, scratch, stream);
      else return enqueue_again(acc, v, rows_left, r, scratch, stream);
    }
  }
  return e;
}

}  // namespace wf::device::inline WF_BUILD
