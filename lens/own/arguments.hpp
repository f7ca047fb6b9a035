// SPDX-License-Identifier: Apache-2.0
/// \file arguments.hpp
/// What stands behind --arg: `f32[1M]:uniform`, `out:f32[1]`, `i32=1000`, `0.5`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "own_kernel.hpp"

namespace lens::own {

/// A kernel's argument before the launch: a number, or an array with what it is filled with.
struct argument {
  std::string text;              ///< as it was given
  bool is_array = false, is_output = false;
  std::string element;           ///< `f32`
  std::uint64_t count = 0;       ///< an array's
  std::vector<unsigned char> bytes;  ///< the number's, or the array's as it is before the run
};

/// The bytes of an array, at most.
inline constexpr std::uint64_t most_array_bytes = std::uint64_t{4} << 30;

/// One argument for each parameter. Throws wf::error (bad_argument) with the place and what would be right.
std::vector<argument> arguments_for(const kernel&, const std::vector<std::string>& given, std::uint64_t seed,
                                    std::uint64_t most_bytes = most_array_bytes);

/// The first elements of an array: `8388607.5, 0, 1 …`.
std::string elements_text(const argument&, const void* bytes, std::size_t most = 8);

/// Empty, or how many elements are further from what is expected than the part of it that is allowed, and the first. NaN is
/// as NaN.
std::string first_difference(const argument&, const void* found, const void* expected, double tolerance);

}  // namespace lens::own
