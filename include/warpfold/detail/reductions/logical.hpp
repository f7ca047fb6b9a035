// SPDX-License-Identifier: Apache-2.0
/// \file logical.hpp
/// any, all, count, count_nonzero. NaN is not zero; -0 is. A complex number is zero if both parts are.
#pragma once

#include <warpfold/detail/reductions/sum.hpp>
#include <warpfold/reduction.hpp>

namespace wf::reductions {

template <element T>
bool is_nonzero(T x) {
  if constexpr (floating<T>) {
    using f = exact::format<T>;
    return (f::to_bits(x) & static_cast<typename f::bits>(~f::sign_mask)) != 0;
  } else {
    return x != T{};
  }
}

template <element T>
struct nonzero_fold : options {
  static constexpr bool commutes = true;
  static constexpr auto nan = integer<T> ? declaration::nans::none : declaration::nans::are_not_zero;
  static constexpr declaration declares{declaration::nothing::zero, nan, declaration::rounds::never};
  std::int64_t identity() const { return 0; }
  std::int64_t lift(T x, std::int64_t) const { return is_nonzero(x); }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
};

template <element T>
struct count_nonzero : nonzero_fold<T> {
  std::int64_t finish(std::int64_t s, std::int64_t) const { return s; }
};
template <element T>
struct any : nonzero_fold<T> {
  bool finish(std::int64_t s, std::int64_t) const { return s != 0; }
};
template <element T>
struct all : nonzero_fold<T> {
  static constexpr declaration declares{declaration::nothing::one, nonzero_fold<T>::nan, declaration::rounds::never};
  bool finish(std::int64_t s, std::int64_t n) const { return s == n; }
};
template <element T>
struct count : options {
  static constexpr bool commutes = true;
  static constexpr auto nan = integer<T> ? declaration::nans::none : declaration::nans::are_counted;
  static constexpr declaration declares{declaration::nothing::zero, nan, declaration::rounds::never};
  std::int64_t identity() const { return 0; }
  std::int64_t lift(T, std::int64_t) const { return 1; }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  std::int64_t finish(std::int64_t, std::int64_t n) const { return n; }
};

}  // namespace wf::reductions
