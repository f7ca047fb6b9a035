// SPDX-License-Identifier: Apache-2.0
/// \file arithmetic.hpp
/// Quotients and roots of 128 bits: doubles guess, integers make the guess exact. A GPU's compiler divides
/// 128 bits in hundreds of steps, one after the other; this way it is a few multiplications.
///
/// A guess may have a relative error of 2^-40, so neither the rounding mode nor the last bits of a reciprocal
/// matter. It is lowered by more than that, so that the remainder is not negative; a second guess, from the remainder,
/// is too small by 2^-29 at most, which gives the integer asked for or the one below.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/ieee.hpp>

namespace wf::exact {

WF_HD std::uint64_t upper_word(u128 x) { return static_cast<std::uint64_t>(x >> 64); }

/// The upper 64 of 128 bits after a shift to the left by 0 to 63.
WF_HD std::uint64_t shifted_up(std::uint64_t upper, std::uint64_t lower, int shift) {
  return upper << shift | lower >> 1 >> (63 - shift);
}

/// floor((2^128 - 1)/d) - 2^64 of d >= 2^63; the guess is of 1/d.
WF_HD std::uint64_t inverse_from(double guess, std::uint64_t d) {
  const std::uint64_t below = static_cast<std::uint64_t>(guess * 0x1p126) - (1 << 24);
  const u128 left = (u128{1} << 126) - u128{below} * d;  // below 2^89
  const std::uint64_t more = upper_word((left >> 26) * (below << 1)) >> 35;  // 4·left/d, below 2^27
  const std::uint64_t inverse = (below << 2) + more;
  const u128 rest = (u128{~d} << 64 | ~std::uint64_t{0}) - u128{inverse} * d;
  return inverse + static_cast<std::uint64_t>(rest >= d);
}

/// floor(sqrt(x)) of x >= 2^126; the guess is of 1/sqrt(x·2^-64).
WF_HD std::uint64_t root_from(double guess, u128 x) {
  const double high = static_cast<double>(upper_word(x));
  const std::uint64_t below = (static_cast<std::uint64_t>(high * guess * 0x1p31) - (1 << 24)) << 1;
  const std::uint64_t inverse = static_cast<std::uint64_t>(guess * 0x1p94) - (std::uint64_t{1} << 33);
  const u128 left = x - u128{below} * below;  // below 2^91
  const std::uint64_t root = below + (upper_word((left >> 28) * inverse) >> 35);  // left/(2·root) more, below 2^26
  return root + static_cast<std::uint64_t>(x - u128{root} * root > u128{root} * 2);
}

/// A divisor with its inverse: N. Möller and T. Granlund, "Improved division by invariant integers", 2011.
struct divisor {
  std::uint64_t d;        ///< n·2^shift, with bit 63 set
  std::uint64_t inverse;  ///< floor((2^128 - 1)/d) - 2^64
  int shift;

  static WF_HD divisor of(std::uint64_t n) {  // n > 0
    const int shift = leading_zeros(n);
    const std::uint64_t d = n << shift;
#if defined(__CUDA_ARCH__)
    const double x = static_cast<double>(d), r = __fdividef(1.0f, static_cast<float>(x));
    return {d, inverse_from(fma(r, fma(-x, r, 1.0), r), d), shift};
#else  // one instruction of most processors
    return {d, static_cast<std::uint64_t>((u128{~d} << 64 | ~std::uint64_t{0}) / d), shift};
#endif
  }

  /// floor((rest·2^64 + low)/d); the remainder goes to `rest`, which must be below d before.
  WF_HD std::uint64_t divide(std::uint64_t& rest, std::uint64_t low) const {
    const u128 guess = u128{inverse} * rest + (u128{rest} << 64 | low);
    std::uint64_t q = upper_word(guess) + 1;
    std::uint64_t r = low - q * d;
    if (r > static_cast<std::uint64_t>(guess)) {
      --q;
      r += d;
    }
    if (r >= d) {
      ++q;
      r -= d;
    }
    rest = r;
    return q;
  }
};

/// floor(sqrt(x)) of x >= 2^126, so with bit 63 set.
WF_HD std::uint64_t integer_root(u128 x) {
  const double high = static_cast<double>(upper_word(x));
#if defined(__CUDA_ARCH__)
  const double r = rsqrtf(static_cast<float>(high));
  return root_from(fma(0.5 * r, fma(-high * r, r, 1.0), r), x);
#else
  return root_from(1 / __builtin_sqrt(high), x);
#endif
}

}  // namespace wf::exact
