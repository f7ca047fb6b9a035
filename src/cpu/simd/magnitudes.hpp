// SPDX-License-Identifier: Apache-2.0
/// \file magnitudes.hpp
/// The greatest magnitude of elements, and the least but for zeros.
#pragma once

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

/// The greatest magnitude, and the least but for zeros.
template <class T>
struct magnitudes {
  using F = vec<T>;
  using I = std::conditional_t<sizeof(T) == 8, i64s, i32s>;
  static constexpr int fraction = sizeof(T) == 8 ? 52 : 23, bias = sizeof(T) == 8 ? 1023 : 127;
  static constexpr int no_top = -4000, no_unit = 4000, infinite_top = sizeof(T) == 8 ? 1025 : 129;

  // One less than zero's bits is more than all others.
#if (defined(__AVX2__) && !defined(__AVX512F__)) || defined(__aarch64__)
  // Integers of 32 bits are compared: of doubles the upper halves decide. Each comparison waits for the one before; one of integers takes one cycle,
  // one of floats four on some processors.
  static constexpr bool whole = sizeof(T) == 4;
  i32s greatest{};
  u32s below_least = u32s{} - 1;

  WF_INLINE void look_at(F v) {
    const I m = (I)abs(v);
    const auto of_m = (i32s)m;
    const auto less = (u32s)(m - 1);
    greatest = of_m > greatest ? of_m : greatest;
    below_least = less < below_least ? less : below_least;
#if defined(__x86_64__)
    asm("" : "+x"(greatest), "+x"(below_least));  // else g++ looks at all elements of a group first, and has no registers for the sums then
#endif
  }
  WF_INLINE void look_at_greatest(F v) {
    const auto of_m = (i32s)abs(v);
    greatest = of_m > greatest ? of_m : greatest;
#if defined(__x86_64__)
    asm("" : "+x"(greatest));
#endif
  }
  /// Exponents as fields, of NaNs as of infinities; of the least double perhaps one less. False if all are zero.
  WF_INLINE bool exponents(int& high, int& low) const {
    std::int32_t most = 0;
    std::uint32_t least = ~std::uint32_t{0};
    WF_UNROLL
    for (int j = whole ? 0 : 1; j < lanes<std::int32_t>; j += whole ? 1 : 2) {
      most = greatest[j] > most ? greatest[j] : most;
      least = below_least[j] < least ? below_least[j] : least;
    }
    constexpr int in_half = whole ? 23 : 20;
    high = most >> in_half;
    low = static_cast<int>((least + (whole ? 1 : 0)) >> in_half);
    return least != ~std::uint32_t{0};
  }
#else
  F greatest{}, below_least = all_lanes<F>(static_cast<T>(__builtin_inf()));

  /// What is less than zero's bits is a NaN, which `min` leaves out, as both leave out NaNs.
  WF_INLINE void look_at(F v) {
    const F m = abs(v);
    greatest = max(m, greatest);
    below_least = min((F)((I)m - 1), below_least);
  }
  WF_INLINE void look_at_greatest(F v) { greatest = max(abs(v), greatest); }
  WF_INLINE bool exponents(int& high, int& low) const {
    using bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    T most = 0, least = static_cast<T>(__builtin_inf());
    WF_UNROLL
    for (int j = 0; j < lanes<T>; ++j) {
      most = greatest[j] > most ? greatest[j] : most;
      least = below_least[j] < least ? below_least[j] : least;
    }
    high = static_cast<int>(__builtin_bit_cast(bits, most) >> fraction);
    low = static_cast<int>((__builtin_bit_cast(bits, least) + 1) >> fraction);
    return most != 0;
  }
#endif
  /// After look_at_greatest(): the least may be anything.
  WF_INLINE void forget_least() { below_least = decltype(below_least){}; }
  /// Magnitudes are below 2^top and multiples of 2^unit. Infinities have the greatest top; NaNs have that, too, or are not seen.
  WF_INLINE void range(int& top, int& unit) const {
    int high = 0, low = 0;
    if (!exponents(high, low)) {
      top = no_top;
      unit = no_unit;
      return;
    }
    top = (high > 1 ? high : 1) - bias + 1;
    unit = (low > 1 ? low : 1) - bias - fraction;
  }
};

}  // namespace wf::cpu::WF_TARGET
