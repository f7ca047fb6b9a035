// SPDX-License-Identifier: Apache-2.0
/// \file rows_of_digits.hpp
/// How the words of an exact state are laid out (docs/states.md).
#pragma once

namespace wf::detail {

/// Words of exact sums: `sums` times a row of digits with its five counters, each followed by `squares` digits.
struct rows_of_digits {
  int sums = 0;
  int digits = 0;
  int squares = 0;
  int terms = 1;  ///< that an element adds to a row: a complex product two
};

/// Digits of sums of integers and of their squares that do not wrap: 128 + 64 bits.
inline constexpr int digits_of_integers = 6;

}  // namespace wf::detail
