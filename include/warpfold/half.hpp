// SPDX-License-Identifier: Apache-2.0
/// \file half.hpp
/// f16 (IEEE binary16) and bf16 (the upper half of binary32): storage types of 16 bits for hosts
/// and GPUs, laid out as CUDA's __half and __nv_bfloat16. No arithmetic: convert, compute, store.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>

namespace wf {

namespace exact {

/// A float of the given format, for which there is no arithmetic. Conversions to float and double are exact; those from them
/// round once, ties to even (a double never passes through a float). NaNs become the quiet NaN.
template <class Format>
struct half_float {
  typename Format::bits bits;  ///< sign, exponent and significand

  half_float() = default;
  /// The nearest such number, ties to even.
  WF_HD explicit half_float(float x) noexcept
      : bits{convert<Format, ieee_f32>(__builtin_bit_cast(std::uint32_t, x))} {}
  /// The nearest such number, ties to even: rounded once.
  WF_HD explicit half_float(double x) noexcept
      : bits{convert<Format, ieee_f64>(__builtin_bit_cast(std::uint64_t, x))} {}
  /// The number with these bits.
  static WF_HD half_float from_bits(typename Format::bits b) noexcept {
    half_float x;
    x.bits = b;
    return x;
  }
  /// The same number, exactly.
  WF_HD explicit operator float() const noexcept {
    return __builtin_bit_cast(float, convert<ieee_f32, Format>(bits));
  }
  /// The same number, exactly.
  WF_HD explicit operator double() const noexcept {
    return __builtin_bit_cast(double, convert<ieee_f64, Format>(bits));
  }
};

}  // namespace exact

/// IEEE binary16: 11 bits of significand, up to 65504. CUDA's __half.
using f16 = exact::half_float<exact::ieee_f16>;
/// The upper half of binary32: 8 bits of significand, the range of float. CUDA's __nv_bfloat16.
using bf16 = exact::half_float<exact::ieee_bf16>;

static_assert(sizeof(f16) == 2 && std::is_trivially_copyable_v<f16>);

}  // namespace wf
