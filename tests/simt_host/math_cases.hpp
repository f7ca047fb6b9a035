// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions of f32 and f64 with the greatest errors that CUDA states, and the values that they are asked
// of: by math_bounds_test.cpp of simt against MPFR, by math_golden.cu of a GPU, by math_golden_test.cpp of simt against the GPU.
//
// The bounds are those of the CUDA Programming Guide 13, "C++ Mathematical Standard Library Functions" to "Intrinsic
// Functions" (5.5.7 to 5.5.9): units in the last place between the answer and the true value rounded to nearest.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define MATH_CASE static __device__ __forceinline__
#else
#define MATH_CASE static inline
#endif

// Functions of one argument: the name (that of floats ends in f), the bound of floats, that of doubles.
#define MATH_UNARY(USE)                                                                                                       \
  USE(sqrt, 0, 0) USE(cbrt, 1, 1) USE(rsqrt, 2, 1) USE(rcbrt, 1, 1) USE(exp, 2, 1) USE(exp2, 2, 1) USE(exp10, 2, 1)           \
  USE(expm1, 1, 1) USE(log, 1, 1) USE(log2, 1, 1) USE(log10, 2, 1) USE(log1p, 1, 1) USE(sin, 2, 2) USE(cos, 2, 2)             \
  USE(tan, 4, 2) USE(asin, 2, 2) USE(acos, 2, 2) USE(atan, 2, 2) USE(sinh, 3, 2) USE(cosh, 2, 1) USE(tanh, 2, 1)              \
  USE(asinh, 3, 3) USE(acosh, 4, 3) USE(atanh, 3, 2) USE(sinpi, 1, 2) USE(cospi, 1, 2) USE(erf, 2, 2) USE(erfc, 4, 5)         \
  USE(erfinv, 2, 5) USE(erfcinv, 4, 6) USE(erfcx, 4, 4) USE(normcdf, 5, 5) USE(normcdfinv, 5, 8) USE(tgamma, 5, 10)           \
  USE(lgamma, 6, 4) USE(cyl_bessel_i0, 6, 6) USE(cyl_bessel_i1, 6, 6) USE(ceil, 0, 0) USE(floor, 0, 0) USE(trunc, 0, 0)       \
  USE(round, 0, 0) USE(rint, 0, 0) USE(nearbyint, 0, 0) USE(logb, 0, 0) USE(fabs, 0, 0)
// Functions of one argument with these bounds where it is less than 8 and an absolute one beyond: 2.2e-6 of floats, 5e-12 of doubles.
#define MATH_BESSEL(USE) USE(j0, 9, 7) USE(j1, 9, 7) USE(y0, 9, 7) USE(y1, 9, 7)
#define MATH_BINARY(USE)                                                                                                    \
  USE(pow, 4, 2) USE(atan2, 3, 2) USE(hypot, 3, 2) USE(rhypot, 2, 1) USE(fmod, 0, 0) USE(remainder, 0, 0) USE(fdim, 0, 0)   \
  USE(fmax, 0, 0) USE(fmin, 0, 0) USE(copysign, 0, 0)
#define MATH_TERNARY(USE) USE(fma, 0, 0) USE(norm3d, 3, 2) USE(rnorm3d, 2, 1)

namespace math_cases {

MATH_CASE std::uint64_t mix(std::uint64_t x) {  // the finaliser of SplitMix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

template <class T>
struct format;
template <>
struct format<float> {
  using bits = std::uint32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct format<double> {
  using bits = std::uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
};

/// The bits of x; one for all NaNs.
template <class T>
MATH_CASE typename format<T>::bits bits_of(T x) {
  typename format<T>::bits u;
  memcpy(&u, &x, sizeof u);
  return x == x ? u : static_cast<typename format<T>::bits>(~typename format<T>::bits{0} >> 1);
}
template <class T>
MATH_CASE T of_bits(typename format<T>::bits u) {
  T x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/// The i-th argument: edges first, then by turns any bits at all, numbers of 2^-12 to 2^12, and of 1/2 to 16.
template <class T>
MATH_CASE T argument(std::uint64_t i) {
  using f = format<T>;
  using bits = typename f::bits;
  constexpr bits one = static_cast<bits>(f::bias) << f::mantissa, infinity = static_cast<bits>(2 * f::bias + 1) << f::mantissa;
  const bits edges[] = {0, 1, (bits{1} << f::mantissa) - 1, bits{1} << f::mantissa, one - 1, one, one + 1, infinity - 1, infinity, infinity | infinity >> 1,
                        one - (bits{1} << f::mantissa), one + (bits{1} << f::mantissa), one + (bits{3} << (f::mantissa - 1))};
  const bits count = sizeof edges / sizeof edges[0], sign = bits{1} << (8 * sizeof(bits) - 1);
  if (i < count) return of_bits<T>(edges[i]);
  if (i < 2 * count) return of_bits<T>(edges[i - count] | sign);
  const std::uint64_t k = mix(i);
  bits u = static_cast<bits>(k);
  const std::uint64_t other = mix(k);
  if (i % 3 != 0) {
    const bits exponent = i % 3 == 1 ? f::bias - 12 + other % 24 : f::bias - 1 + other % 5;
    u = (u & ~(infinity)) | static_cast<bits>(exponent) << f::mantissa;
  }
  const T x = of_bits<T>(u);
  return x == x ? x : of_bits<T>(infinity | infinity >> 1);  // no signalling one, which C's functions treat in a way of their own
}
/// Several arguments of one call: edges with edges, then any; one in four times all of them are close.
template <class T>
MATH_CASE T argument(std::uint64_t i, int which) {
  if (which == 0) return argument<T>(i);
  constexpr std::uint64_t edges = 26;
  if (i < edges * edges) return argument<T>(which == 1 ? i / edges : mix(i) % edges);
  const T x = argument<T>(i * 4 + static_cast<std::uint64_t>(which) * 1000003);
  if (i % 4 != 0 || x != x) return x;
  const T near = of_bits<T>(static_cast<typename format<T>::bits>(bits_of(argument<T>(i)) ^ (mix(i + static_cast<std::uint64_t>(which)) & 0x80FFFF)));
  return near == near ? near : x;
}

}  // namespace math_cases
