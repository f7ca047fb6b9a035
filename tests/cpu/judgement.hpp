// SPDX-License-Identifier: Apache-2.0
// What every reduction must answer for given elements, found without the library: floats by MPFR, integers in 128
// bits, extremes by loops. Products and logarithms of sums, which are native, may be off by a bound.
#pragma once

#include <array>
#include <string>

#include "front_door.hpp"

namespace wf::test {

/// An integer, mod 2^64; or a float in [low, high], bit for bit if these are the same, or any NaN too.
struct wanted {
  std::uint64_t whole = 0;
  double low = 0, high = 0;
  bool bits = true, nan = false;

  static wanted just(double v) { return {0, v, v, true, false}; }
  static wanted within(double low, double high, bool nan = false) { return {0, low, high, false, nan}; }
  static wanted any_nan() { return within(1, 0, true); }
  static wanted integer(i128 v) { return {static_cast<std::uint64_t>(v), 0, 0, true, false}; }
};

class judgement {
 public:
  judgement(const numbers& x, const numbers& y, const how& h);

  bool accepts(op o, const answer& got) const;
  /// "got …, not …".
  std::string difference(op o, const answer& got) const;

 private:
  void of_floats(const numbers& x, const numbers& y, const how& h);
  void of_complex(const numbers& x, const numbers& y, const how& h);
  void of_integers(const numbers& x, const numbers& y, const how& h);
  template <class V>
  void of_order(const numbers& x);
  void of_counts(std::int64_t n, std::int64_t nonzero);
  std::array<wanted, 3>& of(op o) { return all_[static_cast<std::size_t>(o)]; }
  const std::array<wanted, 3>& of(op o) const { return all_[static_cast<std::size_t>(o)]; }

  std::array<std::array<wanted, 3>, op_count> all_{};
};

}  // namespace wf::test
