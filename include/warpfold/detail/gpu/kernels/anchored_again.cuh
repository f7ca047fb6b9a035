// SPDX-License-Identifier: Apache-2.0
/// \file anchored_again.cuh
/// What no certificate answers, added again by anchored sums (anchored_terms.cuh): by one block, or by those blocks of a grid that are still there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_terms.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Adds ±m·2^place to carry-save digits.
__device__ inline void add_at(std::int64_t* digits, int place, std::uint64_t m, bool negative) {
  const std::uint64_t low = (m & 0xffffffffu) << (place & 31), high = (m >> 32) << (place & 31);
  const std::uint64_t part[3] = {low & 0xffffffffu, (low >> 32) + (high & 0xffffffffu), high >> 32};
  auto* const to = reinterpret_cast<unsigned long long*>(digits) + place / 32;
  for (int i = 0; i < 3; ++i) {
    if (part[i] != 0) atomicAdd(to + i, negative ? 0 - part[i] : part[i]);
  }
}

/// A range as a word.
__device__ __forceinline__ std::uint32_t word_of_range(const certified::range& r) {
  return (r.finite ? 1u << 31 : 0u) | static_cast<std::uint32_t>(r.top + 8192) << 14 | static_cast<std::uint32_t>(r.unit + 8192);
}
__device__ __forceinline__ certified::range range_of_word(std::uint32_t w) {
  return {static_cast<int>(w >> 14 & 0x3fff) - 8192, static_cast<int>(w & 0x3fff) - 8192, w >> 31 != 0};
}

/// The word of thread 0, for all threads of a block, which all call it.
__device__ __forceinline__ std::uint32_t word_of_block(std::uint32_t word) {
  __shared__ std::uint32_t of_block;
  if (threadIdx.x == 0) of_block = word;
  __syncthreads();
  return of_block;
}

/// What blocks that add again tell the last one: words that count their additions, which are those of chunks, as in tally. Each row has
/// several copies of them, so that not all blocks add to the same ones.
struct anchored_board {
  std::uint64_t* words;  ///< zero between launches
  std::uint32_t* next;   ///< the first chunk that no block has taken: zero when a launch begins
  static constexpr int copies = 8, stride = 16;
};
static_assert(3 * anchored_board::copies * anchored_board::stride <= static_cast<int>(workspace::tally_words));

/// In shared memory.
template <class E, terms Terms>
struct anchored_room {
  using layout = binned_layout<E, Terms>;
  static constexpr int warps = 16, kinds_word = anchored_sums::words;
  std::int64_t digits[layout::digits + spread_digits<layout>];
  std::uint32_t of_warp[2][warps][kinds_word + 1];
  std::uint32_t kinds[layout::watches], chunk[2];

  __device__ __forceinline__ void clear() {
    for (int k = static_cast<int>(threadIdx.x); k < layout::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
    if (threadIdx.x < layout::watches) kinds[threadIdx.x] = special::ordinary;
  }
  /// Adds a lane's word of a row to the row's digits. -0 alone makes -0.
  __device__ __forceinline__ void put(int row, int unit, int word, std::int64_t value) {
    using of_terms = anchored_terms<E, Terms>;
    if (word == kinds_word) {
      if (row < layout::watches && value == 0) kinds[row] = 0;
      return;
    }
    add_at(digits + of_terms::first_digit(row), anchored_sums::unit_of_word(word, unit) - of_terms::unit_of_row(row),
           value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value), value < 0);
  }
};

/// Adds elements first … end - 1, fewer than 2^31, to a row, and calls take(word, value) in lanes of warp 0. All threads of a block call it, with a turn that differs from the last call's. There
/// is one barrier in it, and `before` is called before that.
template <terms Terms, class E, class Before, class Take>
__device__ __forceinline__ void add_row_again(const arrays<1>& a, std::uint64_t first, std::uint64_t end, int row, const certified::range& r, bool magnitudes,
                                              anchored_room<E, Terms>& room, int turn, Before before, Take take) {
  using of_terms = anchored_terms<E, Terms>;
  constexpr int each = of_terms::each, loads = each < 4 ? 4 / each : 2, kinds_word = anchored_room<E, Terms>::kinds_word;
  const std::uint32_t threads = blockDim.x;
  const bool all = r.top - r.unit > anchored_sums::width * anchored_sums::always;
  const std::int64_t step = threads * a.stride[0];
  const std::uint32_t count = static_cast<std::uint32_t>(end - first), kept = magnitudes ? 0x7fffffffu : ~0u;
  std::uint32_t left = threadIdx.x < count ? (count - 1 - threadIdx.x) / threads + 1 : 0;  // this thread's
  const unsigned char* p = a.x[0] + static_cast<std::int64_t>(first + threadIdx.x) * a.stride[0];
  anchored_sums sums;
  sums.start(r.unit);
  bool any = false;  // that is not -0
  const auto fetch = [&](E(&x)[loads]) {
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      x[u] = of_terms::absent();
      if (u < static_cast<int>(left)) x[u] = load_item<E>(p);
      p += step;
    }
    left -= min(left, static_cast<std::uint32_t>(loads));
  };
  E x[loads];
  fetch(x);
#pragma unroll 1
  for (bool more = true; more;) {
    E next[loads] = {};  // on their way while these are added
    more = left != 0;
    if (more) fetch(next);
    double t[loads * each];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      of_terms::terms_of(row, kept, x[u], t + u * each);
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if constexpr (of_terms::traits::complex) any |= __builtin_bit_cast(std::uint64_t, t[u * each + e]) != std::uint64_t{1} << 63;
      }
    }
    sums.template add<!of_terms::traits::squares>(t, all);
#pragma unroll
    for (int u = 0; u < loads; ++u) x[u] = next[u];
  }
  __syncwarp();
  std::uint32_t* const told = room.of_warp[turn & 1][warp_index()];
  sums.tell(told);
  if constexpr (of_terms::traits::complex) {
    const bool of_warp = __any_sync(all_lanes, any) != 0;
    if (lane_index() == 0) told[kinds_word] = of_warp ? 1 : 0;
  }
  before();
  __syncthreads();
  const int word = lane_index();
  if (warp_index() != 0 || word >= (of_terms::traits::complex ? kinds_word + 1 : kinds_word)) return;
  std::int64_t value = 0;
  const int warps = static_cast<int>(threads / warp_lanes);
#pragma unroll 4
  for (int i = 0; i < warps; ++i) {
    const std::uint32_t v = room.of_warp[turn & 1][i][word];
    value += word % 2 == 0 ? std::int64_t{v} : std::int64_t{static_cast<std::int32_t>(v)};
  }
  take(word, value);
}

/// Adds an array again by one block, whose threads all call it. The first warp calls answer(digits, kinds).
template <terms Terms, class E, class Answer>
__device__ __forceinline__ void add_few_again(const arrays<1>& a, bool magnitudes, const certified::range& range, Answer answer) {
  using of_terms = anchored_terms<E, Terms>;
  using room_type = anchored_room<E, Terms>;
  __shared__ room_type room;
  room.clear();
#pragma unroll 1
  for (int row = 0; row < room_type::layout::rows; ++row) {
    const certified::range r = of_terms::range_of_row(row, range);
    add_row_again<Terms, E>(a, 0, a.n, row, r, magnitudes, room, row, [] {}, [&](int word, std::int64_t value) { room.put(row, r.unit, word, value); });
  }
  if (warp_index() != 0) return;
  __syncwarp();
  answer(room.digits, room.kinds);
}

/// Any number of blocks call it, the last one of the grid among them, each with all its threads: they take chunks as long as there are some. The last block's first
/// warp calls answer(digits, kinds).
template <terms Terms, class E, class Answer>
__device__ __forceinline__ void add_again_of(const arrays<1>& a, bool magnitudes, const certified::range& range, const anchored_board& board, Answer answer) {
  using of_terms = anchored_terms<E, Terms>;
  using room_type = anchored_room<E, Terms>;
  constexpr int copies = anchored_board::copies, stride = anchored_board::stride, rows = room_type::layout::rows;
  __shared__ room_type room;
  const std::uint32_t threads = blockDim.x;
  std::uint32_t found = 0;
  if (threadIdx.x == 0) found = atomicAdd(board.next, 1u);  // on its way while the rest is done
  room.clear();
  // As many chunks as blocks, or more where a thread's sums would not hold a chunk.
  constexpr std::uint32_t most = anchored_sums::most_terms / of_terms::each;
  const auto over = [](std::uint64_t x, std::uint64_t by) {  // a quotient of 64 bits takes 150 cycles
    return (x | by) >> 32 == 0 ? std::uint64_t{static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(by)} : x / by;
  };
  const std::uint64_t share = over(a.n, std::uint64_t{gridDim.x} * threads) + 1, chunk = (share < most ? share : most) * threads;
  const auto chunks = static_cast<std::uint32_t>(over(a.n + chunk - 1, chunk));
  if (threadIdx.x == 0) room.chunk[0] = found;
  __syncthreads();
  int turn = 0;
  std::uint32_t c;
#pragma unroll 1
  for (int k = 0; (c = room.chunk[k & 1]) < chunks; ++k) {
    const std::uint64_t first = c * chunk, end = first + chunk < a.n ? first + chunk : a.n;
#pragma unroll 1
    for (int row = 0; row < rows; ++row) {
      add_row_again<Terms, E>(
          a, first, end, row, of_terms::range_of_row(row, range), magnitudes, room, turn++,
          [&] {  // not before: a block that took its next chunk while it adds the first would leave none to a block that comes a little later
            if (threadIdx.x == 0 && row == rows - 1) found = atomicAdd(board.next, 1u);
          },
          [&](int word, std::int64_t value) {
            add_word(board.words + (row * copies + static_cast<int>(blockIdx.x) % copies) * stride + word, (std::uint64_t{1} << 48) + static_cast<std::uint64_t>(value));
          });
    }
    if (threadIdx.x == 0) room.chunk[(k + 1) & 1] = found;
    __syncthreads();
  }
  if (!is_last_block() || warp_index() != 0) return;
#pragma unroll 1
  for (int row = 0; row < rows; ++row) {
    const int word = lane_index();
    const bool mine = word < (of_terms::traits::complex ? room_type::kinds_word + 1 : room_type::kinds_word);
    std::uint64_t* const from = board.words + row * copies * stride + word;
    std::uint64_t seen = 0;
    std::int64_t value = 0;
    do {
      std::uint64_t of_copy[copies];
#pragma unroll
      for (int j = 0; j < copies; ++j) of_copy[j] = mine ? load_word(from + j * stride) : 0;
      seen = 0;
#pragma unroll
      for (int j = 0; j < copies; ++j) seen += of_copy[j];
      value = static_cast<std::int64_t>(seen << 16) >> 16;
    } while (__any_sync(all_lanes, mine && (seen - static_cast<std::uint64_t>(value)) >> 48 != chunks) != 0);
    if (mine) {
#pragma unroll
      for (int j = 0; j < copies; ++j) store_word(from + j * stride, 0);
      room.put(row, of_terms::range_of_row(row, range).unit, word, value);
    }
  }
  __syncwarp();
  answer(room.digits, room.kinds);
}

}  // namespace wf::device::inline WF_BUILD
