// SPDX-License-Identifier: Apache-2.0
/// \file verify.hpp
/// Whether a result is right: against the exact sum, within the bound that the rung's own order of
/// additions allows, or to the last bit.
#pragma once

#include <cstdint>
#include <string>

#include "data.hpp"
#include "ladder.hpp"

namespace ladder {

struct judgement {
  bool right = false;
  double error = 0;  ///< result − exact sum; of i32 the difference mod 2^32, as a signed number
  double ulps = 0;   ///< |error| in units in the last place of the correctly rounded sum
  double bound = 0;  ///< what |error| may be
  double digits = 0; ///< decimal ones of the result that are right; infinite if all are
  std::string why;   ///< what is wrong
};

/// The type of a rung's result: f32 for f16 elements, but for rungs that give the element's type.
wf::dtype result_type(wf::dtype element, const rung_info&);

/// A result's bits as a number, and as the shortest text that reads back.
double result_value(wf::dtype result, std::uint64_t bits);
std::string result_text(wf::dtype result, std::uint64_t bits);

/// The exact sum of an array, and of its magnitudes.
class reference {
 public:
  explicit reference(const array&);
  /// `depth`: the most additions that one element passed through (Higham, Accuracy and Stability,
  /// 4.2: |error| is at most ((1+u)^depth − 1) times the sum of magnitudes).
  judgement judge(const rung_info&, std::uint64_t bits, double depth) const;
  /// The condition of the sum: Σ|x| over |Σx|, infinite where that is 0, NaN of integers and of what is not finite. An
  /// error of the last place in one element may be so many of the sum's.
  double condition() const;
  /// The correctly rounded sum.
  std::string text(wf::dtype result) const;

 private:
  judgement judge_integer(std::uint64_t bits) const;
  judgement judge_sum(const rung_info&, std::uint64_t bits, double depth) const;

  wf::dtype type_;
  std::uint64_t n_;
  std::uint64_t integer_ = 0;                           // i32's
  double hi_ = 0, lo_ = 0;                              // hi + lo is the sum to 106 bits
  std::uint64_t as_f16_ = 0, as_f32_ = 0, as_f64_ = 0;  // bits of it, rounded once
  double magnitude_ = 0;  // not less than the sum of magnitudes of finite elements
};

/// Whether a result for a pattern is its sum, exactly.
bool matches(const pattern&, const rung_info&, std::uint64_t bits);

}  // namespace ladder
