// SPDX-License-Identifier: Apache-2.0
/// \file sum.hpp
/// The exact sum of a file's array, whatever its element type.
#pragma once

#include <warpfold/exact/ieee.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/dtype.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace wf::io {

struct sum_options {
  unsigned threads = 0;                ///< 0: one a core. The result does not depend on it
  rounding round = rounding::nearest;  ///< of floats; integers do not round
  std::atomic<std::uint64_t>* progress = nullptr;  ///< counts the bytes summed so far, if given
};

/// A sum, with its type, as bits. Floats keep their type, complex numbers have a sum of each part,
/// signed integers and bool (which counts what is not 0) sum in i64, unsigned ones in u64.
struct sum_result {
  dtype elements;                     ///< of what was summed
  dtype type;                         ///< of the sum
  std::uint64_t count;                ///< elements summed
  std::array<std::uint64_t, 2> bits;  ///< of the sum in its low bytes; of a complex sum's two parts
  /// The true sum of integers is high·2^64 + bits[0]; bits[0] is it mod 2^64.
  std::int64_t high;

  int parts() const { return is_complex(type) ? 2 : 1; }
  std::size_t part_bytes() const { return info(type).part; }
  /// Of integers: the true sum does not fit `type`.
  bool overflow() const;
};

/// Reads and sums all that is left of the file. Throws wf::error as array_file::next() does.
sum_result sum(array_file& file, const sum_options& options = {});

/// A part of the sum as the shortest decimal that reads back in its type.
std::string part_text(const sum_result& result, int part = 0);
/// All digits of the true sum of integers, also where it overflows.
std::string true_integer_text(const sum_result& result);

}  // namespace wf::io
