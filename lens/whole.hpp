// SPDX-License-Identifier: Apache-2.0
/// \file whole.hpp
/// Exact sums travel in pieces: the lanes of a warp cut what they hold into digits and add those, a reduction a digit.
/// Here numbers are whole, units of a power of two, and nothing is rounded; so it can be seen that digits are a number's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lens {

/// units · 2^exponent; units are odd or 0.
class whole {
 public:
  __extension__ using wide = __int128;

  whole() = default;
  whole(wide units, int exponent);
  /// None of what is not finite.
  static std::optional<whole> of(double);

  bool is_zero() const { return units_ == 0; }
  bool operator==(const whole&) const = default;
  int exponent() const { return exponent_; }
  /// In units of 2^exponent, if they are whole and fit 127 bits.
  std::optional<wide> in_units_of(int exponent) const;
  /// None if 127 bits do not hold it.
  std::optional<whole> plus(const whole&) const;
  /// As a number of `digits` bits and no unit below 2^least, rounded once, ties to even; what is too large for a double is infinite.
  double rounded(int digits, int least) const;

 private:
  wide units_ = 0;
  int exponent_ = 0;
};

/// What each lane of a warp gives to one reduction, as signed numbers.
using digit = std::vector<std::int64_t>;

/// The powers of two w[k] such that, in every lane, the number is the sum of the digits, each times 2^w[k]; none for
/// those that are no part of it, which a digit of zeros never is. Nothing if there are no such.
std::optional<std::vector<std::optional<int>>> weights_of(std::span<const whole> numbers, std::span<const digit> digits);

}  // namespace lens
