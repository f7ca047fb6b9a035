// SPDX-License-Identifier: Apache-2.0
/// \file error_terms.hpp
/// Additions with what they lose: by FMAs where units for multiplications would else be idle, with their own rounding where an instruction names it,
/// and in pairs.
#pragma once

#include <utility>

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

#if defined(__AVX512F__) || defined(__FMA__) || defined(__aarch64__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

WF_INLINE f64s multiply_add(f64s a, f64s b, f64s c) {  // a·b + c
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;  // products are doubles
#endif
}
#if !defined(__AVX512F__)
WF_INLINE f32s multiply_add(f32s a, f32s b, f32s c) {  // a·b + c, rounded once or twice
#if defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}
#endif
WF_INLINE f64s multiply_subtract(f64s a, f64s b, f64s c) {  // a·b - c
#if defined(__AVX512F__)
  return _mm512_fmsub_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmsub_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(-c, a, b);
#else
  return a * b - c;
#endif
}

/// a + b, where there is an FMA by that: some processors have units for additions and others for multiplications, and sums use only
/// one kind. `one` is 1, which the compiler must not know.
WF_INLINE f64s add_by_fma(f64s a, f64s b, f64s one) {
  if constexpr (has_fma) return multiply_add(a, one, b);
  else return a + b;
}
WF_INLINE f64s subtract_by_fma(f64s a, f64s b, f64s one) {
  if constexpr (has_fma) return multiply_subtract(a, one, b);
  else return a - b;
}
WF_INLINE f64s unknown_one() {
  f64s one = all_lanes<f64s>(1.0);
#if defined(__x86_64__)
  asm("" : "+v"(one));
#else
  asm("" : "+w"(one));
#endif
  return one;
}

#if defined(__AVX512F__)
WF_INLINE f64s add_down(f64s a, f64s b) { return _mm512_maskz_add_round_pd(0xff, a, b, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
WF_INLINE f64s add_up(f64s a, f64s b) { return _mm512_maskz_add_round_pd(0xff, a, b, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }

/// A sum rounded down beside one rounded up, whatever the processor's mode is: the true one lies between. `high` begins at -0, and stays there if
/// all terms are -0.
struct enclosed {
  f64s low = all_lanes<f64s>(-0.0), high = low;
  WF_INLINE void add(f64s v, f64s one) {
    low = add_down(low, v);
    high = _mm512_maskz_fmadd_round_pd(0xff, v, one, high, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);  // by an FMA, as in add_by_fma
  }
  /// Where conversions beside it already take the units for additions.
  WF_INLINE void add_by_fmas(f64s v, f64s one) {
    low = _mm512_maskz_fmadd_round_pd(0xff, v, one, low, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    high = _mm512_maskz_fmadd_round_pd(0xff, v, one, high, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  }
  WF_INLINE void add_square(f64s v) {
    low = _mm512_maskz_fmadd_round_pd(0xff, v, v, low, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    high = _mm512_maskz_fmadd_round_pd(0xff, v, v, high, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  }
  WF_INLINE void add(const enclosed& x) {
    low = add_down(low, x.low);
    high = add_up(high, x.high);
  }
};
#endif

/// Sums s + c in each lane, and what c lost.
template <int Bytes>
struct lane_pairs {
  using V = vec<double, Bytes>;
  using I = vec<std::int64_t, Bytes>;
  V s{}, c{}, lost{};

  static WF_INLINE V two_sum(V a, V b, V& error) {
    const V t = a + b, z = t - a;
    error = (a - (t - z)) + (b - z);
    return t;
  }
  WF_INLINE void add(V x) {
    V error;
    s = two_sum(s, x, error);
    add_rest(error);
  }
  WF_INLINE void add_rest(V x) {
    V error;
    c = two_sum(c, x, error);
    lost += (V)((I)error & INT64_MAX);
  }
  template <int... J>
  static WF_INLINE vec<double, Bytes / 2> half(V v, int upper, std::integer_sequence<int, J...>) {
    return upper != 0 ? __builtin_shufflevector(v, v, (J + lanes<double, Bytes> / 2)...) : __builtin_shufflevector(v, v, J...);
  }
  /// Even lanes together, and odd ones.
  WF_INLINE void give(double (&to_s)[2], double (&to_c)[2], double& to_lost) const {
    if constexpr (Bytes == 16) {
      for (int j = 0; j < 2; ++j) {
        to_s[j] = s[j];
        to_c[j] = c[j];
      }
      to_lost += lost[0] + lost[1];
    } else {
      constexpr std::make_integer_sequence<int, lanes<double, Bytes> / 2> numbers;
      lane_pairs<Bytes / 2> both{half(s, 0, numbers), half(c, 0, numbers), half(lost, 0, numbers) + half(lost, 1, numbers)};
      both.add(half(s, 1, numbers));
      both.add_rest(half(c, 1, numbers));
      both.give(to_s, to_c, to_lost);
    }
  }
};

}  // namespace wf::cpu::WF_TARGET
