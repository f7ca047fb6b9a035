// SPDX-License-Identifier: Apache-2.0
/// \file rows_thread.cuh
/// Rows that a thread reduces by itself, where they are so short, and so many, that what threads tell each other costs more than reading: rows of up to
/// 128 bytes one after the other, and columns of few elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/rows_kernel.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int lone_threads = 128, lone_packs = 4, lone_loads = 8;  ///< packs of a thread at once; of a row, at most
/// Waves of blocks, at most: multiprocessors do not read at one speed, so those that are faster are to take more blocks.
inline constexpr std::uint64_t lone_waves = 16;
inline constexpr unsigned lone_stage_bytes = 64;                          ///< for a thread's answers that a warp writes together, at most

/// Item j of a pack, alone in a pack; j is known when the loop around it is unrolled.
template <int Size>
__device__ __forceinline__ pack lone_item(const pack& p, int j) {
  pack one{};
  if constexpr (Size == 8) {
    one.word[0] = p.word[2 * j];
    one.word[1] = p.word[2 * j + 1];
  } else {
    one.word[0] = p.word[Size * j / 4] >> (8 * Size * j % 32);
  }
  return one;
}

/// Item j of a pack, whatever j is.
template <int Size>
__device__ __forceinline__ pack any_item(const pack& p, int j) {
  pack one{};
#pragma unroll
  for (int k = 0; k < 16 / Size; ++k) {
    if (k == j) one = lone_item<Size>(p, k);
  }
  return one;
}

/// Puts item j into a pack that had none there.
template <int Size>
__device__ __forceinline__ void put_item(pack& p, int j, const pack& one) {
  if constexpr (Size == 8) {
    p.word[2 * j] = one.word[0];
    p.word[2 * j + 1] = one.word[1];
  } else {
    p.word[Size * j / 4] |= one.word[0] << (8 * Size * j % 32);
  }
}

/// Loads the last elements, of which there are fewer than a pack has.
template <int Size>
__device__ __attribute__((noinline)) pack lone_tail(const unsigned char* from, int elements) {
  pack p{};
  if (elements == 16 / Size) return load_bytes(from, 16);
#pragma unroll
  for (int j = 0; j < 16 / Size; ++j) {
    if (j >= elements) break;
    put_item<Size>(p, j, load_bytes(from + j * Size, Size));
  }
  return p;
}

/// Answers of neighbouring rows that a thread keeps, to be written at once; for accumulators whose answers have one size.
template <class Acc, int Rows>
struct lone_answers {
  static constexpr bool at_once = fixed_answers<Acc>;
  static constexpr std::size_t size = [] {
    if constexpr (at_once) return Acc::answer_size;
    else return std::size_t{1};
  }();
  static constexpr std::size_t bytes = Rows * size;
  alignas(16) unsigned char room[at_once ? bytes : 1] = {};
  unsigned char* out;
  std::size_t each;

  __device__ __forceinline__ lone_answers(unsigned char* to, std::size_t answer_bytes) : out(to), each(answer_bytes) {}
  __device__ __forceinline__ unsigned char* place(int row) { return at_once ? room + row * size : out + static_cast<unsigned>(row) * each; }
  /// A word that lies in `room`, where answers of another type were written: copied, for g++ keeps no order between types.
  template <class Word>
  __device__ __forceinline__ void put(std::size_t at) const {
    Word word;
    __builtin_memcpy(static_cast<void*>(&word), room + at, sizeof word);
    *reinterpret_cast<Word*>(out + at) = word;
  }
  /// Whether a thread's answers take several stores of 16 bytes, so few that shared memory has room for a warp's.
  static constexpr bool staged = at_once && bytes > 16 && bytes <= lone_stage_bytes;
  /// Writes all answers of a warp, which lie side by side from a multiple of 16 bytes on, by way of shared memory, so that each store of the warp writes bytes side by side. All lanes call it.
  __device__ __forceinline__ void write_by_warp(uint4* stage) const {
    constexpr unsigned words = bytes / 16;
    const auto lane = static_cast<unsigned>(lane_index());
    // Words of eight lanes are in banks of their own.
    const auto place_of = [](unsigned of, unsigned word) { return of * words + (word ^ (of * words / 8) % words); };
#pragma unroll
    for (unsigned k = 0; k < words; ++k) {
      uint4 word;
      __builtin_memcpy(static_cast<void*>(&word), room + 16 * k, sizeof word);
      stage[place_of(lane, k)] = word;
    }
    __syncwarp();
    auto* const all = reinterpret_cast<uint4*>(out - lane * bytes);
#pragma unroll
    for (unsigned k = 0; k < words; ++k) {
      const unsigned at = k * warp_lanes + lane;
      all[at] = stage[place_of(at / words, at % words)];
    }
    __syncwarp();
  }
  /// Writes the first `rows` of them; by words where all are wanted and lie at multiples of a word.
  __device__ __forceinline__ void write(int rows) const {
    if constexpr (at_once) {
      constexpr std::size_t step = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : size;
      if (rows == Rows && reinterpret_cast<std::uintptr_t>(out) % step == 0) {
#pragma unroll
        for (std::size_t at = 0; at < bytes; at += step) {
          if constexpr (step == 16) put<uint4>(at);
          else if constexpr (step == 8) put<uint2>(at);
          else if constexpr (step == 4) put<std::uint32_t>(at);
          else put<std::uint16_t>(at);
        }
      } else {
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
          if (row >= rows) break;
          if constexpr (size == 8) put<uint2>(row * size);
          else if constexpr (size == 4) put<std::uint32_t>(row * size);
          else put<std::uint16_t>(row * size);
        }
      }
    }
  }
};

/// Answers a row in a pack, from element `first` on, whatever its values are. Returns whether the answer is sure.
template <class Acc>
__device__ __forceinline__ bool add_any_row(const Acc& acc, const facts_of<Acc>& facts, const pack& p, int first, int elements, std::uint64_t n, unsigned char* out) {
  typename Acc::running r = acc.start();
#pragma unroll 1
  for (int j = 0; j < elements; ++j) acc.add_item(r, {any_item<Acc::fixed_size>(p, first + j)}, static_cast<unsigned>(j));
  return acc.answer(total_of(acc, r, facts), n, facts, out);
}

/// Whether answers of a pack's rows of two elements take several stores of 16 bytes: of small integers, whose sums are of 64 bits.
template <class Acc>
inline constexpr bool stages_answers = false;
template <fixed_answers Acc>
inline constexpr bool stages_answers<Acc> = Acc::items * Acc::answer_size > 32;

/// Answers the rows of a pack, each of 2^Log2 elements, and returns a bit for each that is not sure. `stage`: shared memory, if all lanes have all of their rows.
/// Rows that bounds do not decide are added as longer rows are: here, or by settle_lone_rows() where that may be uncertain too.
template <int Log2, class Acc>
__device__ __forceinline__ unsigned add_rows_of_pack(const Acc& acc, const facts_of<Acc>& facts, const pack& p, std::uint64_t n, int rows, unsigned char* out,
                                                     std::size_t answer_bytes, [[maybe_unused]] uint4* stage) {
  constexpr int each = 1 << Log2, many = Acc::items / each;
  lone_answers<Acc, many> answers(out, answer_bytes);
  unsigned todo = 0;
  if constexpr (bounds_elements<Acc, each>) {
#pragma unroll
    for (int row = 0; row < many; ++row) {
      if (!acc.template within<each>(p, row * each, facts, answers.place(row)) && row < rows) todo |= 1u << row;
    }
    answers.write(rows);
    if constexpr (!may_doubt<Acc>) {
#pragma unroll 1
      for (; todo != 0; todo &= todo - 1) {
        const int row = __ffs(static_cast<int>(todo)) - 1;
        add_any_row(acc, facts, p, row << Log2, each, n, out + static_cast<unsigned>(row) * answer_bytes);
      }
    }
  } else {
#pragma unroll
    for (int row = 0; row < many; ++row) {
      typename Acc::running r = acc.start();
      if constexpr (many == 1) {
        acc.add(r, {p}, 0);
      } else {
#pragma unroll
        for (int j = 0; j < each; ++j) acc.add_item(r, {lone_item<Acc::fixed_size>(p, row * each + j)}, static_cast<unsigned>(j));
      }
      if (row < rows && !acc.answer(total_of(acc, r, facts), n, facts, answers.place(row))) todo |= 1u << row;
    }
    if constexpr (answers.staged) {
      if (stage != nullptr) {
        answers.write_by_warp(stage);
        return todo;
      }
    }
    answers.write(rows);
  }
  return todo;
}

/// Rows one after the other from a multiple of 16 bytes on: `of_pack` in 16 bytes, or of as many loads of 16 bytes, 8 at most.
struct lone_walk {
  int elements_log2;         ///< a row's, where a pack has several
  int loads;                 ///< a row's; 0: a pack has several rows
  std::size_t answer_bytes;
};

/// Pack k of a thread in the block's part of the walk that begins with pack `base`.
__device__ __forceinline__ std::uint64_t lone_pack(std::uint64_t base, int k) { return base + static_cast<unsigned>(k) * lone_threads + threadIdx.x; }
/// The packs that lone_rows_kernel adds at once, and after how many the block's next begin.
struct lone_turns {
  std::uint64_t first, end, step;
  __device__ __forceinline__ lone_turns(const row_view<1>& v, const lone_walk& w, int rows_log2) {
    const std::uint64_t at_once = w.loads != 0 ? lone_threads : lone_threads * lone_packs;
    first = blockIdx.x * at_once;
    end = w.loads != 0 ? v.rows : (v.rows + (1u << rows_log2) - 1) >> rows_log2;
    step = gridDim.x * at_once;
  }
};

/// A turn has one bit of 64, which is that of the 64th after it, too.
__device__ __forceinline__ std::uint64_t next_turn(std::uint64_t turn) { return turn << 1 | turn >> 63; }

/// Makes turns once more in which some answers are uncertain. They are apart from other turns, which have no calls in this way: calls would keep values in local memory.
template <class Acc>
__device__ __attribute__((noinline)) void settle_lone_rows(const Acc& acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const row_view<1>& v, const lone_walk& w,
                                                           std::uint64_t turns, unsigned char* out) {
  constexpr int items = Acc::items, size = Acc::fixed_size;
  static_assert(items <= 8);
  const int rows_log2 = __ffs(items) - 1 - w.elements_log2;
  const lone_turns walk(v, w, rows_log2);
  std::uint64_t turn = 1;
#pragma unroll 1
  for (std::uint64_t base = walk.first; base < walk.end; base += walk.step, turn = next_turn(turn)) {
    if ((turns & turn) == 0) continue;
    unsigned todo = 0;  // a bit each of 8 rows of 4 packs
    if (w.loads != 0) {
      const std::uint64_t row = base + threadIdx.x;
      if (row < v.rows) {
        const unsigned char* const from = v.x[0] + row * static_cast<unsigned>(w.loads) * 16;
        typename Acc::running r = acc.start();
#pragma unroll 1
        for (int k = 0; k < w.loads; ++k) acc.add(r, {load_bytes(from + 16 * k, 16)}, static_cast<unsigned>(k * items));
        if (!acc.answer(total_of(acc, r, facts), v.n, facts, out + row * w.answer_bytes)) todo = 1;
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < lone_packs; ++k) {
        const std::uint64_t at = lone_pack(base, k), row = at << rows_log2;
        if (row >= v.rows) break;
        const auto here = static_cast<int>(min(v.rows - row, std::uint64_t{1} << rows_log2));
        const pack p = lone_tail<size>(v.x[0] + at * 16, here << w.elements_log2);
#pragma unroll 1
        for (int j = 0; j < here; ++j) {
          if (!add_any_row(acc, facts, p, j << w.elements_log2, 1 << w.elements_log2, v.n, out + (row + static_cast<unsigned>(j)) * w.answer_bytes)) todo |= 1u << (8 * k + j);
        }
      }
    }
    __syncwarp();
    settle_apart(acc, facts, room, v, todo, w.loads != 0 ? base + threadIdx.x : lone_pack(base, 0) << rows_log2, 1, {static_cast<unsigned>(lone_threads) << rows_log2}, w.answer_bytes, out);
  }
}

template <class Acc>
__global__ void __launch_bounds__(lone_threads, resident_blocks(lone_threads, 8))
    lone_rows_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ lone_walk w, const __grid_constant__ Acc acc,
                     const __grid_constant__ facts_of<Acc> facts, unsigned char* out) {
  await_stream();
  constexpr int items = Acc::items, size = Acc::fixed_size;
  const int rows_log2 = __ffs(items) - 1 - w.elements_log2;  // a pack's
  const lone_turns walk(v, w, rows_log2);
  [[maybe_unused]] std::uint64_t turns = 0, turn = 1;
  // After each turn: whether answers of this thread are uncertain.
  const auto note = [&](bool uncertain) {
    if constexpr (may_doubt<Acc>) {
      if (__any_sync(all_lanes, uncertain)) turns |= turn;
      turn = next_turn(turn);
    }
  };
  if (w.loads != 0) {
    for (std::uint64_t base = walk.first; base < walk.end; base += walk.step) {
      const std::uint64_t row = base + threadIdx.x;
      const bool mine = row < v.rows;
      const unsigned char* const from = v.x[0] + (mine ? row : 0) * static_cast<unsigned>(w.loads) * 16;
      const auto add_all = [&](auto add) {
#pragma unroll 1
        for (int k = 0; k < w.loads; k += lone_packs) {
          pack p[lone_packs] = {};
#pragma unroll
          for (int j = 0; j < lone_packs; ++j) {
            if (mine && k + j < w.loads) p[j] = load_bytes(from + 16 * (k + j), 16);
          }
#pragma unroll
          for (int j = 0; j < lone_packs; ++j) {
            if (k + j < w.loads) add(p[j], k + j);
          }
        }
      };
      bool sure = !mine, bounded = false;
      if constexpr (bounds_packs<Acc>) {
        bounded = facts.shift != 0;
        if (bounded) {
          typename Acc::bounds b = acc.no_bounds();
          add_all([&](const pack& p, int) { acc.template bound<items>(b, p, 0); });
          if (mine) sure = acc.within(b, facts, out + row * w.answer_bytes);
        }
      }
      if (!sure && (!may_doubt<Acc> || !bounded)) {
        typename Acc::running r = acc.start();
        add_all([&](const pack& p, int k) { acc.add(r, {p}, static_cast<unsigned>(k * items)); });
        sure = acc.answer(total_of(acc, r, facts), v.n, facts, out + row * w.answer_bytes);
      }
      note(!sure);
    }
  } else {
    for (std::uint64_t base = walk.first; base < walk.end; base += walk.step) {
      pack p[lone_packs] = {};
      const bool whole = (base + std::uint64_t{lone_threads} * lone_packs) << rows_log2 <= v.rows;
      uint4* stage = nullptr;
      if constexpr (stages_answers<Acc>) {
        __shared__ uint4 stages[lone_threads / warp_lanes][warp_lanes * lone_stage_bytes / 16];
        if (whole && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) stage = stages[warp_index()];
      }
      if (whole) {
#pragma unroll
        for (int k = 0; k < lone_packs; ++k) p[k] = load_bytes(v.x[0] + lone_pack(base, k) * 16, 16);
      } else {
        for (int k = 0; k < lone_packs; ++k) {
          const std::uint64_t at = lone_pack(base, k);
          const std::uint64_t here = at < walk.end ? (v.rows - (at << rows_log2)) << w.elements_log2 : 0;
          const pack tail = lone_tail<size>(v.x[0] + at * 16, static_cast<int>(min(here, std::uint64_t{items})));
#pragma unroll
          for (int i = 0; i < lone_packs; ++i) {
            if (i == k) p[i] = tail;
          }
        }
      }
      unsigned todo = 0;
#pragma unroll 1
      for (int k = 0; k < lone_packs; ++k) {
        const std::uint64_t row = lone_pack(base, k) << rows_log2;
        const pack mine = p[0];
#pragma unroll
        for (int i = 0; i + 1 < lone_packs; ++i) p[i] = p[i + 1];
        const auto here = static_cast<int>(row >= v.rows ? 0 : min(v.rows - row, std::uint64_t{1} << rows_log2));
        unsigned char* const to = out + row * w.answer_bytes;
        if (here != 0) {
          if (w.elements_log2 == 0) todo |= add_rows_of_pack<0>(acc, facts, mine, v.n, here, to, w.answer_bytes, stage);
          if (w.elements_log2 == 1) todo |= add_rows_of_pack<1>(acc, facts, mine, v.n, here, to, w.answer_bytes, stage);
          if constexpr (items >= 4) {
            if (w.elements_log2 == 2) todo |= add_rows_of_pack<2>(acc, facts, mine, v.n, here, to, w.answer_bytes, stage);
          }
          if constexpr (items >= 8) {
            if (w.elements_log2 == 3) todo |= add_rows_of_pack<3>(acc, facts, mine, v.n, here, to, w.answer_bytes, stage);
          }
          if constexpr (items >= 16) {
            if (w.elements_log2 == 4) todo |= add_rows_of_pack<4>(acc, facts, mine, v.n, here, to, w.answer_bytes, stage);
          }
        }
      }
      note(todo != 0);
    }
  }
  if constexpr (may_doubt<Acc>) {
    __shared__ typename room_of<Acc>::type rooms[lone_threads / warp_lanes];
    if (turns != 0) settle_lone_rows(acc, facts, rooms[warp_index()], v, w, turns, out);
  }
}

/// Columns: a thread has the columns of one load at a multiple of its size, and all of their elements. A block does so once: a loop over blocks took registers that loads on their way
/// want, so that some went into memory, and 16 rows of 2^24 floats 1.06 of the time.
struct lone_columns {
  std::uint64_t columns, loads;  ///< side by side in memory; of a thread's columns
  std::size_t answer_bytes;
};
/// The most elements of a column that a thread takes, of so many threads where the device can hold `resident`: 16, as ranks have of a tensor, however few threads they are.
template <class Acc>
constexpr std::uint64_t most_of_lone_columns(std::uint64_t threads, std::uint64_t resident) {
  if (threads >= resident / 2) return 512;
  if (threads >= resident / 8) return 128;
  return Acc::proves && threads >= resident / 32 ? 64 : 16;
}

/// Columns of a thread: those of 16 bytes, or of 8 where they are many.
template <class Acc>
inline constexpr int lone_columns_bytes = Acc::fixed_size >= 4 ? 16 : 8;
template <class Acc>
inline constexpr int lone_columns_each = lone_columns_bytes<Acc> / Acc::fixed_size;
/// How many loads a thread makes at once: twice as many by 8 bytes for exact sums, extremes and their places.
template <class Acc>
inline constexpr int lone_columns_ahead = (Acc::proves || repeatable_accumulator<Acc>) && lone_columns_bytes<Acc> == 8 ? 8 : 4;

template <class Acc>
__global__ void __launch_bounds__(lone_threads, resident_blocks(lone_threads, 8))
    lone_columns_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ lone_columns w, const __grid_constant__ Acc acc,
                        const __grid_constant__ facts_of<Acc> facts, unsigned char* out) {
  await_stream();
  constexpr int each = lone_columns_each<Acc>, size = Acc::fixed_size, bytes = each * size, ahead = lone_columns_ahead<Acc>;
  __shared__ typename room_of<Acc>::type rooms[lone_threads / warp_lanes];
  const std::uint64_t all = w.loads * (v.rows / w.columns), stride = static_cast<std::uint64_t>(v.dim[v.kept].stride[0]);
  std::uint64_t outer = blockIdx.x * std::uint64_t{lone_threads} + threadIdx.x;
  const bool mine = outer < all;
  if (!mine) outer = 0;
  const std::uint64_t column = take_index(outer, w.loads) * each, row = outer * w.columns + column;
  const unsigned char* p[1];
  v.begin(row, p);
  typename Acc::running r[each];
#pragma unroll
  for (int c = 0; c < each; ++c) r[c] = acc.start();
  const auto add = [&](const pack& from, std::uint64_t i) {
#pragma unroll
    for (int c = 0; c < each; ++c) acc.add_item(r[c], {lone_item<size>(from, c)}, i);
  };
  // In place of loads beyond the last element come elements that change nothing, where there are such, or the last one again; else fewer loads are added.
  constexpr bool repeats = repeatable_accumulator<Acc>, covers = covering_accumulator<Acc> || repeats;
  const unsigned char* at = p[0];
  std::uint64_t i = 0;
#pragma unroll 1
  for (; (covers ? i < v.n : i + ahead <= v.n) && mine; i += ahead) {
    pack some[ahead][1];
#pragma unroll
    for (int j = 0; j < ahead; ++j, at += stride) {
      if constexpr (repeats) {
        some[j][0] = load_bytes(p[0] + min(i + static_cast<unsigned>(j), v.n - 1) * stride, bytes);
      } else if (!covers || i + static_cast<unsigned>(j) < v.n) {
        some[j][0] = load_bytes(at, bytes);
      } else if constexpr (covers) {
        const std::uint32_t none = acc.neutral();
        some[j][0] = {{none, none, none, none}};
      }
    }
    if constexpr (column_adder<Acc, each, ahead>) {
      acc.add_columns(r, some);
    } else if constexpr (placed_column_adder<Acc, each, ahead>) {
      acc.add_columns(r, some, i, 1);
    } else {
#pragma unroll
      for (int j = 0; j < ahead; ++j) add(some[j][0], i + static_cast<unsigned>(j));
    }
  }
  if constexpr (!covers) {
    if (i < v.n && mine) {
      pack some[ahead];
#pragma unroll
      for (int j = 0; j + 1 < ahead; ++j, at += stride) {
        if (i + static_cast<unsigned>(j) < v.n) some[j] = load_bytes(at, bytes);
      }
#pragma unroll
      for (int j = 0; j + 1 < ahead; ++j) {
        if (i + static_cast<unsigned>(j) < v.n) add(some[j], i + static_cast<unsigned>(j));
      }
    }
  }
  if constexpr (parts_columns<Acc, each>) acc.part_columns(r);
  unsigned todo = 0;
  lone_answers<Acc, each> answers(out + row * w.answer_bytes, w.answer_bytes);
  typename Acc::state totals[each];
#pragma unroll
  for (int c = 0; c < each; ++c) totals[c] = total_of(acc, r[c], facts);
  // Answers of many instructions in a loop: what is to outlive the first of several calls is in local memory all the time, in the loop above too.
#pragma unroll (answers.at_once ? each : 1)
  for (int c = 0; c < each; ++c) {
    if (mine && !acc.answer(totals[c], v.n, facts, answers.place(c))) todo |= 1u << c;
  }
  if (mine) answers.write(each);
  __syncwarp();
  settle_apart(acc, facts, rooms[warp_index()], v, todo, row, 1, {}, w.answer_bytes, out);
}

/// How many blocks so much work takes.
inline std::uint32_t lone_blocks(std::uint64_t work, std::uint32_t of_block, const workspace& scratch) {
  return at_most(divide_up(work, of_block), static_cast<std::uint32_t>(lone_waves * scratch.multiprocessors() * (2048 / lone_threads)));
}

/// Whether rows that lie one after the other go by lone_rows_kernel; enqueued if they do.
template <class Acc>
bool enqueue_lone_rows(const Acc& acc, const row_view<1>& v, workspace& scratch, cudaStream_t stream, void* to, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size;
  const std::uint64_t bytes = v.n * size;
  if (v.offsets != nullptr || v.n == 0 || v.kept == 0 || v.dims != v.kept + 1) return false;
  // All rows one after the other.
  const bool in_pack = bytes <= 16 && (bytes & (bytes - 1)) == 0, few_packs = bytes % 16 == 0 && bytes / 16 <= (repeatable_accumulator<Acc> ? lone_loads - 1 : lone_loads);
  if (v.kept == 1 && v.dim[1].stride[0] == static_cast<std::int64_t>(size) && v.dim[0].stride[0] == static_cast<std::int64_t>(bytes) && (in_pack || few_packs) &&
      reinterpret_cast<std::uintptr_t>(v.x[0]) % 16 == 0 && v.all * size >= std::uint64_t{2048} * scratch.multiprocessors()) {
    lone_walk w{0, 0, acc.result_size()};
    if (bytes > 16) w.loads = static_cast<int>(bytes / 16);
    while (bytes <= 16 && std::uint64_t{1} << w.elements_log2 < v.n) ++w.elements_log2;
    const std::uint32_t blocks = w.loads != 0 ? lone_blocks(v.rows, lone_threads, scratch) : lone_blocks((v.all * size + 15) / 16, lone_threads * lone_packs, scratch);
    e = launch(lone_rows_kernel<Acc>, {blocks, lone_threads, 0, stream, scratch.overlaps()}, v, w, acc, acc.facts(v.n, v.n, 0), static_cast<unsigned char*>(to));
    return true;
  }
  return false;
}

/// Whether columns go by lone_columns_kernel; enqueued if they do.
template <class Acc>
bool enqueue_lone_columns(const Acc& acc, const row_view<1>& v, workspace& scratch, cudaStream_t stream, void* to, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size, each = lone_columns_each<Acc>;
  if (v.offsets != nullptr || v.n == 0 || v.kept == 0 || v.dims != v.kept + 1) return false;
  // Columns in whole loads pay with few elements each: the fewer, the fewer threads it takes. A block of rows_columns.cuh would do little but put its warps
  // together (2 rows of 2^18 f32 took 30 µs there, and take 3 here; 32 rows 47, and take 8).
  const std::uint64_t columns = v.dim[v.kept - 1].length, threads = v.rows / each, resident = std::uint64_t{scratch.multiprocessors()} * 2048;
  if (v.dim[v.kept - 1].stride[0] != static_cast<std::int64_t>(size) || v.dim[v.kept].stride[0] < 0 || columns % each != 0 ||
      v.n > most_of_lone_columns<Acc>(threads, resident) || v.dim[v.kept].stride[0] == static_cast<std::int64_t>(size)) {
    return false;
  }
  std::uintptr_t all = reinterpret_cast<std::uintptr_t>(v.x[0]);
  for (int d = 0; d < v.dims; ++d) {
    if (d != v.kept - 1) all |= static_cast<std::uintptr_t>(v.dim[d].stride[0]);
  }
  if (all % (each * size) != 0) return false;
  const std::uint64_t blocks = (threads + lone_threads - 1) / lone_threads;
  if (blocks >= std::uint64_t{1} << 31) return false;
  e = launch(lone_columns_kernel<Acc>, {static_cast<unsigned>(blocks), lone_threads, 0, stream, scratch.overlaps()}, v,
             lone_columns{columns, columns / each, acc.result_size()}, acc, acc.facts(v.n, v.n, 0), static_cast<unsigned char*>(to));
  return true;
}

}  // namespace wf::device::inline WF_BUILD
