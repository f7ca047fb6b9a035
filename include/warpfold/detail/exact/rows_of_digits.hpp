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

}  // namespace wf::detail
