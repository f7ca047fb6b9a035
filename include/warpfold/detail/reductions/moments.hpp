// SPDX-License-Identifier: Apache-2.0
/// \file moments.hpp
/// Variance and standard deviation, sum of squares, norm 2, dot.
#pragma once

#include <cmath>

#include <warpfold/detail/exact/products.hpp>
#include <warpfold/detail/reductions/sum.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/results.hpp>

namespace wf::reductions {

/// Exact Σx and Σx². Integers go in as multiples of 1 of an f64 state.
template <real T>
struct exact_moments {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::nan, nan_wins<T>, declaration::rounds::once};
  using carrier = mean_type<T>;
  using state = exact::moments_state<carrier>;
  state identity() const { return state::identity(); }
  state lift(T x, std::int64_t) const {
    state s = state::identity();
    add(s, x);
    return s;
  }
  static void add(state& s, T x) {
    if constexpr (floating<T>) {
      s.add(x);
    } else {
      const std::uint64_t m = magnitude(x);
      s.first.add_finite(m, 1074, x < T{});
      s.second.add_wide(exact::u128{m} * m, 2148, false);
    }
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
};

/// Native, in f64: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
/// computing sample variances", 1979.
template <real T>
struct fast_moments {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::nan, nan_wins<T>, declaration::rounds::natively};
  struct state {
    double count, mean, squares;
  };
  state identity() const { return {0, 0, 0}; }
  state lift(T x, std::int64_t) const { return {1, to_double(x), 0}; }
  state combine(const state& a, const state& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double n = a.count + b.count, d = b.mean - a.mean;
    return {n, a.mean + d * (b.count / n), a.squares + b.squares + d * d * (a.count / n * b.count)};
  }
};

template <real T, bool Exact>
using moment_fold = std::conditional_t<Exact, exact_moments<T>, fast_moments<T>>;

/// n - correction where that is positive, if need be beyond int64.
inline double less(std::int64_t n, std::int64_t correction) {
  return static_cast<double>(static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(correction));
}

/// The moments of complex numbers are those of each part. The variance is E|x - E x|², a real number.
template <complex_number T, bool Exact>
struct complex_moments {
  static constexpr bool commutes = true;
  using part = typename T::value_type;
  using of_part = moment_fold<part, Exact>;
  static constexpr declaration declares = of_part::declares;
  struct state {
    state_of<of_part> re, im;
  };
  state identity() const { return {of_part().identity(), of_part().identity()}; }
  state lift(T x, std::int64_t i) const { return {of_part().lift(x.real(), i), of_part().lift(x.imag(), i)}; }
  state combine(const state& a, const state& b) const {
    return {of_part().combine(a.re, b.re), of_part().combine(a.im, b.im)};
  }
  static part spread(const state& s, std::int64_t n, const options& o, bool take_root) {
    if constexpr (Exact) {
      using moments = exact::moments_state<part>;
      return moments::template complex_var<part>(s.re, s.im, o.correction, o.rounding, take_root);
    } else {
      if (n <= o.correction || n == 0) return std::numeric_limits<part>::quiet_NaN();
      const double v = (s.re.squares + s.im.squares) / less(n, o.correction);
      return narrow<part>(take_root ? std::sqrt(v) : v);
    }
  }
};

template <element T, bool Exact>
struct var;

template <complex_number T, bool Exact>
struct var<T, Exact> : complex_moments<T, Exact>, options {
  var_type<T> finish(const typename complex_moments<T, Exact>::state& s, std::int64_t n) const {
    return this->spread(s, n, *this, false);
  }
};
template <real T, bool Exact>
struct var<T, Exact> : moment_fold<T, Exact>, options {
  using result = mean_type<T>;
  result finish(const state_of<moment_fold<T, Exact>>& s, std::int64_t n) const {
    if constexpr (Exact) {
      return s.template var<result>(correction, rounding);
    } else {
      if (n <= correction || n == 0) return narrow<result>(std::numeric_limits<double>::quiet_NaN());
      return narrow<result>(s.squares / less(n, correction));
    }
  }
};

template <element T, bool Exact>
struct std_dev;

template <complex_number T, bool Exact>
struct std_dev<T, Exact> : complex_moments<T, Exact>, options {
  var_type<T> finish(const typename complex_moments<T, Exact>::state& s, std::int64_t n) const {
    return this->spread(s, n, *this, true);
  }
};
template <real T, bool Exact>
struct std_dev<T, Exact> : moment_fold<T, Exact>, options {
  using result = mean_type<T>;
  result finish(const state_of<moment_fold<T, Exact>>& s, std::int64_t n) const {
    if constexpr (Exact) {
      return s.template std<result>(correction, rounding);
    } else {
      if (n <= correction || n == 0) return narrow<result>(std::numeric_limits<double>::quiet_NaN());
      return narrow<result>(std::sqrt(s.squares / less(n, correction)));
    }
  }
};

template <element T, bool Exact>
struct mean_var;  // for complex numbers: complex.hpp
template <real T, bool Exact>
struct mean_var<T, Exact> : moment_fold<T, Exact>, options {
  using result = mean_type<T>;
  mean_var_result<result> finish(const state_of<moment_fold<T, Exact>>& s, std::int64_t n) const {
    var<T, Exact> v;
    v.rounding = rounding;
    v.correction = correction;
    if constexpr (Exact) {
      return {s.template mean<result>(rounding), v.finish(s, n)};
    } else {
      const double m = n == 0 ? std::numeric_limits<double>::quiet_NaN() : s.mean;
      return {narrow<result>(m), v.finish(s, n)};
    }
  }
};

template <floating T>
struct exact_squares {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::once};
  using state = exact::squares_state<T>;
  state identity() const { return state::identity(); }
  state lift(T x, std::int64_t) const {
    state s = state::identity();
    s.add(x);
    return s;
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
};

template <floating T>
struct fast_squares {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::natively};
  double identity() const { return -0.0; }
  double lift(T x, std::int64_t) const { return to_double(x) * to_double(x); }
  double combine(double a, double b) const { return a + b; }
};

template <class T, bool Exact>
struct sum_of_squares;

template <floating T>
struct sum_of_squares<T, true> : exact_squares<T>, options {
  T finish(const exact::squares_state<T>& s, std::int64_t) const { return s.template value<T>(rounding); }
};
template <floating T>
struct sum_of_squares<T, false> : fast_squares<T>, options {
  T finish(double s, std::int64_t n) const { return narrow<T>(n == 0 ? 0.0 : s); }
};
template <integer T, bool Exact>
struct sum_of_squares<T, Exact> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  std::uint64_t identity() const { return 0; }
  std::uint64_t lift(T x, std::int64_t) const { return static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x); }
  std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  sum_type<T> finish(std::uint64_t s, std::int64_t) const { return static_cast<sum_type<T>>(s); }
};

template <element T, bool Exact>
struct norm2;  // for integers: checked.hpp; for complex numbers: complex.hpp
template <floating T>
struct norm2<T, true> : exact_squares<T>, options {
  T finish(const exact::squares_state<T>& s, std::int64_t) const { return s.template norm<T>(rounding); }
};
template <floating T>
struct norm2<T, false> : fast_squares<T>, options {
  T finish(double s, std::int64_t n) const { return narrow<T>(n == 0 ? 0.0 : std::sqrt(s)); }
};

template <class T, bool Exact>
struct dot;

template <floating T>
struct dot<T, true> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::once};
  using state = exact::dot_state<T>;
  state identity() const { return state::identity(); }
  state lift(T x, T y, std::int64_t) const {
    state s = state::identity();
    s.add(x, y);
    return s;
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
  T finish(const state& s, std::int64_t) const { return s.template value<T>(rounding); }
};
template <floating T>
struct dot<T, false> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::win, declaration::rounds::natively};
  double identity() const { return -0.0; }
  double lift(T x, T y, std::int64_t) const { return to_double(x) * to_double(y); }
  double combine(double a, double b) const { return a + b; }
  T finish(double s, std::int64_t n) const { return narrow<T>(n == 0 ? 0.0 : s); }
};
template <integer T, bool Exact>
struct dot<T, Exact> : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  WF_HD std::uint64_t identity() const { return 0; }
  WF_HD std::uint64_t lift(T x, T y, std::int64_t) const {
    return static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
  }
  WF_HD std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  WF_HD sum_type<T> finish(std::uint64_t s, std::int64_t) const { return static_cast<sum_type<T>>(s); }
};

}  // namespace wf::reductions
