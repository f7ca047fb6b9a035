// SPDX-License-Identifier: Apache-2.0
/// \file exact_message.cuh
/// How the digits of the blocks' exact sums become one answer: each block but the last adds them to a tally, the last
/// one collects it and rounds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/sum_state.cuh>
#include <warpfold/detail/gpu/merge/merge.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// How the digits of a sum of T lie on a warp.
template <class T>
inline constexpr int digits_a_lane = exact::format<T>::digits > 32 ? 3 : 1;
template <class T>
inline constexpr int digit_lanes = (exact::format<T>::digits + digits_a_lane<T> - 1) / digits_a_lane<T>;

/// Four rows: at a thousand blocks each word takes 250 additions, and the reader loads four words.
template <class T>
using digit_tally = tally<digit_lanes<T> * digits_a_lane<T> + 1, 4>;

/// The first of the tally's words that no block of a sum of T posts to: rows of zeros.
template <class T>
inline constexpr int rehearsal_words = static_cast<int>(workspace::tally_words) - 4 * digit_tally<T>::stride;

/// Blocks that saw each kind of special value, in fields of 12 bits: at most 4095 blocks.
__device__ __forceinline__ std::int64_t spread_kinds(std::uint32_t kinds) {
  std::int64_t fields = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) fields |= std::int64_t{kinds >> i & 1} << (12 * i);
  return fields;
}
__device__ __forceinline__ std::uint32_t gather_kinds(std::int64_t fields) {
  std::uint32_t kinds = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kinds |= (fields >> (12 * i) & 0xfff) != 0 ? 1u << i : 0u;
  return kinds;
}

/// The first warp of each block calls it, with the digits of its sum, digits_a_lane per lane, and its special values. The
/// last block writes to `out`, a T* or a sum_to<T>. Unit: the exponent of the weight of the first digit.
template <int Unit, sum_epilogue To, word_merge Merge = digit_tally<summed_t<To>>>
__device__ __forceinline__ void answer_of_blocks(std::int64_t (&v)[digits_a_lane<summed_t<To>>], std::uint32_t kinds, const To& out,
                                                 std::uint64_t* rows) {
  using T = summed_t<To>;
  constexpr int per_lane = digits_a_lane<T>, lanes = digit_lanes<T>;
  if (gridDim.x > 1) {
    const int first = lane_index() * per_lane;
    if (!is_last_block()) {
      settle(v);
      if (lane_index() < lanes) {
#pragma unroll
        for (int j = 0; j < per_lane; ++j) Merge::post(rows, first + j, v[j]);
      } else if (lane_index() == lanes) {
        Merge::post(rows, first, spread_kinds(kinds));
      }
      return;
    }
    std::int64_t others[per_lane];
    Merge::template collect<per_lane>(rows, first, gridDim.x - 1, others);
    kinds |= gather_kinds(__shfl_sync(all_lanes, others[0], lanes));
    if (lane_index() < lanes) {
#pragma unroll
      for (int j = 0; j < per_lane; ++j) v[j] += others[j];
    }
  }
  put_sum<Unit>(v, kinds, out);
}

/// All threads of a last block that has added no elements call it, where each lane has one digit: it writes the answer from the posts of the others.
///
/// A look at the tally takes 0.5 µs, and a post that comes just behind it waits for the next look. So four warps look by turns, and the first that
/// finds all posts answers. Each computes an answer that is not used before, so that the instructions are in the cache when they are needed.
template <int Unit, class T>
__device__ __forceinline__ void answer_by_collector(T* out, std::uint64_t* rows) {
  static_assert(digits_a_lane<T> == 1);
  using merge = digit_tally<T>;
  __shared__ unsigned claimed;
  if (threadIdx.x == 0) claimed = 0;
  __syncthreads();
  if (warp_index() >= 4) return;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const bool rehearsal = pass == 0;
    std::uint64_t* const from = rehearsal ? rows + rehearsal_words<T> : rows;
    const std::uint32_t posts = rehearsal ? 0 : gridDim.x - 1;
    if (!rehearsal) __nanosleep(80 * static_cast<unsigned>(warp_index()));
    std::int64_t sum;
    while (__any_sync(all_lanes, !merge::look(from, lane_index(), posts, sum)) != 0) {
      if (atomicOr(&claimed, 0u) != 0) return;  // another warp has them, and may have erased some
      __nanosleep(0);
    }
    unsigned taken = 0;
    if (lane_index() == 0 && !rehearsal) taken = atomicExch(&claimed, 1u);
    std::uint32_t kinds = gather_kinds(__shfl_sync(all_lanes, sum, digit_lanes<T>));
    std::int64_t v[1] = {lane_index() < digit_lanes<T> ? sum : 0};
    if (rehearsal) {
      kinds = special::ordinary;
      v[0] = lane_index() == 2 ? 1 : 0;
    }
    const T answer = round_by_warp<T>(v, kinds, Unit);
    if (lane_index() == 0 && !rehearsal && taken == 0) *out = answer;
    if (__shfl_sync(all_lanes, taken, 0) == 0) merge::erase(from, lane_index());
  }
}

}  // namespace wf::device::inline WF_BUILD
