// SPDX-License-Identifier: Apache-2.0
/// \file half_types.hpp
/// The types behind __half, __nv_bfloat16 and their pairs: storage, conversions, operators, and the
/// intrinsics that have one name for both formats (__hadd, __hfma2, __hmax …), with the meaning
/// that CUDA's headers give them on a GPU. half.hpp and bfloat16.hpp add the names that differ.
#pragma once

#include <concepts>
#include <limits>

#include <simt/half_ops.hpp>
#include <simt/vector_types.hpp>

namespace simt {

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};

inline namespace SIMT_BUILD {

template <class Format, class Raw>
struct small_float {
  using ops = half_ops<Format>;
  using raw = Raw;

  unsigned short bits;

  small_float() = default;
  SIMT_INLINE constexpr small_float(Raw r) : bits(r.x) {}
  SIMT_INLINE constexpr small_float(float v) : bits(ops::from_float(v)) {}
  SIMT_INLINE constexpr small_float(double v) : bits(ops::convert(v)) {}
  template <std::signed_integral I>
  SIMT_INLINE constexpr small_float(I v) : bits(ops::from_signed(v, rounding::nearest)) {}
  template <std::unsigned_integral I>
  SIMT_INLINE constexpr small_float(I v) : bits(ops::from_unsigned(v, rounding::nearest)) {}
  SIMT_INLINE static constexpr small_float of(unsigned int b) {
    return Raw{static_cast<unsigned short>(b)};
  }

  SIMT_INLINE constexpr operator Raw() const { return {bits}; }
  SIMT_INLINE constexpr operator float() const { return ops::to_float(bits); }
  SIMT_INLINE constexpr operator bool() const { return (bits & 0x7FFF) != 0; }
  template <std::signed_integral I>
  SIMT_INLINE operator I() const {
    return static_cast<I>(ops::to_signed(bits, rounding::zero, std::numeric_limits<I>::min(),
                                         std::numeric_limits<I>::max(),
                                         sizeof(I) == 8 ? INT64_MIN : 0));
  }
  template <std::unsigned_integral I>
  requires(!std::same_as<I, bool>) SIMT_INLINE operator I() const {
    return static_cast<I>(ops::to_unsigned(bits, rounding::zero, std::numeric_limits<I>::max(),
                                           sizeof(I) == 8 ? std::uint64_t{1} << 63 : 0));
  }

  // To and from volatile memory, as in shared-memory trees of before Volta.
  SIMT_INLINE operator Raw() const volatile { return {bits}; }
  SIMT_INLINE void operator=(Raw r) volatile { bits = r.x; }

  SIMT_INLINE small_float& operator+=(small_float b) { return *this = *this + b; }
  SIMT_INLINE small_float& operator-=(small_float b) { return *this = *this - b; }
  SIMT_INLINE small_float& operator*=(small_float b) { return *this = *this * b; }
  SIMT_INLINE small_float& operator/=(small_float b) { return *this = *this / b; }
  SIMT_INLINE small_float& operator++() { return *this += small_float(1.0f); }
  SIMT_INLINE small_float& operator--() { return *this -= small_float(1.0f); }
  SIMT_INLINE small_float operator++(int) {
    const small_float old = *this;
    ++*this;
    return old;
  }
  SIMT_INLINE small_float operator--(int) {
    const small_float old = *this;
    --*this;
    return old;
  }
  SIMT_INLINE friend small_float operator+(small_float a) { return a; }
  SIMT_INLINE friend small_float operator-(small_float a) { return __hneg(a); }

#define SIMT_BINARY(name, op)                                         \
  SIMT_INLINE friend small_float name(small_float a, small_float b) { \
    return of(ops::op(a.bits, b.bits));                               \
  }
#define SIMT_COMPARE(name, condition) \
  SIMT_INLINE friend bool name(small_float a, small_float b) { return condition; }
#define SIMT_ORDERED(op, plain, unordered_too, condition) \
  SIMT_COMPARE(op, condition)                             \
  SIMT_COMPARE(plain, condition)                          \
  SIMT_COMPARE(unordered_too, bool{condition} || ops::unordered(a.bits, b.bits))

  SIMT_BINARY(operator+, add)
  SIMT_BINARY(operator-, subtract)
  SIMT_BINARY(operator*, multiply)
  SIMT_BINARY(operator/, divide)
  SIMT_BINARY(__hadd, add)
  SIMT_BINARY(__hsub, subtract)
  SIMT_BINARY(__hmul, multiply)
  SIMT_BINARY(__hadd_rn, add)
  SIMT_BINARY(__hsub_rn, subtract)
  SIMT_BINARY(__hmul_rn, multiply)
  SIMT_BINARY(__hdiv, divide)
  SIMT_BINARY(__hmax, maximum)
  SIMT_BINARY(__hmin, minimum)
  SIMT_BINARY(__hmax_nan, maximum_nan)
  SIMT_BINARY(__hmin_nan, minimum_nan)
  SIMT_INLINE friend small_float __hfma(small_float a, small_float b, small_float c) {
    return of(ops::fused_multiply_add(a.bits, b.bits, c.bits));
  }
  SIMT_INLINE friend small_float __hfma_sat(small_float a, small_float b, small_float c) {
    return of(ops::clamp_to_one(ops::fused_multiply_add(a.bits, b.bits, c.bits)));
  }
  SIMT_INLINE friend small_float __hfma_relu(small_float a, small_float b, small_float c) {
    return of(ops::maximum_nan(ops::fused_multiply_add(a.bits, b.bits, c.bits), 0));
  }
  SIMT_INLINE friend small_float __hadd_sat(small_float a, small_float b) {
    return of(ops::clamp_to_one(ops::add(a.bits, b.bits)));
  }
  SIMT_INLINE friend small_float __hsub_sat(small_float a, small_float b) {
    return of(ops::clamp_to_one(ops::subtract(a.bits, b.bits)));
  }
  SIMT_INLINE friend small_float __hmul_sat(small_float a, small_float b) {
    return of(ops::clamp_to_one(ops::multiply(a.bits, b.bits)));
  }
  SIMT_INLINE friend small_float __hneg(small_float a) { return of(ops::negated(a.bits)); }
  SIMT_INLINE friend small_float __habs(small_float a) { return of(ops::absolute(a.bits)); }
  SIMT_INLINE friend bool __hisnan(small_float a) { return (a.bits & 0x7FFF) > ops::infinity; }
  SIMT_INLINE friend int __hisinf(small_float a) {
    return ((a.bits & 0x7FFF) == ops::infinity) * (1 - 2 * (a.bits >> 15));
  }

  SIMT_ORDERED(operator==, __heq, __hequ, ops::equal(a.bits, b.bits))
  SIMT_ORDERED(operator<, __hlt, __hltu, ops::less(a.bits, b.bits))
  SIMT_ORDERED(operator<=, __hle, __hleu, ops::less_equal(a.bits, b.bits))
  SIMT_ORDERED(operator>, __hgt, __hgtu, ops::less(b.bits, a.bits))
  SIMT_ORDERED(operator>=, __hge, __hgeu, ops::less_equal(b.bits, a.bits))
  SIMT_COMPARE(operator!=, !ops::equal(a.bits, b.bits))
  SIMT_COMPARE(__hneu, !ops::equal(a.bits, b.bits))
  SIMT_COMPARE(__hne, ops::less(a.bits, b.bits) != ops::less(b.bits, a.bits))

#undef SIMT_ORDERED
#undef SIMT_COMPARE
#undef SIMT_BINARY
};

/// Two of them in one 4-byte access.
template <class T, class Raw>
struct alignas(4) small_pair {
  T x, y;

  small_pair() = default;
  SIMT_INLINE constexpr small_pair(T x_, T y_) : x(x_), y(y_) {}
  SIMT_INLINE constexpr small_pair(Raw r) : x(T::of(r.x)), y(T::of(r.y)) {}
  SIMT_INLINE constexpr operator Raw() const { return {x.bits, y.bits}; }
  SIMT_WIDE_COPIES(small_pair, (x = o.x, y = o.y))

  SIMT_INLINE small_pair& operator+=(small_pair b) { return *this = *this + b; }
  SIMT_INLINE small_pair& operator-=(small_pair b) { return *this = *this - b; }
  SIMT_INLINE small_pair& operator*=(small_pair b) { return *this = *this * b; }
  SIMT_INLINE small_pair& operator/=(small_pair b) { return *this = *this / b; }
  SIMT_INLINE small_pair& operator++() { return *this += small_pair(T(1.0f), T(1.0f)); }
  SIMT_INLINE small_pair& operator--() { return *this -= small_pair(T(1.0f), T(1.0f)); }
  SIMT_INLINE friend small_pair operator+(small_pair a) { return {a.x, a.y}; }
  SIMT_INLINE friend small_pair operator-(small_pair a) { return {-a.x, -a.y}; }

#define SIMT_BINARY(name, each)                                    \
  SIMT_INLINE friend small_pair name(small_pair a, small_pair b) { \
    return {each(a.x, b.x), each(a.y, b.y)};                       \
  }
#define SIMT_TERNARY(name, each)                                                 \
  SIMT_INLINE friend small_pair name(small_pair a, small_pair b, small_pair c) { \
    return {each(a.x, b.x, c.x), each(a.y, b.y, c.y)};                           \
  }
#define SIMT_UNARY(name, each) \
  SIMT_INLINE friend small_pair name(small_pair a) { return {each(a.x), each(a.y)}; }
// A pair of 1 and 0; a bool for both.
#define SIMT_COMPARE(name, for_both, each)                                                 \
  SIMT_INLINE friend small_pair name(small_pair a, small_pair b) {                         \
    return {T(static_cast<float>(each(a.x, b.x))), T(static_cast<float>(each(a.y, b.y)))}; \
  }                                                                                        \
  SIMT_INLINE friend bool for_both(small_pair a, small_pair b) {                           \
    return bool(static_cast<int>(each(a.x, b.x)) & static_cast<int>(each(a.y, b.y)));      \
  }
#define SIMT_OPERATOR(name, for_both) \
  SIMT_INLINE friend bool name(small_pair a, small_pair b) { return for_both(a, b); }

  SIMT_BINARY(operator+, __hadd)
  SIMT_BINARY(operator-, __hsub)
  SIMT_BINARY(operator*, __hmul)
  SIMT_BINARY(operator/, __hdiv)
  SIMT_BINARY(__hadd2, __hadd)
  SIMT_BINARY(__hsub2, __hsub)
  SIMT_BINARY(__hmul2, __hmul)
  SIMT_BINARY(__hadd2_rn, __hadd)
  SIMT_BINARY(__hsub2_rn, __hsub)
  SIMT_BINARY(__hmul2_rn, __hmul)
  SIMT_BINARY(__h2div, __hdiv)
  SIMT_BINARY(__hadd2_sat, __hadd_sat)
  SIMT_BINARY(__hsub2_sat, __hsub_sat)
  SIMT_BINARY(__hmul2_sat, __hmul_sat)
  SIMT_BINARY(__hmax2, __hmax)
  SIMT_BINARY(__hmin2, __hmin)
  SIMT_BINARY(__hmax2_nan, __hmax_nan)
  SIMT_BINARY(__hmin2_nan, __hmin_nan)
  SIMT_TERNARY(__hfma2, __hfma)
  SIMT_TERNARY(__hfma2_sat, __hfma_sat)
  SIMT_TERNARY(__hfma2_relu, __hfma_relu)
  /// a b + c of complex numbers, in the order of additions that CUDA's has.
  SIMT_INLINE friend small_pair __hcmadd(small_pair a, small_pair b, small_pair c) {
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
  }
  SIMT_UNARY(__hneg2, __hneg)
  SIMT_UNARY(__habs2, __habs)
  SIMT_UNARY(__hisnan2, is_nan_value)
  SIMT_COMPARE(__heq2, __hbeq2, __heq)
  SIMT_COMPARE(__hne2, __hbne2, __hne)
  SIMT_COMPARE(__hle2, __hble2, __hle)
  SIMT_COMPARE(__hge2, __hbge2, __hge)
  SIMT_COMPARE(__hlt2, __hblt2, __hlt)
  SIMT_COMPARE(__hgt2, __hbgt2, __hgt)
  SIMT_COMPARE(__hequ2, __hbequ2, __hequ)
  SIMT_COMPARE(__hneu2, __hbneu2, __hneu)
  SIMT_COMPARE(__hleu2, __hbleu2, __hleu)
  SIMT_COMPARE(__hgeu2, __hbgeu2, __hgeu)
  SIMT_COMPARE(__hltu2, __hbltu2, __hltu)
  SIMT_COMPARE(__hgtu2, __hbgtu2, __hgtu)
  SIMT_OPERATOR(operator==, __hbeq2)
  SIMT_OPERATOR(operator!=, __hbneu2)
  SIMT_OPERATOR(operator<, __hblt2)
  SIMT_OPERATOR(operator<=, __hble2)
  SIMT_OPERATOR(operator>, __hbgt2)
  SIMT_OPERATOR(operator>=, __hbge2)

#undef SIMT_OPERATOR
#undef SIMT_COMPARE
#undef SIMT_UNARY
#undef SIMT_TERNARY
#undef SIMT_BINARY

 private:
  SIMT_INLINE static T is_nan_value(T a) { return T(static_cast<float>(__hisnan(a))); }
};

// Conversions between integers and one type, with a name for each rounding: short2half_rn and the
// like.
#define SIMT_HALF_SIGNED(type, to, integer, from, mode, suffix, of_nan)                       \
  SIMT_INLINE type __##integer##2##to##_##suffix(from v) {                                    \
    return type::of(type::ops::from_signed(v, rounding::mode));                               \
  }                                                                                           \
  SIMT_INLINE from __##to##2##integer##_##suffix(type a) {                                    \
    return static_cast<from>(type::ops::to_signed(a.bits, rounding::mode,                     \
                                                  std::numeric_limits<from>::min(),           \
                                                  std::numeric_limits<from>::max(), of_nan)); \
  }
#define SIMT_HALF_UNSIGNED(type, to, integer, from, mode, suffix, of_nan)                          \
  SIMT_INLINE type __##integer##2##to##_##suffix(from v) {                                         \
    return type::of(type::ops::from_unsigned(v, rounding::mode));                                  \
  }                                                                                                \
  SIMT_INLINE from __##to##2##integer##_##suffix(type a) {                                         \
    return static_cast<from>(                                                                      \
        type::ops::to_unsigned(a.bits, rounding::mode, std::numeric_limits<from>::max(), of_nan)); \
  }
#define SIMT_HALF_INTEGERS_BY(type, to, mode, suffix)                   \
  SIMT_HALF_SIGNED(type, to, short, short, mode, suffix, 0)             \
  SIMT_HALF_SIGNED(type, to, int, int, mode, suffix, 0)                 \
  SIMT_HALF_SIGNED(type, to, ll, long long, mode, suffix, INT64_MIN)    \
  SIMT_HALF_UNSIGNED(type, to, ushort, unsigned short, mode, suffix, 0) \
  SIMT_HALF_UNSIGNED(type, to, uint, unsigned int, mode, suffix, 0)     \
  SIMT_HALF_UNSIGNED(type, to, ull, unsigned long long, mode, suffix, std::uint64_t{1} << 63)
#define SIMT_HALF_INTEGERS(type, to)                                                                    \
  SIMT_HALF_INTEGERS_BY(type, to, nearest, rn)                                                          \
  SIMT_HALF_INTEGERS_BY(type, to, zero, rz)                                                             \
  SIMT_HALF_INTEGERS_BY(type, to, down, rd)                                                             \
  SIMT_HALF_INTEGERS_BY(type, to, up, ru)                                                               \
  SIMT_INLINE signed char __##to##2char_rz(type a) {                                                    \
    return static_cast<signed char>(type::ops::to_signed(a.bits, rounding::zero, -128, 127, 0));        \
  }                                                                                                     \
  SIMT_INLINE unsigned char __##to##2uchar_rz(type a) {                                                 \
    return static_cast<unsigned char>(type::ops::to_unsigned(a.bits, rounding::zero, 255, 0));          \
  }

}  // namespace SIMT_BUILD
}  // namespace simt
