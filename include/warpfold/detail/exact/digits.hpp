// SPDX-License-Identifier: Apache-2.0
/// \file digits.hpp
/// The carry-save integer under every exact sum: 32-bit digits carried in int64.
///
/// Digit k weighs 2^(32k + MinExponent). A digit has 31 bits to spare, so sums grow without
/// carries, and two rows of digits are added word by word, in any order, by whatever adds int64.
///
/// Canonical form: every digit but the top one in [0, 2^32), the top one signed. Equal numbers have
/// equal canonical digits. The number must stay within ±2^(32 Count - 1).
///
/// Budget. An `add` moves a digit by less than 2^32; a canonical row merged in does so too. From
/// canonical form, 2^30 of them together keep every digit within ±2^62: normalise by then.
///
/// The representation is a superaccumulator: U. Kulisch, "Computer Arithmetic and Validity", 2008;
/// with digits smaller than their words: R. Neal, "Fast exact summation using small and large
/// superaccumulators", 2015.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>

namespace wf::exact {

template <int Count, int MinExponent>
struct digits {
  static_assert(Count >= 4);
  static constexpr int count = Count;
  static constexpr int min_exponent = MinExponent;
  static constexpr std::int64_t digit_mask = 0xffffffff;

  std::int64_t d[Count];

  static WF_HD digits zero() {
    digits r;
    for (int k = 0; k < Count; ++k) r.d[k] = 0;
    return r;
  }

  /// Adds ±mantissa·2^(shift + MinExponent), 0 <= shift < 32 Count. The bits above the top digit
  /// must be zero. Touches up to three digits.
  WF_HD void add(std::uint64_t mantissa, int shift, bool negative) {
    const int k = shift >> 5;
    const u128 w = u128{mantissa} << (shift & 31);
    add_digit(k, static_cast<std::uint32_t>(w), negative);
    add_digit(k + 1, static_cast<std::uint32_t>(w >> 32), negative);
    add_digit(k + 2, static_cast<std::uint32_t>(w >> 64), negative);
  }

  /// The same for 128 bits. Touches up to five digits.
  WF_HD void add_wide(u128 mantissa, int shift, bool negative) {
    add(static_cast<std::uint64_t>(mantissa), shift, negative);
    const auto high = static_cast<std::uint64_t>(mantissa >> 64);
    if (high != 0) add(high, shift + 64, negative);
  }

  /// Adds ±mantissa·2^exponent, which must be a multiple of 2^MinExponent.
  WF_HD void add_at(u128 mantissa, int exponent, bool negative) {
    if (mantissa == 0) return;
    if (exponent < MinExponent) {
      mantissa >>= MinExponent - exponent;
      exponent = MinExponent;
    }
    add_wide(mantissa, exponent - MinExponent, negative);
  }

  /// Adds value·2^(shift + MinExponent) for a signed word, such as a bucket.
  WF_HD void add_signed(std::int64_t value, int shift) {
    const auto u = static_cast<std::uint64_t>(value);
    add(value < 0 ? ~u + 1 : u, shift, value < 0);
  }

  /// Adds word by word, without carries: the merge at every level of the machine.
  WF_HD void add(const digits& other) {
    for (int k = 0; k < Count; ++k) d[k] += other.d[k];
  }

  /// Brings the digits to canonical form.
  WF_HD void normalise() {
    std::int64_t carry = 0;
    for (int k = 0; k < Count - 1; ++k) {
      const std::int64_t v = d[k] + carry;
      d[k] = v & digit_mask;
      carry = v >> 32;
    }
    d[Count - 1] += carry;
  }

  // The rest reads canonical form.

  WF_HD bool is_zero() const {
    std::int64_t any = 0;
    for (int k = 0; k < Count; ++k) any |= d[k];
    return any == 0;
  }
  WF_HD bool is_negative() const { return d[Count - 1] < 0; }

  /// -1, 0 or 1: this below, equal to or above the other.
  WF_HD int compare(const digits& other) const {
    for (int k = Count - 1; k >= 0; --k) {
      if (d[k] != other.d[k]) return d[k] < other.d[k] ? -1 : 1;
    }
    return 0;
  }

  /// The 32 bits of two's complement at digit k; the sign's above the top, zero below the bottom.
  WF_HD std::uint32_t word(int k) const {
    if (k < 0) return 0;
    if (k >= Count) return is_negative() ? 0xffffffffu : 0u;
    return static_cast<std::uint32_t>(d[k]);
  }

 private:
  WF_HD void add_digit(int k, std::uint32_t part, bool negative) {
    if (k < Count) d[k] += negative ? -static_cast<std::int64_t>(part) : std::int64_t{part};
  }
};

}  // namespace wf::exact
