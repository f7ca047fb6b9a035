// SPDX-License-Identifier: Apache-2.0
#include "whole.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lens {
namespace {

using wide = whole::wide;
__extension__ using wide_unsigned = unsigned __int128;

wide_unsigned magnitude(wide x) { return x < 0 ? wide_unsigned{0} - static_cast<wide_unsigned>(x) : static_cast<wide_unsigned>(x); }

int bits_of(wide x) {
  const wide_unsigned m = magnitude(x);
  const auto high = static_cast<std::uint64_t>(m >> 64);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<std::uint64_t>(m));
}

/// x is not 0.
int zeros_below(wide x) {
  const auto low = static_cast<std::uint64_t>(x);
  return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(static_cast<wide_unsigned>(x) >> 64));
}

constexpr int none = 1 << 20;

template <class Numbers>
int least_place(const Numbers& all) {
  int least = none;
  for (const auto x : all)
    if (x != 0) least = std::min(least, zeros_below(x));
  return least;
}

/// x · 2^by, if that is whole and fits.
std::optional<wide> shifted(wide x, int by) {
  if (x == 0) return 0;
  if (by >= 0) return bits_of(x) + by <= 126 ? std::optional(x * (wide{1} << by)) : std::nullopt;
  if (zeros_below(x) < -by) return {};
  return x / (wide{1} << -by);
}

/// Which digit lies lowest is found first: where the lowest bit of all that is left is set, its own lowest must be, in
/// the same lanes. The last digits are tried first: what was reduced before may be something else.
class digit_search {
 public:
  explicit digit_search(std::span<const digit> digits) : digits_(digits), weights_(digits.size()) {
    for (const digit& d : digits) places_.push_back(least_place(d));
  }
  bool run(const std::vector<wide>& left) {
    const int at = least_place(left);
    if (at == none) return true;
    for (std::size_t k = digits_.size(); k-- > 0;) {
      if (weights_[k] || places_[k] == none || ++tried_ > most_tries) continue;
      std::vector<wide> rest(left);
      bool fits = true;
      for (std::size_t l = 0; l < rest.size() && fits; ++l) {
        const auto part = shifted(digits_[k][l], at - places_[k]);
        fits = part && bits_of(rest[l]) <= 125;
        if (fits) rest[l] -= *part;
      }
      if (!fits || least_place(rest) <= at) continue;
      weights_[k] = at - places_[k];
      if (run(rest)) return true;
      weights_[k].reset();
    }
    return false;
  }
  const std::vector<std::optional<int>>& weights() const { return weights_; }

 private:
  static constexpr unsigned most_tries = 10000;
  std::span<const digit> digits_;
  std::vector<std::optional<int>> weights_;
  std::vector<int> places_;
  unsigned tried_ = 0;
};

}  // namespace

whole::whole(wide units, int exponent) {
  if (units == 0) return;
  const int zeros = zeros_below(units);
  units_ = units / (wide{1} << zeros);
  exponent_ = exponent + zeros;
}

std::optional<whole> whole::of(double x) {
  if (!std::isfinite(x)) return {};
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return whole(static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53);
}

std::optional<wide> whole::in_units_of(int exponent) const { return shifted(units_, exponent_ - exponent); }

std::optional<whole> whole::plus(const whole& other) const {
  if (is_zero()) return other;
  if (other.is_zero()) return *this;
  const int unit = std::min(exponent_, other.exponent_);
  const auto a = in_units_of(unit), b = other.in_units_of(unit);
  if (!a || !b) return {};
  return whole(*a + *b, unit);
}

double whole::rounded(int digits, int least) const {
  if (is_zero()) return 0;
  const int unit = std::max(exponent_ + bits_of(units_) - digits, least), drop = unit - exponent_;
  wide_unsigned kept = magnitude(units_);
  if (drop > 126) return 0;
  if (drop > 0) {
    const wide_unsigned half = wide_unsigned{1} << (drop - 1), rest = kept & (2 * half - 1);
    kept = (kept >> drop) + (rest > half || (rest == half && (kept >> drop & 1) != 0) ? 1 : 0);
  }
  const double x = std::ldexp(static_cast<double>(kept), drop > 0 ? unit : exponent_);
  return units_ < 0 ? -x : x;
}

std::optional<std::vector<std::optional<int>>> weights_of(std::span<const whole> numbers, std::span<const digit> digits) {
  int unit = none;
  for (const whole& x : numbers)
    if (!x.is_zero()) unit = std::min(unit, x.exponent());
  std::vector<wide> left;
  for (const whole& x : numbers) {
    const auto units = x.in_units_of(unit);
    if (!units) return {};
    left.push_back(*units);
  }
  digit_search search(digits);
  if (!search.run(left)) return {};
  std::vector<std::optional<int>> weights = search.weights();
  for (auto& w : weights)
    if (w) *w += unit;
  return weights;
}

}  // namespace lens
