// SPDX-License-Identifier: Apache-2.0
/// \file results.hpp
/// The type of each operation's answer, and which element types it takes, at compile time. The table
/// of the compiled library (builtin.hpp) says the same at run time; a test compares them.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf {

/// The answer of wf::mean_var. V is a real type even where T is complex.
template <class T, class V = T>
struct mean_var_result {
  T mean;  ///< Σx / n
  V var;   ///< Σ|x - mean|² / (n - correction)
};

/// The answer of wf::minmax.
template <class T>
struct minmax_result {
  T min;  ///< the least element
  T max;  ///< the greatest element
};

/// An integer answer, and the digits of the true one: high[1]·2^128 + high[0]·2^64 + value, where `value` counts as 64 unsigned
/// bits and the whole is in two's complement. For products `high` is zero.
template <class T>
struct checked {
  T value;                            ///< the true answer mod 2^64
  std::array<std::uint64_t, 2> high;  ///< the digits above it, base 2^64, the lower first
  bool overflow;                      ///< whether the true answer does not fit T
};

/// Whether operation O takes elements of T.
template <op O, class T>
inline constexpr bool takes = operation_of(O).of_complex ? element<T> : real<T>;

namespace detail {

template <op O, class T>
constexpr auto result_type() {
  using std::type_identity;
  constexpr answer_kind kind = operation_of(O).answer;
  if constexpr (kind == answer_kind::same) return type_identity<T>();
  else if constexpr (kind == answer_kind::two) return type_identity<minmax_result<T>>();
  else if constexpr (complex_number<T> && (kind == answer_kind::real_wide || kind == answer_kind::real_mean))
    return type_identity<typename T::value_type>();
  else if constexpr (kind == answer_kind::wide || kind == answer_kind::real_wide) return type_identity<sum_type<T>>();
  else if constexpr (kind == answer_kind::magnitude) return type_identity<std::conditional_t<integer<T>, std::uint64_t, T>>();
  else if constexpr (kind == answer_kind::mean || kind == answer_kind::real_mean) return type_identity<mean_type<T>>();
  else if constexpr (kind == answer_kind::mean_and_var) return type_identity<mean_var_result<mean_type<T>, var_type<T>>>();
  else if constexpr (kind == answer_kind::flag) return type_identity<bool>();
  else return type_identity<std::int64_t>();  // index
}

}  // namespace detail

/// The type of operation O's answer for elements of T: `wf::result<wf::op::sum, std::int32_t>` is std::int64_t.
template <op O, class T>
using result = typename decltype(detail::result_type<O, T>())::type;

/// The operations whose integer answers can overflow.
template <op O>
inline constexpr bool can_overflow = operation_of(O).wraps;

}  // namespace wf
