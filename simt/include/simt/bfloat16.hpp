// SPDX-License-Identifier: Apache-2.0
/// \file bfloat16.hpp
/// bf16 by CUDA's names: __nv_bfloat16, __nv_bfloat162, their conversions and intrinsics (see
/// half_types.hpp for the arithmetic). Conversions round to nearest even unless their name says
/// otherwise.
#pragma once

#include <simt/half_math.hpp>
#include <simt/half_types.hpp>

namespace simt {
inline namespace SIMT_BUILD {

using __nv_bfloat16 = small_float<bf16_format, __nv_bfloat16_raw>;
using __nv_bfloat162 = small_pair<__nv_bfloat16, __nv_bfloat162_raw>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SIMT_INLINE constexpr __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
SIMT_INLINE constexpr __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
SIMT_INLINE constexpr __nv_bfloat16 __float2bfloat16_rz(float v) {
  return __nv_bfloat16::of(__nv_bfloat16::ops::from_double(v, rounding::zero));
}
SIMT_INLINE constexpr __nv_bfloat16 __float2bfloat16_rd(float v) {
  return __nv_bfloat16::of(__nv_bfloat16::ops::from_double(v, rounding::down));
}
SIMT_INLINE constexpr __nv_bfloat16 __float2bfloat16_ru(float v) {
  return __nv_bfloat16::of(__nv_bfloat16::ops::from_double(v, rounding::up));
}
SIMT_INLINE constexpr __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16(v); }
SIMT_INLINE constexpr float __bfloat162float(__nv_bfloat16 a) { return a; }
SIMT_HALF_INTEGERS(__nv_bfloat16, bfloat16)

SIMT_INLINE constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
SIMT_INLINE constexpr short __bfloat16_as_short(__nv_bfloat16 a) {
  return static_cast<short>(a.bits);
}
SIMT_INLINE constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short b) {
  return __nv_bfloat16::of(b);
}
SIMT_INLINE constexpr __nv_bfloat16 __short_as_bfloat16(short b) {
  return __nv_bfloat16::of(static_cast<unsigned short>(b));
}

SIMT_INLINE constexpr __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
SIMT_INLINE constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
SIMT_INLINE constexpr __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
SIMT_INLINE constexpr __nv_bfloat162 __float2bfloat162_rn(float v) {
  return {__nv_bfloat16(v), __nv_bfloat16(v)};
}
SIMT_INLINE constexpr __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
SIMT_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
SIMT_INLINE float2 __bfloat1622float2(__nv_bfloat162 a) { return {float(a.x), float(a.y)}; }
SIMT_INLINE float __low2float(__nv_bfloat162 a) { return a.x; }
SIMT_INLINE float __high2float(__nv_bfloat162 a) { return a.y; }
SIMT_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
SIMT_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
SIMT_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
SIMT_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
SIMT_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x, b.x};
}
SIMT_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.y, b.y};
}
SIMT_INLINE __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }

}  // namespace SIMT_BUILD

#define CUDART_INF_BF16 (::simt::__ushort_as_bfloat16(0x7F80u))
#define CUDART_NAN_BF16 (::simt::__ushort_as_bfloat16(0x7FFFu))
#define CUDART_MIN_DENORM_BF16 (::simt::__ushort_as_bfloat16(0x0001u))
#define CUDART_MAX_NORMAL_BF16 (::simt::__ushort_as_bfloat16(0x7F7Fu))
#define CUDART_NEG_ZERO_BF16 (::simt::__ushort_as_bfloat16(0x8000u))
#define CUDART_ZERO_BF16 (::simt::__ushort_as_bfloat16(0x0000u))
#define CUDART_ONE_BF16 (::simt::__ushort_as_bfloat16(0x3F80u))

}  // namespace simt
