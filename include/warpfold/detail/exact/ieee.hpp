// SPDX-License-Identifier: Apache-2.0
/// \file ieee.hpp
/// The layout of IEEE 754 binary formats, and the only code that rounds a number to one.
/// It uses integers only, so the floating-point environment (FTZ, DAZ, rounding mode) does not matter.
#pragma once

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/rounding.hpp>

namespace wf::exact {

__extension__ typedef unsigned __int128 u128;

WF_HD int leading_zeros(std::uint64_t x) {  // x != 0
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}

/// ±(significand + t)·2^exponent, where t = 0, or 0 < t < 1 if `sticky`. The top bit of the
/// significand is set, but for zero, which is all zeros. Rounding it to any format of at most 62
/// bits rounds the number it stands for.
struct scaled {
  std::uint64_t significand;
  int exponent;
  bool sticky;
  bool negative;
};

/// Keeps the leading 64 bits of ±(w + t)·2^exponent.
WF_HD scaled leading_bits(u128 w, int exponent, bool sticky, bool negative) {
  const auto high = static_cast<std::uint64_t>(w >> 64);
  const auto low = static_cast<std::uint64_t>(w);
  if (high == 0) {
    if (low == 0) return {0, 0, false, negative};
    const int shift = leading_zeros(low);
    return {low << shift, exponent - shift, sticky, negative};  // exact: callers keep 64 bits
  }
  const int keep = 64 - leading_zeros(high);
  const bool lost = (w & ((u128{1} << keep) - 1)) != 0;
  return {static_cast<std::uint64_t>(w >> keep), exponent + keep, sticky || lost, negative};
}

/// A binary format: sign, `exponent_bits`, `mantissa_bits` below an implied leading one. `Bits` is
/// the unsigned integer that holds it.
template <class Bits, int ExponentBits, int MantissaBits>
struct ieee {
  using bits = Bits;
  static constexpr int exponent_bits = ExponentBits;
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr int total_bits = 1 + ExponentBits + MantissaBits;
  static_assert(total_bits == 8 * sizeof(Bits));
  static constexpr int exponent_field_max = (1 << ExponentBits) - 1;
  /// The unit of the least subnormal is 2^min_exponent; every finite value is a multiple of it.
  static constexpr int min_exponent = 2 - (1 << (ExponentBits - 1)) - MantissaBits;
  /// A finite value is mantissa·2^(min_exponent + shift), 0 <= shift <= max_shift.
  static constexpr int max_shift = exponent_field_max - 2;
  static constexpr Bits sign_mask = static_cast<Bits>(Bits{1} << (total_bits - 1));
  static constexpr Bits mantissa_mask = static_cast<Bits>((Bits{1} << MantissaBits) - 1);
  static constexpr Bits infinity =
      static_cast<Bits>(static_cast<Bits>(exponent_field_max) << MantissaBits);
  static constexpr Bits quiet_nan = static_cast<Bits>(infinity | (Bits{1} << (MantissaBits - 1)));
  static constexpr Bits greatest = static_cast<Bits>(infinity - 1);

  static WF_HD int exponent_field(Bits b) {
    return static_cast<int>(b >> MantissaBits) & exponent_field_max;
  }
  static WF_HD bool negative(Bits b) { return (b & sign_mask) != 0; }
  static WF_HD bool is_finite(Bits b) { return exponent_field(b) != exponent_field_max; }
  static WF_HD bool is_nan(Bits b) { return static_cast<Bits>(b & ~sign_mask) > infinity; }
  /// The mantissa and shift of a finite value: |value| = mantissa·2^(min_exponent + shift).
  static WF_HD std::uint64_t mantissa(Bits b) {
    return static_cast<std::uint64_t>(b & mantissa_mask) |
           static_cast<std::uint64_t>(exponent_field(b) != 0) << MantissaBits;
  }
  static WF_HD int shift(Bits b) {
    const int e = exponent_field(b);
    return e - static_cast<int>(e != 0);
  }
};

using ieee_f16 = ieee<std::uint16_t, 5, 10>;
using ieee_bf16 = ieee<std::uint16_t, 8, 7>;
using ieee_f32 = ieee<std::uint32_t, 8, 23>;
using ieee_f64 = ieee<std::uint64_t, 11, 52>;

/// Rounds once into `Format`: subnormals, underflow to a signed zero and overflow included. Too
/// large a number becomes an infinity, or the greatest finite one where the mode points that way.
template <class Format>
WF_HD typename Format::bits pack(const scaled& x, rounding mode) {
  using bits = typename Format::bits;
  const bits sign = x.negative ? Format::sign_mask : bits{0};
  if (x.significand == 0) return sign;
  std::uint64_t significand = x.significand;
  bool rest = x.sticky;
  // The unit in the last place of the result, as an exponent above min_exponent.
  constexpr int drop = 63 - Format::mantissa_bits;
  int unit = x.exponent + drop - Format::min_exponent;
  if (unit < 0) {  // a subnormal keeps fewer bits
    const int more = unit > -63 ? -unit : 63;
    rest = rest || (significand & ((std::uint64_t{1} << more) - 1)) != 0;
    significand >>= more;
    unit = 0;
  }
  const bool outward = mode == rounding::away || (mode == rounding::up && !x.negative) ||
                       (mode == rounding::down && x.negative);
  if (unit > Format::max_shift) {
    const bool to_infinity = outward || mode == rounding::nearest;
    return static_cast<bits>(sign | (to_infinity ? Format::infinity : Format::greatest));
  }
  std::uint64_t kept = significand >> drop;
  const bool half = (significand >> (drop - 1) & 1) != 0;
  rest = rest || (significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
  const bool increment =
      mode == rounding::nearest ? half && (rest || (kept & 1) != 0) : outward && (half || rest);
  kept += static_cast<std::uint64_t>(increment);
  // The leading one of `kept` carries into the exponent field; so does a rounding that overflows.
  const auto field = static_cast<std::uint64_t>(unit) << Format::mantissa_bits;
  return static_cast<bits>(sign | static_cast<bits>(field + kept));
}

/// A finite value of format `Format` as a scaled number.
template <class Format>
WF_HD scaled unpack(typename Format::bits b) {
  return leading_bits(Format::mantissa(b), Format::min_exponent + Format::shift(b), false,
                      Format::negative(b));
}

/// From one format to another, rounded once. A NaN becomes the canonical quiet NaN.
template <class To, class From>
WF_HD typename To::bits convert(typename From::bits b, rounding mode = rounding::nearest) {
  using bits = typename To::bits;
  if (From::is_finite(b)) return pack<To>(unpack<From>(b), mode);
  if (From::is_nan(b)) return To::quiet_nan;
  return static_cast<bits>(To::infinity | (From::negative(b) ? To::sign_mask : bits{0}));
}

}  // namespace wf::exact
