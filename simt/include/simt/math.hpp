// SPDX-License-Identifier: Apache-2.0
/// \file math.hpp
/// CUDA's mathematical device functions beyond the C library's: fast approximations, directed rounding, conversions,
/// and what C has not. Approximations are exact to within a unit or so here; a GPU's may be further off, by its
/// documented bound.
#pragma once

#include <math.h>    // the C++ library's: as by nvcc, the global exp() and its like are of floats, too
#include <stdlib.h>  // and abs()

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <simt/build.hpp>

namespace simt {
inline namespace SIMT_BUILD {
namespace math {

/// In x86-64's 80 bits, elsewhere in more: rounded to float or double, the result is hardly ever off by a unit.
using wide = long double;
inline constexpr wide pi = 3.14159265358979323846264338327950288L, root_of_2 = 1.41421356237309504880168872420969808L;

enum class way : int { nearest = FE_TONEAREST, zero = FE_TOWARDZERO, up = FE_UPWARD, down = FE_DOWNWARD };

/// The compiler sees neither what goes in nor what comes out, so nothing is computed before the mode is set.
template <class T>
SIMT_INLINE T opaque(T x) {
  __asm__ volatile("" : "+m"(x));
  return x;
}
template <way Way, class Function, class... T>
SIMT_NOT_OBSERVED inline auto rounding(Function f, T... x) {
  const int before = std::fegetround();
  std::fesetround(static_cast<int>(Way));
  const auto r = opaque(f(opaque(x)...));
  std::fesetround(before);
  return r;
}

/// To an integer as PTX's cvt does: out of range to the nearest there is, NaN to 0, of f64 or to 64 bits to 1 << (bits - 1).
template <class To, way Way, class From>
SIMT_NOT_OBSERVED inline To to_integer(From x) {
  using limits = std::numeric_limits<To>;
  if (std::isnan(x)) {
    if (sizeof(From) == 4 && sizeof(To) == 4) return 0;
    return static_cast<To>(std::make_unsigned_t<To>{1} << (8 * sizeof(To) - 1));
  }
  const From whole = Way == way::nearest ? std::nearbyint(x) : Way == way::zero ? std::trunc(x) : Way == way::up ? std::ceil(x) : std::floor(x);
  if (whole <= static_cast<From>(limits::min())) return limits::min();
  if (whole >= static_cast<From>(limits::max())) return limits::max();
  return static_cast<To>(whole);
}

/// sin(pi x) and cos(pi x): x is brought into a quarter first, which is exact.
template <bool IsSine>
SIMT_NOT_OBSERVED inline wide of_pi(wide x) {
  if (!std::isfinite(x)) return std::numeric_limits<wide>::quiet_NaN();
  const wide turned = std::fmod(std::fabs(x), 2.0L);
  const int quarter = static_cast<int>(turned * 2 + 0.5L);  // the nearest multiple of 1/2
  const wide rest = pi * (turned - 0.5L * static_cast<wide>(quarter));
  const bool is_cosine = (quarter % 2 != 0) == IsSine;
  wide r = is_cosine ? std::cos(rest) : std::sin(rest);
  if (IsSine ? quarter % 4 >= 2 : quarter % 4 == 1 || quarter % 4 == 2) r = -r;
  if (r == 0) r = 0;
  return IsSine && std::signbit(x) ? -r : r;
}

/// e^(x^2) erfc(x).
SIMT_NOT_OBSERVED inline wide erfcx(wide x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  wide sum = 1, term = 1;
  for (int k = 1; k < 60; ++k) {
    const wide next = -term * static_cast<wide>(2 * k - 1) / (2 * x * x);
    if (std::fabs(next) >= std::fabs(term)) break;
    term = next;
    sum += term;
  }
  return sum / (x * std::sqrt(pi));
}

SIMT_NOT_OBSERVED inline wide erfinv(wide y);
/// Newton's method, from an approximation by logarithms.
SIMT_NOT_OBSERVED inline wide erfcinv(wide y) {
  using limits = std::numeric_limits<wide>;
  if (!(y >= 0 && y <= 2)) return limits::quiet_NaN();
  if (y == 0) return limits::infinity();
  if (y == 2) return -limits::infinity();
  if (y > 0.5L && y < 1.5L) return erfinv(1 - y);  // erfc is about 1 there, and what it differs by would be lost
  if (y > 1) return -erfcinv(2 - y);
  const wide t = std::sqrt(-2 * std::log(y / 2));
  wide x = (t - (2.30753L + 0.27061L * t) / (1 + t * (0.99229L + t * 0.04481L))) / root_of_2;
  for (int k = 0; k < 6; ++k) {
    const wide off = (std::erfc(x) - y) / (2 / std::sqrt(pi) * std::exp(-x * x));
    x += off / (1 + x * off);  // Halley's correction
  }
  return x;
}
SIMT_NOT_OBSERVED inline wide erfinv(wide y) {
  if (std::fabs(y) > 0.5L) return y > 0 ? erfcinv(1 - y) : -erfcinv(1 + y);
  wide x = y * std::sqrt(pi) / 2;
  for (int k = 0; k < 8 && y != 0; ++k) x -= (std::erf(x) - y) / (2 / std::sqrt(pi) * std::exp(-x * x));
  return x;
}

/// The modified Bessel functions of the first kind; all terms have one sign.
SIMT_NOT_OBSERVED inline wide bessel_i(int order, wide x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return order == 0 ? std::fabs(x) : x;
  const wide quarter = x * x / 4;
  wide term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 4000 && std::fabs(term) > std::fabs(sum) * 0x1p-66L; ++k) {
    term *= quarter / (static_cast<wide>(k) * static_cast<wide>(k + order));
    sum += term;
  }
  return sum;
}

/// No square over- or underflows: 80 bits have the exponents for floats' and doubles'.
template <class... T>
SIMT_INLINE wide length(T... x) {
  if ((std::isinf(x) || ...)) return std::numeric_limits<wide>::infinity();
  return std::sqrt(((static_cast<wide>(x) * static_cast<wide>(x)) + ...));
}
template <class T>
SIMT_INLINE wide length_of(int n, const T* x) {
  wide sum = 0;
  bool is_infinite = false;
  for (int i = 0; i < n; ++i) {
    const auto v = static_cast<wide>(x[i]);
    is_infinite |= std::isinf(v);
    sum += v * v;
  }
  return is_infinite ? std::numeric_limits<wide>::infinity() : std::sqrt(sum);
}

}  // namespace math

// ---- What C has not, of both precisions: `name` of doubles, `namef` of floats.

#define SIMT_MATH_1(name, of_x)                                                                          \
  SIMT_INLINE double name(double given) {                                                                \
    const math::wide x = given;                                                                          \
    return static_cast<double>(of_x);                                                                    \
  }                                                                                                      \
  SIMT_INLINE float name##f(float given) {                                                               \
    const math::wide x = given;                                                                          \
    return static_cast<float>(of_x);                                                                     \
  }                                                                                                      \
  SIMT_INLINE float name(float x) { return name##f(x); }
SIMT_MATH_1(rcbrt, 1 / std::cbrt(x))
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 41)  // C23's
using ::cospi, ::cospif, ::sinpi, ::sinpif;
SIMT_INLINE float sinpi(float x) { return ::sinpif(x); }
SIMT_INLINE float cospi(float x) { return ::cospif(x); }
#else
SIMT_MATH_1(sinpi, math::of_pi<true>(x))
SIMT_MATH_1(cospi, math::of_pi<false>(x))
#endif
SIMT_MATH_1(erfcx, math::erfcx(x))
SIMT_MATH_1(erfinv, math::erfinv(x))
SIMT_MATH_1(erfcinv, math::erfcinv(x))
SIMT_MATH_1(normcdf, std::erfc(-x / math::root_of_2) / 2)
SIMT_MATH_1(normcdfinv, 0 - math::root_of_2 * math::erfcinv(2 * x))  // 0 of 1/2, not -0
SIMT_MATH_1(cyl_bessel_i0, math::bessel_i(0, x))
SIMT_MATH_1(cyl_bessel_i1, math::bessel_i(1, x))
#undef SIMT_MATH_1

#define SIMT_MATH_LENGTHS(T, suffix)                                                                                        \
  SIMT_INLINE T rhypot##suffix(T a, T b) { return static_cast<T>(1 / math::length(a, b)); }                                 \
  SIMT_INLINE T norm3d##suffix(T a, T b, T c) { return static_cast<T>(math::length(a, b, c)); }                             \
  SIMT_INLINE T rnorm3d##suffix(T a, T b, T c) { return static_cast<T>(1 / math::length(a, b, c)); }                        \
  SIMT_INLINE T norm4d##suffix(T a, T b, T c, T d) { return static_cast<T>(math::length(a, b, c, d)); }                     \
  SIMT_INLINE T rnorm4d##suffix(T a, T b, T c, T d) { return static_cast<T>(1 / math::length(a, b, c, d)); }                \
  SIMT_INLINE T norm##suffix(int n, const T* x) { return static_cast<T>(math::length_of(n, x)); }                           \
  SIMT_INLINE T rnorm##suffix(int n, const T* x) { return static_cast<T>(1 / math::length_of(n, x)); }
SIMT_MATH_LENGTHS(double, )
SIMT_MATH_LENGTHS(float, f)
#undef SIMT_MATH_LENGTHS
SIMT_INLINE void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
SIMT_INLINE void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
// In C++ the names of doubles are of floats, too.
SIMT_INLINE float exp10(float x) { return ::exp10f(x); }
SIMT_INLINE float rsqrt(float x) { return 1 / std::sqrt(x); }
SIMT_INLINE float j0(float x) { return ::j0f(x); }
SIMT_INLINE float j1(float x) { return ::j1f(x); }
SIMT_INLINE float jn(int n, float x) { return ::jnf(n, x); }
SIMT_INLINE float y0(float x) { return ::y0f(x); }
SIMT_INLINE float y1(float x) { return ::y1f(x); }
SIMT_INLINE float yn(int n, float x) { return ::ynf(n, x); }
SIMT_INLINE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
SIMT_INLINE void sincos(float x, float* sine, float* cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
SIMT_INLINE float fdividef(float x, float y) { return x / y; }
SIMT_INLINE double fdivide(double x, double y) { return x / y; }

// ---- Fast approximations. Those of angles are good near 0 alone on a GPU.

// glibc declares functions of these names, and defines them for itself alone.
#define __expf simt_expf
#define __exp10f simt_exp10f
#define __logf simt_logf
#define __log2f simt_log2f
#define __log10f simt_log10f
#define __sinf simt_sinf
#define __cosf simt_cosf
#define __tanf simt_tanf
#define __tanhf simt_tanhf
#define __sincosf simt_sincosf
#define __powf simt_powf

SIMT_INLINE float __expf(float x) { return std::exp(x); }
SIMT_INLINE float __exp10f(float x) { return static_cast<float>(std::pow(10.0, static_cast<double>(x))); }
SIMT_INLINE float __logf(float x) { return std::log(x); }
SIMT_INLINE float __log2f(float x) { return std::log2(x); }
SIMT_INLINE float __log10f(float x) { return std::log10(x); }
SIMT_INLINE float __sinf(float x) { return std::sin(x); }
SIMT_INLINE float __cosf(float x) { return std::cos(x); }
SIMT_INLINE float __tanf(float x) { return std::tan(x); }
SIMT_INLINE float __tanhf(float x) { return std::tanh(x); }
SIMT_INLINE void __sincosf(float x, float* sine, float* cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
/// 2^(y log2 x), so NaN of a negative x, whatever y.
SIMT_INLINE float __powf(float x, float y) {
  return static_cast<float>(std::exp2(static_cast<double>(y) * std::log2(static_cast<double>(x))));
}
/// 0 where 2^126 < |y| < 2^128, as documented; NaN of an infinite x there.
SIMT_INLINE float __fdividef(float x, float y) {
  const bool is_large = std::fabs(y) > 0x1p126f && std::isfinite(y);
  return is_large ? x * 0.0f : x / y;
}

// ---- Directed rounding

#define SIMT_ROUNDED(suffix, Way)                                                                                                    \
  SIMT_INLINE float __fadd_##suffix(float x, float y) { return math::rounding<math::way::Way>([](float a, float b) { return a + b; }, x, y); }      \
  SIMT_INLINE float __fsub_##suffix(float x, float y) { return math::rounding<math::way::Way>([](float a, float b) { return a - b; }, x, y); }      \
  SIMT_INLINE float __fmul_##suffix(float x, float y) { return math::rounding<math::way::Way>([](float a, float b) { return a * b; }, x, y); }      \
  SIMT_INLINE float __fdiv_##suffix(float x, float y) { return math::rounding<math::way::Way>([](float a, float b) { return a / b; }, x, y); }      \
  SIMT_INLINE float __frcp_##suffix(float x) { return math::rounding<math::way::Way>([](float a) { return 1 / a; }, x); }                           \
  SIMT_INLINE float __fsqrt_##suffix(float x) { return math::rounding<math::way::Way>([](float a) { return std::sqrt(a); }, x); }                   \
  SIMT_INLINE float __fmaf_##suffix(float x, float y, float z) {                                                                     \
    return math::rounding<math::way::Way>([](float a, float b, float c) { return std::fma(a, b, c); }, x, y, z);                     \
  }                                                                                                                                  \
  SIMT_INLINE double __dadd_##suffix(double x, double y) { return math::rounding<math::way::Way>([](double a, double b) { return a + b; }, x, y); } \
  SIMT_INLINE double __dsub_##suffix(double x, double y) { return math::rounding<math::way::Way>([](double a, double b) { return a - b; }, x, y); } \
  SIMT_INLINE double __dmul_##suffix(double x, double y) { return math::rounding<math::way::Way>([](double a, double b) { return a * b; }, x, y); } \
  SIMT_INLINE double __ddiv_##suffix(double x, double y) { return math::rounding<math::way::Way>([](double a, double b) { return a / b; }, x, y); } \
  SIMT_INLINE double __drcp_##suffix(double x) { return math::rounding<math::way::Way>([](double a) { return 1 / a; }, x); }                        \
  SIMT_INLINE double __dsqrt_##suffix(double x) { return math::rounding<math::way::Way>([](double a) { return std::sqrt(a); }, x); }                \
  SIMT_INLINE double __fma_##suffix(double x, double y, double z) {                                                                  \
    return math::rounding<math::way::Way>([](double a, double b, double c) { return std::fma(a, b, c); }, x, y, z);                  \
  }                                                                                                                                  \
  SIMT_INLINE float __double2float_##suffix(double x) { return math::rounding<math::way::Way>([](double a) { return static_cast<float>(a); }, x); } \
  SIMT_INLINE float __int2float_##suffix(int x) { return math::rounding<math::way::Way>([](int a) { return static_cast<float>(a); }, x); }          \
  SIMT_INLINE float __uint2float_##suffix(unsigned x) { return math::rounding<math::way::Way>([](unsigned a) { return static_cast<float>(static_cast<long long>(a)); }, x); } \
  SIMT_INLINE float __ll2float_##suffix(long long x) { return math::rounding<math::way::Way>([](long long a) { return static_cast<float>(a); }, x); } \
  SIMT_INLINE double __ll2double_##suffix(long long x) { return math::rounding<math::way::Way>([](long long a) { return static_cast<double>(a); }, x); }
SIMT_ROUNDED(rz, zero)
SIMT_ROUNDED(ru, up)
SIMT_ROUNDED(rd, down)
#undef SIMT_ROUNDED
// Subnormal numbers are what they are here, whatever the compiler was told.
SIMT_INLINE float __fmaf_ieee_rn(float x, float y, float z) { return std::fma(x, y, z); }
SIMT_INLINE float __fmaf_ieee_rz(float x, float y, float z) { return __fmaf_rz(x, y, z); }
SIMT_INLINE float __fmaf_ieee_ru(float x, float y, float z) { return __fmaf_ru(x, y, z); }
SIMT_INLINE float __fmaf_ieee_rd(float x, float y, float z) { return __fmaf_rd(x, y, z); }
SIMT_INLINE double __drcp_rn(double x) { return math::opaque(1 / x); }
SIMT_INLINE float __frsqrt_rn(float x) { return static_cast<float>(1 / std::sqrt(static_cast<math::wide>(x))); }
SIMT_INLINE double __int2double_rn(int x) { return x; }
SIMT_INLINE double __uint2double_rn(unsigned x) { return x; }

#define SIMT_TO_INTEGER(suffix, Way)                                                                                             \
  SIMT_INLINE int __float2int_##suffix(float x) { return math::to_integer<int, math::way::Way>(x); }                             \
  SIMT_INLINE unsigned __float2uint_##suffix(float x) { return math::to_integer<unsigned, math::way::Way>(x); }                  \
  SIMT_INLINE long long __float2ll_##suffix(float x) { return math::to_integer<long long, math::way::Way>(x); }                  \
  SIMT_INLINE unsigned long long __float2ull_##suffix(float x) { return math::to_integer<unsigned long long, math::way::Way>(x); } \
  SIMT_INLINE int __double2int_##suffix(double x) { return math::to_integer<int, math::way::Way>(x); }                           \
  SIMT_INLINE unsigned __double2uint_##suffix(double x) { return math::to_integer<unsigned, math::way::Way>(x); }                \
  SIMT_INLINE long long __double2ll_##suffix(double x) { return math::to_integer<long long, math::way::Way>(x); }                \
  SIMT_INLINE unsigned long long __double2ull_##suffix(double x) { return math::to_integer<unsigned long long, math::way::Way>(x); }
SIMT_TO_INTEGER(rn, nearest)
SIMT_TO_INTEGER(rz, zero)
SIMT_TO_INTEGER(ru, up)
SIMT_TO_INTEGER(rd, down)
#undef SIMT_TO_INTEGER
SIMT_INLINE float scalbn(float x, float n) { return std::scalbn(x, __float2int_rz(n)); }

// ---- Integers

SIMT_INLINE long long llmin(long long x, long long y) { return x < y ? x : y; }
SIMT_INLINE long long llmax(long long x, long long y) { return x > y ? x : y; }
SIMT_INLINE unsigned long long ullmin(unsigned long long x, unsigned long long y) { return x < y ? x : y; }
SIMT_INLINE unsigned long long ullmax(unsigned long long x, unsigned long long y) { return x > y ? x : y; }
SIMT_INLINE unsigned __sad(int x, int y, unsigned z) { return static_cast<unsigned>(x > y ? std::int64_t{x} - y : std::int64_t{y} - x) + z; }
SIMT_INLINE int __hadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y) >> 1); }
SIMT_INLINE int __rhadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y + 1) >> 1); }
SIMT_INLINE unsigned __uhadd(unsigned x, unsigned y) { return static_cast<unsigned>((std::uint64_t{x} + y) >> 1); }
SIMT_INLINE unsigned __urhadd(unsigned x, unsigned y) { return static_cast<unsigned>((std::uint64_t{x} + y + 1) >> 1); }

}  // inline namespace SIMT_BUILD
}  // namespace simt
