// SPDX-License-Identifier: Apache-2.0
/// \file exact_answer.cuh
/// The last step of exact reductions, by one warp, in place in shared memory: carry, then round a sum, a
/// quotient or a root once. The same numbers as wf::exact's on the host, without its copies: a stack
/// of theirs, times all threads that a device holds, would be gigabytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/exact/rational.hpp>
#include <warpfold/gpu/exact_thread.cuh>
#include <warpfold/gpu/warp.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

/// What is asked of the sums.
struct exact_question {
  op what;
  wf::rounding rounding;
  std::int64_t correction;
  bool doubles = true;  ///< FP64 operations are not much slower than others
};

/// Carries, by one thread: canonical digits.
__device__ __forceinline__ void normalise_digits(std::int64_t* d, int count) {
  std::int64_t carry = 0;
#pragma unroll 1
  for (int k = 0; k < count - 1; ++k) {
    const std::int64_t v = d[k] + carry;
    d[k] = v & 0xffffffff;
    carry = v >> 32;
  }
  d[count - 1] += carry;
}

/// The leading 256 bits of canonical digits that are not negative: see exact::window.
__device__ __forceinline__ exact::window window_of_digits(const std::int64_t* d, int count, int unit) {
  int n = count;
  while (n > 0 && d[n - 1] == 0) --n;
  if (n == 0) return {{0, 0, 0, 0}, 0, false};
  const int lead = __clz(static_cast<int>(static_cast<std::uint32_t>(d[n - 1])));
  std::uint64_t part[9];
#pragma unroll
  for (int k = 0; k < 9; ++k) part[k] = n - 9 + k >= 0 ? static_cast<std::uint32_t>(d[n - 9 + k]) : 0;
  exact::window r;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::uint64_t upper = part[2 * k + 2] << 32 | part[2 * k + 1];
    r.w[k] = lead == 0 ? upper : upper << lead | part[2 * k] >> (32 - lead);
  }
  r.exponent = unit + 32 * (n - 8) - lead;
  r.sticky = static_cast<std::uint32_t>(part[0] << lead) != 0;
#pragma unroll 1
  for (int k = n - 10; k >= 0 && !r.sticky; --k) r.sticky = d[k] != 0;
  return r;
}

/// An exact sum in shared memory: `count` carry-save digits, made canonical, then their magnitude.
struct shared_sum {
  std::int64_t* d;
  int count, unit;
  bool negative;

  /// By one thread.
  static __device__ __forceinline__ shared_sum of(std::int64_t* d, int count, int unit) {
    normalise_digits(d, count);
    const bool negative = d[count - 1] < 0;
    if (negative) {
#pragma unroll 1
      for (int k = 0; k < count; ++k) d[k] = -d[k];
      normalise_digits(d, count);
    }
    return {d, count, unit, negative};
  }
  __device__ __forceinline__ exact::window leading() const { return window_of_digits(d, count, unit); }
  __device__ __forceinline__ bool is_zero() const {
    const exact::window w = leading();
    return w.w[3] == 0;
  }
};

/// n·Σ|x|² - Σ(Σx)² as carry-save digits, `count` of them, from the magnitudes of the sums: one of each part,
/// and that of the squares. By one warp: each lane takes digits of its own, and gathers what falls on them.
template <int Parts>
__device__ __forceinline__ void spread_digits(std::int64_t* to, int count, const shared_sum* firsts,
                                              const shared_sum& squares, std::uint64_t n) {
  const auto n0 = static_cast<std::uint32_t>(n), n1 = static_cast<std::uint32_t>(n >> 32);
  const auto limb = [](const std::int64_t* d, int size, int k) {
    return k >= 0 && k < size ? static_cast<std::uint32_t>(d[k]) : 0u;
  };
  const std::int64_t* const second = squares.d;
  const int second_count = squares.count;
  int low[Parts], high[Parts];  // where the sums have digits at all
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const shared_sum& first = firsts[part];
    low[part] = 0;
    high[part] = first.count;
    while (low[part] < high[part] && first.d[low[part]] == 0) ++low[part];
    while (high[part] > low[part] && first.d[high[part] - 1] == 0) --high[part];
  }
  for (int k = lane_index(); k < count; k += warp_lanes) {
    const std::uint32_t a = limb(second, second_count, k), b = limb(second, second_count, k - 1),
                        c = limb(second, second_count, k - 2);
    std::int64_t v = static_cast<std::uint32_t>(std::uint64_t{n0} * a);
    v += static_cast<std::int64_t>(std::uint64_t{n0} * b >> 32);
    v += static_cast<std::uint32_t>(std::uint64_t{n1} * b);
    v += static_cast<std::int64_t>(std::uint64_t{n1} * c >> 32);
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const std::int64_t* const first = firsts[part].d;
      const int first_count = firsts[part].count;
#pragma unroll 1
      for (int i = low[part]; i < high[part]; ++i) {
        v -= static_cast<std::uint32_t>(std::uint64_t{limb(first, first_count, i)} * limb(first, first_count, k - i));
        v -= static_cast<std::int64_t>(std::uint64_t{limb(first, first_count, i)} * limb(first, first_count, k - 1 - i) >> 32);
      }
    }
    to[k] = v;
  }
  __syncwarp();
}

/// What special values make of a sum, where they decide it: exact::special_value.
template <class U>
__device__ __forceinline__ bool special_answer(std::uint32_t kinds, U& answer) {
  using f = exact::format<U>;
  using bits = typename f::bits;
  constexpr std::uint32_t both = special::pos_inf | special::neg_inf;
  if ((kinds & special::nan) != 0 || (kinds & both) == both) answer = f::from_bits(f::quiet_nan);
  else if ((kinds & special::pos_inf) != 0) answer = f::from_bits(f::infinity);
  else if ((kinds & special::neg_inf) != 0) answer = f::from_bits(static_cast<bits>(f::infinity | f::sign_mask));
  else if (kinds == 0) answer = f::from_bits(f::sign_mask);
  else return false;
  return true;
}

template <class U>
__device__ __forceinline__ U packed(const exact::scaled& x, rounding mode) {
  using f = exact::format<U>;
  return f::from_bits(exact::pack<typename f::layout>(x, mode));
}

/// A sum of n elements, its mean, or the root of a sum of squares. By one thread. `kinds` says
/// `ordinary` where n = 0.
template <class U>
__device__ __forceinline__ U answer_of_sum(const shared_sum& s, std::uint32_t kinds, std::uint64_t n,
                                           const exact_question& q) {
  using f = exact::format<U>;
  U answer;
  const bool mean = q.what == op::mean || q.what == op::mean_var;
  if (mean && n == 0) return f::from_bits(f::quiet_nan);
  if (special_answer(kinds, answer)) return answer;
  exact::window w = s.leading();
  if (w.w[3] == 0) return f::from_bits(0);
  if (q.what == op::norm2) return packed<U>(exact::root(w), q.rounding);
  if (mean) w.divide(n);
  return packed<U>(exact::leading_bits(w, s.negative), q.rounding);
}

/// var and std, by one warp; every lane returns it. `first` are the sums, one a part. `room` holds twice their
/// digits + 2 and second.count + 2 digits at least.
template <int Parts, class U>
__device__ __forceinline__ U answer_of_moments(const shared_sum* first, const shared_sum& second,
                                               std::int64_t* room, int room_count,
                                               std::uint32_t kinds, std::uint64_t n,
                                               const exact_question& q) {
  using f = exact::format<U>;
  spread_digits<Parts>(room, room_count, first, second, n);
  U answer = f::from_bits(f::quiet_nan);
  const auto count = static_cast<std::int64_t>(n);
  const bool finite = (kinds & (special::nan | special::pos_inf | special::neg_inf)) == 0;
  if (lane_index() == 0 && finite && count > 0 && count > q.correction) {
    normalise_digits(room, room_count);
    exact::window w = window_of_digits(room, room_count, second.unit);
    w.divide(n);
    w.divide(n - static_cast<std::uint64_t>(q.correction));
    answer = packed<U>(q.what == op::std_dev ? exact::root(w) : exact::leading_bits(w, false), q.rounding);
  }
  return answer;
}

}  // namespace wf::device::inline WF_BUILD
