// SPDX-License-Identifier: Apache-2.0
/// \file format.hpp
/// What the exact code must know about an element type. A half_float of any layout has it already.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>
#include <warpfold/half.hpp>

namespace wf::exact {

/// 32-bit digits that hold, with a sign, a sum of 2^63 numbers of less than `bits` bits.
constexpr int digits_for(int bits) { return (bits + 63 + 1 + 31) / 32; }

template <class T, class Layout>
struct float_format : Layout {
  static_assert(sizeof(T) == sizeof(typename Layout::bits));
  using layout = Layout;
  using element = T;
  /// Bits of the largest finite value, counted in units of 2^min_exponent.
  static constexpr int range_bits = Layout::max_shift + Layout::mantissa_bits + 1;
  /// Digits of a sum; digit k weighs 2^(32k + min_exponent).
  static constexpr int digits = digits_for(range_bits) < 4 ? 4 : digits_for(range_bits);
  /// The same for a sum of products, whose unit is 2^(2 min_exponent).
  static constexpr int product_digits = digits_for(2 * range_bits);

  static WF_HD typename Layout::bits to_bits(T x) {
    return __builtin_bit_cast(typename Layout::bits, x);
  }
  static WF_HD T from_bits(typename Layout::bits b) { return __builtin_bit_cast(T, b); }
  /// The same for a value that may be a zero of either sign. A host's compiler that was told that zeros have no sign
  /// (-fno-signed-zeros) takes -0 and +0 for one wherever it knows the bits, so it is kept from knowing them.
  static WF_HD T from_opaque_bits(typename Layout::bits b) {
#if !defined(__CUDA_ARCH__)
    asm("" : "+r"(b));
#endif
    return from_bits(b);
  }
};

template <class T>
struct format;  // defined for floating-point element types only

template <class Layout>
struct format<half_float<Layout>> : float_format<half_float<Layout>, Layout> {};
template <>
struct format<float> : float_format<float, ieee_f32> {
  static constexpr int digits = 12;  // 11 would do; 12 words are three of 32 bytes
};
template <>
struct format<double> : float_format<double, ieee_f64> {};

static_assert(format<f16>::digits == 4 && format<f16>::min_exponent == -24);
static_assert(format<bf16>::digits == 11 && format<bf16>::min_exponent == -133);
static_assert(format<float>::min_exponent == -149 && format<float>::product_digits == 20);
static_assert(format<double>::digits == 68 && format<double>::min_exponent == -1074);
static_assert(format<double>::product_digits == 134);

}  // namespace wf::exact
