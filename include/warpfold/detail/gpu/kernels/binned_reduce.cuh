// SPDX-License-Identifier: Apache-2.0
/// \file binned_reduce.cuh
/// Exact reductions of floats of any data in one launch, by bins (binned_rows.cuh): the answers that no certificate gives.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/binned_rows.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int binned_threads = 512;

/// What blocks that add to bins tell each other, in the scratch memory. `digits`, `kinds` and `done` are zero between launches.
struct binned_board {
  std::uint64_t* digits;
  std::uint32_t *kinds, *next, *done;  ///< next: the first chunk that no block has taken; done: the number of chunks whose digits are here

  /// zeroed: `next` is zero between launches too.
  static binned_board of(const workspace& scratch, bool zeroed) {
    std::uint32_t* const c = scratch.chunk_counters();
    return {scratch.tally(), c, c + (zeroed ? 2 : 3), c + 4};
  }
};

/// Answers the question about an array from its digits in shared memory. The first warp of a block calls it. Not inlined, since several ways of a kernel end here.
template <terms Terms, class Out, class T>
__device__ __attribute__((noinline)) void answer_of_digits(std::int64_t* digits, const std::uint32_t* kinds, std::uint64_t n, const exact_question& q, Out* out) {
  answer_of_rows<binned_layout<T, Terms>>(digits, kinds, n, q, out);
}

/// The elements as they are.
struct as_they_are {
  template <class T>
  __device__ __forceinline__ const T& operator()(const T& x) const { return x; }
};

/// Any number of blocks call it, each with all its threads, at most binned_threads, once *board.next is 0. They take chunks of the arrays as long as there are some, so it does not matter
/// which blocks take part. give(rows, watch, elements…) adds elements of the arrays to bins of E. All threads of the block that is done last call answer(digits, kinds), behind a barrier.
/// late: blocks come one after the other, and none takes its next chunk before it has added one; else it would leave no chunk to a block that comes a little later.
/// Returns what this block found in place of a chunk: the number of chunks, or more.
template <terms Terms, class E, class T, class... Ts, class Give, class Answer>
__device__ __forceinline__ std::uint32_t add_by_bins_of(const arrays<1 + sizeof...(Ts)>& a, bool finite_only, const binned_board& board, bool late, std::uint32_t& chunks, Give give, Answer answer) {
  using bins = binned_rows<E, Terms, bin_copies<E, Terms>>;
  constexpr bool packs = all_packable<T, Ts...>;
  constexpr int inputs = 1 + sizeof...(Ts), items = packs ? 16 / static_cast<int>(sizeof(T)) : 1, loads = inputs == 1 ? 4 : 2;
  static_assert(bins::digits <= static_cast<int>(workspace::tally_words));
  auto& rows = *reinterpret_cast<bins*>(wf_dynamic_shared);
  const std::uint32_t threads = blockDim.x;
  __shared__ struct {
    std::int64_t digits[bins::digits + spread_digits<bins>];
    std::uint32_t kinds[bins::watches];
    std::uint32_t chunk;
    bool last;
  } block;
  std::uint32_t first_chunk = 0;
  if (threadIdx.x == 0) first_chunk = atomicAdd(board.next, 1u);  // on its way while bins are cleared
  rows.clear();
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(threads)) block.digits[k] = 0;
  typename bins::watch watch;
  watch.start(finite_only);
  // How many rounds the block's threads may add before the bins must be emptied: rounds of packs, and of elements.
  constexpr int each_copy = binned_threads / bin_copies<E, Terms>;
  constexpr int rounds = bins::most_elements / each_copy / (items * loads), item_rounds = bins::most_elements / each_copy;
  static_assert(rounds > 0);
  // Chunks: as many as blocks, or fewer. First those of packs, then those of elements that are in none.
  const std::uint64_t rest = a.n - a.packs * items;
  const auto over = [](std::uint64_t x, std::uint64_t by) {  // a quotient of 64 bits takes 150 cycles
    return (x | by) >> 32 == 0 ? std::uint64_t{static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(by)} : x / by;
  };
  const auto chunk_of = [&](std::uint64_t count) { return (over(count, std::uint64_t{gridDim.x} * threads) + 1) * threads; };
  const std::uint64_t chunk_packs = chunk_of(a.packs), chunk_items = chunk_of(rest);
  const auto pack_chunks = static_cast<std::uint32_t>(over(a.packs + chunk_packs - 1, chunk_packs));
  const auto all_chunks = pack_chunks + static_cast<std::uint32_t>(over(rest + chunk_items - 1, chunk_items));
  chunks = all_chunks == 0 ? 1 : all_chunks;  // one block writes the answer where there are no elements
  const loader<cache::share> load(a.kept);
  const auto flush = [&] {
    __syncthreads();
    rows.flush(block.digits);
    __syncthreads();
  };
  if (threadIdx.x == 0) block.chunk = first_chunk;
  __syncthreads();
  std::uint32_t mine = 0, c;
  int left = rounds;  // a round of packs is worth items · loads of elements
#pragma unroll 1
  while ((c = block.chunk) < chunks) {
    std::uint32_t after = 0;
    if (threadIdx.x == 0 && !late) after = atomicAdd(board.next, 1u);  // on its way while this one is added
    if (c < pack_chunks) {
      const std::uint64_t first = c * chunk_packs, end = first + chunk_packs < a.packs ? first + chunk_packs : a.packs;
#pragma unroll 1
      for (std::uint64_t base = first; base < end; base += threads * loads) {
        const std::uint64_t v = base + threadIdx.x;
        pack p[loads][inputs];  // the next ones on their way, too, cost registers: twice the time
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          if (v + u * threads < end) {
#pragma unroll
            for (int k = 0; k < inputs; ++k) p[u][k] = load_pack_of<static_cast<int>(sizeof(T))>(a, k, v + u * threads, load);
          }
        }
#pragma unroll 1
        for (int u = 0; u < loads; ++u) {  // the code is there once: it is long, and each kernel has a copy
          if (v + static_cast<unsigned>(u) * threads < end) {
#pragma unroll
            for (int i = 0; i < items; ++i) {
              if constexpr (packs) {
                [&]<std::size_t... K>(std::index_sequence<K...>) { give(rows, watch, item_of<T>(p[0][0], i), item_of<Ts>(p[0][1 + K], i)...); }(std::index_sequence_for<Ts...>());
              }
            }
          }
#pragma unroll
          for (int m = 0; m + 1 < loads; ++m) {
#pragma unroll
            for (int k = 0; k < inputs; ++k) p[m][k] = p[m + 1][k];
          }
        }
        if (--left == 0) {
          flush();
          left = rounds;
        }
      }
    } else if (rest != 0) {
      if (left != 0) {  // elements are counted one by one
        flush();
        left = 0;
      }
      const std::uint64_t first = a.packs * items + (c - pack_chunks) * chunk_items, end = first + chunk_items < a.n ? first + chunk_items : a.n;
      int ahead = item_rounds;
#pragma unroll 1
      for (std::uint64_t base = first; base < end; base += threads) {
        const std::uint64_t i = base + threadIdx.x;
        if (i < end) with_elements<T, Ts...>(a, i, [&](const auto&... x) { give(rows, watch, x...); });
        if (--ahead == 0) {
          flush();
          ahead = item_rounds;
        }
      }
      flush();
    }
    ++mine;
    if (threadIdx.x == 0 && late) after = atomicAdd(board.next, 1u);
    __syncthreads();
    if (threadIdx.x == 0) block.chunk = after;
    __syncthreads();
  }
  if (mine == 0) return c;
  __syncwarp();
  rows.tell(watch);
  flush();
  // All blocks add their digits up: after a step of carrying, so that these are small enough.
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(threads)) {
    const std::int64_t d = settled<bins>(block.digits, k);
    if (d != 0) add_word(board.digits + k, static_cast<std::uint64_t>(d));
  }
  if (threadIdx.x < bins::watches && rows.kinds[threadIdx.x] != 0) atomicOr(board.kinds + threadIdx.x, rows.kinds[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    release_fence();
    block.last = atomicAdd(board.done, mine) + mine == chunks;
    if (block.last) acquire_fence();
  }
  __syncthreads();
  if (!block.last) return c;
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(threads)) {
    block.digits[k] = static_cast<std::int64_t>(load_word(board.digits + k));
    store_word(board.digits + k, 0);
  }
  if (threadIdx.x < bins::watches) {
    block.kinds[threadIdx.x] = atomicExch(board.kinds + threadIdx.x, 0u);
  }
  if (threadIdx.x == 0) *board.done = 0;
  __syncthreads();
  answer(block.digits, block.kinds);
  return c;
}

/// As above: the block that is done last writes *out, or the state that is asked for, and to *verdict whether that saw no special values.
template <terms Terms, class Out, class T, class... Ts>
__device__ __attribute__((noinline)) std::uint32_t add_by_bins(const arrays<1 + sizeof...(Ts)>& a, const exact_question& q, Out* out,
                                                               const binned_board& board, bool late, std::uint32_t* verdict, std::uint32_t& chunks) {
  using layout = binned_layout<T, Terms>;
  const bool magnitudes = q.what == op::norm1;
  return add_by_bins_of<Terms, T, T, Ts...>(
      a, q.states, board, late, chunks, [&](auto& rows, auto& watch, const auto&... x) { rows.add(watch, magnitudes, x...); },
      [&](std::int64_t* digits, const std::uint32_t* kinds) {
        if constexpr (Terms != terms::moments || !layout::complex) {  // whose states keep the squares of the parts apart
          if (q.states) {
            if (threadIdx.x == 0) *verdict = put_state<T, Terms>(digits, kinds, a.n, q.what, reinterpret_cast<std::int64_t*>(out)) ? 1u : 0u;
            return;
          }
        }
        if (warp_index() == 0) answer_of_digits<Terms, Out, T>(digits, kinds, a.n, q, out);
      });
}

/// Adds n elements by one block, whose threads all call it: so few that bins are emptied once. load(i, x) puts element i, or the inputs' values there, into x. The first warp
/// calls answer(digits, kinds).
template <terms Terms, class E, int Inputs, class Load, class Answer>
__device__ __forceinline__ void add_few_by_bins(std::uint64_t n, bool magnitudes, Load load, Answer answer) {
  using bins = binned_rows<E, Terms, 1>;
  __shared__ bins rows;
  __shared__ std::int64_t digits[bins::digits + spread_digits<bins>];
  rows.clear();
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
  typename bins::watch watch;
  watch.start();
  __syncthreads();
  constexpr int each = 8;  // loads on their way at once
#pragma unroll 1
  for (std::uint64_t first = threadIdx.x; first < n; first += each * blockDim.x) {
    E x[each][Inputs] = {};
#pragma unroll
    for (int u = 0; u < each; ++u) {
      const std::uint64_t i = first + u * blockDim.x;
      if (i < n) load(i, x[u]);
    }
#pragma unroll 1
    for (int u = 0; u < each; ++u) {
      if (first + static_cast<unsigned>(u) * blockDim.x >= n) break;
      if constexpr (Inputs == 1) rows.add(watch, magnitudes, x[0][0]);
      else rows.add(watch, magnitudes, x[0][0], x[0][1]);
#pragma unroll
      for (int m = 0; m + 1 < each; ++m) {
#pragma unroll
        for (int k = 0; k < Inputs; ++k) x[m][k] = x[m + 1][k];
      }
    }
  }
  __syncwarp();
  rows.tell(watch);
  __syncthreads();
  rows.flush(digits);
  __syncthreads();
  if (warp_index() == 0) answer(digits, rows.kinds);
}

/// Leaves at once if there is a verdict and it says that *out is the answer. Where a state is wanted, the verdict is written:
/// whether there were no special values; if there is a `plain`, the kernel leaves at once where that says that the state is there (exact_state.cuh).
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(binned_threads, resident_blocks(binned_threads, 2))
    binned_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ exact_question q, Out* out,
                  const __grid_constant__ binned_board board, std::uint32_t* verdict, const std::uint32_t* plain) {
  await_stream();
  const std::uint32_t* const there = q.states ? plain : verdict;
  if (there != nullptr && *there != 0) return;
  std::uint32_t chunks = 0;
  const std::uint32_t found = add_by_bins<Terms, Out, T, Ts...>(a, q, out, board, false, verdict, chunks);
  // Each block asks for one chunk too many, and the block that asks last knows that no other will ask again.
  if (threadIdx.x == 0 && found == chunks + gridDim.x - 1) atomicExch(board.next, 0u);
}

/// Enqueues the kernel.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t binned_reduce(const exact_question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n, void* out,
                          workspace& scratch, cudaStream_t stream, std::uint32_t* verdict = nullptr) {
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  const std::uint64_t work = a.packs != 0 ? a.packs : n;
  const std::uint32_t blocks = at_most(divide_up(work + 1, 2 * binned_threads), 2 * scratch.multiprocessors());
  return launch(binned_kernel<Terms, Out, T, Ts...>,
                {blocks, binned_threads, sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>), stream, scratch.overlaps()}, a, q,
                static_cast<Out*>(out), binned_board::of(scratch, true), verdict, static_cast<const std::uint32_t*>(nullptr));
}

/// Enqueues what writes the state of the elements, and behind it what counts special values if there are some.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t binned_state(op what, const void* const* x, const std::int64_t* stride, std::uint64_t n, void* state, workspace& scratch,
                         cudaStream_t stream) {
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  exact_question q{what, wf::rounding::nearest, 0};
  q.states = true;
  e = binned_reduce<Terms, Out, T, Ts...>(q, x, stride, n, state, scratch, stream, scratch.verdict());
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  return launch(count_specials_kernel<Terms, T, Ts...>,
                {at_most(divide_up(n + 1, 4 * 256), 8 * scratch.multiprocessors()), 256, 0, stream, scratch.overlaps()}, a,
                what == op::norm1, static_cast<std::int64_t*>(state), static_cast<const std::uint32_t*>(scratch.verdict()));
}

}  // namespace wf::device::inline WF_BUILD
