// SPDX-License-Identifier: Apache-2.0
/// \file exact_reduce.cuh
/// Exact reductions of whole arrays in one launch: sum, mean, norm1, sum_of_squares, norm2, dot, var,
/// std, mean_var. The true value, rounded once in any mode; the bits of the CPU's on every input.
/// (exact_sum.cuh is the narrower, faster twin for sums rounded to nearest.)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/gpu/exact_answer.cuh>
#include <warpfold/gpu/exact_complex.cuh>
#include <warpfold/gpu/exact_feed.cuh>
#include <warpfold/gpu/exact_levels.cuh>
#include <warpfold/gpu/exact_message.cuh>
#include <warpfold/gpu/exact_rows.cuh>
#include <warpfold/gpu/grid.cuh>
#include <warpfold/gpu/items.cuh>
#include <warpfold/gpu/launch.cuh>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// The message of a block: its digits, and a word of special values for each watch.
template <class Rows>
struct rows_message {
  static constexpr int digits = [] {
    int all = 0;
    for (int r = 0; r < Rows::rows; ++r) all += digits_of_row<Rows>(r);
    return all;
  }();
  static constexpr int words = digits + Rows::watches;
  static constexpr int stride = (words + 15) / 16 * 16;
  static constexpr int copies = static_cast<int>(workspace::tally_words) / stride;
  using tally_type = tally<words, (copies < 4 ? copies : 4)>;

  /// One step of carrying, so that a digit is within ±2^34. The top digits keep what they have.
  static __device__ __forceinline__ std::int64_t settled(const std::int64_t* d, int k) {
    bool first = false, top = false;
    int begin = 0;
#pragma unroll
    for (int r = 0; r < Rows::rows; ++r) {
      first |= k == begin;
      begin += digits_of_row<Rows>(r);
      top |= k == begin - 1;
    }
    return (top ? d[k] : d[k] & 0xffffffff) + (first ? 0 : d[k - 1] >> 32);
  }
};

/// Whether the last row is of the squares of what the others are the sums of.
template <class Rows>
inline constexpr bool has_moments = Rows::rows == Rows::watches + 1;

/// Digits that n·Σ|x|² - Σ(Σx)² takes.
template <class Rows>
inline constexpr int spread_digits = has_moments<Rows> ? digits_of_row<Rows>(Rows::rows - 1) + 2 : 0;

/// The answers of a row set, by warp 0, from the carry-save digits of the whole array and room for spread_digits
/// behind them. Out is the type of one number of the answer.
template <class Rows, class Out>
__device__ __forceinline__ void answer_of_rows(std::int64_t* digits, const std::uint32_t* kinds, std::uint64_t n,
                                               const exact_question& q, Out* out) {
  constexpr int rows = Rows::rows;
  shared_number number[rows + (has_moments<Rows> ? 1 : 0)];
  [&]<int... R>(std::integer_sequence<int, R...>) {
    ((number[R] = shared_number_of<digits_of_row<Rows>(R)>(digits, unit_of_row<Rows>(R)),
      digits += digits_of_row<Rows>(R)), ...);
  }(std::make_integer_sequence<int, rows>());
  if constexpr (has_moments<Rows>) {
    number[rows] = number[rows - 1];
    if (is_spread(q.what)) number[rows] = spread_of<spread_digits<Rows>, Rows::watches>(number, n, digits);
  }
  answer_by_lanes<Rows::watches>(number, kinds, n, q, out);
}

template <class Rows, class Out, int Threads, int MinBlocks, class... T>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    exact_reduce_kernel(arrays<sizeof...(T)> a, exact_question q, Out* out, std::uint64_t* tallies) {
  await_stream();
  using message = rows_message<Rows>;
  using tally_type = typename message::tally_type;
  __shared__ typename Rows::room room;
  __shared__ std::int64_t digits[message::digits + spread_digits<Rows>];
  __shared__ std::uint32_t kinds_of_warp[Threads / 32][Rows::watches], kinds[Rows::watches];
  Rows rows{};  // g++ cannot see that the rest is started before it is used
  feed<Rows, T...>(rows, a, q.what, q.doubles, room);
#pragma unroll
  for (int w = 0; w < Rows::watches; ++w) {
    const std::uint32_t k = warp_or(rows.kinds(w));
    if (lane_index() == 0) kinds_of_warp[warp_index()][w] = k;
  }
  rows.sum_over_block(room, digits);
  __syncthreads();
  if (threadIdx.x < Rows::watches) {
    std::uint32_t k = 0;
    for (int w = 0; w < Threads / 32; ++w) k |= kinds_of_warp[w][threadIdx.x];
    kinds[threadIdx.x] = k;
  }
  __syncthreads();
  if (gridDim.x > 1) {
    if (!is_last_block()) {
      for (int k = static_cast<int>(threadIdx.x); k < message::words; k += Threads) {
        tally_type::post(tallies, k, k < message::digits ? message::settled(digits, k)
                                                         : spread_kinds(kinds[k - message::digits]));
      }
      return;
    }
    constexpr int each = (message::words + Threads - 1) / Threads;  // all of a thread's at once: a look takes 0.5 µs
    const int first = static_cast<int>(threadIdx.x) * each;
    if (first < message::words) {
      std::int64_t others[each];
      tally_type::template collect<each>(tallies, first, gridDim.x - 1, others);
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int k = first + j;
        if (k < message::digits) digits[k] += others[j];
        else if (k < message::words) kinds[k - message::digits] |= gather_kinds(others[j]);
      }
    }
    __syncthreads();
  }
  if (warp_index() == 0) answer_of_rows<Rows>(digits, kinds, a.n, q, out);
}

/// Blocks of a row set that a multiprocessor is to hold: fewer than it wants if their columns are large.
template <class Rows, int Threads>
inline constexpr int exact_resident = [] {
  constexpr int by_threads = Rows::resident_threads / Threads;
  constexpr int by_shared = static_cast<int>(232448 / (Rows::shared_bytes + sizeof(typename Rows::room) + 4096));
  constexpr int fewer = by_shared < by_threads ? by_shared : by_threads;
  return fewer < 1 ? 1 : fewer;
}();

/// Enqueues one kernel. `workers` blocks; 0 is the library's choice. T are the element types of the
/// inputs as Rows takes them.
template <class Rows, class Out, int Threads, class... T>
cudaError_t exact_reduce(const exact_question& q, const void* const* x, const std::int64_t* stride,
                         std::uint64_t n, void* out, workspace& scratch, cudaStream_t stream,
                         std::uint32_t workers = 0) {
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<sizeof...(T)> a;
  if (!make_arrays<T...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  constexpr int resident = exact_resident<Rows, Threads>;
  if (workers == 0) {
    const std::uint64_t work = a.packs != 0 ? a.packs : n;
    workers = at_most(divide_up(work + 1, 2 * Threads),
                      at_most(resident, scratch.choices().exact_blocks) * scratch.multiprocessors());
  }
  exact_question asked = q;
  asked.doubles = scratch.fast_doubles();
  return launch(exact_reduce_kernel<Rows, Out, Threads, resident, T...>,
                {at_most(workers, 4095), Threads, Rows::shared_bytes, stream, scratch.overlaps()}, a, asked,
                static_cast<Out*>(out), scratch.tally());
}

}  // namespace wf::device::inline WF_BUILD
