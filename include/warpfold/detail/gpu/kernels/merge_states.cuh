// SPDX-License-Identifier: Apache-2.0
/// \file merge_states.cuh
/// States in the device's memory: sums of their words brought to canonical form, other states merged, and answers made of them. A warp has one
/// state: its words are read at once into shared memory, where one lane carries from digit to digit.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/states_request.hpp>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Words of the longest state, which is of moments of c128.
inline constexpr int most_state_words = 1 + 2 * (68 + 5 + 134);

/// How the words of a form are laid out, for kernels.
struct form_words {
  int words, sums, digits, squares, terms;
};

/// Carries from digit to digit. One thread calls it.
__device__ __forceinline__ void carry_digits(std::int64_t* d, int count) {
  std::int64_t carry = 0;
  for (int k = 0; k < count - 1; ++k) {
    const std::int64_t v = d[k] + carry;
    d[k] = v & 0xffffffff;
    carry = v >> 32;
  }
  d[count - 1] += carry;
}

/// Brings sums of words to canonical form. Where there are other states, it first adds them, or takes them out.
__global__ void __launch_bounds__(32) settle_kernel(std::int64_t* states, const std::int64_t* from, bool take_out, form_words f) {
  __shared__ std::int64_t room[most_state_words];
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * f.words;
  std::int64_t* const state = states + at;
  const int lane = lane_index();
  for (int k = lane; k < f.words; k += warp_lanes) {
    const auto word = static_cast<std::uint64_t>(state[k]), other = from == nullptr ? 0 : static_cast<std::uint64_t>(from[at + k]);
    room[k] = static_cast<std::int64_t>(take_out ? word - other : word + other);
  }
  __syncwarp();
  const int row_words = f.digits + 5 + f.squares;
  if (lane < f.sums) {
    std::int64_t* const row = room + 1 + lane * row_words;
    carry_digits(row, f.digits);
    if (row[f.digits + 4] != row[f.digits]) row[f.digits + 4] = 0;  // not nothing but -0
  } else if (f.squares != 0 && lane < 2 * f.sums) {
    carry_digits(room + 1 + (lane - f.sums) * row_words + f.digits + 5, f.squares);
  }
  __syncwarp();
  for (int k = lane; k < f.words; k += warp_lanes) state[k] = room[k];
}

/// How states that are not added merge.
enum class state_merge : int { extremes, first_least, first_greatest, products };

/// Merges the states of all sets in their order, one state per thread. `into`: the states in `to` come before them.
__global__ void __launch_bounds__(128) merge_sets_kernel(std::int64_t* to, const std::int64_t* from, std::int64_t sets, std::int64_t count, int words,
                                                         state_merge how, std::int64_t nothing0, std::int64_t nothing1, bool into) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  std::int64_t n = 0, a = nothing0, b = nothing1, c = 0;
  for (std::int64_t set = into ? -1 : 0; set < sets; ++set) {
    const std::int64_t* const s = set < 0 ? to + k * words : from + (set * count + k) * words;
    n += s[0];
    if (how == state_merge::products) {
      a = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(s[1]));
    } else if (how == state_merge::extremes) {
      a = s[1] < a ? s[1] : a;
      b = s[2] > b ? s[2] : b;
      c |= s[3];
    } else if (s[2] >= 0) {  // key, place, whether it is a NaN's; the first of equals
      const bool better = b < 0 || (c == 0 && (s[3] != 0 || (how == state_merge::first_least ? s[1] < a : s[1] > a)));
      if (better) {
        a = s[1];
        b = s[2];
        c = s[3];
      }
    }
  }
  std::int64_t* const state = to + k * words;
  state[0] = n;
  state[1] = a;
  if (words < 4) return;
  if (how == state_merge::extremes && c != 0) {  // where there was a NaN, the others do not matter
    state[1] = nothing0;
    b = nothing1;
  }
  state[2] = b;
  state[3] = c;
}

/// What the counters of a part have seen, as bits of `special`.
__device__ __forceinline__ std::uint32_t kinds_of(const std::int64_t* counters) {
  return (counters[1] != 0 ? special::nan : 0u) | (counters[2] != 0 ? special::pos_inf : 0u) | (counters[3] != 0 ? special::neg_inf : 0u) |
         (counters[4] != counters[0] ? special::ordinary : 0u);
}

/// Answers sums and sums of products, one state per warp and one part of the elements after the other. How many digits a part has and what their unit is, is known when it runs: at most Digits.
template <int Digits, class Out>
__global__ void __launch_bounds__(32) answer_sums_kernel(const std::int64_t* states, int words, int parts, int digits, int unit, exact_question q, Out* out) {
  __shared__ std::int64_t room[Digits];
  const std::int64_t* part = states + static_cast<std::int64_t>(blockIdx.x) * words + 1;
  const auto n = static_cast<std::uint64_t>(part[-1]);
  out += static_cast<std::int64_t>(blockIdx.x) * parts;
  for (int p = 0; p < parts; ++p, part += digits + 5) {
    for (int k = lane_index(); k < Digits; k += warp_lanes) room[k] = k < digits ? part[k] : 0;
    __syncwarp();
    const std::uint32_t kinds[1] = {kinds_of(part + digits)};
    const shared_number number[1] = {shared_number_of<Digits>(room, unit)};
    answer_by_lanes<1, true, true>(number, kinds, n, q, out + p);
    __syncwarp();
  }
}

/// Rows of digits of states of moments: Σx for each part of the elements, and Σ|x|² behind them. In a state the squares of a part are behind the part's sum.
template <class F, int Parts = 1>
struct rows_in_states {
  static constexpr int rows = Parts + 1, watches = Parts;
  static constexpr int squares = F::product_digits;
  static constexpr int digits0 = F::digits, digits1 = Parts == 2 ? digits0 : squares, digits2 = squares;
  static constexpr int unit0 = F::min_exponent, unit1 = Parts == 2 ? unit0 : 2 * F::min_exponent, unit2 = 2 * F::min_exponent;
  static constexpr int part_words = digits0 + 5 + squares;
};

/// Answers moments, one state per warp.
template <class Rows, class Out>
__global__ void __launch_bounds__(32) answer_moments_kernel(const std::int64_t* states, int words, exact_question q, int values, Out* out) {
  __shared__ std::int64_t room[all_digits<Rows> + spread_digits<Rows> + 1];
  const std::int64_t* const state = states + static_cast<std::int64_t>(blockIdx.x) * words;
  const int lane = lane_index();
  std::uint32_t kinds[Rows::watches];
  for (int k = lane; k < Rows::squares; k += warp_lanes) room[Rows::watches * Rows::digits0 + k] = 0;
#pragma unroll
  for (int part = 0; part < Rows::watches; ++part) {
    const std::int64_t* const digits = state + 1 + part * Rows::part_words;
    const std::int64_t* const counters = digits + Rows::digits0;
    for (int k = lane; k < Rows::digits0; k += warp_lanes) room[part * Rows::digits0 + k] = digits[k];
    for (int k = lane; k < Rows::squares; k += warp_lanes) room[Rows::watches * Rows::digits0 + k] += counters[5 + k];
    kinds[part] = kinds_of(counters);
  }
  __syncwarp();
  answer_of_rows<Rows, Out>(room, kinds, static_cast<std::uint64_t>(state[0]), q, out + static_cast<std::int64_t>(blockIdx.x) * values);
}

/// How a key of 64 bits becomes an answer.
struct key_answer {
  op what;
  int size;           ///< bytes of an element
  bool floats;
  std::int64_t flip;  ///< for u64: the bit that its keys have otherwise
  std::int64_t nan;   ///< bits of the NaN
};

/// Answers states of one word or of keys, one state per thread.
__global__ void __launch_bounds__(128) answer_words_kernel(const std::int64_t* states, std::int64_t count, int words, key_answer q, unsigned char* out) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const std::int64_t* const s = states + k * words;
  const auto put = [&](std::int64_t at, std::int64_t v, int bytes) {
    if (bytes == 8) reinterpret_cast<std::int64_t*>(out)[at] = v;
    else if (bytes == 4) reinterpret_cast<std::int32_t*>(out)[at] = static_cast<std::int32_t>(v);
    else if (bytes == 2) reinterpret_cast<std::int16_t*>(out)[at] = static_cast<std::int16_t>(v);
    else out[at] = static_cast<unsigned char>(v);
  };
  const std::int64_t sign = q.size >= 8 ? INT64_MIN : std::int64_t{1} << (8 * q.size - 1);
  const auto value = [&](std::int64_t key) {
    if (!q.floats) return key ^ q.flip;
    return s[3] != 0 ? q.nan : key < 0 ? ~key | sign : key;
  };
  const auto magnitude = [&](std::int64_t v) {  // an integer's; the least of all is its own
    return q.flip == 0 && v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  };
  switch (q.what) {
    case op::min: return put(k, value(s[1]), q.size);
    case op::max: return put(k, value(s[2]), q.size);
    case op::minmax: put(2 * k, value(s[1]), q.size); return put(2 * k + 1, value(s[2]), q.size);
    case op::norm_inf: {
      if (q.floats) {
        const std::int64_t a = s[1] < 0 ? ~s[1] : s[1], b = s[2] < 0 ? ~s[2] : s[2];
        return put(k, s[3] != 0 ? q.nan : s[0] == 0 ? 0 : a > b ? a : b, q.size);
      }
      const std::uint64_t a = magnitude(value(s[1])), b = magnitude(value(s[2]));
      return put(k, s[0] == 0 ? 0 : static_cast<std::int64_t>(a > b ? a : b), 8);
    }
    case op::argmin: case op::argmax: return put(k, s[2], 8);
    case op::any: return put(k, s[1] != 0 ? 1 : 0, 1);
    case op::all: return put(k, s[1] == s[0] ? 1 : 0, 1);
    case op::count: return put(k, s[0], 8);
    default: return put(k, s[1], 8);  // counts, and integers mod 2^64
  }
}

}  // namespace wf::device::inline WF_BUILD
