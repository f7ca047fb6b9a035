// SPDX-License-Identifier: Apache-2.0
/// \file rows_long.cuh
/// Long rows: one block per row, or several blocks where rows are few, or where they fit the multiprocessors better. The last block of a row that is done puts the parts together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/kernels/rows_again.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int long_threads = 256, long_warps_log2 = 3;
/// How many merges of a block an element goes through, at most: those of lanes and warps, and as many once more where blocks share a row.
inline constexpr int merges_of_block = 2 * (5 + long_warps_log2);
/// Rows of no more bytes have blocks of half as many threads, of which more are resident at once.
template <class Acc>
inline constexpr std::uint64_t half_block_bytes = Acc::proves ? 1 << 15 : 1 << 14;
/// How many times as many packs as in other kernels are loaded at once, for certificates and for sums that are a word; and how many blocks a multiprocessor is to hold: so few that threads have
/// registers for all of these loads. (Of 128 MiB of f32 in rows of 128 KiB, sums took 0.78 of the time of 4 blocks and half as many loads, norms of f64 0.79; argmax of few rows took 1.05 to 1.12.)
template <class Acc>
inline constexpr int long_times = Acc::proves || (unordered_accumulator<Acc> && !repeatable_accumulator<Acc> && sizeof(typename Acc::state) <= 8) ? 2 : 1;
template <class Acc>
inline constexpr int long_blocks = long_times<Acc> == 1 ? 4 : Acc::proves && Acc::fixed_size != 2 ? 2 : 3;
/// How many bytes of a row a block has at least, where several share it: fewer if multiprocessors would have nothing to do, and a row is of
/// `split_bytes`. A row of more than `alone_bytes` whose answer is uncertain is then shared by all blocks: of 256 × 2^20 doubles that were floats some sums are ties, and a block alone with a row
/// took 0.4 ms.
inline constexpr std::uint64_t long_share_bytes = 1 << 16, least_share_bytes = 1 << 14, split_bytes = 1 << 17, alone_bytes = 1 << 19;

/// How many units of a line a thread has, at most, where it takes one unit of several lines at once.
inline constexpr unsigned far_units = 4;

struct long_walk {
  row_walk row;
  std::uint64_t each;  ///< units of a block; lines, where a row has several
  std::uint32_t parts;
  int side_log2;       ///< threads side by side on a line
  int warps_log2;      ///< a block's
};

/// Which row a block has, which part of it, how many parts there are, and how many warps the block has.
struct long_place {
  std::uint64_t row;
  std::uint32_t part, parts;
  int warps_log2;
};

/// Makes the answer of a row from the states of its threads: `of_warp` holds those of a block's warps, and the last block of a row puts the blocks' together. Where there are verdicts, rows_again.cuh adds what
/// is uncertain.
template <class Acc>
__device__ __forceinline__ void end_long_row(const Acc& acc, const facts_of<Acc>& facts, const row_view<Acc::inputs>& v, const long_place& at, typename Acc::state s,
                                             typename Acc::state* of_warp, typename room_of<Acc>::type& room, unsigned char* to, unsigned char* partials, std::uint32_t* tickets,
                                             std::uint64_t* verdicts) {
  using state = typename Acc::state;
  s = block_total(acc, s, of_warp, at.warps_log2);
  if (at.parts > 1) {
    auto* const box = reinterpret_cast<state*>(partials) + at.row * at.parts;
    if (threadIdx.x == 0) box[at.part] = s;
    if (!last_to_come(tickets + at.row, at.parts)) return;
    s = acc.identity();
    const std::uint32_t many = (at.parts + blockDim.x - 1) / blockDim.x;
    for (std::uint32_t j = threadIdx.x * many; j < min(at.parts, (threadIdx.x + 1) * many); ++j) s = acc.combine(s, box[j]);
    s = block_total(acc, s, of_warp, at.warps_log2);
  }
  if constexpr (may_doubt<Acc>) {
    __shared__ bool sure;
    if (threadIdx.x == 0) {
      sure = acc.answer(s, v.n, facts, to);
      if (verdicts != nullptr) {
        verdicts[at.row] = sure ? 0 : at.row + 1;
        sure = true;
      }
    }
    __syncthreads();
    if (!sure) acc.exactly(room, v, at.row, true, to);
  } else if (threadIdx.x == 0) {
    acc.answer(s, v.n, facts, to);
  }
}

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
  // There are few units in each line: a thread takes several lines at once, and does so for each unit.
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
      by_unit<Acc>(w.row.whole, [&]<bool Whole>() { add_line<Whole, false, long_times<Acc>>(acc, r, p, w.row.step_bytes, unit + member, step, until, first_of_line<Acc>(w.row, line) + before); });
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
  end_long_row(acc, facts, v, {row, part, w.parts, w.warps_log2}, acc.combine(s, total_of(acc, r, facts)), of_warp, room, out + row * w.row.answer_bytes, partials, tickets, verdicts);
}

/// Whether all blocks then share the rows whose answers are uncertain.
template <class Acc>
bool is_shared_again(std::uint64_t rows, std::uint64_t bytes) {
  return may_doubt<Acc> && bytes > alone_bytes && rows <= workspace::row_tickets;
}
template <class Acc>
cudaError_t enqueue_again_of([[maybe_unused]] const Acc& acc, const row_view<Acc::inputs>& v, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  const auto rows = static_cast<std::uint32_t>(v.rows);
  if constexpr (!may_doubt<Acc>) return cudaSuccess;
  else if constexpr (quick_accumulator<Acc>) return enqueue_again(acc.complete(), v, rows, r, scratch, stream);
  else return enqueue_again(acc, v, rows, r, scratch, stream);
}

template <class Acc>
cudaError_t enqueue_long_rows(const Acc& acc, const row_view<Acc::inputs>& v, const row_walk& rows, const rows_request& r, workspace& scratch,
                              cudaStream_t stream) {
  const bool one = rows.lines == 1;
  const std::uint64_t bytes = v.n * static_cast<unsigned>(acc.item_size());
  long_walk w{rows, 0, 1, 0, bytes <= half_block_bytes<Acc> ? long_warps_log2 - 1 : long_warps_log2};
  const unsigned threads = static_cast<unsigned>(warp_lanes) << w.warps_log2;
  while ((1u << w.side_log2) < threads && (one || (std::uint64_t{1} << w.side_log2) < rows.units)) ++w.side_log2;
  // As many parts as give all multiprocessors equally much to do.
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
  const bool again = is_shared_again<Acc>(v.rows, bytes);
  const cudaError_t e = launch(long_rows_kernel<Acc>, {static_cast<unsigned>(v.rows * w.parts), threads, 0, stream, scratch.overlaps()}, v, w,
                               acc, acc.facts(v.n, chain * items, w.parts + all / rounds_of_chain + 1 + (one ? 0 : far_units) + merges_of_block), static_cast<unsigned char*>(r.out),
                               scratch.row_states(), scratch.row_counters(), again ? scratch.row_verdicts() : static_cast<std::uint64_t*>(nullptr));
  return e == cudaSuccess && again ? enqueue_again_of(acc, v, r, scratch, stream) : e;
}

/// Rows of whole packs side by side, of sums that keep little of a row: blocks of a row take turns along it, a round each, so that all multiprocessors read neighbouring memory at a time. Each
/// thread has 8 packs on their way, with registers for all of them; more warps, or packs by bulk copies, took 1.01 to 1.05 of the time of 16384 × 16384 numbers, as long_rows_kernel 1.13 to 1.17.
inline constexpr int front_rows_ahead = 8, front_rows_blocks = 2;
/// Three blocks find room on a multiprocessor if the compiler is held to that: of f64 it would take four registers more, and two blocks took 1.2 times as long with rows of 8192.
inline constexpr int front_rows_resident = 3;
inline constexpr std::uint64_t front_round = std::uint64_t{16} * long_threads * front_rows_ahead;  ///< bytes
/// A block has rows of fewer bytes for so short a time that its work at their end counts; for elements of 2 bytes in L2, which take longer to add than to load, more warps were better up to 128 KiB.
template <class Acc>
constexpr std::uint64_t front_row_bytes(bool in_l2) {
  return (Acc::fixed_size < 4 && in_l2 ? 8 : 2) * front_round;
}

template <quick_accumulator Acc>
__global__ void __launch_bounds__(long_threads, resident_blocks(long_threads, front_rows_resident))
    front_rows_kernel(const __grid_constant__ row_view<1> v, std::uint32_t parts, const __grid_constant__ Acc acc, const __grid_constant__ facts_of<Acc> facts, std::size_t answer_bytes,
                      unsigned char* out, unsigned char* partials, std::uint32_t* tickets, std::uint64_t* verdicts) {
  await_stream();
  constexpr int ahead = front_rows_ahead;
  constexpr unsigned step = 16 * long_threads;  // bytes from a pack of a thread to its next
  __shared__ typename Acc::state of_warp[long_threads / warp_lanes];
  __shared__ typename room_of<Acc>::type room;
  const std::uint64_t row = blockIdx.x / parts;
  const std::uint32_t part = blockIdx.x % parts;
  const unsigned char* from[1];
  v.begin(row, from);
  const std::uint64_t bytes = v.n * Acc::fixed_size, jump = parts * front_round;
  std::uint64_t i = part * front_round + 16 * threadIdx.x;
  typename Acc::running r = acc.start();
  typename Acc::state s = acc.identity();
  unsigned rounds = 0;
#pragma unroll 1
  for (; i + (ahead - 1) * step < bytes; i += jump) {
    pack some[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) some[j] = load_bytes(from[0] + i + static_cast<unsigned>(j) * step, 16);
#pragma unroll
    for (int j = 0; j < ahead; ++j) acc.add(r, {some[j]}, 0);
    if (++rounds == rounds_of_chain / ahead) {
      rounds = 0;
      s = acc.combine(s, total_of(acc, r, facts));
      r = acc.start();
    }
  }
  // One block has what is left of whole rounds.
  pack some[ahead - 1];
#pragma unroll
  for (int j = 0; j < ahead - 1; ++j) {
    if (i + static_cast<unsigned>(j) * step < bytes) some[j] = load_bytes(from[0] + i + static_cast<unsigned>(j) * step, 16);
  }
#pragma unroll
  for (int j = 0; j < ahead - 1; ++j) {
    if (i + static_cast<unsigned>(j) * step < bytes) acc.add(r, {some[j]}, 0);
  }
  __syncwarp();
  end_long_row(acc, facts, v, {row, part, parts, long_warps_log2}, acc.combine(s, total_of(acc, r, facts)), of_warp, room, out + row * answer_bytes, partials, tickets, verdicts);
}

/// Whether rows go by front_rows_kernel; enqueued if they do.
template <quick_accumulator Acc>
bool enqueue_front_rows(const Acc& acc, const row_view<1>& v, const rows_request& r, workspace& scratch, cudaStream_t stream, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size;
  const std::uint64_t bytes = v.n * size, resident = std::uint64_t{front_rows_blocks} * scratch.multiprocessors();
  if (v.dims != v.kept + 1 || bytes < front_row_bytes<Acc>(v.all * size <= scratch.l2_bytes()) || bytes > quick_bytes || !are_whole(v, static_cast<int>(size))) return false;
  // Where there are fewer rounds than blocks that find room, the other kernel has more blocks.
  if (v.all * size < resident * front_round) return false;
  std::uint64_t parts = front_parts(v.rows, resident);
  for (const std::uint64_t limit : {workspace::row_bytes / (v.rows * sizeof(typename Acc::state)), bytes / front_round}) {
    if (parts > limit) parts = limit;
  }
  if (parts < 1 || v.rows > workspace::row_tickets) parts = 1;
  if (v.rows * parts >= (std::uint64_t{1} << 31)) return false;
  const std::uint64_t length = (bytes / (front_round * parts) + 2) * front_rows_ahead, chain = length < 2 * rounds_of_chain ? length : 2 * rounds_of_chain;
  const bool again = is_shared_again<Acc>(v.rows, bytes);
  e = launch(front_rows_kernel<Acc>, {static_cast<unsigned>(v.rows * parts), long_threads, 0, stream, scratch.overlaps()}, v, static_cast<std::uint32_t>(parts), acc,
             acc.facts(v.n, chain * (16 / size), parts + length / rounds_of_chain + 1 + merges_of_block), acc.result_size(), static_cast<unsigned char*>(r.out), scratch.row_states(),
             scratch.row_counters(), again ? scratch.row_verdicts() : static_cast<std::uint64_t*>(nullptr));
  if (e == cudaSuccess && again) e = enqueue_again_of(acc, v, r, scratch, stream);
  return true;
}

}  // namespace wf::device::inline WF_BUILD
