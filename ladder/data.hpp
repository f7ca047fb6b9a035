// SPDX-License-Identifier: Apache-2.0
/// \file data.hpp
/// The arrays that the ladder sums. Element i depends on the seed and i alone, by integer
/// arithmetic, so every machine makes the same bits, with any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <warpfold/io/dtype.hpp>

namespace ladder {

enum class distribution : std::uint8_t {
  ones,
  uniform,  ///< [0, 1) in multiples of 2^-24, 2^-53 (f64), 2^-11 (f16); i32: every bit random
  normal,   ///< a sum of twelve uniforms less 6: mean 0, deviation 1; i32: deviation 65536
  hard,  ///< a wide range of exponents, and pairs far apart in the array that cancel: i32: extremes
};

/// n elements of f32, f64, i32 or f16.
struct array {
  wf::dtype type = wf::dtype::f32;
  std::uint64_t n = 0;
  std::unique_ptr<std::uint64_t[]> memory;

  array(wf::dtype, std::uint64_t n);
  std::byte* data() { return reinterpret_cast<std::byte*>(memory.get()); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(memory.get()); }
};

array make_data(wf::dtype, distribution, std::uint64_t n, std::uint64_t seed);

/// Small integers, so small that every partial sum in any order is exact in the type that the rungs
/// add in: the sum must come out as `sum`, exactly (of i32: mod 2^32). No element is 0 while n
/// allows that; where n is too large most are, and one seed may overlook what another does not.
struct pattern {
  array elements;
  std::int64_t sum = 0;
  bool sparse = false;
};
pattern make_pattern(wf::dtype, std::uint64_t n, std::uint64_t seed);

/// work(begin, end, k) for k = 0 … parts − 1 on as many threads as there are cores.
void in_parallel(std::uint64_t n,
                 const std::function<void(std::uint64_t, std::uint64_t, unsigned)>& work);
unsigned parallel_parts();

}  // namespace ladder
