// SPDX-License-Identifier: Apache-2.0
/// \file half_ops.hpp
/// Arithmetic of f16 and bf16 on their bits, as a GPU has it: subnormals kept, one rounding an
/// operation, every NaN that is made is 0x7FFF.
///
/// Instrumented kernels call the runtime's copy: the steps of the emulation are no part of the
/// kernel, and must show neither as basic blocks nor as accesses.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#if defined(__F16C__) && !defined(SIMT_LENS)
#define SIMT_HAS_F16C 1
#include <immintrin.h>
#endif

// Apart from one another, as one program may hold files compiled with and without these
// instructions.
#if defined(SIMT_HAS_F16C)
namespace simt::inline half_by_f16c {
#else
namespace simt::inline half_by_hand {
#endif

enum class rounding : std::uint8_t { nearest, zero, down, up };

struct f16_format {
  static constexpr int mantissa = 10, bias = 15;
};
struct bf16_format {
  static constexpr int mantissa = 7, bias = 127;
};

#if defined(SIMT_LENS)
#define SIMT_HALF_OP __attribute__((noinline)) static
#else
#define SIMT_HALF_OP static
#endif

template <class Format>
struct half_ops {
  using bits = std::uint16_t;
  static constexpr bits sign = 0x8000, nan = 0x7FFF;
  static constexpr bits infinity = static_cast<bits>((2 * Format::bias + 1) << Format::mantissa);
  static constexpr bits largest = infinity - 1;
  static constexpr bool is_f16 = Format::mantissa == 10;

  static constexpr bool is_nan(bits a) { return (a & 0x7FFF) > infinity; }

  SIMT_HALF_OP constexpr bits from_double(double value, rounding mode) {
    const auto u = std::bit_cast<std::uint64_t>(value);
    const bits s = static_cast<bits>(u >> 48 & sign);
    const std::uint64_t magnitude = u & ~(std::uint64_t{1} << 63);
    constexpr std::uint64_t double_infinity = std::uint64_t{0x7FF} << 52;
    if (magnitude > double_infinity) return nan;
    if (magnitude == double_infinity) return s | infinity;
    if (magnitude == 0) return s;
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    constexpr int smallest = 1 - Format::bias;
    // A subnormal double is below half of the smallest bf16, so its missing leading bit changes
    // nothing.
    const std::uint64_t significand =
        (magnitude & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    const int dropped = std::min(63, 52 - Format::mantissa + std::max(0, smallest - exponent));
    const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    std::uint64_t kept = significand >> dropped;
    switch (mode) {
      case rounding::nearest:
        kept += rest > half || (rest == half && kept % 2 != 0);
        break;
      case rounding::zero:
        break;
      case rounding::down:
        kept += rest != 0 && s != 0;
        break;
      case rounding::up:
        kept += rest != 0 && s == 0;
        break;
    }
    // A carry out of the significand is the next exponent's first value, which is what it should
    // be.
    std::uint64_t result = kept;
    if (exponent > smallest)
      result += static_cast<std::uint64_t>(exponent - smallest) << Format::mantissa;
    if (result < infinity) return static_cast<bits>(s | result);
    const bool away = mode == rounding::nearest || mode == (s != 0 ? rounding::down : rounding::up);
    return s | (away ? infinity : largest);
  }

  /// The conversion from double: the one that keeps of a NaN its sign and the first bits of its
  /// payload.
  SIMT_HALF_OP constexpr bits convert(double value) {
    if (value == value) return from_double(value, rounding::nearest);
    const auto u = std::bit_cast<std::uint64_t>(value);
    constexpr bits quiet = 1 << (Format::mantissa - 1);
    return static_cast<bits>((u >> 48 & sign) | infinity | quiet |
                             (u << 12 >> (64 - Format::mantissa)));
  }

  SIMT_HALF_OP constexpr bits from_float(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const bits s = static_cast<bits>(u >> 16 & sign);
    std::uint32_t magnitude = u & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return nan;
    if constexpr (is_f16) {
#if defined(SIMT_HAS_F16C)
      if (!std::is_constant_evaluated())
        return static_cast<bits>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), 0)));
#endif
      if (magnitude >= 0x47800000)
        return s | infinity;  // 65536; the carry below makes that of 65520 and more
      if (magnitude < 0x38800000) {
        // Below the normal numbers the units of 0.5f's last place are those of f16: the sum rounds.
        const float sum = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<bits>(
            s | (std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f)));
      }
      magnitude -= std::uint32_t{127 - 15} << 23;
      return static_cast<bits>(s | (magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13);
    } else {
      return static_cast<bits>(s | (magnitude + 0x7FFF + (magnitude >> 16 & 1)) >> 16);
    }
  }

  SIMT_HALF_OP constexpr float to_float(bits a) {
    if constexpr (is_f16) {
      if (is_nan(a)) return std::bit_cast<float>(0x7FFFFFFFu);
#if defined(SIMT_HAS_F16C)
      if (!std::is_constant_evaluated()) return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(a)));
#endif
      // The bits read as a float are 2^112 times too small, subnormals included; infinities are set
      // apart.
      const std::uint32_t moved = std::uint32_t{static_cast<bits>(a & 0x7FFF)} << 13;
      const float value = std::bit_cast<float>(moved) * 0x1p112f;
      const std::uint32_t u =
          (a & 0x7FFF) == infinity ? 0x7F800000 : std::bit_cast<std::uint32_t>(value);
      return std::bit_cast<float>(u | std::uint32_t{static_cast<bits>(a & sign)} << 16);
    } else {
      return std::bit_cast<float>(std::uint32_t{a} << 16);  // NaNs keep their bits, as on a GPU
    }
  }

  // One rounding: two f16 have an exact product in float, and sums and quotients that two roundings
  // do not harm, as float has 2p + 2 bits. bf16 has float's exponents, so the same is true of
  // double only.
  using wide = std::conditional_t<is_f16, float, double>;
  SIMT_HALF_OP constexpr bits add(bits a, bits b) {
    return narrow(wide{to_float(a)} + wide{to_float(b)});
  }
  SIMT_HALF_OP constexpr bits subtract(bits a, bits b) {
    return narrow(wide{to_float(a)} - wide{to_float(b)});
  }
  SIMT_HALF_OP constexpr bits multiply(bits a, bits b) {
    return narrow(wide{to_float(a)} * wide{to_float(b)});
  }
  SIMT_HALF_OP constexpr bits divide(bits a, bits b) {
    const double x = to_float(a), y = to_float(b);
    if (y == 0 && x == x) return x == 0 ? nan : static_cast<bits>(((a ^ b) & sign) | infinity);
    return from_double(x / y, rounding::nearest);
  }

  // The product is exact in double. The sum is rounded to odd there (Boldo and Melquiond), so that
  // the second rounding sees on which side of a tie the true sum is.
  SIMT_HALF_OP constexpr bits fused_multiply_add(bits a, bits b, bits c) {
    const double product = double{to_float(a)} * double{to_float(b)}, addend = to_float(c);
    double sum = product + addend;
    if (sum - sum == 0) {
      const double part = sum - product;
      const double error = (product - (sum - part)) + (addend - part);
      const auto u = std::bit_cast<std::uint64_t>(sum);
      if (error != 0 && u % 2 == 0)
        sum = std::bit_cast<double>((error > 0) == (sum > 0) ? u + 1 : u - 1);
    }
    return from_double(sum, rounding::nearest);
  }

  // A number wins over a NaN, and +0 over −0; the _nan forms let the NaN win.
  SIMT_HALF_OP constexpr bits maximum(bits a, bits b) {
    if (is_nan(a)) return is_nan(b) ? nan : b;
    return is_nan(b) || order(a) > order(b) ? a : b;
  }
  SIMT_HALF_OP constexpr bits minimum(bits a, bits b) {
    if (is_nan(a)) return is_nan(b) ? nan : b;
    return is_nan(b) || order(a) < order(b) ? a : b;
  }
  SIMT_HALF_OP constexpr bits maximum_nan(bits a, bits b) {
    return is_nan(a) || is_nan(b) ? nan : maximum(a, b);
  }
  SIMT_HALF_OP constexpr bits minimum_nan(bits a, bits b) {
    return is_nan(a) || is_nan(b) ? nan : minimum(a, b);
  }

  SIMT_HALF_OP constexpr bits clamp_to_one(bits a) {  // to [0, 1], NaN to 0
    if (is_nan(a) || (a & sign) != 0) return 0;
    constexpr bits one = static_cast<bits>(Format::bias << Format::mantissa);
    return a > one ? one : a;
  }

  SIMT_HALF_OP constexpr bits negated(bits a) {
    return is_nan(a) ? nan : static_cast<bits>(a ^ sign);
  }
  SIMT_HALF_OP constexpr bits absolute(bits a) {
    return is_nan(a) ? nan : static_cast<bits>(a & 0x7FFF);
  }

  SIMT_HALF_OP constexpr bool equal(bits a, bits b) { return to_float(a) == to_float(b); }
  SIMT_HALF_OP constexpr bool less(bits a, bits b) { return to_float(a) < to_float(b); }
  SIMT_HALF_OP constexpr bool less_equal(bits a, bits b) { return to_float(a) <= to_float(b); }
  SIMT_HALF_OP constexpr bool unordered(bits a, bits b) { return is_nan(a) || is_nan(b); }

  SIMT_HALF_OP constexpr bits from_unsigned(std::uint64_t value, rounding mode) {
    return from_scaled(value, mode, false);
  }
  SIMT_HALF_OP constexpr bits from_signed(std::int64_t value, rounding mode) {
    if (value >= 0) return from_scaled(static_cast<std::uint64_t>(value), mode, false);
    return from_scaled(-static_cast<std::uint64_t>(value), mode, true);
  }

  // Saturating, as the instructions are.
  SIMT_HALF_OP std::int64_t to_signed(bits a, rounding mode, std::int64_t low, std::int64_t high,
                                      std::int64_t of_nan) {
    if (is_nan(a)) return of_nan;
    const double value = rounded(a, mode);
    if (value >= static_cast<double>(high)) return high;
    return value <= static_cast<double>(low) ? low : static_cast<std::int64_t>(value);
  }
  SIMT_HALF_OP std::uint64_t to_unsigned(bits a, rounding mode, std::uint64_t high,
                                         std::uint64_t of_nan) {
    if (is_nan(a)) return of_nan;
    const double value = rounded(a, mode);
    if (value >= static_cast<double>(high)) return high;
    return value <= 0 ? 0 : static_cast<std::uint64_t>(value);
  }

 private:
  static constexpr bits narrow(wide value) {
    if constexpr (is_f16)
      return from_float(value);
    else
      return from_double(value, rounding::nearest);
  }
  static constexpr int order(bits a) { return (a & sign) != 0 ? -1 - (a & 0x7FFF) : a; }

  // Bits that double has no room for are brought down to one that says that they were there.
  static constexpr bits from_scaled(std::uint64_t value, rounding mode, bool negative) {
    double scale = 1;
    for (; value >> 53 != 0; scale *= 2) value = value >> 1 | (value & 1);
    return from_double((negative ? -scale : scale) * static_cast<double>(value), mode);
  }

  static double rounded(bits a, rounding mode) {
    const double value = to_float(a);
    switch (mode) {
      case rounding::zero:
        return std::trunc(value);
      case rounding::down:
        return std::floor(value);
      case rounding::up:
        return std::ceil(value);
      case rounding::nearest:
        break;
    }
    return std::nearbyint(value);
  }
};

#undef SIMT_HALF_OP

#if defined(SIMT_LENS)
extern template struct half_ops<f16_format>;
extern template struct half_ops<bf16_format>;
#endif

#undef SIMT_HAS_F16C

}  // namespace simt::inline
