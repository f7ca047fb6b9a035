// SPDX-License-Identifier: Apache-2.0
/// \file exact_reduce.cuh
/// Exact reductions of integers that are more than a sum modulo 2^64 in one launch: mean, norm2, var, std, mean_var. The true value, rounded once in any mode; the bits of the
/// CPU's on every input.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>
#include <warpfold/detail/gpu/merge/rows_message.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// What else is made of the elements that a row set gets: here nothing.
struct nothing_beside {
  template <int Inputs>
  __device__ __forceinline__ void add(const pack (&)[Inputs], std::uint64_t) const {}
  template <class... T>
  __device__ __forceinline__ void add_item(std::uint64_t, const T&...) const {}
};

/// Gives this thread's share of the arrays to a row set, and to what is beside it.
template <plain_row_set Rows, class Beside, class... T>
__device__ __forceinline__ void feed(Rows& rows, const arrays<sizeof...(T)>& a, const exact_question& q, const Beside& beside) {
  rows.start(q.what);
  for_each_share<Rows::loads, Rows::item_size, true, packs_ahead<Rows>>(
      a,
      [&](const pack(&p)[sizeof...(T)], std::uint64_t v) {
        beside.add(p, v);
        rows.add(p);
      },
      [&](std::uint64_t i) {
        with_elements<T...>(a, i, [&](const auto&... x) {
          beside.add_item(i, x...);
          rows.add_item(x...);
        });
      },
      [&] { rows.after_batch(); });
  rows.finish();
}

/// Static shared memory of a block that feeds a row set.
template <plain_row_set Rows, int Threads>
struct rows_block {
  typename Rows::room room;
  std::int64_t digits[all_digits<Rows> + spread_digits<Rows>];
  std::uint32_t kinds_of_warp[Threads / 32][Rows::watches], kinds[Rows::watches];
};

/// Adds up what the threads of a block were given, in digits and kinds that all threads can read.
template <plain_row_set Rows, int Threads>
  requires sums_over_block<Rows>
__device__ __forceinline__ void sum_rows_of_block(Rows& rows, rows_block<Rows, Threads>& block) {
#pragma unroll
  for (int w = 0; w < Rows::watches; ++w) {
    const std::uint32_t k = warp_or(rows.kinds(w));
    if (lane_index() == 0) block.kinds_of_warp[warp_index()][w] = k;
  }
  rows.sum_over_block(block.room, block.digits);
  __syncthreads();
  if (threadIdx.x < Rows::watches) {
    std::uint32_t k = 0;
    for (int w = 0; w < Threads / 32; ++w) k |= block.kinds_of_warp[w][threadIdx.x];
    block.kinds[threadIdx.x] = k;
  }
  __syncthreads();
}

template <plain_row_set Rows, int Threads>
__device__ __forceinline__ bool gather_rows(rows_block<Rows, Threads>& block, std::uint64_t* tallies) {
  return gather_digits<Rows, Threads>(block.digits, block.kinds, tallies);
}

template <plain_row_set Rows, class Out, int Threads, int MinBlocks, integer T>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    exact_reduce_kernel(arrays<1> a, exact_question q, Out* out, std::uint64_t* tallies) {
  await_stream();
  __shared__ rows_block<Rows, Threads> block;
  Rows rows{};
  feed<Rows, nothing_beside, T>(rows, a, q, {});
  sum_rows_of_block(rows, block);
  if (!gather_rows(block, tallies)) return;
  if (q.states) {
    if (threadIdx.x == 0) put_state<T, has_moments<Rows> ? terms::moments : terms::sum>(block.digits, block.kinds, a.n, q.what, reinterpret_cast<std::int64_t*>(out));
  } else if (warp_index() == 0) {
    answer_of_rows<Rows>(block.digits, block.kinds, a.n, q, out);
  }
}

/// How many blocks of a row set a multiprocessor is to hold: fewer than the set asks for if their shared memory is large.
template <plain_row_set Rows, int Threads>
inline constexpr int exact_resident = [] {
  constexpr int by_threads = Rows::resident_threads / Threads;
  constexpr int by_shared = static_cast<int>(232448 / (Rows::shared_bytes + sizeof(typename Rows::room) + 4096));
  constexpr int fewer = by_shared < by_threads ? by_shared : by_threads;
  return fewer < 1 ? 1 : fewer;
}();

template <int Threads, int Inputs>
std::uint32_t exact_workers(const arrays<Inputs>& a, std::uint32_t resident, const workspace& scratch) {
  const std::uint64_t work = a.packs != 0 ? a.packs : a.n;
  return at_most(divide_up(work + 1, 2 * Threads), at_most(resident, scratch.choices().exact_blocks) * scratch.multiprocessors());
}

/// Enqueues one kernel.
template <plain_row_set Rows, class Out, int Threads, integer T>
cudaError_t exact_reduce(const exact_question& q, const void* x, std::int64_t stride, std::uint64_t n, void* out, workspace& scratch, cudaStream_t stream) {
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1> a;
  if (!make_arrays<T>(a, &x, &stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  constexpr int resident = exact_resident<Rows, Threads>;
  return launch(exact_reduce_kernel<Rows, Out, Threads, resident, T>,
                {at_most(exact_workers<Threads>(a, resident, scratch), 4095), Threads, Rows::shared_bytes, stream, scratch.overlaps()}, a, q, static_cast<Out*>(out),
                scratch.tally());
}

}  // namespace wf::device::inline WF_BUILD
