// SPDX-License-Identifier: Apache-2.0
/// \file sum_state.cuh
/// Where the last block of an exact sum writes: the answer, or the state of the whole array, from the same digits.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/exact_round.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Where the sum of n elements of T goes, or, where `words` is not null, the words of their state. Only the last block looks at this, so one kernel does both.
/// An infinity or a NaN spoils the digits of a state: then *plain is 0, and a kernel behind this one writes the state anew (binned_reduce.cuh). Else it is 1.
/// Where an answer goes and `plain` is not null, the kernel leaves at once if *plain is 1: then the kernel before it was certain of the answer (certified_reduce.cuh).
template <class T>
struct sum_to {
  using element = T;
  T* answer;
  std::int64_t* words = nullptr;
  std::uint32_t* plain = nullptr;
  std::uint64_t n = 0;
};

/// Whether the answer is there before the kernel has begun.
template <class T>
__device__ __forceinline__ bool is_answered(const sum_to<T>& to) { return to.words == nullptr && to.plain != nullptr && *to.plain != 0; }
template <class T>
__device__ __forceinline__ bool is_answered(T*) { return false; }

/// The element type of the place where a sum goes: T* or sum_to<T>.
template <class To>
struct summed_for { using type = typename To::element; };
template <class T>
struct summed_for<T*> { using type = T; };
template <class To>
using summed_t = typename summed_for<To>::type;

/// A whole warp calls it: carry-save digits of a sum, PerLane a lane, the first of which weighs 2^Unit, and its special values.
template <int Unit, class T, int PerLane>
__device__ __forceinline__ void put_sum(const std::int64_t (&v)[PerLane], std::uint32_t kinds, T* out) {
  const T answer = round_by_warp<T>(v, kinds, Unit);
  if (lane_index() == 0) *out = answer;
}
template <int Unit, class T, int PerLane>
__device__ __forceinline__ void put_sum(const std::int64_t (&v)[PerLane], std::uint32_t kinds, const sum_to<T>& to) {
  if (to.words == nullptr) return put_sum<Unit>(v, kinds, to.answer);
  using f = exact::format<T>;
  static_assert(Unit == f::min_exponent || (Unit == f::min_exponent - 1 && PerLane == 1));
  auto x = warp_number<PerLane>::from(v);
  // The sum is a multiple of the state's unit, whatever the kernel's is.
  if constexpr (Unit != f::min_exponent) x.digit[0] = __funnelshift_l(x.digit[0], __shfl_down_sync(all_lanes, x.digit[0], 1), 31);
#pragma unroll
  for (int j = 0; j < PerLane; ++j) {
    const int k = lane_index() * PerLane + j;
    if (k < f::digits - 1) to.words[1 + k] = static_cast<std::int64_t>(x.digit[j]);
    if (k == f::digits - 1) to.words[1 + k] = static_cast<std::int32_t>(x.digit[j]);  // the sign's
  }
  if (lane_index() != 0) return;
  to.words[0] = static_cast<std::int64_t>(to.n);
  put_counters(to.words + 1 + f::digits, to.n, kinds);
  *to.plain = (kinds & (special::nan | special::pos_inf | special::neg_inf)) == 0 ? 1u : 0u;
}

/// An epilogue of exact sums: a T* takes the answer, a sum_to<T> the answer or the state. A whole warp passes it the digits.
template <class To>
concept sum_epilogue = (std::is_pointer_v<To> || requires { typename To::element; }) && requires(const To& to, const std::int64_t (&digits)[1], std::uint32_t kinds) {
  { put_sum<exact::format<summed_t<To>>::min_exponent>(digits, kinds, to) } -> std::same_as<void>;
};

}  // namespace wf::device::inline WF_BUILD
