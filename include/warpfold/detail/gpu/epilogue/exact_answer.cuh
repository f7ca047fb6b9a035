// SPDX-License-Identifier: Apache-2.0
/// \file exact_answer.cuh
/// The last step of exact reductions, by one warp over digits in shared memory: carry, then round a sum, a
/// quotient or a root once. The numbers are those of wf::exact on the host; where that loops over digits, here
/// each lane has a digit or a few.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/rational.hpp>
#include <warpfold/detail/gpu/epilogue/special.cuh>
#include <warpfold/detail/gpu/epilogue/exact_round.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

/// The question about the sums.
struct exact_question {
  op what;
  wf::rounding rounding;
  std::int64_t correction;
  bool states = false;  ///< the state is wanted (state_words.cuh)
};

WF_HD constexpr bool is_spread(op what) {
  return what == op::var || what == op::std_dev || what == op::mean_var;
}

/// A whole number in shared memory: the 32-bit digits of its magnitude, an int64 each. Digit k weighs
/// 2^(32k + unit); the first and the last that is not zero are `low` and `high`, -1 if there is none.
struct shared_number {
  const std::int64_t* digit;
  int unit, low, high;
  bool negative;

  __device__ __forceinline__ std::uint32_t limb(int k) const {
    return k >= low && k <= high ? static_cast<std::uint32_t>(digit[k]) : 0u;
  }

  /// The leading 256 bits: see exact::window.
  __device__ __forceinline__ exact::window leading() const {
    if (high < 0) return {{0, 0, 0, 0}, 0, false};
    std::uint32_t part[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) part[k] = limb(high - 8 + k);
    const int lead = __clz(static_cast<int>(part[8]));
    exact::window r;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      r.w[k] = std::uint64_t{__funnelshift_l(part[2 * k + 1], part[2 * k + 2], lead)} << 32 |
               __funnelshift_l(part[2 * k], part[2 * k + 1], lead);
    }
    r.exponent = unit + 32 * (high - 7) - lead;
    r.sticky = low < high - 8 || part[0] << lead != 0;
    return r;
  }
};

/// A number of Count digits from carry-save digits within ±2^46, by one warp: digit k is v[k % PerLane] of lane
/// k / PerLane, and zero from Count on. Its magnitude goes to `to`.
template <int Count, int PerLane>
__device__ __forceinline__ shared_number shared_number_of(const std::int64_t (&v)[PerLane], std::int64_t* to, int unit) {
  const auto x = warp_number<PerLane>::from(v);
  const bool negative = __shfl_sync(all_lanes, x.digit[PerLane - 1], 31) >> 31 != 0;
  const auto first = static_cast<std::uint32_t>(lane_index() * PerLane);
  std::uint32_t low = warp_lanes * PerLane, end = 0;
#pragma unroll
  for (int j = PerLane - 1; j >= 0; --j) low = x.digit[j] != 0 ? first + j : low;
  low = warp_min(low);
#pragma unroll
  for (int j = 0; j < PerLane; ++j) {
    const std::uint32_t k = first + j;
    const std::uint32_t d = !negative ? x.digit[j] : k > low ? ~x.digit[j] : 0u - x.digit[j];
    if (k < Count) {
      to[k] = d;
      if (d != 0) end = k + 1;
    }
  }
  end = warp_max(end);
  __syncwarp();
  return {to, unit, static_cast<int>(low), static_cast<int>(end) - 1, negative};
}

/// The same in place.
template <int Count>
__device__ __forceinline__ shared_number shared_number_of(std::int64_t* d, int unit) {
  constexpr int per_lane = (Count + warp_lanes - 1) / warp_lanes;
  std::int64_t v[per_lane];
#pragma unroll
  for (int j = 0; j < per_lane; ++j) {
    const int k = lane_index() * per_lane + j;
    v[j] = k < Count ? d[k] : 0;
  }
  return shared_number_of<Count>(v, d, unit);
}

/// n·Σ|x|² - Σ(Σx)², which is below 2^64·Σ|x|² and not negative, from the sums: one of each part first, that of
/// the squares, of Count - 2 digits, last but one. By one warp: a lane gathers what falls on its digits.
template <int Count, int Parts, int Numbers>
__device__ __forceinline__ shared_number spread_of(const shared_number (&sum)[Numbers], std::uint64_t n,
                                                   std::int64_t* room) {
  constexpr int per_lane = (Count + warp_lanes - 1) / warp_lanes;
  const int first = lane_index() * per_lane;
  const auto low_word = [](std::uint64_t x) { return std::int64_t{static_cast<std::uint32_t>(x)}; };
  const auto high_word = [](std::uint64_t x) { return static_cast<std::int64_t>(x >> 32); };
  const auto n0 = static_cast<std::uint32_t>(n), n1 = static_cast<std::uint32_t>(n >> 32);
  const shared_number& squares = sum[Numbers - 2];
  std::int64_t v[per_lane];
  std::uint64_t before = std::uint64_t{n0} * squares.limb(first - 1);
  std::uint64_t up = std::uint64_t{n1} * squares.limb(first - 2);
#pragma unroll
  for (int j = 0; j < per_lane; ++j) {
    const std::uint64_t here = std::uint64_t{n0} * squares.limb(first + j);
    const std::uint64_t up_here = std::uint64_t{n1} * squares.limb(first + j - 1);
    v[j] = low_word(here) + high_word(before) + low_word(up_here) + high_word(up);
    before = here;
    up = up_here;
  }
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const shared_number& x = sum[part];
    std::uint32_t other[per_lane + 1];  // digits first - 1 - i … first + per_lane - 1 - i
#pragma unroll
    for (int j = 1; j <= per_lane; ++j) other[j - 1] = x.limb(first - 1 + j - x.low);
#pragma unroll 2
    for (int i = x.low; i <= x.high; ++i) {
#pragma unroll
      for (int j = per_lane; j > 0; --j) other[j] = other[j - 1];
      other[0] = x.limb(first - 1 - i);
      const auto digit = static_cast<std::uint32_t>(x.digit[i]);
      std::uint64_t below = std::uint64_t{digit} * other[0];
#pragma unroll
      for (int j = 0; j < per_lane; ++j) {
        const std::uint64_t here = std::uint64_t{digit} * other[j + 1];
        v[j] -= low_word(here) + high_word(below);
        below = here;
      }
    }
  }
  return shared_number_of<Count>(v, room, squares.unit);
}

/// What a lane of the answering warp computes from a number.
struct lane_question {
  int number;           ///< -1: nothing
  std::uint32_t kinds;  ///< what was added up
  bool divided;         ///< by n
  bool spread;          ///< and by n - correction
  bool root;
};

/// One answer per lane, by one warp. `any_divides`: whether any lane's is a quotient, the same in all of them; Spreads:
/// whether any may be one of a spread; Divides, Roots: whether a quotient or a root may be asked for at all; otherwise their code is left out.
template <bool Spreads, bool Divides = true, bool Roots = true, class Out, int Numbers>
__device__ __forceinline__ void answer_of_lane(const shared_number (&number)[Numbers], const lane_question& mine,
                                               bool any_divides, std::uint64_t n, wf::rounding rounding,
                                               std::int64_t correction, Out* to) {
  using f = exact::format<Out>;
  const bool divides = Divides && any_divides;
  const bool enough = n != 0 && (!mine.spread || static_cast<std::int64_t>(n) > correction);
  exact::divisor by_n{}, by_rest{};
  if (divides) {  // all inverses side by side: the last lane's is n's
    const std::uint64_t count = n != 0 ? n : 1;
    by_rest = exact::divisor::of(mine.spread && enough ? n - static_cast<std::uint64_t>(correction)
                                 : lane_index() == warp_lanes - 1 ? count : 1);
    by_n.shift = exact::leading_zeros(count);
    by_n.d = count << by_n.shift;
    by_n.inverse = __shfl_sync(all_lanes, by_rest.inverse, warp_lanes - 1);
    if (!mine.divided) by_n = {std::uint64_t{1} << 63, ~std::uint64_t{0}, 63};  // 1
  }
  if (mine.number < 0) return;
  shared_number x = number[0];
#pragma unroll
  for (int i = 1; i < Numbers; ++i) x = mine.number == i ? number[i] : x;
  Out answer = f::from_bits(f::quiet_nan);
  bool decided = mine.divided && !enough;
  if (mine.spread) decided = decided || (mine.kinds & (special::nan | special::pos_inf | special::neg_inf)) != 0;
  else decided = decided || special_answer(n == 0 ? special::ordinary : mine.kinds, answer);
  if (!decided) {
    exact::window w = x.leading();
    if (divides) {
      w.divide(by_n);
      if constexpr (Spreads) w.divide(by_rest);  // by 1 for a mean: the two overlap where nothing branches
    }
    const exact::scaled s = Roots && mine.root ? exact::root(w) : exact::leading_bits(w, x.negative);
    answer = f::from_bits(exact::pack<typename f::layout>(s, rounding));
  }
  *to = answer;
}

/// The answers to one question, by one warp: from `Parts` sums, `number`, or from the numbers behind them: the sum of
/// squares, then n·Σ|x|² - Σ(Σx)². `kinds` are those of the parts. Divides, Roots: as above.
template <int Parts, bool Divides, bool Roots, class Out, int Numbers>
__device__ __forceinline__ void answer_by_lanes(const shared_number (&number)[Numbers], const std::uint32_t* kinds,
                                                std::uint64_t n, const exact_question& q, Out* out) {
  const int lane = lane_index();
  const bool spread = Numbers > Parts && is_spread(q.what);
  const bool mean = q.what == op::mean || q.what == op::mean_var;
  const bool squares = Numbers > Parts && (q.what == op::norm2 || q.what == op::sum_of_squares);
  const int of_sums = spread && !mean ? 0 : squares ? 1 : Parts;
  const bool of_spread = spread && lane == of_sums;
  lane_question mine{-1, 0, spread || mean, of_spread, q.what == op::norm2 || (of_spread && q.what == op::std_dev)};
  const int own = squares ? Parts : lane;
  if (lane < of_sums + (spread ? 1 : 0)) mine.number = of_spread ? Parts + 1 : own;
#pragma unroll
  for (int i = 0; i < Parts; ++i) mine.kinds |= of_spread || i == lane ? kinds[i] : 0u;
  answer_of_lane<(Numbers > Parts), Divides, Roots>(number, mine, spread || mean, n, q.rounding, q.correction, out + lane);
}

}  // namespace wf::device::inline WF_BUILD
