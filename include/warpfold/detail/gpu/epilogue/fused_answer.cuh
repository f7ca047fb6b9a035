// SPDX-License-Identifier: Apache-2.0
/// \file fused_answer.cuh
/// All answers of a fused reduction that are made of an array's digits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/epilogue/exact_answer.cuh>
#include <warpfold/detail/gpu/epilogue/special.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// The numbers of all answers that are made of digits: a lane of a warp makes each. mean_var is a mean and a var.
template <int Count>
struct fused_question {
  static_assert(Count < warp_lanes, "a fused reduction asks for at most 31 numbers of exact sums");
  exact_question of_rows;
  bool divides, spread;  ///< whether any does
  op what[Count];
  std::int8_t part[Count];
  void* to[Count];
};

/// One warp computes these answers, from the digits of the whole array.
template <digit_rows Rows, class T, class Out, int Count>
__device__ __forceinline__ void answers_of_rows(std::int64_t* digits, const std::uint32_t* kinds, std::uint64_t n,
                                                const fused_question<Count>& q) {
  shared_number number[numbers_of<Rows>];
  make_numbers<Rows>(number, digits, n, q.spread);
  op what = op::count;
  int part = 0;
  void* to = nullptr;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const bool own = lane_index() == i;
    what = own ? q.what[i] : what;
    part = own ? q.part[i] : part;
    to = own ? q.to[i] : to;
  }
  lane_question mine{-1, 0, false, is_spread(what), what == op::norm2 || what == op::std_dev};
  mine.divided = mine.spread || what == op::mean;
  const bool squared = what == op::sum_of_squares || what == op::norm2;
  if (to != nullptr) {
    mine.number = mine.spread ? Rows::rows : squared ? Rows::rows - 1 : part;
  }
#pragma unroll
  for (int i = 0; i < Rows::watches; ++i) mine.kinds |= squared || mine.spread || i == part ? kinds[i] : 0u;
  if (squared || what == op::norm1) {  // nothing below zero, and no -0
    const bool infinite = (mine.kinds & (special::pos_inf | special::neg_inf)) != 0;
    mine.kinds = (mine.kinds & special::nan) | (infinite ? special::pos_inf : 0u) | special::ordinary;
  }
  if constexpr (integer<T>) {
    if (what == op::sum || what == op::sum_of_squares) {
      shared_number x = number[0];
      if (squared) x = number[Rows::rows - 1];
      const std::uint64_t magnitude = std::uint64_t{x.limb(1)} << 32 | x.limb(0);
      *static_cast<std::uint64_t*>(to) = x.negative ? 0 - magnitude : magnitude;
      mine.number = -1;
    }
  }
  answer_of_lane<has_moments<Rows>>(number, mine, q.divides, n, q.of_rows.rounding, q.of_rows.correction,
                                    static_cast<Out*>(to));
}

}  // namespace wf::device::inline WF_BUILD
