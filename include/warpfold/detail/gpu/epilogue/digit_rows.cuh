// SPDX-License-Identifier: Apache-2.0
/// \file digit_rows.cuh
/// The digits of exact sums of an array, a row for each sum, and the answers from them.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/exact_answer.cuh>

namespace wf::device::inline WF_BUILD {

/// A type that says how its sums are written: one to three rows of digits, one after the other. The first rows are the sums of elements
/// or of their products; behind them may stand one of the sums of the same elements' magnitudes, and one of their squares.
template <class R>
concept digit_rows = requires {
  { R::rows } -> std::convertible_to<int>;
  { R::digits0 } -> std::convertible_to<int>;  // how many digits each row has, of 32 bits each
  { R::digits1 } -> std::convertible_to<int>;
  { R::unit0 } -> std::convertible_to<int>;    // the exponent of the weight of the first
  { R::unit1 } -> std::convertible_to<int>;
  requires R::rows < 3 || requires { R::digits2 + R::unit2; };
  { R::watches } -> std::convertible_to<int>;  // rows that have special values of their own; the others' are those of the first
};

/// Digits of a row of a set, and the exponent of their unit.
template <digit_rows Rows>
__host__ __device__ constexpr int digits_of_row(int row) {
  if constexpr (Rows::rows == 3) {
    if (row == 2) return Rows::digits2;
  }
  return row == 0 ? Rows::digits0 : Rows::digits1;
}
template <digit_rows Rows>
__host__ __device__ constexpr int unit_of_row(int row) {
  if constexpr (Rows::rows == 3) {
    if (row == 2) return Rows::unit2;
  }
  return row == 0 ? Rows::unit0 : Rows::unit1;
}

/// Digits of all rows.
template <digit_rows Rows>
inline constexpr int all_digits = [] {
  int all = 0;
  for (int r = 0; r < Rows::rows; ++r) all += digits_of_row<Rows>(r);
  return all;
}();

/// One step of carrying, so that a digit is within ±2^34. The top digits keep their carries.
template <digit_rows Rows>
__device__ __forceinline__ std::int64_t settled(const std::int64_t* d, int k) {
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

/// Whether the last row holds sums of squares: those of the elements whose sums the first rows hold.
template <digit_rows Rows>
inline constexpr bool has_moments = (Rows::rows > Rows::watches);

/// The number of digits of n·Σ|x|² - Σ(Σx)².
template <digit_rows Rows>
inline constexpr int spread_digits = has_moments<Rows> ? digits_of_row<Rows>(Rows::rows - 1) + 2 : 0;

/// The numbers of a row set, by one warp, from the carry-save digits of the whole array and room for spread_digits
/// behind them: the rows', and n·Σ|x|² - Σ(Σx)² where there are squares and it is wanted.
template <digit_rows Rows>
inline constexpr int numbers_of = Rows::rows + (has_moments<Rows> ? 1 : 0);
template <digit_rows Rows>
__device__ __forceinline__ void make_numbers(shared_number (&number)[numbers_of<Rows>], std::int64_t* digits,
                                             std::uint64_t n, bool spread) {
  constexpr int rows = Rows::rows;
  [&]<int... R>(std::integer_sequence<int, R...>) {
    ((number[R] = shared_number_of<digits_of_row<Rows>(R)>(digits, unit_of_row<Rows>(R)),
      digits += digits_of_row<Rows>(R)), ...);
  }(std::make_integer_sequence<int, rows>());
  if constexpr (has_moments<Rows>) {
    number[rows] = number[rows - 1];
    if (spread) number[rows] = spread_of<spread_digits<Rows>, Rows::watches>(number, n, digits);
  }
}

/// Types that say whether quotients, or roots, may be asked for. Of types that do not say it, they may.
template <class R>
concept tells_of_quotients = requires {
  { R::has_quotients } -> std::convertible_to<bool>;
};
template <class R>
concept tells_of_roots = requires {
  { R::has_roots } -> std::convertible_to<bool>;
};
template <digit_rows Rows>
inline constexpr bool may_divide = true;
template <digit_rows Rows>
  requires tells_of_quotients<Rows>
inline constexpr bool may_divide<Rows> = Rows::has_quotients;
template <digit_rows Rows>
inline constexpr bool may_have_roots = true;
template <digit_rows Rows>
  requires tells_of_roots<Rows>
inline constexpr bool may_have_roots<Rows> = Rows::has_roots;

/// The answers to a question. Out is the type of one number of the answer.
template <digit_rows Rows, class Out>
__device__ __forceinline__ void answer_of_rows(std::int64_t* digits, const std::uint32_t* kinds, std::uint64_t n,
                                               const exact_question& q, Out* out) {
  shared_number number[numbers_of<Rows>];
  make_numbers<Rows>(number, digits, n, is_spread(q.what));
  answer_by_lanes<Rows::watches, may_divide<Rows>, may_have_roots<Rows>>(number, kinds, n, q, out);
}

}  // namespace wf::device::inline WF_BUILD
