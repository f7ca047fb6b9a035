// SPDX-License-Identifier: Apache-2.0
/// \file rows_kernel.cuh
/// Rows by groups of lanes: a group of 1 … 32 lanes of a warp reduces a row, the groups of a warp reduce neighbouring rows. A lane has
/// several loads on their way before it adds what they bring: of one row, or of several where a row is one load of each lane. A warp
/// gathers the states of up to 32 rows in shared memory; then each lane makes an answer.
/// What is reduced is up to an accumulator (row_accumulator.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/row_accumulator.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int rows_threads = 128, rows_warps = rows_threads / warp_lanes;

/// How rows are walked; made by the host. A load brings a unit: an element, or the 16 bytes of `items` of them, where those of a row lie
/// side by side. The innermost reduced dimension is a line; a row has one, or several. Lines of such units begin and end at multiples of 16; or
/// anywhere, and then as many units as all of them have lie behind the first such multiple, and elements at both ends.
struct row_walk {
  int group_log2;               ///< lanes of a row
  int steps;                    ///< how many rows a group has in a batch
  bool whole;                   ///< a unit is 16 bytes
  bool skip;                    ///< nothing is added on the way: the exact way alone makes the states
  bool single;                  ///< a row has no more units than a group has lanes, and rows lie evenly
  bool quads;                   ///< a row has four units for each lane, and rows lie evenly
  std::int64_t step_bytes[2];   ///< from a unit of a line to the next
  std::uint64_t units, lines;   ///< units of a line; lines of a row
  std::uint64_t uneven;         ///< elements of a line that begins and ends anywhere; else 0
  std::size_t answer_bytes;
};

/// A unit; Whole: 16 bytes.
template <bool Whole, class Acc>
__device__ __forceinline__ pack load_unit(const Acc& acc, const unsigned char* p) {
  if constexpr (Acc::fixed_size == 0) return load_element(p, acc.item_size(), acc.item_align());
  else if constexpr (Whole) return load_bytes(p, 16);
  else return load_element(p, Acc::fixed_size, Acc::fixed_align);
}
/// Adds a unit to r; `index` is that of its first element.
template <bool Whole, class Acc>
__device__ __forceinline__ void add_unit(const Acc& acc, typename Acc::running& r, const pack (&p)[Acc::inputs], std::uint64_t index) {
  if constexpr (Whole) acc.add(r, p, index);
  else acc.add_item(r, p, index);
}
/// How many elements a unit has.
template <bool Whole, class Acc>
inline constexpr unsigned items_of_unit = 1;
template <class Acc>
inline constexpr unsigned items_of_unit<true, Acc> = Acc::items;
/// f.template operator()<whether units are whole>().
template <class Acc, class F>
__device__ __forceinline__ void by_unit(bool whole, F f) {
  if constexpr (Acc::packs) {
    if (whole) {
      f.template operator()<true>();
      return;
    }
  }
  f.template operator()<false>();
}
/// How many loads of an input are on their way at once: half as many of whole packs, and few where adding an element is much code.
template <bool Whole, class Acc>
inline constexpr int loads_ahead = Acc::fixed_size == 0 ? 2 : (Whole ? 4 : 8) / Acc::inputs;

template <class Acc>
using facts_of = decltype(std::declval<const Acc&>().facts(0, 0, 0));

/// Stands for shared memory where there is no exact way.
struct no_room {};
template <class Acc>
struct room_of { using type = no_room; };
template <proving_accumulator Acc>
  requires may_doubt<Acc>
struct room_of<Acc> { using type = typename Acc::room; };

/// The state that a thread's registers amount to.
template <class Acc>
__device__ __forceinline__ typename Acc::state total_of(const Acc& acc, const typename Acc::running& r, const facts_of<Acc>& facts) {
  if constexpr (Acc::proves) return acc.total(r, facts.chain);
  else return acc.total(r);
}

/// Drops the first load, and moves the others up.
template <int Loads, int Inputs>
__device__ __forceinline__ void shift_units(pack (&p)[Loads][Inputs]) {
#pragma unroll
  for (int j = 0; j + 1 < Loads; ++j) {
#pragma unroll
    for (int k = 0; k < Inputs; ++k) p[j][k] = p[j + 1][k];
  }
}

/// Adds units first, first + step, … below `end` of a line that begins at `from` to r; `index` is that of the line's first element in its row. Or, where
/// Far, one unit of as many lines, which lie step_bytes and `each` elements apart. Times: how many times as many packs are loaded at once.
template <bool Whole, bool Far = false, int Times = 1, class Acc>
__device__ __forceinline__ void add_line(const Acc& acc, typename Acc::running& r, const unsigned char* const (&from)[Acc::inputs],
                                         const std::int64_t (&step_bytes)[2], std::uint64_t first, unsigned step, std::uint64_t end,
                                         std::uint64_t index, std::uint64_t each = items_of_unit<Whole, Acc>) {
  constexpr int inputs = Acc::inputs, ahead = (Whole ? Times : 1) * loads_ahead<Whole, Acc>;
  // Where adding a unit is much code, the last few are shifted through registers, and elements always: each of several kernels has a copy of this.
  constexpr bool seldom = !unordered_accumulator<Acc>, always = seldom && !Whole;
  constexpr bool at_once = Whole && inputs == 1 && packs_adder<Acc, ahead>;
  std::uint64_t u = first;
  const auto load = [&](pack (&p)[inputs], std::uint64_t unit) {
#pragma unroll
    for (int k = 0; k < inputs; ++k) {
      p[k] = load_unit<Whole>(acc, from[k] + static_cast<std::int64_t>(unit) * (Whole && !Far ? 16 : step_bytes[k]));
    }
  };
#pragma unroll 1
  for (; u + (ahead - 1) * std::uint64_t{step} < end; u += std::uint64_t{ahead} * step) {
    pack p[ahead][inputs];
#pragma unroll
    for (int j = 0; j < ahead; ++j) load(p[j], u + static_cast<unsigned>(j) * step);
    if constexpr (at_once) {
      acc.add_packs(r, p, index + u * each, step * each);
    } else {
#pragma unroll (always ? 1 : ahead)
      for (int j = 0; j < ahead; ++j) {
        add_unit<Whole>(acc, r, p[always ? 0 : j], index + (u + static_cast<unsigned>(j) * step) * each);
        if constexpr (always) shift_units(p);
      }
    }
  }
  if (u >= end) return;
  if constexpr (at_once) {
    // Loads beyond the last element take the last one again: an extreme is found at its first position all the same.
    pack p[ahead - 1][inputs];
    std::uint64_t last = u;
#pragma unroll
    for (int j = 0; j < ahead - 1; ++j) {
      last = u + static_cast<unsigned>(j) * step < end ? u + static_cast<unsigned>(j) * step : last;
      load(p[j], last);
    }
    acc.add_packs(r, p, index + u * each, step * each);
  } else {
    pack p[ahead - 1][inputs] = {};
#pragma unroll
    for (int j = 0; j < ahead - 1; ++j) {
      if (u + static_cast<unsigned>(j) * step < end) load(p[j], u + static_cast<unsigned>(j) * step);
    }
#pragma unroll (seldom ? 1 : ahead)
    for (int j = 0; j < ahead - 1; ++j) {
      if (u + static_cast<unsigned>(j) * step < end) add_unit<Whole>(acc, r, p[seldom ? 0 : j], index + (u + static_cast<unsigned>(j) * step) * each);
      if constexpr (seldom) shift_units(p);
    }
  }
}

/// The index of a line's first element in its row.
template <class Acc>
__device__ __forceinline__ std::uint64_t first_of_line(const row_walk& w, std::uint64_t line) {
  if constexpr (Acc::packs) {
    if (w.whole) return line * (w.uneven != 0 ? w.uneven : w.units * Acc::items);
  }
  return line * w.units;
}
/// Adds the elements of a line that are in none of its units, by `step` lanes; returns how many elements of the line come before its units. This comes before the
/// units: elements kept for later would take registers from loads that are to be on their way.
template <class Acc>
__device__ __forceinline__ unsigned add_edges(const Acc& acc, typename Acc::running& r, const row_walk& w, const unsigned char* const (&from)[Acc::inputs],
                                              std::uint64_t line, unsigned member, unsigned step, bool mine) {
  if constexpr (Acc::packs) {
    if (w.uneven == 0) return 0;
    constexpr auto size = static_cast<unsigned>(Acc::fixed_size);
    const std::uint64_t inside = w.units * Acc::items;
    const auto edges = static_cast<unsigned>(w.uneven - inside);
    const unsigned before = static_cast<unsigned>(-reinterpret_cast<std::uintptr_t>(from[0]) % 16) / size;
#pragma unroll 1
    for (unsigned e = mine ? member : edges; e < edges; e += step) {
      const std::uint64_t at = e < before ? e : e + inside;
      pack one[Acc::inputs];
#pragma unroll
      for (int k = 0; k < Acc::inputs; ++k) one[k] = load_unit<false>(acc, from[k] + at * size);
      acc.add_item(r, one, line * w.uneven + at);
    }
    return before;
  }
  return 0;
}

/// Reduces rows of one unit per lane, `ahead` rows at once, from row `row` on, `groups` apart; it calls give(state) with the state of each.
template <bool Whole, class Acc, class Give>
__device__ __forceinline__ void add_single_rows(const Acc& acc, const facts_of<Acc>& facts, const row_view<Acc::inputs>& v, std::uint64_t row,
                                                unsigned groups, unsigned steps, bool mine, const std::int64_t (&step_bytes)[2],
                                                unsigned member, Give give) {
  constexpr int inputs = Acc::inputs, ahead = 4 / inputs;
#pragma unroll 1
  for (unsigned step = 0; step < steps; step += ahead) {
    pack p[ahead][inputs] = {};
#pragma unroll
    for (int j = 0; j < ahead; ++j) {
      const std::uint64_t at = row + (step + static_cast<unsigned>(j)) * groups;
      if (mine && step + static_cast<unsigned>(j) < steps && at < v.rows) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) {
          p[j][k] = load_unit<Whole>(acc, v.x[k] + static_cast<std::int64_t>(at) * v.dim[0].stride[k] + member * (Whole ? 16 : step_bytes[k]));
        }
      }
    }
    // Once for all of them: making the state of a row is much code.
#pragma unroll 1
    for (unsigned j = 0; j < ahead && step + j < steps; ++j) {
      typename Acc::running r = acc.start();
      if (mine && row + (step + j) * groups < v.rows) add_unit<Whole>(acc, r, p[0], member * items_of_unit<Whole, Acc>);
      shift_units(p);
      give(total_of(acc, r, facts), step + j);
    }
  }
}

/// Reduces rows of four units of 16 bytes per lane, one after the other: the next row's units come while a row is reduced.
template <class Acc, class Give>
__device__ __forceinline__ void add_quad_rows(const Acc& acc, const row_view<1>& v, std::uint64_t row, unsigned groups, unsigned steps, unsigned lanes,
                                              unsigned member, Give give) {
  constexpr int quad = 4;
  const auto load = [&](pack (&p)[quad][1], std::uint64_t at) {
    const unsigned char* const from = v.x[0] + static_cast<std::int64_t>(at) * v.dim[0].stride[0] + member * 16;
#pragma unroll
    for (unsigned j = 0; j < quad; ++j) p[j][0] = load_bytes(from + j * lanes * 16, 16);
  };
  pack next[quad][1] = {};
  if (row < v.rows) load(next, row);
#pragma unroll 1
  for (unsigned step = 0; step < steps; ++step, row += groups) {
    pack p[quad][1];
#pragma unroll
    for (int j = 0; j < quad; ++j) p[j][0] = next[j][0];
    if (step + 1 < steps && row + groups < v.rows) load(next, row + groups);
    typename Acc::running r = acc.start();
    if (row < v.rows) {
      if constexpr (packs_adder<Acc, quad>) {
        acc.add_packs(r, p, member * Acc::items, lanes * Acc::items);
      } else {
#pragma unroll
        for (unsigned j = 0; j < quad; ++j) acc.add(r, p[j], (member + j * lanes) * Acc::items);
      }
    }
    give(acc.total(r), step);
  }
}

/// Combines the states of each group of 2^log2 lanes in order, in its first lane. It is a loop, since combining states is much code.
template <class Acc>
__device__ __forceinline__ typename Acc::state lanes_total(const Acc& acc, typename Acc::state s, int log2) {
#pragma unroll 1
  for (unsigned m = 1; m < 1u << log2; m *= 2) s = acc.combine(s, state_from_above(s, static_cast<int>(m)));
  return s;
}
/// Combines the states of all threads of a block of 2^log2 warps in order, in thread 0; `room` has one for each warp. There is one barrier.
template <class Acc>
__device__ __forceinline__ typename Acc::state block_total(const Acc& acc, typename Acc::state s, typename Acc::state* room, int log2) {
  s = lanes_total(acc, s, 5);
  if (lane_index() == 0) room[warp_index()] = s;
  __syncthreads();
  if (warp_index() == 0) {
    if (lane_index() < 1 << log2) s = room[lane_index()];
    __syncwarp();
    s = lanes_total(acc, s, log2);
  }
  return s;
}

/// Which row a bit of an uncertain lane's stands for: neighbours by eights, of which the next begins `apart` rows after. All kernels use this one type, so functions that take it are compiled once.
struct rows_of_bits {
  unsigned apart = 8;
  __device__ __forceinline__ unsigned operator()(unsigned bit) const { return bit / 8 * apart + bit % 8; }
};

/// The lanes of a warp add rows alone if at least so many of them have one: a lane alone takes some five times as long as the warp.
inline constexpr int least_alone = 6;

/// How many bytes of a row one lane adds, where few lanes add a row.
inline constexpr std::uint64_t settled_bytes = 128;
/// Answers the short rows of settle_rows by one lane each, or by a few, so that each load of the warp reads much side by side. Returns the rows that are left.
template <class Acc>
__device__ __forceinline__ unsigned settle_alone(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<Acc::inputs>& v, unsigned todo,
                                                 std::uint64_t first, unsigned step, rows_of_bits at, std::size_t answer_bytes, unsigned char* out) {
  int log2 = 0;
  while (v.n * Acc::fixed_size > settled_bytes << log2) ++log2;
  const unsigned lanes = 1u << log2, lane = static_cast<unsigned>(lane_index()), member = lane & (lanes - 1);
  const auto row_of = [&](unsigned bit) { return std::uint64_t{at(static_cast<unsigned>(__ffs(static_cast<int>(bit)) - 1))} * step; };
  unsigned left = 0;
  for (unsigned rest = todo; __any_sync(all_lanes, rest != 0);) {
    const unsigned bit = rest & (0 - rest);
    const std::uint64_t from_first = rest != 0 ? row_of(bit) : 0;
    typename Acc::look_type mine;
#pragma unroll 1
    for (unsigned m = 0; m < lanes; ++m) {
      const int of = static_cast<int>((lane - member) | m);
      const std::uint64_t row = __shfl_sync(all_lanes, first + from_first, of);
      typename Acc::look_type look;
      if (__shfl_sync(all_lanes, rest, of) != 0) {
        const unsigned char* p[1];
        v.begin(row, p);
        look = acc.look_at(v, p[0], member, lanes);
      }
      __syncwarp();
#pragma unroll 1
      for (unsigned mask = 1; mask < lanes; mask *= 2) look.merge_beside(static_cast<int>(mask));
      if (m == member) mine = look;
    }
    if (rest != 0 && !acc.answer_of(mine, v.n, facts, out + (first + from_first) * answer_bytes)) left |= bit;
    rest ^= bit;
  }
  __syncwarp();
  if constexpr (Acc::has_slots) {
    todo = left;
    left = 0;
    while (__any_sync(all_lanes, todo != 0)) {
      const unsigned bit = todo & (0 - todo);
      if (todo != 0) {
        const std::uint64_t row = first + row_of(bit);
        if (!acc.answer_by_slots(room, v, row, facts, out + row * answer_bytes)) left |= bit;
      }
      __syncwarp();
      todo ^= bit;
    }
  }
  return left;
}

/// Answers the rows that lanes are not sure of: bit b of a lane's `todo` is row `first + at(b) · step`. Short rows of several lanes are added by each of them, others by the whole warp, one after the other; apart(row)
/// answers by digits. Hardly any row needs a call from here on: a function that several kernels share saves up to 38 registers of its caller in local memory.
template <class Acc, class Apart>
__device__ __forceinline__ void settle_rows(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<Acc::inputs>& v, unsigned todo, std::uint64_t first,
                                            unsigned step, rows_of_bits at, std::size_t answer_bytes, unsigned char* out, const Apart& apart) {
  if constexpr (alone_accumulator<Acc>) {
    if (v.n <= Acc::alone_elements && __popc(__ballot_sync(all_lanes, todo != 0)) >= least_alone) todo = settle_alone(acc, facts, room, v, todo, first, step, at, answer_bytes, out);
  }
#pragma unroll 1
  for (unsigned lanes = __ballot_sync(all_lanes, todo != 0); lanes != 0;) {
    const int lane = __ffs(static_cast<int>(lanes)) - 1;
    const unsigned bits = __shfl_sync(all_lanes, todo, lane);
    const std::uint64_t row = __shfl_sync(all_lanes, first, lane) + std::uint64_t{at(static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1))} * step;
    if (lane_index() == lane) todo &= todo - 1;
    if ((bits & (bits - 1)) == 0) lanes &= lanes - 1;
    if constexpr (settled_by_another<Acc>) {
      if (acc.again(room, facts, v, row, false, out + row * answer_bytes)) continue;
    }
    apart(row);
  }
}
template <class Acc>
__device__ __forceinline__ void settle_rows(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<Acc::inputs>& v, unsigned todo, std::uint64_t first,
                                            unsigned step, rows_of_bits at, std::size_t answer_bytes, unsigned char* out) {
  settle_rows(acc, facts, room, v, todo, first, step, at, answer_bytes, out, [&](std::uint64_t row) {
    if constexpr (settled_by_another<Acc>) acc.by_digits(room, v, row, false, out + row * answer_bytes);
    else acc.exactly(room, v, row, false, out + row * answer_bytes);
  });
}
template <class By>
__device__ __attribute__((noinline)) void settle_all(By acc, const facts_of<std::remove_cvref_t<By>>& facts, typename room_of<std::remove_cvref_t<By>>::type& room,
                                                     const row_view<std::remove_cvref_t<By>::inputs>& v, unsigned todo, std::uint64_t first, unsigned step, rows_of_bits at,
                                                     std::size_t answer_bytes, unsigned char* out) {
  settle_rows(acc, facts, room, v, todo, first, step, at, answer_bytes, out);
}
/// The same by one call, if any lane has rows to settle. Returns whether there are such.
template <class Acc>
__device__ __forceinline__ bool settle_apart(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<Acc::inputs>& v,
                                             unsigned todo, std::uint64_t first, unsigned step, rows_of_bits at, std::size_t answer_bytes, unsigned char* out) {
  if constexpr (may_doubt<Acc>) {
    if (!__any_sync(all_lanes, todo != 0)) return false;
    if constexpr (settled_by_another<Acc>) settle_all<typename Acc::settles>(acc.settler(), facts, room, v, todo, first, step, at, answer_bytes, out);
    else settle_all<const Acc&>(acc, facts, room, v, todo, first, step, at, answer_bytes, out);
    return true;
  }
  return false;
}
/// The same by a call for each row where a row is a call anyway.
template <class Acc>
__device__ __forceinline__ bool settle(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<Acc::inputs>& v,
                                       unsigned todo, std::uint64_t first, unsigned step, rows_of_bits at, std::size_t answer_bytes, unsigned char* out) {
  if constexpr (!may_doubt<Acc>) return false;
  else if constexpr (settled_by_another<Acc>) return settle_apart(acc, facts, room, v, todo, first, step, at, answer_bytes, out);
  else if (!__any_sync(all_lanes, todo != 0)) return false;
  else settle_rows(acc, facts, room, v, todo, first, step, at, answer_bytes, out);
  return true;
}

/// How many blocks a multiprocessor is to hold. Kernels that prove long rows have fewer, so that their threads have registers for all loads that are to be on
/// their way: with fewer registers ptxas moves loads behind additions.
template <class Acc>
inline constexpr int rows_blocks = Acc::proves && !quick_accumulator<Acc> ? 6 : 8;

template <class Acc>
  requires row_domain<row_view<Acc::inputs>, Acc::inputs>
__global__ void __launch_bounds__(rows_threads, resident_blocks(rows_threads, rows_blocks<Acc>))
    rows_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ row_walk w, const __grid_constant__ Acc acc,
                const __grid_constant__ facts_of<Acc> facts, unsigned char* out) {
  await_stream();
  constexpr int inputs = Acc::inputs;
  using state = typename Acc::state;
  __shared__ state slots[rows_warps][warp_lanes];
  __shared__ typename room_of<Acc>::type rooms[rows_warps];
  const unsigned lanes = 1u << w.group_log2, in_warp = static_cast<unsigned>(lane_index());
  const unsigned member = in_warp & (lanes - 1), group = in_warp >> w.group_log2, groups = 32u >> w.group_log2;
  const auto steps = static_cast<unsigned>(w.steps);
  const std::uint64_t batch_rows = std::uint64_t{groups} * steps;
  const std::uint64_t batches = (v.rows + batch_rows - 1) / batch_rows;
  const auto my_warp = static_cast<unsigned>(warp_index());

  for (std::uint64_t batch = blockIdx.x * std::uint64_t{rows_warps} + my_warp; batch < batches; batch += std::uint64_t{gridDim.x} * rows_warps) {
    const std::uint64_t first = batch * batch_rows;
    unsigned todo = 0;
    // The states of the groups' rows of a step; those of 32 rows, or the last ones, become answers.
    const auto finish = [&](state s, unsigned step) {
      s = lanes_total(acc, s, w.group_log2);
      const unsigned turn = step & (lanes - 1);
      if (member == 0) slots[my_warp][turn * groups + group] = s;
      if (turn != lanes - 1 && step != steps - 1) return;
      __syncwarp();
      const std::uint64_t from = first + std::uint64_t{step - turn} * groups, row = from + in_warp;
      if (in_warp < (turn + 1) * groups && row < v.rows && !acc.answer(slots[my_warp][in_warp], v.n, facts, out + row * w.answer_bytes)) {
        todo |= 1u << (step >> w.group_log2);
      }
      __syncwarp();
    };
    if (w.single) {
      const bool mine = member < w.units;
      by_unit<Acc>(w.whole, [&]<bool Whole>() {
        add_single_rows<Whole>(acc, facts, v, first + group, groups, steps, mine, w.step_bytes, member, finish);
      });
    }
    if constexpr (quad_accumulator<Acc>) {
      if (w.quads) add_quad_rows(acc, v, first + group, groups, steps, lanes, member, finish);
    }
#pragma unroll 1
    for (unsigned step = w.single || w.quads ? steps : 0; step < steps; ++step) {
      const std::uint64_t row = first + step * groups + group;
      const unsigned char* from[inputs];
      const std::uint64_t units = row < v.rows ? w.units : 0;
      v.begin(row < v.rows ? row : 0, from);
      typename Acc::running r = acc.start();
#pragma unroll 1
      for (std::uint64_t line = 0; line < w.lines; ++line) {
        const unsigned char* p[inputs];
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[k] = from[k] + v.line(line, k);
        const unsigned before = add_edges(acc, r, w, p, line, member, lanes, units != 0);
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[k] += before * static_cast<unsigned>(Acc::fixed_size);
        by_unit<Acc>(w.whole, [&]<bool Whole>() { add_line<Whole>(acc, r, p, w.step_bytes, member, lanes, units, first_of_line<Acc>(w, line) + before); });
      }
      __syncwarp();
      finish(total_of(acc, r, facts), step);
    }
    settle(acc, facts, rooms[my_warp], v, todo, first + in_warp, warp_lanes, {}, w.answer_bytes, out);
  }
}

}  // namespace wf::device::inline WF_BUILD
