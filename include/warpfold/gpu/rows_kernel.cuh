// SPDX-License-Identifier: Apache-2.0
/// \file rows_kernel.cuh
/// Rows by groups of lanes: a group of 1 … 32 lanes of a warp reduces a row, the groups of a warp reduce neighbouring rows. A warp
/// gathers the states of up to 32 rows in shared memory; then each lane makes an answer. Loads run ahead of what is added, over
/// the ends of rows too.
///
/// What is reduced is up to an accumulator:
///   running start()                              a thread's registers
///   add(running&, const pack (&)[inputs], c, i)  c elements of each input, of which the first has index i
///   state total(running)                         what they come to
///   state identity(), combine(a, b)              as of a reduction
///   bool answer(state, n, facts, void* out)      by one thread; false: uncertain, where `proves`
///   exactly(room, …)                             what is done then, by a warp or a block
/// and on the host item_size(), item_align(), result_size(), facts(n, length, merges).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/launch.cuh>
#include <warpfold/gpu/levels.cuh>
#include <warpfold/gpu/rows_view.cuh>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int rows_threads = 128, rows_warps = rows_threads / warp_lanes;

/// How rows are walked; made by the host. A load brings a unit: an element, or several where those of a row lie side by side.
struct row_walk {
  int group_log2;               ///< lanes of a row
  int steps;                    ///< rows that a group reduces before answers are made: 1 … lanes of a group
  int unit_items;               ///< elements of a unit
  int unit_bytes, unit_align;
  bool straight;                ///< units lie step_bytes apart
  std::int64_t step_bytes[2];
  std::uint64_t units;          ///< of a row
  std::size_t answer_bytes;
};

template <class Acc>
using facts_of = decltype(std::declval<const Acc&>().facts(0, 0, 0));

/// Nothing, where there is no exact way.
struct no_room {};
template <class Acc>
struct room_of { using type = no_room; };
template <class Acc>
  requires(Acc::proves)
struct room_of<Acc> { using type = typename Acc::room; };

/// Which load of which row a warp's lane is at.
struct row_cursor {
  std::uint64_t batch, unit, units, left;  ///< of rows; of a row: this unit, how many there are, rounds to the end
  int step;
};

template <class Acc>
__global__ void __launch_bounds__(rows_threads, resident_blocks(rows_threads, 6))
    rows_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ row_walk w, const __grid_constant__ Acc acc,
                const __grid_constant__ facts_of<Acc> facts, unsigned char* out) {
  await_stream();
  constexpr int inputs = Acc::inputs, ahead = inputs == 1 ? 4 : 3;
  using state = typename Acc::state;
  using cursor = row_cursor;
  __shared__ state slots[rows_warps][warp_lanes];
  __shared__ typename room_of<Acc>::type rooms[rows_warps];
  const unsigned lanes = 1u << w.group_log2, in_warp = static_cast<unsigned>(lane_index());
  const unsigned member = in_warp & (lanes - 1), group = in_warp >> w.group_log2, groups = 32u >> w.group_log2;
  const std::uint64_t batch_rows = std::uint64_t{groups} * static_cast<unsigned>(w.steps);
  const std::uint64_t batches = (v.rows + batch_rows - 1) / batch_rows;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * rows_warps;
  const auto my_warp = static_cast<unsigned>(warp_index());

  // The row is c's; n: its elements.
  const auto enter = [&](cursor& c, std::uint64_t n) {
    c.unit = member;
    c.units = w.unit_items == 1 ? n : n / static_cast<unsigned>(w.unit_items);
    // Segments have a warp each, so all lanes of a group go the same number of rounds. A cursor without a row adds nothing.
    const std::uint64_t rounds = ((v.offsets != nullptr ? c.units : w.units) + lanes - 1) >> w.group_log2;
    c.left = rounds == 0 ? 1 : rounds;
  };
  const auto row_of = [&](const cursor& c) { return c.batch * batch_rows + static_cast<unsigned>(c.step) * groups + group; };
  const auto leave = [&](cursor& c) {  // of the row; true if the batch is done
    if (++c.step < w.steps) return false;
    c.step = 0;
    c.batch += warps;
    return true;
  };
  cursor front, back;
  front.batch = back.batch = blockIdx.x * std::uint64_t{rows_warps} + my_warp;
  front.step = back.step = 0;
  front.left = 0;
  const unsigned char* from[inputs] = {};
  const auto enter_back = [&] {
    const std::uint64_t row = row_of(back);
    std::uint64_t n = 0;
    if (row < v.rows) n = v.offsets != nullptr ? v.offset(row + 1) - v.offset(row) : v.n;
    enter(back, n);
  };
  if (back.batch < batches) enter_back();
  pack p[ahead][inputs];
  typename Acc::running r = acc.start();
  int early = ahead - 1;
  while (back.batch < batches) {
#pragma unroll
    for (int j = 0; j < ahead - 1; ++j) {
#pragma unroll
      for (int k = 0; k < inputs; ++k) p[j][k] = p[j + 1][k];
    }
    if (front.batch < batches) {
      if (front.left == 0) {
        const std::uint64_t row = row_of(front);
        enter(front, row < v.rows ? v.begin(row, from) : 0);
      }
      if (front.unit < front.units) {
        pack (&to)[inputs] = p[ahead - 1];
        if (w.straight) {
#pragma unroll
          for (int k = 0; k < inputs; ++k) {
            to[k] = load_element(from[k] + static_cast<std::int64_t>(front.unit) * w.step_bytes[k], w.unit_bytes, w.unit_align);
          }
        } else {
          std::int64_t at[inputs];
          v.element(front.unit, at);
#pragma unroll
          for (int k = 0; k < inputs; ++k) to[k] = load_element(from[k] + at[k], w.unit_bytes, w.unit_align);
        }
      }
      front.unit += lanes;
      if (--front.left == 0) leave(front);
    }
    if (early > 0) {
      --early;
      continue;
    }
    if (back.unit < back.units) acc.add(r, p[0], w.unit_items, back.unit * static_cast<unsigned>(w.unit_items));
    back.unit += lanes;
    if (--back.left != 0) continue;
    state s = acc.total(r);
    r = acc.start();
    for (unsigned step = 1; step < lanes; step *= 2) s = acc.combine(s, state_from_above(s, static_cast<int>(step)));
    const unsigned place = static_cast<unsigned>(back.step) * groups + group;
    if (member == 0) slots[my_warp][place] = s;
    const std::uint64_t first = back.batch * batch_rows;
    if (leave(back)) {
      __syncwarp();
      const std::uint64_t row = first + in_warp;
      const bool asked = in_warp < batch_rows && row < v.rows;
      bool sure = true;
      if (asked) {
        s = slots[my_warp][in_warp];
        std::uint64_t n = v.n;
        if (v.offsets != nullptr) n = v.offset(row + 1) - v.offset(row);
        if constexpr (Acc::proves) {
          sure = acc.answer(s, n, v.offsets != nullptr ? acc.facts_here(n) : facts, out + row * w.answer_bytes);
        } else {
          sure = acc.answer(s, n, facts, out + row * w.answer_bytes);
        }
      }
      if constexpr (Acc::proves) {
        for (unsigned todo = __ballot_sync(all_lanes, !sure); todo != 0; todo &= todo - 1) {
          const std::uint64_t uncertain = first + static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
          acc.exactly(rooms[my_warp], v, uncertain, false, out + uncertain * w.answer_bytes);
        }
      }
      __syncwarp();
    }
    if (back.batch < batches) enter_back();
  }
}

}  // namespace wf::device::inline WF_BUILD
