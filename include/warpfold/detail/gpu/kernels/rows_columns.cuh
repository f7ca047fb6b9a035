// SPDX-License-Identifier: Apache-2.0
/// \file rows_columns.cuh
/// Rows whose elements lie far apart in memory, beside the neighbouring rows': columns. A lane adds up a word's worth of
/// neighbouring columns; a warp reads one line or two of each step, eight steps at once. Where there are few columns, they are cut along their length, and the
/// last block of a tile that is done puts the parts together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/rows_kernel.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int columns_threads = 256, columns_warps = columns_threads / warp_lanes;
/// How many merges of a block an element goes through, at most: those of lanes, those of warps, and twice more those of warps where blocks share a column.
inline constexpr int merges_of_columns = 5 + 3 * columns_warps;

/// An accumulator whose threads load 8 bytes of neighbouring columns; for elements of 1 and 2 bytes only where there is much to load.
template <class Acc>
concept wide_accumulator = requires { requires Acc::wide_columns; };
inline constexpr std::uint64_t wide_least_bytes = 1 << 19;  ///< for each multiprocessor
/// How many bytes of neighbouring columns a thread loads: 8 for sums that keep little of a column, so that as much is on its way as with wider elements.
template <class Acc>
inline constexpr int columns_bytes = wide_accumulator<Acc> || (unordered_accumulator<Acc> && sizeof(typename Acc::state) <= 16 && Acc::fixed_size < 4) ? 8 : 4;
/// How many columns a thread has that loads `Bytes` bytes of them.
template <class Acc, int Bytes>
inline constexpr int columns_each = own_accumulator<Acc> || Acc::fixed_size >= Bytes ? 1 : Bytes / Acc::fixed_size;
/// Columns of fewer bytes side by side are loaded 4 bytes at once: 2^24 × 16 of f16 took 1.1 times as long by 8.
inline constexpr std::uint64_t narrow_columns = 64;

/// Blocks that a multiprocessor is to hold: fewer where what threads keep would not fit into their registers. (For f32 the fourth block is worth more than the registers.)
template <class Acc>
inline constexpr int columns_blocks = Acc::proves && (Acc::fixed_size == 8 || (Acc::fixed_size == 2 && !quick_accumulator<Acc>)) ? 3 : 4;

/// How columns are walked; made by the host.
struct column_walk {
  std::uint64_t columns;      ///< side by side in memory; a row's index is a tile's, then a column's
  std::uint64_t tiles;        ///< for `lanes · columns_each` columns
  std::uint64_t each;         ///< elements of a column that a block takes
  std::uint32_t parts;        ///< blocks along a column
  std::uint32_t bunch;        ///< how many blocks put their states together before all do
  int lanes_log2;             ///< lanes side by side
  bool aligned;               ///< how many bytes a lane loads
  bool words;                 ///< words of it are
  std::size_t answer_bytes;
};

/// Whether this block is the last of `parts` to call it, for all of its threads. The last one sees what the others have written.
__device__ __forceinline__ bool last_to_come(std::uint32_t* ticket, std::uint32_t parts) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1u) == parts - 1;
    if (last) atomicExch(ticket, 0u);
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// Item c of what a lane loads, alone in a pack; c is known when the loop around it is unrolled.
template <int Size>
__device__ __forceinline__ pack column_item(const pack& p, int c) {
  pack one{};
  if constexpr (Size == 8) {
    one.word[0] = p.word[2 * c];
    one.word[1] = p.word[2 * c + 1];
  } else {
    one.word[0] = p.word[Size * c / 4] >> (8 * Size * c % 32);
  }
  return one;
}

/// States of a block's threads in shared memory, of each of its columns: their words lie side by side for a warp's lanes, so that none waits for another's. (States of 32 bytes, one behind the other, met each bank eight times.)
template <class State, int Each>
struct column_states {
  static constexpr int unit = sizeof(State) % 8 == 0 ? 8 : sizeof(State) % 4 == 0 ? 4 : static_cast<int>(sizeof(State)), units = static_cast<int>(sizeof(State)) / unit;
  struct alignas(State) whole {
    unsigned char byte[sizeof(State)];
  };
  using word = std::conditional_t<unit == 8, std::uint64_t, std::conditional_t<unit == 4, std::uint32_t, whole>>;
  word of[Each][columns_warps][units][warp_lanes];

  __device__ __forceinline__ void put(int c, unsigned warp, unsigned lane, const State& s) {
    word w[units];
    __builtin_memcpy(w, &s, sizeof s);
#pragma unroll
    for (int j = 0; j < units; ++j) of[c][warp][j][lane] = w[j];
  }
  __device__ __forceinline__ State get(int c, unsigned warp, unsigned lane) const {
    word w[units];
#pragma unroll
    for (int j = 0; j < units; ++j) w[j] = of[c][warp][j][lane];
    State s;
    __builtin_memcpy(&s, w, sizeof s);
    return s;
  }
};

/// Makes answers from the states of threads: a block's are put together in `shared`, and those of a tile's blocks by the last of them.
/// take(c): what this thread has of its column c.
template <int Each, class Acc, class Take>
__device__ __forceinline__ void end_columns(const Acc& acc, const facts_of<Acc>& facts, const row_view<Acc::inputs>& v, const column_walk& w,
                                            column_states<typename Acc::state, Each>& shared, typename room_of<Acc>::type& room,
                                            unsigned char* out, unsigned char* partials, std::uint32_t* tickets, Take take) {
  constexpr int each = Each;
  using state = typename Acc::state;
  const unsigned lanes = 1u << w.lanes_log2, lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const std::uint64_t group = blockIdx.x / w.parts;
  const std::uint32_t part = blockIdx.x % w.parts;
  const std::uint64_t tile = group % w.tiles, outer = group / w.tiles, column = (tile * lanes + (lane & (lanes - 1))) * each;
#pragma unroll
  for (int c = 0; c < each; ++c) {
    state s = take(c);
    for (unsigned step = lanes; step < warp_lanes; step *= 2) s = acc.combine(s, state_from_above(s, static_cast<int>(step)));
    shared.put(c, warp, lane, s);
  }
  __syncthreads();
  // There is one warp for each column of a lane.
  const bool mine = warp < each && lane < lanes && column + warp < w.columns;
  state s = acc.identity();
  if (mine) {
    s = shared.get(static_cast<int>(warp), 0, lane);
    for (unsigned j = 1; j < columns_warps; ++j) s = acc.combine(s, shared.get(static_cast<int>(warp), j, lane));
  }
  if (w.parts > 1) {
    const unsigned wide = lanes * each;
    auto* const box = reinterpret_cast<state*>(partials) + group * w.parts * wide;
    if (mine) box[part * wide + warp * lanes + lane] = s;
    // Takes `count` boxes, from one on and `apart` from each other: all warps take neighbouring ones of each column, in order.
    const auto take_boxes = [&](std::uint32_t first, std::uint32_t count, std::uint32_t apart) {
      const std::uint32_t many = (count + columns_warps - 1) / columns_warps, last = min(count, (warp + 1) * many);
      const bool inside = lane < lanes && column < w.columns;
      const auto box_of = [&](std::uint32_t j, int c) { return box[(first + j * apart) * wide + static_cast<unsigned>(c) * lanes + lane]; };
      if constexpr ((unordered_accumulator<Acc> && sizeof(state) <= 16) || (wide_accumulator<Acc> && sizeof(state) <= 8)) {  // so small that those of all columns are on their way at once
        state of[each];
#pragma unroll
        for (int c = 0; c < each; ++c) of[c] = acc.identity();
        if (inside) {
#pragma unroll 2
          for (std::uint32_t j = warp * many; j < last; ++j) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
              if (column + static_cast<unsigned>(c) < w.columns) of[c] = acc.combine(of[c], box_of(j, c));
            }
          }
        }
#pragma unroll
        for (int c = 0; c < each; ++c) shared.put(c, warp, lane, of[c]);
      } else {
#pragma unroll
        for (int c = 0; c < each; ++c) {
          s = acc.identity();
          if (inside && column + static_cast<unsigned>(c) < w.columns) {
#pragma unroll 4
            for (std::uint32_t j = warp * many; j < last; ++j) s = acc.combine(s, box_of(j, c));
          }
          shared.put(c, warp, lane, s);
        }
      }
      __syncthreads();
      s = acc.identity();
      if (mine) {
        for (unsigned j = 0; j < columns_warps; ++j) s = acc.combine(s, shared.get(static_cast<int>(warp), j, lane));
      }
    };
    // Where blocks are many, the last one of each bunch of them puts that together, and the last one of these all.
    const std::uint32_t bunches = (w.parts + w.bunch - 1) / w.bunch, mine_of = part / w.bunch;
    std::uint32_t* const ticket = tickets + group * (bunches == 1 ? 1 : bunches + 1);
    const std::uint32_t here = min(w.bunch, w.parts - mine_of * w.bunch);
    if (!last_to_come(ticket + mine_of, here)) return;
    take_boxes(mine_of * w.bunch, here, 1);
    if (bunches > 1) {
      if (mine) box[mine_of * w.bunch * wide + warp * lanes + lane] = s;
      if (!last_to_come(ticket + bunches, bunches)) return;
      take_boxes(0, bunches, w.bunch);
    }
  }
  const std::uint64_t row = outer * w.columns + column + warp;
  bool sure = true;
  if constexpr (own_accumulator<Acc>) {
    if (mine) sure = acc.answer_row(s, v.n, facts.merges, row);
  } else {
    if (mine) sure = acc.answer(s, v.n, facts, out + row * w.answer_bytes);
  }
  if constexpr (may_doubt<Acc>) {
    __shared__ unsigned uncertain[each];
    const unsigned failed = __ballot_sync(all_lanes, !sure);
    if (warp < each && lane == 0) uncertain[warp] = failed;
    __syncthreads();
    for (int c = 0; c < each; ++c) {
      for (unsigned todo = uncertain[c]; todo != 0; todo &= todo - 1) {
        const auto at = static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
        const std::uint64_t again = outer * w.columns + (tile * lanes + at) * each + static_cast<unsigned>(c);
        acc.template exactly<wanted::answers>(room, v, again, true, out + again * w.answer_bytes);  // states are not reduced in this way
      }
    }
  }
}

template <class Acc, int Bytes>
__global__ void __launch_bounds__(columns_threads, resident_blocks(columns_threads, columns_blocks<Acc>))
    columns_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ column_walk w, const __grid_constant__ Acc acc,
                   const __grid_constant__ facts_of<Acc> facts, unsigned char* out, unsigned char* partials, std::uint32_t* tickets) {
  await_stream();
  constexpr int inputs = Acc::inputs, each = columns_each<Acc, Bytes>, size = Acc::fixed_size, bytes = each * size;
  constexpr int ahead = inputs == 1 ? 8 : 4;
  using state = typename Acc::state;
  __shared__ column_states<state, each> shared;
  __shared__ typename room_of<Acc>::type room;
  const unsigned lanes = 1u << w.lanes_log2, lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const unsigned side = lane & (lanes - 1), high = warp_lanes >> w.lanes_log2;
  const std::uint64_t group = blockIdx.x / w.parts;
  const std::uint32_t part = blockIdx.x % w.parts;
  const std::uint64_t tile = group % w.tiles, outer = group / w.tiles;
  const std::uint64_t column = (tile * lanes + side) * each;
  const auto here = static_cast<int>(column >= w.columns ? 0 : min(std::uint64_t{each}, w.columns - column));
  const std::uint64_t begin = part * w.each, end = min(v.n, begin + w.each);
  const unsigned char* p[inputs];
  v.begin(outer * w.columns, p);
#pragma unroll
  for (int k = 0; k < inputs; ++k) p[k] += column * size;
  typename Acc::running r[each];
  state sum[each];
#pragma unroll
  for (int c = 0; c < each; ++c) {
    r[c] = acc.start();
    sum[c] = acc.identity();
  }
  if constexpr (own_accumulator<Acc>) {
    if (here != 0) {  // one after the other, for those that keep the order
      const std::uint64_t walkers = std::uint64_t{columns_warps} * high, chunk = (end - begin + walkers - 1) / walkers;
      const std::uint64_t from = min(end, begin + (warp * high + (lane >> w.lanes_log2)) * chunk);
      sum[0] = acc.walk(v, outer * w.columns + column, from, min(end, from + chunk), 1);
    }
  } else if (here != 0) {
    const std::uint64_t step = std::uint64_t{columns_warps} * high;
    const bool straight = v.dims - v.kept <= 1;
    const auto load = [&]<bool Whole>(const unsigned char* x) {
      if constexpr (Whole) {
        return load_bytes(x, bytes);
      } else {
        pack to{};
        if constexpr (bytes == 8) {
          if (w.words && here == each) {
            to.word[0] = load_bytes(x, 4).word[0];
            to.word[1] = load_bytes(x + 4, 4).word[0];
            return to;
          }
        }
#pragma unroll
        for (int c = 0; c < each; ++c) {
          if (c < here) to.word[size * c / 4] |= load_bytes(x + c * size, size).word[0] << (8 * size * c % 32);
        }
        return to;
      }
    };
    const auto add = [&](const pack (&from)[inputs], std::uint64_t i) {
#pragma unroll
      for (int c = 0; c < each; ++c) {
        pack one[inputs];
#pragma unroll
        for (int k = 0; k < inputs; ++k) {
          if constexpr (each > 1) one[k] = column_item<size>(from[k], c);
          else one[k] = from[k];
        }
        acc.add_item(r[c], one, i);
      }
    };
    std::uint64_t i = begin + warp * high + (lane >> w.lanes_log2);
    // Two loops, so that no load is behind a branch of its own.
    const auto walk = [&]<bool Whole>() {
      if (straight) {
        [[maybe_unused]] unsigned rounds = 0;  // for chains that are to be proved
        const unsigned char* at[inputs];
        std::int64_t hop[inputs];
#pragma unroll
        for (int k = 0; k < inputs; ++k) {
          at[k] = p[k] + static_cast<std::int64_t>(i) * v.dim[v.kept].stride[k];
          hop[k] = static_cast<std::int64_t>(step) * v.dim[v.kept].stride[k];
        }
#pragma unroll 1
        for (; i + (ahead - 1) * step < end; i += ahead * step) {
          pack some[ahead][inputs];
#pragma unroll
          for (int j = 0; j < ahead; ++j) {
#pragma unroll
            for (int k = 0; k < inputs; ++k) {
              some[j][k] = load.template operator()<Whole>(at[k]);
              at[k] += hop[k];
            }
          }
          if constexpr (column_adder<Acc, each, ahead>) {
            acc.add_columns(r, some);
          } else if constexpr (placed_column_adder<Acc, each, ahead>) {
            acc.add_columns(r, some, i, step);
          } else {
#pragma unroll
            for (int j = 0; j < ahead; ++j) add(some[j], i + static_cast<unsigned>(j) * step);
          }
          if constexpr (Acc::proves) {
            if (++rounds == rounds_of_chain / ahead) {
              rounds = 0;
              if constexpr (parts_columns<Acc, each>) acc.part_columns(r);
#pragma unroll
              for (int c = 0; c < each; ++c) {
                sum[c] = acc.combine(sum[c], total_of(acc, r[c], facts));
                r[c] = acc.start();
              }
            }
          }
        }
      }
#pragma unroll 1
      for (; i < end; i += step) {
        pack one[inputs];
#pragma unroll
        for (int k = 0; k < inputs; ++k) one[k] = load.template operator()<Whole>(p[k] + v.element(i, k));
        add(one, i);
      }
    };
    if (each == 1 || (w.aligned && here == each)) walk.template operator()<true>();
    else if constexpr (each != 1) walk.template operator()<false>();
  }
  if constexpr (parts_columns<Acc, each>) acc.part_columns(r);
  end_columns<each>(acc, facts, v, w, shared, room, out, partials, tickets, [&](int c) { return acc.combine(sum[c], total_of(acc, r[c], facts)); });
}

/// Bytes that a thread of front_columns_kernel loads of neighbouring columns: what it keeps of more of them takes registers from what is on its way.
inline constexpr int front_bytes = 8;
template <class Acc>
inline constexpr bool has_front = unordered_accumulator<Acc>;

/// Loads of a thread at once; blocks of a multiprocessor. Exact sums, and threads that have several columns, want many registers: with fewer blocks, whose threads have them and twice the loads,
/// as much is on its way, no register goes into memory, and fewer blocks have something to put together.
template <class Acc>
inline constexpr bool front_is_wide = Acc::proves || Acc::fixed_size < front_bytes;
template <class Acc>
inline constexpr int front_ahead = front_is_wide<Acc> ? 16 : 8;
template <class Acc>
inline constexpr int front_blocks = front_is_wide<Acc> ? 2 : 4;
/// Bytes of bf16, and of integers of 1 and 2 bytes, that go by front_columns_kernel, at least.
inline constexpr std::uint64_t front_least_bytes = 96 << 10;  ///< for each multiprocessor
/// How many totals are merged in a column, at most: a certificate's bound grows with them.
inline constexpr std::uint64_t most_totals = 1 << 12;

/// Columns of elements of so few bytes may begin anywhere; they have so many bytes side by side then.
template <class Acc>
inline constexpr bool shifts_columns = Acc::fixed_size <= 4;
inline constexpr std::uint64_t shifted_columns = 64;

/// `bytes` bytes from anywhere on, 1 … 8: by the words around them, each of which has some of them.
__device__ __forceinline__ pack load_words_around(const unsigned char* p, unsigned bytes) {
  const auto skip = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 4), last = (skip + bytes - 1) / 4 * 4;
  const unsigned char* const from = p - skip;
  const std::uint32_t a = load_bytes(from, 4).word[0], b = load_bytes(from + min(last, 4u), 4).word[0], c = load_bytes(from + last, 4).word[0];
  return {{__funnelshift_r(a, b, 8 * skip), __funnelshift_r(b, c, 8 * skip), 0, 0}};
}

/// Columns whose lines lie evenly, by accumulators that take elements in any order: the blocks of a tile take turns along it, so that all multiprocessors read
/// neighbouring memory at a time.
template <unordered_accumulator Acc>
__global__ void __launch_bounds__(columns_threads, resident_blocks(columns_threads, front_blocks<Acc>))
    front_columns_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ column_walk w, const __grid_constant__ Acc acc,
                         const __grid_constant__ facts_of<Acc> facts, unsigned char* out, unsigned char* partials, std::uint32_t* tickets) {
  await_stream();
  constexpr int size = Acc::fixed_size, bytes = front_bytes, each = bytes / size, ahead = front_ahead<Acc>;
  using state = typename Acc::state;
  __shared__ column_states<state, each> shared;
  __shared__ typename room_of<Acc>::type room;
  const unsigned lanes = 1u << w.lanes_log2, lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const unsigned high = warp_lanes >> w.lanes_log2, step = columns_warps * high;
  const std::uint64_t group = blockIdx.x / w.parts, tile = group % w.tiles, outer = group / w.tiles, column = (tile * lanes + (lane & (lanes - 1))) * each;
  const std::uint32_t part = blockIdx.x % w.parts;
  const unsigned char* p[1];
  v.begin(outer * w.columns, p);
  typename Acc::running r[each];
#pragma unroll
  for (int c = 0; c < each; ++c) r[c] = acc.start();
  bool has_states = false;  // in shared memory
  [[maybe_unused]] const auto cut = [&] {
    if constexpr (parts_columns<Acc, each>) acc.part_columns(r);
#pragma unroll
    for (int c = 0; c < each; ++c) {
      const state s = total_of(acc, r[c], facts);
      shared.put(c, warp, lane, has_states ? acc.combine(shared.get(c, warp, lane), s) : s);
      r[c] = acc.start();
    }
    has_states = true;
  };
  const auto add = [&](const pack& from) {
#pragma unroll
    for (int c = 0; c < each; ++c) acc.add_item(r[c], {column_item<size>(from, c)}, 0);
  };
  // Shifted: loads begin anywhere. The words around what lies in the first line or the last one might leave the array.
  const auto here = static_cast<int>(min(std::uint64_t{each}, w.columns - min(w.columns, column)));
  const auto load = [&]<bool Shifted>(const unsigned char* x, bool inside) {
    if constexpr (!Shifted) {
      return load_bytes(x, bytes);
    } else if constexpr (size == 4) {
      pack to = load_bytes(x, 4);
      if (here == each) to.word[1] = load_bytes(x + 4, 4).word[0];
      return to;
    } else {
      if (inside) return load_words_around(x, static_cast<unsigned>(here * size));
      pack to{};
#pragma unroll
      for (int c = 0; c < each; ++c) {
        if (c < here) to.word[size * c / 4] |= load_bytes(x + c * size, size).word[0] << (8 * size * c % 32);
      }
      return to;
    }
  };
  const auto walk = [&]<bool Shifted>() {
    const std::int64_t stride = v.dim[v.kept].stride[0], hop = static_cast<std::int64_t>(step) * stride;
    const std::uint64_t round = std::uint64_t{step} * ahead, jump = round * w.parts;
    std::uint64_t i = part * round + warp * high + (lane >> w.lanes_log2);
    const unsigned char* at = p[0] + column * size + static_cast<std::int64_t>(i) * stride;
    [[maybe_unused]] unsigned rounds = 0;
#pragma unroll 1
    for (; i + (ahead - 1) * step + (Shifted ? 1 : 0) < v.n; i += jump, at += static_cast<std::int64_t>(w.parts - 1) * ahead * hop) {
      pack some[ahead][1];
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        some[j][0] = load.template operator()<Shifted>(at, j != 0 || i != 0);
        at += hop;
      }
      if constexpr (column_adder<Acc, each, ahead>) {
        acc.add_columns(r, some);
      } else {
#pragma unroll
        for (int j = 0; j < ahead; ++j) add(some[j][0]);
      }
      if constexpr (Acc::proves) {
        if (++rounds == rounds_of_chain / ahead) {
          rounds = 0;
          cut();
        }
      }
    }
    // What is left of whole rounds comes by half as many loads at once.
    constexpr int rest = ahead / 2;
#pragma unroll 1
    while (i < v.n) {
      pack some[rest];
      const std::uint64_t first = i;
#pragma unroll
      for (int k = 0; k < rest; ++k, i += step, at += hop) {
        if (i < v.n) some[k] = load.template operator()<Shifted>(at, i != 0 && i + 1 < v.n);
      }
#pragma unroll
      for (int k = 0; k < rest; ++k) {
        if (first + static_cast<unsigned>(k) * step < v.n) add(some[k]);
      }
    }
  };
  if (here != 0) {
    if (w.aligned) walk.template operator()<false>();
    else if constexpr (shifts_columns<Acc>) walk.template operator()<true>();
  }
  if constexpr (parts_columns<Acc, each>) acc.part_columns(r);
  end_columns<each>(acc, facts, v, w, shared, room, out, partials, tickets, [&](int c) {
    const state s = total_of(acc, r[c], facts);
    return has_states ? acc.combine(shared.get(c, warp, lane), s) : s;
  });
}

/// Parts of each of `groups`, about `wanted` blocks in all, at most `limit`: so many that the last wave of `resident` blocks is nearly full.
inline std::uint64_t parts_in_waves(std::uint64_t groups, std::uint64_t wanted, std::uint64_t resident, std::uint64_t limit) {
  std::uint64_t most = wanted / groups + 1, best = 1;
  if (most > limit) most = limit;
  double of_best = 0;
  for (std::uint64_t parts = most < 1 ? 1 : most; parts >= 1 && 2 * parts + 1 >= most; --parts) {
    const std::uint64_t waves = (groups * parts + resident - 1) / resident;
    const double used = static_cast<double>(groups * parts) / static_cast<double>(waves * resident);
    if (used > of_best + 0.01) {
      of_best = used;
      best = parts;
    }
  }
  return best;
}

/// Parts of each of `groups`: so many that all are resident at once; of more groups than that, so many that the last wave leaves less than an eighth of the device idle.
inline std::uint64_t front_parts(std::uint64_t groups, std::uint64_t resident) {
  if (groups <= resident) return resident / groups;
  std::uint64_t parts = 1;
  const auto idle = [&] { return (resident - groups * parts % resident) % resident; };
  while (parts < 8 && 8 * idle() > groups * parts + idle()) ++parts;
  return parts;
}

/// How many of the `parts` blocks of each of `groups` are a bunch: about as many as there are bunches, where there are tickets for them.
inline std::uint32_t bunch_of(std::uint64_t groups, std::uint32_t parts) {
  if (parts <= 32) return parts;
  std::uint32_t bunch = 8;
  while (bunch * bunch < parts) ++bunch;
  return groups * ((parts + bunch - 1) / bunch + 1) <= workspace::row_tickets ? bunch : parts;
}

/// Whether the rows of a view are columns: their neighbours lie closer than their elements.
template <int Inputs>
bool are_columns(const row_view<Inputs>& v, int size) {
  if (v.offsets != nullptr || v.kept == 0 || v.dims == v.kept || v.dim[v.kept - 1].length < 2) return false;
  for (int k = 0; k < Inputs; ++k) {
    if (v.dim[v.kept - 1].stride[k] != size || v.dim[v.dims - 1].stride[k] == size) return false;
  }
  return true;
}

template <int Bytes, class Acc>
cudaError_t enqueue_columns_by(const Acc& acc, const row_view<Acc::inputs>& v, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  constexpr int inputs = Acc::inputs, each = columns_each<Acc, Bytes>, size = Acc::fixed_size, bytes = each * size;
  column_walk w{};
  w.columns = v.dim[v.kept - 1].length;
  w.answer_bytes = acc.result_size();
  while (w.lanes_log2 < 5 && (std::uint64_t{each} << w.lanes_log2) < w.columns) ++w.lanes_log2;
  const std::uint64_t lanes = std::uint64_t{1} << w.lanes_log2, wide = lanes * each;
  w.tiles = (w.columns + wide - 1) / wide;
  std::uintptr_t all = 0;
  for (int k = 0; k < inputs; ++k) {
    all |= reinterpret_cast<std::uintptr_t>(v.x[k]);
    for (int d = 0; d < v.dims; ++d) {
      if (d != v.kept - 1) all |= static_cast<std::uintptr_t>(v.dim[d].stride[k]);
    }
  }
  w.aligned = all % bytes == 0;
  w.words = all % 4 == 0;
  const std::uint64_t groups = w.tiles * (v.rows / w.columns);
  // As many blocks as keep all multiprocessors busy, each with some steps to do and with a place for its states.
  const std::uint64_t step = columns_warps * (32 >> w.lanes_log2);
  const std::uint64_t resident = std::uint64_t{columns_blocks<Acc>} * scratch.multiprocessors(), wanted = 2 * resident;
  const std::uint64_t most = workspace::row_bytes / (groups * wide * sizeof(typename Acc::state)), fit = v.n / (step * 16);
  std::uint64_t parts = groups >= 2 * wanted ? 1 : parts_in_waves(groups, wanted, resident, most < fit ? most : fit);
  if (parts < 1 || groups > workspace::row_tickets) parts = 1;
  w.each = (v.n + parts - 1) / parts;
  w.parts = static_cast<std::uint32_t>((v.n + w.each - 1) / w.each);
  w.bunch = bunch_of(groups, w.parts);
  if (groups * w.parts >= (std::uint64_t{1} << 31)) return cudaErrorInvalidConfiguration;
  // Chains are cut where rows are straight, but for what is left at the end.
  const std::uint64_t length = (w.each + step - 1) / step + 1;
  const std::uint64_t chain = v.dims - v.kept > 1 || length < 2 * rounds_of_chain ? length : 2 * rounds_of_chain;
  return launch(columns_kernel<Acc, Bytes>, {static_cast<unsigned>(groups * w.parts), columns_threads, 0, stream, scratch.overlaps()}, v, w, acc,
                acc.facts(v.n, chain, w.parts + length / rounds_of_chain + 1 + merges_of_columns), static_cast<unsigned char*>(r.out), scratch.row_states(),
                scratch.row_counters());
}

/// Whether columns go by front_columns_kernel; enqueued if they do.
template <class Acc>
  requires has_front<Acc>
bool enqueue_front_columns(const Acc& acc, const row_view<1>& v, const rows_request& r, workspace& scratch, cudaStream_t stream, cudaError_t& e) {
  constexpr int bytes = front_bytes, each = bytes / Acc::fixed_size;
  column_walk w{};
  w.columns = v.dim[v.kept - 1].length;
  w.answer_bytes = acc.result_size();
  std::uintptr_t all = reinterpret_cast<std::uintptr_t>(v.x[0]);
  for (int d = 0; d < v.dims; ++d) {
    if (d != v.kept - 1) all |= static_cast<std::uintptr_t>(v.dim[d].stride[0]);
  }
  if (v.dims - v.kept != 1) return false;
  w.aligned = all % bytes == 0 && w.columns % each == 0;
  const std::uint64_t side = w.columns * Acc::fixed_size;
  if (!w.aligned && (!shifts_columns<Acc> || side < shifted_columns || v.dim[v.kept].stride[0] < static_cast<std::int64_t>(side))) return false;
  while (w.lanes_log2 < 5 && (std::uint64_t{each} << w.lanes_log2) < w.columns) ++w.lanes_log2;
  const std::uint64_t wide = std::uint64_t{each} << w.lanes_log2, round = std::uint64_t{columns_warps} * (warp_lanes >> w.lanes_log2) * front_ahead<Acc>;
  w.tiles = (w.columns + wide - 1) / wide;
  const std::uint64_t groups = w.tiles * (v.rows / w.columns), resident = std::uint64_t{front_blocks<Acc>} * scratch.multiprocessors();
  // As many blocks as keep all multiprocessors busy, each with 16 loads of a thread to do and with a place for its states.
  std::uint64_t parts = front_parts(groups, resident);
  const std::uint64_t some = round / front_ahead<Acc> * 16;
  for (const std::uint64_t limit : {workspace::row_bytes / (groups * wide * sizeof(typename Acc::state)), v.n / some}) {
    if (parts > limit) parts = limit;
  }
  if (parts < 1 || groups > workspace::row_tickets) parts = 1;
  // columns_kernel has what are no two rounds of a thread, of f64 and bf16 (of integers, no round), and what is small, of bf16 and integers of 1 and 2 bytes: 64 × 2^18 of f64 took
  // 1.8 times as long by this one, of i8 1.6; 1000 × 1000 of bf16 1.4, of i8 1.2.
  if constexpr (Acc::proves && (Acc::fixed_size == 8 || parts_columns<Acc, each>)) {
    if (parts == 1 && v.n < 2 * round) return false;
  }
  if constexpr (!Acc::proves && front_is_wide<Acc>) {
    if (v.n < round) return false;
  }
  if constexpr (Acc::fixed_size <= 2 && (!Acc::proves || parts_columns<Acc, each>)) {
    if (v.all * Acc::fixed_size < front_least_bytes * scratch.multiprocessors()) return false;
  }
  if (groups * parts >= (std::uint64_t{1} << 31)) return false;
  w.parts = static_cast<std::uint32_t>(parts);
  w.bunch = bunch_of(groups, w.parts);
  const std::uint64_t length = (v.n / (round * parts) + 2) * front_ahead<Acc>, chain = length < 2 * rounds_of_chain ? length : 2 * rounds_of_chain;
  if (parts + length / rounds_of_chain > most_totals) return false;
  e = launch(front_columns_kernel<Acc>, {static_cast<unsigned>(groups * parts), columns_threads, 0, stream, scratch.overlaps()}, v, w, acc,
             acc.facts(v.n, chain, parts + length / rounds_of_chain + 1 + merges_of_columns), static_cast<unsigned char*>(r.out), scratch.row_states(), scratch.row_counters());
  return true;
}

template <class Acc>
cudaError_t enqueue_columns(const Acc& acc, const row_view<Acc::inputs>& v, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  if constexpr (has_front<Acc>) {
    cudaError_t e = cudaSuccess;
    if (enqueue_front_columns(acc, v, r, scratch, stream, e)) return e;
  }
  constexpr int bytes = columns_bytes<Acc>, size = Acc::fixed_size;
  if constexpr (bytes == 4 || (wide_accumulator<Acc> && size >= 4)) {
    return enqueue_columns_by<bytes>(acc, v, r, scratch, stream);
  } else {
    const std::uint64_t side = v.dim[v.kept - 1].length * static_cast<unsigned>(size);
    bool wide = side >= narrow_columns;
    if constexpr (wide_accumulator<Acc>) wide = wide && side % bytes == 0 && v.all * static_cast<unsigned>(size) >= wide_least_bytes * scratch.multiprocessors();
    return wide ? enqueue_columns_by<bytes>(acc, v, r, scratch, stream) : enqueue_columns_by<4>(acc, v, r, scratch, stream);
  }
}

}  // namespace wf::device::inline WF_BUILD
