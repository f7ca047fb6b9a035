// SPDX-License-Identifier: Apache-2.0
// What is asked of CUDA's mathematical functions, both of a GPU (math_golden.cu) and of simt (math_golden_test.cpp): the
// answers to the first arguments of math_cases.hpp; of functions that CUDA has rounded right, a checksum of 2^20 more.
#pragma once

#include "math_cases.hpp"

namespace math_golden {

constexpr unsigned answers = 48;
constexpr std::uint64_t summed = 1u << 20;

// Each case has NAME_case::bound, and run(i), the bits of the i-th answer.
#define MATH_GOLDEN_CASE(name, T, units, ...)                                                            \
  struct name##_case {                                                                                   \
    using type = T;                                                                                      \
    static constexpr double bound = units;                                                               \
    MATH_CASE math_cases::format<T>::bits run(std::uint64_t i) {                                         \
      const T x = math_cases::argument<T>(i, 0), y = math_cases::argument<T>(i, 1), z = math_cases::argument<T>(i, 2); \
      (void)x, (void)y, (void)z;                                                                         \
      return math_cases::bits_of(static_cast<T>(__VA_ARGS__));                                           \
    }                                                                                                    \
  };
#define MATH_GOLDEN_1(name, of_float, of_double)         \
  MATH_GOLDEN_CASE(name##_f32, float, of_float, name##f(x)) \
  MATH_GOLDEN_CASE(name##_f64, double, of_double, name(x))
#define MATH_GOLDEN_2(name, of_float, of_double)            \
  MATH_GOLDEN_CASE(name##_f32, float, of_float, name##f(x, y)) \
  MATH_GOLDEN_CASE(name##_f64, double, of_double, name(x, y))
#define MATH_GOLDEN_3(name, of_float, of_double)               \
  MATH_GOLDEN_CASE(name##_f32, float, of_float, name##f(x, y, z)) \
  MATH_GOLDEN_CASE(name##_f64, double, of_double, name(x, y, z))

MATH_UNARY(MATH_GOLDEN_1)
MATH_BESSEL(MATH_GOLDEN_1)
MATH_BINARY(MATH_GOLDEN_2)
MATH_TERNARY(MATH_GOLDEN_3)

// USE(case, its name in the file)
#define MATH_GOLDEN_BOTH(name, of_float, of_double) MATH_GOLDEN_USE(name##_f32_case, #name "_f32") MATH_GOLDEN_USE(name##_f64_case, #name "_f64")
#define MATH_GOLDEN_CASES MATH_UNARY(MATH_GOLDEN_BOTH) MATH_BESSEL(MATH_GOLDEN_BOTH) MATH_BINARY(MATH_GOLDEN_BOTH) MATH_TERNARY(MATH_GOLDEN_BOTH)

/// What the i-th answer adds to a case's checksum.
template <class Case>
MATH_CASE std::uint64_t term(std::uint64_t i) {
  return math_cases::mix(static_cast<std::uint64_t>(Case::run(i)) ^ i << 32);
}

}  // namespace math_golden
