// SPDX-License-Identifier: Apache-2.0
/// \file products.hpp
/// States of exact sums of products: dot, sum of squares (and norm), moments (mean, var, std).
///
/// A product of two finite elements is kept whole, up to 106 bits, whatever its exponent. The rest
/// follows IEEE 754: inf·0 and anything with a NaN is NaN, inf·x is ±inf, the sign of a zero
/// product is the product of the signs; these are then summed like the elements of a sum.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/rational.hpp>
#include <warpfold/detail/exact/sum_state.hpp>

namespace wf::exact {

template <class T>
using product_state = state<format<T>::product_digits, 2 * format<T>::min_exponent>;

/// Adds a·b as one element.
template <class T>
WF_HD void add_product(product_state<T>& to, T a, T b) {
  using f = format<T>;
  const auto x = f::to_bits(a), y = f::to_bits(b);
  const bool negative = f::negative(x) != f::negative(y);
  const std::uint64_t mx = f::mantissa(x), my = f::mantissa(y);
  if (f::is_finite(x) && f::is_finite(y)) {
    to.add_finite(u128{mx} * my, f::shift(x) + f::shift(y), negative);
  } else {
    const bool zero = (f::is_finite(x) && mx == 0) || (f::is_finite(y) && my == 0);
    to.add_special(zero || f::is_nan(x) || f::is_nan(y), negative);
  }
}

/// sum / count, rounded once; NaN if there are no elements.
template <class U, int Count, int MinExponent>
WF_HD U mean(const state<Count, MinExponent>& s, rounding mode = rounding::nearest) {
  using f = format<U>;
  typename f::bits b;
  if (!special_bits<U>(s.seen, b)) {
    if (s.seen.count <= 0) return f::from_bits(f::quiet_nan);
    auto canonical = s.sum;
    canonical.normalise();
    b = 0;
    if (!canonical.is_zero())
      b = pack<typename f::layout>(quotient(canonical, static_cast<std::uint64_t>(s.seen.count)), mode);
  }
  return f::from_opaque_bits(b);
}

template <class T>
struct dot_state : product_state<T> {
  static WF_HD dot_state identity() { return {product_state<T>::identity()}; }
  WF_HD void add(T a, T b) { add_product<T>(*this, a, b); }
  template <class U = T>
  WF_HD U value(rounding mode = rounding::nearest) const {
    return this->template round<U>(mode);
  }
};

template <class T>
struct squares_state : product_state<T> {
  static WF_HD squares_state identity() { return {product_state<T>::identity()}; }
  WF_HD void add(T x) { add_product<T>(*this, x, x); }
  template <class U = T>
  WF_HD U value(rounding mode = rounding::nearest) const {
    return this->template round<U>(mode);
  }
  /// The root of the true sum of squares, rounded once: no overflow or underflow on the way.
  template <class U = T>
  WF_HD U norm(rounding mode = rounding::nearest) const {
    using f = format<U>;
    typename f::bits special;
    if (special_bits<U>(this->seen, special)) return f::from_opaque_bits(special);
    auto canonical = this->sum;
    canonical.normalise();
    using limbs = natural<squares_state::digits_type::count>;
    const scaled r =
        root(window::of(limbs::magnitude(canonical), squares_state::digits_type::min_exponent));
    return f::from_bits(pack<typename f::layout>(r, mode));
  }
};

/// Σx and Σx², one set of counters for both.
template <class T>
struct moments_state {
  sum_state<T> first;
  digits<format<T>::product_digits, 2 * format<T>::min_exponent> second;

  static constexpr int words = sum_state<T>::words + format<T>::product_digits;
  static constexpr std::int64_t adds_between_carries = sum_state<T>::adds_between_carries;

  static WF_HD moments_state identity() { return {sum_state<T>::identity(), second_type::zero()}; }

  WF_HD void add(T x) {
    using f = format<T>;
    first.add(x);  // refuses more elements than it counts, before anything has changed
    const auto b = f::to_bits(x);
    if (f::is_finite(b)) {
      const std::uint64_t m = f::mantissa(b);
      second.add_wide(u128{m} * m, 2 * f::shift(b), false);
    }
    if ((first.seen.count & (adds_between_carries - 1)) == 0) second.normalise();
  }
  WF_HD void merge(const moments_state& o) {
    first.merge(o.first);  // refuses too many elements
    second.add(o.second);
    second.normalise();
  }
  WF_HD void normalise() {
    first.normalise();
    second.normalise();
  }
  WF_HD std::int64_t* data() { return reinterpret_cast<std::int64_t*>(this); }
  WF_HD const std::int64_t* data() const { return reinterpret_cast<const std::int64_t*>(this); }

  template <class U = T>
  WF_HD U sum(rounding mode = rounding::nearest) const {
    return first.template value<U>(mode);
  }
  template <class U = T>
  WF_HD U mean(rounding mode = rounding::nearest) const {
    return exact::mean<U>(first, mode);
  }
  /// (n·Σx² - (Σx)²) / (n(n - correction)), rounded once. NaN if n <= correction, if n = 0, or if
  /// there was an infinity or a NaN.
  template <class U = T>
  WF_HD U var(std::int64_t correction = 0, rounding mode = rounding::nearest) const {
    return of_spread<U>(seen(), spread(), correction, mode, false);
  }
  /// The root of the same, rounded once.
  template <class U = T>
  WF_HD U std(std::int64_t correction = 0, rounding mode = rounding::nearest) const {
    return of_spread<U>(seen(), spread(), correction, mode, true);
  }

  /// The variance of complex numbers, whose parts have a state each: n·Σ|x|² - |Σx|² over n(n - correction).
  template <class U = T>
  static WF_HD U complex_var(const moments_state& re, const moments_state& im, std::int64_t correction = 0,
                             rounding mode = rounding::nearest, bool take_root = false) {
    counters c = re.seen();
    c.nan |= static_cast<std::int64_t>(!im.seen().finite());
    return of_spread<U>(c, re.spread().plus(im.spread()), correction, mode, take_root);
  }

 private:
  using second_type = digits<format<T>::product_digits, 2 * format<T>::min_exponent>;

  static constexpr int sum_limbs = format<T>::digits, square_limbs = format<T>::product_digits;
  /// Has room for the sum of two.
  static constexpr int spread_limbs = 2 * sum_limbs > square_limbs + 2 ? 2 * sum_limbs : square_limbs + 2;

  WF_HD const counters& seen() const { return first.seen; }

  /// n·Σx² - (Σx)² in units of 2^(2 min_exponent).
  WF_HD natural<spread_limbs> spread() const {
    auto s1 = first.sum;
    auto s2 = second;
    s1.normalise();
    s2.normalise();
    const auto scaled_squares =
        natural<square_limbs>::magnitude(s2).times(static_cast<std::uint64_t>(seen().count));
    const auto square = natural<sum_limbs>::magnitude(s1).squared();
    return widen<spread_limbs>(scaled_squares).minus(widen<spread_limbs>(square));
  }

  template <class U>
  static WF_HD U of_spread(const counters& c, const natural<spread_limbs>& spread, std::int64_t correction,
                           rounding mode, bool take_root) {
    using f = format<U>;
    const std::int64_t n = c.count;
    if (!c.finite() || n <= 0 || n <= correction) return f::from_bits(f::quiet_nan);
    window w = window::of(spread, 2 * format<T>::min_exponent);
    w.divide(divisor::of(static_cast<std::uint64_t>(n)));
    w.divide(divisor::of(static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(correction)));
    const scaled r = take_root ? root(w) : leading_bits(w, false);
    return f::from_bits(pack<typename f::layout>(r, mode));
  }

  template <int To, int From>
  static WF_HD natural<To> widen(const natural<From>& x) {
    natural<To> r;
    for (int k = 0; k < To; ++k) r.limb[k] = k < From ? x.limb[k] : 0;
    return r;
  }
};

}  // namespace wf::exact
