// SPDX-License-Identifier: Apache-2.0
/// \file rows_message.cuh
/// How the rows of digits of all blocks are added up: each block but the last adds its own to a tally.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/merge/exact_message.cuh>
#include <warpfold/detail/gpu/merge/merge.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// The message of a block: its digits, and a word of special values for each watch.
template <digit_rows Rows>
struct rows_message {
  static constexpr int digits = all_digits<Rows>;
  static constexpr int words = digits + Rows::watches;
  static constexpr int stride = (words + 15) / 16 * 16;
  static constexpr int copies = static_cast<int>(workspace::tally_words) / stride;
  using tally_type = tally<words, (copies < 4 ? copies : 4)>;
};

/// Adds the digits and kinds of all blocks to those of the last one; returns true there.
template <digit_rows Rows, int Threads, word_merge Merge = typename rows_message<Rows>::tally_type>
__device__ __forceinline__ bool gather_digits(std::int64_t* digits, std::uint32_t* kinds, std::uint64_t* tallies) {
  using message = rows_message<Rows>;
  if (gridDim.x == 1) return true;
  if (!is_last_block()) {
    for (int k = static_cast<int>(threadIdx.x); k < message::words; k += Threads) {
      Merge::post(tallies, k, k < message::digits ? settled<Rows>(digits, k) : spread_kinds(kinds[k - message::digits]));
    }
    return false;
  }
  constexpr int each = (message::words + Threads - 1) / Threads;  // all of a thread's at once: a look takes 0.5 µs
  const int first = static_cast<int>(threadIdx.x) * each;
  if (first < message::words) {
    std::int64_t others[each];
    Merge::template collect<each>(tallies, first, gridDim.x - 1, others);
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int k = first + j;
      if (k < message::digits) digits[k] += others[j];
      else if (k < message::words) kinds[k - message::digits] |= gather_kinds(others[j]);
    }
  }
  __syncthreads();
  return true;
}

}  // namespace wf::device::inline WF_BUILD
