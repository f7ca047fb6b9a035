// SPDX-License-Identifier: Apache-2.0
/// \file types.hpp
/// Element types, and the options that every reduction of the library takes.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <warpfold/detail/exact/ieee.hpp>
#include <warpfold/half.hpp>
#include <warpfold/io/dtype.hpp>

namespace wf {

/// A complex number of two floats.
using c64 = std::complex<float>;
/// A complex number of two doubles.
using c128 = std::complex<double>;

namespace detail {
template <class T>
inline constexpr bool is_half_float = false;
template <class Format>
inline constexpr bool is_half_float<exact::half_float<Format>> = true;
}  // namespace detail

/// Floating-point numbers.
template <class T>
concept floating = detail::is_half_float<T> || std::same_as<T, float> || std::same_as<T, double>;
/// Integers of up to 64 bits. bool is one: it counts.
template <class T>
concept integer = std::integral<T> && sizeof(T) <= 8;
/// Complex numbers.
template <class T>
concept complex_number = std::same_as<T, c64> || std::same_as<T, c128>;
/// Types that have an order.
template <class T>
concept real = floating<T> || integer<T>;
/// The element types of the library's reductions: f16, bf16, float, double, integers, bool, and complex numbers.
template <class T>
concept element = real<T> || complex_number<T>;

/// The element type that has the bits of a T: T itself, unless this is specialised, as cuda_types.cuh does for __half,
/// __nv_bfloat16, float2 (cuComplex) and double2. The library's reductions take arrays of T then, and answer in their own types.
template <class T>
struct stands_for {
  using type = T;  ///< the element type
};

/// The options of a built-in reduction.
struct options {
  wf::rounding rounding = wf::rounding::nearest;  ///< for exact answers
  std::int64_t correction = 0;                    ///< var, std: divided by n - correction, n the number of elements
};

/// Integers are summed as 64 bits, mod 2^64.
template <integer T>
using wide_integer = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

namespace detail {
template <class T>
struct sum_result { using type = T; };
template <integer T>
struct sum_result<T> { using type = std::conditional_t<std::same_as<T, bool>, std::int64_t, wide_integer<T>>; };
}  // namespace detail

/// Floats and complex numbers sum to their own type, integers to 64 bits, bool counts in int64.
template <element T>
using sum_type = typename detail::sum_result<T>::type;
/// The type of means, variances and logarithms: the element's own for floats, f64 for integers.
template <element T>
using mean_type = std::conditional_t<integer<T>, double, T>;
namespace detail {
template <class T>
struct var_result { using type = mean_type<T>; };
template <complex_number T>
struct var_result<T> { using type = typename T::value_type; };
}  // namespace detail
/// The type of variances: as for means, but real for complex numbers.
template <element T>
using var_type = typename detail::var_result<T>::type;

namespace detail {
template <class... T>
struct type_list {
  /// The position of T; the number of types if it is none of them.
  template <class U>
  static constexpr std::size_t index_of() {
    std::size_t k = 0;
    (void)((std::is_same_v<T, U> || (++k, false)) || ...);
    return k;
  }
};
/// The element types, in the order of `dtype`.
using element_types = type_list<f16, bf16, float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t, bool, c64, c128>;

template <class F, class... T>
constexpr decltype(auto) with_type(dtype type, F& f, type_list<T...>) {
  using answer = decltype(f.template operator()<double>());
  constexpr answer (*of_type[])(F&) = {[](F& g) -> answer { return g.template operator()<T>(); }...};
  return of_type[static_cast<std::size_t>(type)](f);
}
/// Calls f.template operator()<T>() with the type that a dtype names.
template <class F>
constexpr decltype(auto) with_type(dtype type, F f) {
  return with_type(type, f, element_types());
}
}  // namespace detail

/// The `dtype` of an element type; a fundamental integer type has that of its size and sign.
template <element T>
inline constexpr dtype dtype_of = [] {
  constexpr std::size_t listed = detail::element_types::index_of<T>();
  if constexpr (listed < dtypes.size()) {
    return static_cast<dtype>(listed);
  } else {  // char, long long …
    constexpr dtype with_sign[] = {dtype::i8, dtype::i16, dtype::i32, dtype::i64};
    constexpr dtype without[] = {dtype::u8, dtype::u16, dtype::u32, dtype::u64};
    constexpr int log2_size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? with_sign[log2_size] : without[log2_size];
  }
}();

/// A real element as a double: exact, except for 64-bit integers.
template <real T>
WF_HD constexpr double to_double(T x) noexcept {
  return static_cast<double>(x);
}

}  // namespace wf
