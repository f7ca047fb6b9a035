// SPDX-License-Identifier: Apache-2.0
/// \file complex.hpp
/// Reductions of complex numbers: sum of squares Σ|x|² and norm, dot Σxy (nothing is conjugated),
/// mean with variance. Each is sums over the parts, so exact like those.
#pragma once

#include <warpfold/detail/reductions/moments.hpp>

namespace wf::reductions {

/// The squares of both parts.
template <complex_number T, bool Exact>
struct complex_squares {
  static constexpr bool commutes = true;
  using part = typename T::value_type;
  using of_part = std::conditional_t<Exact, exact_squares<part>, fast_squares<part>>;
  static constexpr declaration declares = of_part::declares;
  using state = state_of<of_part>;
  state identity() const { return of_part().identity(); }
  state lift(T x, std::int64_t i) const {
    return combine(of_part().lift(x.real(), i), of_part().lift(x.imag(), i));
  }
  state combine(const state& a, const state& b) const { return of_part().combine(a, b); }
};

template <complex_number T, bool Exact>
struct sum_of_squares<T, Exact> : complex_squares<T, Exact>, options {
  using part = typename T::value_type;
  part finish(const state_of<complex_squares<T, Exact>>& s, std::int64_t n) const {
    return sum_of_squares<part, Exact>{{}, *this}.finish(s, n);
  }
};
template <complex_number T, bool Exact>
struct norm2<T, Exact> : complex_squares<T, Exact>, options {
  using part = typename T::value_type;
  part finish(const state_of<complex_squares<T, Exact>>& s, std::int64_t n) const {
    return norm2<part, Exact>{{}, *this}.finish(s, n);
  }
};

/// A dot of parts for each part of the answer: xr·yr + (-xi)·yi and xr·yi + xi·yr.
template <complex_number T, bool Exact>
struct dot<T, Exact> : options {
  static constexpr bool commutes = true;
  using of_part = dot<typename T::value_type, Exact>;
  static constexpr declaration declares = of_part::declares;
  struct state {
    state_of<of_part> re, im;
  };
  state identity() const { return {of_part().identity(), of_part().identity()}; }
  state lift(T x, T y, std::int64_t i) const {
    const of_part p;
    return {p.combine(p.lift(x.real(), y.real(), i), p.lift(-x.imag(), y.imag(), i)),
            p.combine(p.lift(x.real(), y.imag(), i), p.lift(x.imag(), y.real(), i))};
  }
  state combine(const state& a, const state& b) const {
    return {of_part().combine(a.re, b.re), of_part().combine(a.im, b.im)};
  }
  T finish(const state& s, std::int64_t n) const {
    const of_part p{{*this}};
    return {p.finish(s.re, n), p.finish(s.im, n)};
  }
};

template <complex_number T, bool Exact>
struct mean_var<T, Exact> : complex_moments<T, Exact>, options {
  using part = typename T::value_type;
  mean_var_result<T, part> finish(const typename complex_moments<T, Exact>::state& s, std::int64_t n) const {
    const part var = this->spread(s, n, *this, false);
    if constexpr (Exact) {
      return {{s.re.template mean<part>(rounding), s.im.template mean<part>(rounding)}, var};
    } else {
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      return {{narrow<part>(n == 0 ? nan : s.re.mean), narrow<part>(n == 0 ? nan : s.im.mean)}, var};
    }
  }
};

}  // namespace wf::reductions
