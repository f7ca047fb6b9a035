// SPDX-License-Identifier: Apache-2.0
/// \file spread.hpp
/// Variances divided by n - correction where the correction is no whole number, from the words of states of moments, rounded once.
///
/// A correction is a double, so n - correction is a whole number of up to 1137 bits times a power of two. The quotient is found bit by
/// bit: the window that rounding needs has 256, and what is left behind them is `sticky`.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/exact/rational.hpp>
#include <warpfold/detail/exact/rows_of_digits.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/types.hpp>

namespace wf::exact {

/// What is asked of states of moments.
struct spread_question {
  double correction;  ///< finite, and no whole number
  wf::rounding rounding;
  bool root;          ///< the standard deviation, not the variance
};

/// Variances from states of any type of floats: those of narrower types are read as if they had an f64's digits, in their own unit.
struct spread_of_states {
  static constexpr int sum_limbs = format<double>::digits, square_limbs = format<double>::product_digits;
  static constexpr int limbs = 2 * sum_limbs > square_limbs + 2 ? 2 * sum_limbs : square_limbs + 2;
  static constexpr int divisor_limbs = 40;  ///< n·(n - correction): 63 bits and 1137
  using wide = natural<limbs>;
  using by = natural<divisor_limbs>;

  int unit;                  ///< the exponent of a sum's lowest bit
  wf::detail::rows_of_digits rows;
  spread_question asked;

  /// The type of the answers of elements of a type, and the unit of their sums.
  struct answer_type {
    dtype type;
    int unit;
  };
  static constexpr answer_type type_of(dtype element) {
    switch (element) {
      case dtype::f16: return {dtype::f16, format<f16>::min_exponent};
      case dtype::bf16: return {dtype::bf16, format<bf16>::min_exponent};
      case dtype::f32: case dtype::c64: return {dtype::f32, format<float>::min_exponent};
      default: return {dtype::f64, format<double>::min_exponent};
    }
  }

  /// `state`: a state's rows, behind its first word. False: it has no variance, since an element was not finite, or n - correction is not positive.
  WF_HD bool answer(const std::int64_t* state, scaled& found) const {
    const int row = rows.digits + counters + rows.squares;
    const std::int64_t n = state[rows.digits];
    for (int part = 0; part < rows.sums; ++part) {
      const std::int64_t* const seen = state + part * row + rows.digits;
      if ((seen[1] | seen[2] | seen[3]) != 0) return false;
    }
    by d;
    int shift = 0;
    if (!divisor_of(n, d, shift)) return false;
    wide all = none<limbs>();
    for (int part = 0; part < rows.sums; ++part) {
      const std::int64_t* const sum = state + part * row;
      const auto squares = read<square_limbs>(sum + rows.digits + counters, rows.squares).times(static_cast<std::uint64_t>(n));
      const auto square = read<sum_limbs>(sum, rows.digits).squared();
      all = all.plus(widened(squares).minus(widened(square)));
    }
    const window w = divided(all, d, 2 * unit + shift);
    found = asked.root ? wf::exact::root(w) : leading_bits(w, false);
    return true;
  }

  /// What `answer` said, rounded.
  template <class T>
  WF_HD T rounded(bool is, const scaled& found) const {
    using f = format<T>;
    return f::from_bits(is ? pack<typename f::layout>(found, asked.rounding) : f::quiet_nan);
  }

 private:
  static constexpr int counters = 5;

  template <int Limbs>
  static WF_HD natural<Limbs> none() {
    natural<Limbs> r;
    for (int k = 0; k < Limbs; ++k) r.limb[k] = 0;
    return r;
  }
  template <int Limbs>
  static WF_HD natural<Limbs> read(const std::int64_t* from, int count) {
    digits<Limbs, 0> x;
    for (int k = 0; k < Limbs; ++k) x.d[k] = k < count ? from[k] : 0;
    x.normalise();
    return natural<Limbs>::magnitude(x);
  }
  template <int From>
  static WF_HD wide widened(const natural<From>& x) {
    wide r;
    for (int k = 0; k < limbs; ++k) r.limb[k] = k < From ? x.limb[k] : 0;
    return r;
  }
  template <int Limbs>
  static WF_HD int bits_of(const natural<Limbs>& x) {
    const int n = x.used();
    return n == 0 ? 0 : 32 * n + 32 - leading_zeros(x.limb[n - 1]);
  }
  /// 32 bits of x from that one on; those outside are 0.
  template <int Limbs>
  static WF_HD std::uint32_t bits_at(const natural<Limbs>& x, int from) {
    const int k = from >> 5;
    const std::uint64_t low = k >= 0 && k < Limbs ? x.limb[k] : 0, high = k >= -1 && k + 1 < Limbs ? x.limb[k + 1] : 0;
    return static_cast<std::uint32_t>((high << 32 | low) >> (from & 31));
  }

  /// n·(n - correction)·2^shift; false where that is not positive.
  WF_HD bool divisor_of(std::int64_t n, by& d, int& shift) const {
    using f = format<double>;
    const auto b = f::to_bits(asked.correction);
    std::uint64_t m = f::mantissa(b);
    shift = -(f::shift(b) + f::min_exponent);
    for (; (m & 1) == 0; m >>= 1) --shift;
    const bool negative = asked.correction < 0;
    if (n <= 0 || (!negative && n <= static_cast<std::int64_t>(shift < 64 ? m >> shift : 0))) return false;
    natural<divisor_limbs - 2> r = none<divisor_limbs - 2>(), less = r;
    const u128 high = u128{static_cast<std::uint64_t>(n)} << (shift & 31);
    for (int k = 0; k < 3; ++k) r.limb[(shift >> 5) + k] = static_cast<std::uint32_t>(high >> 32 * k);
    for (int k = 0; k < 2; ++k) less.limb[k] = static_cast<std::uint32_t>(m >> 32 * k);
    d = (negative ? r.plus(less) : r.minus(less)).times(static_cast<std::uint64_t>(n));
    return true;
  }

  static WF_HD window divided(const wide& x, const by& d, int unit) {
    window w{{0, 0, 0, 0}, 0, false};
    const int bits = bits_of(x);
    if (bits == 0) return w;
    int at = bits - (bits_of(d) - 1);  // what all bits of x from here on have is less than d
    by rest;
    for (int k = 0; k < divisor_limbs; ++k) rest.limb[k] = bits_at(x, at + 32 * k);
    const int used = d.used() + 1 < divisor_limbs ? d.used() + 1 : divisor_limbs;
    for (int bit = 255; bit >= 0; --bit) {
      --at;
      std::uint32_t come = at < 0 ? 0 : bits_at(x, at) & 1;
      std::int64_t borrow = 0;
      by left;
      for (int k = 0; k < used; ++k) {
        const std::uint32_t next = rest.limb[k] >> 31;
        rest.limb[k] = rest.limb[k] << 1 | come;
        come = next;
        borrow += static_cast<std::int64_t>(rest.limb[k]) - static_cast<std::int64_t>(d.limb[k]);
        left.limb[k] = static_cast<std::uint32_t>(borrow);
        borrow >>= 32;
      }
      if (borrow != 0) continue;
      for (int k = 0; k < used; ++k) rest.limb[k] = left.limb[k];
      w.w[bit >> 6] |= std::uint64_t{1} << (bit & 63);
    }
    w.exponent = unit + at;
    w.sticky = rest.used() != 0;
    for (int k = 0; 32 * k < at && !w.sticky; ++k) w.sticky = bits_at(x, 32 * k) << (at - 32 * k < 32 ? 32 - (at - 32 * k) : 0) != 0;
    return w;
  }
};

}  // namespace wf::exact
