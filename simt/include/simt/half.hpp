// SPDX-License-Identifier: Apache-2.0
/// \file half.hpp
/// f16 by CUDA's names: __half, __half2, their conversions and intrinsics (see half_types.hpp for
/// the arithmetic). Conversions to a narrower type round to nearest even unless their name says
/// otherwise.
#pragma once

#include <simt/half_math.hpp>
#include <simt/half_types.hpp>

namespace simt {
inline namespace SIMT_BUILD {

using __half = small_float<f16_format, __half_raw>;
using __half2 = small_pair<__half, __half2_raw>;
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

SIMT_INLINE constexpr __half __float2half(float v) { return __half(v); }
SIMT_INLINE constexpr __half __float2half_rn(float v) { return __half(v); }
SIMT_INLINE constexpr __half __float2half_rz(float v) {
  return __half::of(__half::ops::from_double(v, rounding::zero));
}
SIMT_INLINE constexpr __half __float2half_rd(float v) {
  return __half::of(__half::ops::from_double(v, rounding::down));
}
SIMT_INLINE constexpr __half __float2half_ru(float v) {
  return __half::of(__half::ops::from_double(v, rounding::up));
}
SIMT_INLINE constexpr __half __double2half(double v) { return __half(v); }
SIMT_INLINE constexpr float __half2float(__half a) { return a; }
SIMT_HALF_INTEGERS(__half, half)

SIMT_INLINE constexpr unsigned short __half_as_ushort(__half a) { return a.bits; }
SIMT_INLINE constexpr short __half_as_short(__half a) { return static_cast<short>(a.bits); }
SIMT_INLINE constexpr __half __ushort_as_half(unsigned short b) { return __half::of(b); }
SIMT_INLINE constexpr __half __short_as_half(short b) {
  return __half::of(static_cast<unsigned short>(b));
}

SIMT_INLINE constexpr __half2 make_half2(__half x, __half y) { return {x, y}; }
SIMT_INLINE constexpr __half2 __halves2half2(__half x, __half y) { return {x, y}; }
SIMT_INLINE constexpr __half2 __half2half2(__half a) { return {a, a}; }
SIMT_INLINE constexpr __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
SIMT_INLINE constexpr __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
SIMT_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
SIMT_INLINE float2 __half22float2(__half2 a) { return {float(a.x), float(a.y)}; }
SIMT_INLINE float __low2float(__half2 a) { return a.x; }
SIMT_INLINE float __high2float(__half2 a) { return a.y; }
SIMT_INLINE __half __low2half(__half2 a) { return a.x; }
SIMT_INLINE __half __high2half(__half2 a) { return a.y; }
SIMT_INLINE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
SIMT_INLINE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
SIMT_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
SIMT_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
SIMT_INLINE __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }

}  // namespace SIMT_BUILD

#define CUDART_INF_FP16 (::simt::__ushort_as_half(0x7C00u))
#define CUDART_NAN_FP16 (::simt::__ushort_as_half(0x7FFFu))
#define CUDART_MIN_DENORM_FP16 (::simt::__ushort_as_half(0x0001u))
#define CUDART_MAX_NORMAL_FP16 (::simt::__ushort_as_half(0x7BFFu))
#define CUDART_NEG_ZERO_FP16 (::simt::__ushort_as_half(0x8000u))
#define CUDART_ZERO_FP16 (::simt::__ushort_as_half(0x0000u))
#define CUDART_ONE_FP16 (::simt::__ushort_as_half(0x3C00u))

}  // namespace simt
