// SPDX-License-Identifier: Apache-2.0
/// \file rational.hpp
/// Quotients and square roots of exact sums, rounded once: big integers of fixed size, no heap.
///
/// Why truncated leading bits suffice: floor(floor(x)/n) = floor(x/n), and floor(sqrt(floor(x))) =
/// floor(sqrt(x)). So a window of 256 bits keeps the leading bits of the true value through two
/// divisions by 64-bit numbers, which leave 129, and a root, which leaves 64. `sticky` says whether
/// there is more behind them.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/arithmetic.hpp>
#include <warpfold/detail/exact/digits.hpp>
#include <warpfold/detail/exact/round.hpp>

namespace wf::exact {

/// An unsigned integer of `Limbs` times 32 bits, the least limb first.
template <int Limbs>
struct natural {
  std::uint32_t limb[Limbs];

  WF_HD int used() const {
    int n = Limbs;
    while (n > 0 && limb[n - 1] == 0) --n;
    return n;
  }

  /// The absolute value of canonical digits.
  template <int MinExponent>
  static WF_HD natural magnitude(const digits<Limbs, MinExponent>& x) {
    natural r;
    const std::uint32_t flip = x.is_negative() ? 0xffffffffu : 0u;
    std::uint64_t carry = flip & 1u;
    for (int k = 0; k < Limbs; ++k) {
      carry += x.word(k) ^ flip;
      r.limb[k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return r;
  }

  WF_HD natural<Limbs + 2> times(std::uint64_t n) const {
    natural<Limbs + 2> r;
    u128 carry = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = 0; k < Limbs + 2; ++k) {
      if (k < Limbs) carry += u128{limb[k]} * n;
      r.limb[k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return r;
  }

  WF_HD natural<2 * Limbs> squared() const {
    natural<2 * Limbs> r;
    for (int k = 0; k < 2 * Limbs; ++k) r.limb[k] = 0;
    const int n = used();
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int i = 0; i < n; ++i) {
      if (limb[i] == 0) continue;
      std::uint64_t carry = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int j = 0; j < n; ++j) {
        carry += std::uint64_t{limb[i]} * limb[j] + r.limb[i + j];
        r.limb[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
      r.limb[i + n] = static_cast<std::uint32_t>(carry);
    }
    return r;
  }

  /// this + other, which must fit.
  WF_HD natural plus(const natural& other) const {
    natural r;
    std::uint64_t carry = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = 0; k < Limbs; ++k) {
      carry += std::uint64_t{limb[k]} + other.limb[k];
      r.limb[k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return r;
  }

  /// this - other, which must not be greater.
  WF_HD natural minus(const natural& other) const {
    natural r;
    std::int64_t borrow = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = 0; k < Limbs; ++k) {
      borrow += static_cast<std::int64_t>(limb[k]) - static_cast<std::int64_t>(other.limb[k]);
      r.limb[k] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    return r;
  }
};

/// The leading 256 bits of a positive number: (w + t)·2^exponent, t as in `scaled`; words least
/// first. The top bit is set until it is divided; zero is all zeros.
struct window {
  std::uint64_t w[4];
  int exponent;
  bool sticky;

  template <int Limbs>
  static WF_HD window of(const natural<Limbs>& x, int unit_exponent) {
    const int n = x.used();
    if (n == 0) return {{0, 0, 0, 0}, 0, false};
    const int lead = leading_zeros(x.limb[n - 1]) - 32;
    // Nine limbs, 288 bits, shifted left by `lead`; the lowest of them is mostly sticky.
    std::uint64_t part[9];
    for (int k = 0; k < 9; ++k) part[k] = n - 9 + k >= 0 ? x.limb[n - 9 + k] : 0;
    window r;
    for (int k = 0; k < 4; ++k) {
      const std::uint64_t three = part[2 * k + 2] << 32 | part[2 * k + 1];
      r.w[k] = lead == 0 ? three : three << lead | part[2 * k] >> (32 - lead);
    }
    r.exponent = unit_exponent + 32 * (n - 8) - lead;
    r.sticky = static_cast<std::uint32_t>(part[0] << lead) != 0;
    for (int k = n - 10; k >= 0 && !r.sticky; --k) r.sticky = x.limb[k] != 0;
    return r;
  }

  /// In place. The words go round, so that kernels have the code of a step once.
  WF_HD void divide(const divisor& by) {
    std::uint64_t rest = w[3] >> 1 >> (63 - by.shift);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = 3; k >= 0; --k) {
      const std::uint64_t q = by.divide(rest, shifted_up(w[3], k > 0 ? w[2] : 0, by.shift));
      w[3] = w[2];
      w[2] = w[1];
      w[1] = w[0];
      w[0] = q;
    }
    sticky = sticky || rest != 0;
  }

  /// The leading 128 bits. At least 128 must be there.
  struct half {
    std::uint64_t high, low;
    int exponent;
    bool sticky;
  };
  WF_HD half leading_half() const {
    std::uint64_t a = w[3], b = w[2], c = w[1], d = w[0];
    int e = exponent + 128;
    for (int k = 0; k < 2 && a == 0; ++k) {
      a = b;
      b = c;
      c = d;
      d = 0;
      e -= 64;
    }
    const int lead = leading_zeros(a);
    return {shifted_up(a, b, lead), shifted_up(b, c, lead), e - lead, sticky || (c << lead | d) != 0};
  }
};

/// The number in the window as a scaled number, or its square root as one.
WF_HD scaled leading_bits(const window& x, bool negative) {
  if ((x.w[0] | x.w[1] | x.w[2] | x.w[3]) == 0) return {0, 0, false, negative};
  const auto h = x.leading_half();
  return {h.high, h.exponent + 64, h.sticky || h.low != 0, negative};
}
WF_HD scaled root(const window& x) {
  if ((x.w[0] | x.w[1] | x.w[2] | x.w[3]) == 0) return {0, 0, false, false};
  const auto h = x.leading_half();
  const int odd = h.exponent & 1;
  const u128 w = (u128{h.high} << 64 | h.low) >> odd;
  const std::uint64_t s = integer_root(w);
  return {s, (h.exponent + odd) / 2, h.sticky || (static_cast<std::uint64_t>(odd) & h.low) != 0 || u128{s} * s != w, false};
}

/// Canonical digits divided by n > 0, leading bits.
template <int Count, int MinExponent>
WF_HD scaled quotient(const digits<Count, MinExponent>& x, std::uint64_t n) {
  window w = window::of(natural<Count>::magnitude(x), MinExponent);
  w.divide(divisor::of(n));
  return leading_bits(w, x.is_negative());
}

}  // namespace wf::exact
