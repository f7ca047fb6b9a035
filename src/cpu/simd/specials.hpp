// SPDX-License-Identifier: Apache-2.0
/// \file specials.hpp
/// How many NaNs and infinities of either sign there are: the sums leave them out.
#pragma once

#include "sources.hpp"

namespace wf::cpu::WF_TARGET {

/// Adds 1 to the lanes of `count` where `a == b`, or with Unordered where either is NaN.
#if defined(__AVX512F__)
template <bool Unordered>
WF_INLINE void tally(i64s& count, f64s a, f64s b) {
  const __mmask8 which = _mm512_cmp_pd_mask(a, b, Unordered ? _CMP_UNORD_Q : _CMP_EQ_OQ);
  count = (i64s)_mm512_mask_sub_epi64((__m512i)count, which, (__m512i)count, _mm512_set1_epi64(-1));
}
template <bool Unordered>
WF_INLINE void tally(i32s& count, f32s a, f32s b) {
  const __mmask16 which = _mm512_cmp_ps_mask(a, b, Unordered ? _CMP_UNORD_Q : _CMP_EQ_OQ);
  count = (i32s)_mm512_mask_sub_epi32((__m512i)count, which, (__m512i)count, _mm512_set1_epi32(-1));
}
#else
template <bool Unordered, class I, class F>
WF_INLINE void tally(I& count, F a, F b) {
  count -= Unordered ? (I)(a != a) | (I)(b != b) : (I)(a == b);
}
#endif

template <class T>
struct special_tally {
  using F = vec<T>;
  using I = std::conditional_t<sizeof(T) == 8, i64s, i32s>;
  static constexpr T infinity = __builtin_inf();
  I nan{}, pos_inf{}, neg_inf{};

  WF_INLINE void look_at(F v) {
    tally<true>(nan, v, v);
    tally<false>(pos_inf, v, all_lanes<F>(infinity));
    tally<false>(neg_inf, v, all_lanes<F>(-infinity));
  }
  /// Two finite numbers are taken as zeros: their product might overflow, or cost as much as 40 that are no subnormals.
  WF_INLINE void look_at(F v, F w) {
    const I special = ~((I)(v - v == 0) & (I)(w - w == 0));
    look_at((F)((I)v & special) * (F)((I)w & special));
  }
  WF_INLINE special_counts counts() const {
    special_counts c{};
    for (int j = 0; j < lanes<T>; ++j) {
      c.nan += nan[j];
      c.pos_inf += pos_inf[j];
      c.neg_inf += neg_inf[j];
    }
    return c;
  }
};

/// The special values of x, or of the products of x and y.
template <class T, bool Pairs>
special_counts specials(const void* from_x, const void* from_y, std::int64_t n) {
  using F = vec<T>;
  constexpr std::int64_t size = sizeof(T), width_of = lanes<T>;
  const auto* x = static_cast<const unsigned char*>(from_x);
  const auto* y = static_cast<const unsigned char*>(Pairs ? from_y : from_x);
  special_tally<T> seen;
  const auto look = [&](const void* px, const void* py) __attribute__((always_inline)) {
    if constexpr (Pairs) seen.look_at(load<F>(px), load<F>(py));
    else seen.look_at(load<F>(px));
  };
  std::int64_t i = 0;
  for (; i + width_of <= n; i += width_of) look(x + i * size, y + i * size);
  if (i < n) {
    alignas(64) T a[width_of] = {}, b[width_of] = {};
    __builtin_memcpy(a, x + i * size, static_cast<std::size_t>((n - i) * size));
    __builtin_memcpy(b, y + i * size, static_cast<std::size_t>((n - i) * size));
    look(a, b);
  }
  return seen.counts();
}

inline std::int64_t count_nans(const unsigned char* x, std::int64_t n) {  // f32
  i32s nan{};
  std::int64_t i = 0, all = 0;
  for (; i + lanes<float> <= n; i += lanes<float>) {
    const f32s v = load<f32s>(x + 4 * i);
    tally<true>(nan, v, v);
  }
  for (int j = 0; j < lanes<float>; ++j) all += nan[j];
  return all + specials<float, false>(x + 4 * i, nullptr, n - i).nan;
}

}  // namespace wf::cpu::WF_TARGET
