// SPDX-License-Identifier: Apache-2.0
/// \file round.hpp
/// Canonical digits to a float, rounded once. Reads from the top, so it costs what lies above the
/// number, one window of 128 bits, and the first nonzero digit below.
#pragma once

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/digits.hpp>
#include <warpfold/detail/exact/format.hpp>

namespace wf::exact {

/// \cond
/// The leading 64 bits of canonical digits, and whether anything lies below them.
template <int Count, int MinExponent>
WF_HD scaled leading_bits(const digits<Count, MinExponent>& x) {
  const bool negative = x.is_negative();
  const std::uint32_t fill = negative ? 0xffffffffu : 0u;
  int top = Count - 1;
  while (top > 0 && x.word(top) == fill) --top;
  // From one digit of pure sign down: 96 bits that matter, of which at least 65 are significant.
  const int bottom = top - 2;
  bool below = false;
  for (int k = bottom - 1; k >= 0 && !below; --k) below = x.word(k) != 0;
  u128 w = u128{x.word(top + 1)} << 96 | u128{x.word(top)} << 64 |
           u128{x.word(top - 1)} << 32 | u128{x.word(top - 2)};
  // -(w + t) = ~w + (1 - t) in units of the window's last bit.
  if (negative) w = ~w + static_cast<u128>(!below);
  return leading_bits(w, 32 * bottom + MinExponent, below, negative);
}

/// The nearest (or next in the given direction) T. Exact zero is +0; a nonzero number that
/// underflows keeps its sign.
template <class T, int Count, int MinExponent>
WF_HD typename format<T>::bits round_to_bits(const digits<Count, MinExponent>& x, rounding mode = rounding::nearest) {
  scaled s = leading_bits(x);
  if (s.significand == 0) s.negative = false;
  return pack<typename format<T>::layout>(s, mode);
}
template <class T, int Count, int MinExponent>
WF_HD T round_to(const digits<Count, MinExponent>& x, rounding mode = rounding::nearest) {
  return format<T>::from_opaque_bits(round_to_bits<T>(x, mode));
}

/// \endcond

/// An unevaluated sum hi + lo.
template <class T>
struct pair_of {
  T hi;  ///< the number, rounded to nearest
  T lo;  ///< what hi leaves of it, rounded
};

/// \cond

/// hi = the number rounded to nearest; lo = what hi leaves, rounded so that hi + lo is the number
/// rounded in the given mode: about twice the precision of T. Where hi is infinite, lo is zero.
template <class T, int Count, int MinExponent>
WF_HD pair_of<T> round_to_pair(digits<Count, MinExponent> x, rounding mode = rounding::nearest) {
  using f = format<T>;
  const auto b = round_to_bits<T>(x);
  const T hi = f::from_opaque_bits(b);
  if (!f::is_finite(b)) return {hi, f::from_bits(0)};
  const bool negative = x.is_negative();
  if (mode == rounding::zero) mode = negative ? rounding::up : rounding::down;
  if (mode == rounding::away) mode = negative ? rounding::down : rounding::up;
  std::uint64_t mantissa = f::mantissa(b);
  int shift = f::shift(b) + f::min_exponent - MinExponent;
  if (shift < 0) {  // hi is a multiple of 2^MinExponent, so the bits shifted out are zero
    mantissa = shift > -64 ? mantissa >> -shift : 0;
    shift = 0;
  }
  x.add(mantissa, shift, !f::negative(b));
  x.normalise();
  return {hi, round_to<T>(x, mode)};
}

/// \endcond

}  // namespace wf::exact
