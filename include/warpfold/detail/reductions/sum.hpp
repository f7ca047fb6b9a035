// SPDX-License-Identifier: Apache-2.0
/// \file sum.hpp
/// Sum and mean, norm 1, product.
#pragma once

#include <cmath>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/products.hpp>
#include <warpfold/detail/exact/sum_state.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/types.hpp>

namespace wf::reductions {

template <class T>
WF_HD auto magnitude(T x) {
  if constexpr (floating<T>) {
    using f = exact::format<T>;
    return f::from_bits(static_cast<typename f::bits>(f::to_bits(x) & ~f::sign_mask));
  } else if constexpr (std::is_signed_v<T>) {
    return x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
  } else {
    return static_cast<std::uint64_t>(x);
  }
}

/// NaNs win where there are any.
template <element T>
inline constexpr auto nan_wins = integer<T> ? declaration::nans::none : declaration::nans::win;

/// The exact sum of floats: the base of sum, mean and norm 1.
template <floating T, bool Absolute = false>
struct exact_fold {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::once};
  using state = exact::sum_state<T>;
  state identity() const { return state::identity(); }
  state lift(T x, std::int64_t) const {
    state s = state::identity();
    s.add(Absolute ? magnitude(x) : x);
    return s;
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
};

/// A native sum, in f64. Starts at -0, which adds nothing to anything.
template <floating T, bool Absolute = false>
struct fast_fold {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::natively};
  double identity() const { return -0.0; }
  double lift(T x, std::int64_t) const { return to_double(Absolute ? magnitude(x) : x); }
  double combine(double a, double b) const { return a + b; }
};

/// Sums of integers that cannot overflow: mean.
struct integer_fold_state : exact::state<6, 0> {};
template <integer T>
struct wide_fold {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  using state = integer_fold_state;
  state identity() const { return {exact::state<6, 0>::identity()}; }
  state lift(T x, std::int64_t) const {
    state s = identity();
    s.add_finite(magnitude(x), 0, x < T{});
    return s;
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
};

/// Rounded to T; one NaN for all, since its bits would depend on the order of operands.
template <class T>
WF_HD T narrow(double x) {
  using f = exact::format<T>;
  const bool is_nan = exact::ieee_f64::is_nan(__builtin_bit_cast(std::uint64_t, x));  // whatever the compiler was told
  return is_nan ? f::from_bits(f::quiet_nan) : static_cast<T>(x);
}

template <class T, bool Exact>
struct sum;

template <floating T>
struct sum<T, true> : exact_fold<T>, options {
  T finish(const exact::sum_state<T>& s, std::int64_t) const { return s.template value<T>(rounding); }
};
template <floating T>
struct sum<T, false> : fast_fold<T>, options {
  T finish(double s, std::int64_t n) const { return narrow<T>(n == 0 ? 0.0 : s); }
};
template <integer T, bool Exact>
struct sum<T, Exact> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  std::uint64_t identity() const { return 0; }
  std::uint64_t lift(T x, std::int64_t) const { return static_cast<std::uint64_t>(x); }
  std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  sum_type<T> finish(std::uint64_t s, std::int64_t) const { return static_cast<sum_type<T>>(s); }
};

template <class T, bool Exact>
struct mean;

template <floating T>
struct mean<T, true> : exact_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::nan, declaration::nans::win, declaration::rounds::once};
  T finish(const exact::sum_state<T>& s, std::int64_t) const { return exact::mean<T>(s, rounding); }
};
template <floating T>
struct mean<T, false> : fast_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::nan, declaration::nans::win, declaration::rounds::natively};
  T finish(double s, std::int64_t n) const { return narrow<T>(s / static_cast<double>(n)); }
};
template <integer T, bool Exact>
struct mean<T, Exact> : wide_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::nan, declaration::nans::none, declaration::rounds::once};
  double finish(const integer_fold_state& s, std::int64_t) const { return exact::mean<double>(s, rounding); }
};

template <class T, bool Exact>
struct norm1;

template <floating T>
struct norm1<T, true> : exact_fold<T, true>, options {
  T finish(const exact::sum_state<T>& s, std::int64_t) const { return s.template value<T>(rounding); }
};
template <floating T>
struct norm1<T, false> : fast_fold<T, true>, options {
  T finish(double s, std::int64_t n) const { return narrow<T>(n == 0 ? 0.0 : s); }
};
template <integer T, bool Exact>
struct norm1<T, Exact> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  std::uint64_t identity() const { return 0; }
  std::uint64_t lift(T x, std::int64_t) const { return magnitude(x); }
  std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  std::uint64_t finish(std::uint64_t s, std::int64_t) const { return s; }
};

/// Real and imaginary parts apart.
template <complex_number T, bool Exact, bool Mean>
struct complex_fold : options {
  static constexpr bool commutes = true;
  using part = typename T::value_type;
  using of_part = std::conditional_t<Mean, mean<part, Exact>, sum<part, Exact>>;
  static constexpr declaration declares = of_part::declares;
  struct state {
    state_of<of_part> re, im;
  };
  state identity() const { return {of_part().identity(), of_part().identity()}; }
  state lift(T x, std::int64_t i) const { return {of_part().lift(x.real(), i), of_part().lift(x.imag(), i)}; }
  state combine(const state& a, const state& b) const {
    return {of_part().combine(a.re, b.re), of_part().combine(a.im, b.im)};
  }
  T finish(const state& s, std::int64_t n) const {
    of_part p;
    p.rounding = rounding;
    return {p.finish(s.re, n), p.finish(s.im, n)};
  }
};
template <complex_number T, bool Exact>
struct sum<T, Exact> : complex_fold<T, Exact, false> {};
template <complex_number T, bool Exact>
struct mean<T, Exact> : complex_fold<T, Exact, true> {};

/// Native: floats in f64, integers mod 2^64. Not exact under any accuracy.
template <class T>
struct prod;

template <floating T>
struct prod<T> : options {
  static constexpr bool commutes = false;  // its rounding does not
  static constexpr declaration declares{declaration::nothing::one, declaration::nans::win, declaration::rounds::natively};
  WF_HD double identity() const { return 1.0; }
  WF_HD double lift(T x, std::int64_t) const { return to_double(x); }
  WF_HD double combine(double a, double b) const { return a * b; }
  WF_HD T finish(double p, std::int64_t) const { return narrow<T>(p); }
};
template <integer T>
struct prod<T> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::one, declaration::nans::none, declaration::rounds::never};
  WF_HD std::uint64_t identity() const { return 1; }
  WF_HD std::uint64_t lift(T x, std::int64_t) const { return static_cast<std::uint64_t>(x); }
  WF_HD std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a * b; }
  WF_HD sum_type<T> finish(std::uint64_t p, std::int64_t) const { return static_cast<sum_type<T>>(p); }
};
template <complex_number T>
struct prod<T> : options {
  static constexpr declaration declares{declaration::nothing::one, declaration::nans::win, declaration::rounds::natively};
  struct state { double re, im; };
  WF_HD state identity() const { return {1, 0}; }
  WF_HD state lift(T x, std::int64_t) const { return {x.real(), x.imag()}; }
  WF_HD state combine(state a, state b) const { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  WF_HD T finish(state p, std::int64_t) const {
    using part = typename T::value_type;
    return {narrow<part>(p.re), narrow<part>(p.im)};
  }
};

}  // namespace wf::reductions
