// SPDX-License-Identifier: Apache-2.0
/// \file sources.hpp
/// Where exact kernels get their numbers: one or more f64 vectors (`parts`) for each vector of
/// elements, every one of them exact.
#pragma once

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

inline constexpr int step = lanes<double>;  // elements per vector

template <class T>
WF_INLINE f64s load_f64(const void* p, std::int64_t i) {
  const auto* bytes = static_cast<const unsigned char*>(p) + i * static_cast<std::int64_t>(sizeof(T));
  if constexpr (sizeof(T) == 8) {
    return load<f64s>(bytes);
  } else {
    return widen(load<half_f32s>(bytes));
  }
}

inline constexpr std::int64_t binade = std::int64_t{1} << 52;  // a step of the exponent
inline constexpr std::int64_t mantissa_bits = binade - 1, sign_bit = INT64_MIN, exponent_bits = INT64_MAX & ~mantissa_bits;

/// Zeros and subnormals: they lack the leading one that every `scaled` below is given.
struct small_lanes {
#if defined(__AVX512DQ__)
  static constexpr int zero_or_subnormal = 0x02 | 0x04 | 0x20;
  __mmask8 which;

  explicit WF_INLINE small_lanes(f64s v) : which(_mm512_fpclass_pd_mask(v, zero_or_subnormal)) {}
  /// Their exponent is that of field 1, not 0.
  WF_INLINE i64s raise(i64s scaled) const {
    return (i64s)_mm512_mask_add_epi64((__m512i)scaled, which, (__m512i)scaled, _mm512_set1_epi64(binade));
  }
  WF_INLINE f64s less_one(i64s scaled) const {
    const i64s power = scaled & (sign_bit | exponent_bits);
    return _mm512_mask_sub_pd((__m512d)scaled, which, (__m512d)scaled, (__m512d)power);
  }
#else
  i64s which;

  explicit WF_INLINE small_lanes(f64s v) : which((i64s)(abs(v) < 0x1p-1022)) {}
  WF_INLINE i64s raise(i64s scaled) const { return scaled + (which & binade); }
  WF_INLINE f64s less_one(i64s scaled) const {
    return (f64s)scaled - (f64s)(scaled & which & (sign_bit | exponent_bits));
  }
#endif
};

/// v·2^lift, by its bits: an addition that takes or leaves a subnormal costs 40 others. Of |v| < 2^-511; infinities and
/// NaNs stay what they are, and all else may become anything.
inline constexpr int lift = 1024;
WF_INLINE f64s lifted(f64s v) {
  const small_lanes small(v);
  return small.less_one(small.raise((i64s)v | lift * binade));
}

/// v, with zeros in place of infinities and NaNs.
WF_INLINE f64s finite_lanes(f64s v) {
#if defined(__AVX512DQ__)
  constexpr int infinite_or_nan = 0x01 | 0x08 | 0x10 | 0x80;
  return _mm512_mask_mov_pd(v, _mm512_fpclass_pd_mask(v, infinite_or_nan), __m512d{});
#else
  return (f64s)((i64s)v & (i64s)(v - v == 0.0));
#endif
}

/// How a source takes its elements: lifted, and with infinities and NaNs as zeros.
struct taking {
  bool is_lifted = false, only_finite = false;
};

template <taking How, class T>
WF_INLINE f64s take_f64(const void* p, std::int64_t i) {
  const f64s v = load_f64<T>(p, i);
  return How.only_finite ? finite_lanes(v) : v;
}

/// Which lanes of a vector count.
struct every_lane {};
struct last_lanes {
  i64s mask;
  /// The last `count` of a vector, 0 < count <= step.
  explicit WF_INLINE last_lanes(std::int64_t count) {
    WF_UNROLL
    for (int j = 0; j < step; ++j) mask[j] = j;
    mask = (i64s)(mask >= step - count);
  }
};
WF_INLINE f64s keep(f64s x, every_lane) { return x; }
WF_INLINE f64s keep(f64s x, const last_lanes& l) { return (f64s)((i64s)x & l.mask); }

/// x: the sum of the elements. `lifted_below`: a bound from which on a lifted source is the faster one.
template <class T, taking How = taking{}>
struct value_source {
  static constexpr int parts = 1;
  static constexpr bool pairs = false;
  using element = T;
  using lifting = value_source<T, taking{true, How.only_finite}>;
  static constexpr int lifted_below = sizeof(T) == 8 && !How.is_lifted ? -900 : INT32_MIN;
  /// The exponent that is to be taken off part p.
  static WF_INLINE constexpr int raised(int) { return How.is_lifted ? lift : 0; }
  /// Each part is below 2^bound(p, measured bound).
  static WF_INLINE int bound(int p, int measured) { return measured + raised(p); }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void*, std::int64_t i, f64s* part, i64s&,
                           const Lanes& kept) {
    const f64s v = keep(take_f64<How, T>(x, i), kept);
    part[0] = How.is_lifted ? lifted(v) : v;
    return v;
  }
};

/// x² of f32 has 48 bits and fits an f64. Of f64 it is hi + lo; `lost` gets what underflowed whole.
template <class T, taking How = taking{}>
struct square_source {
  static constexpr int parts = sizeof(T) == 8 ? 2 : 1;
  static constexpr bool pairs = false;
  using element = T;
  using lifting = square_source<T, taking{true, How.only_finite}>;
  static constexpr int lifted_below = sizeof(T) == 8 && !How.is_lifted ? -519 : INT32_MIN;
  static WF_INLINE constexpr int raised(int) { return How.is_lifted ? 2 * lift : 0; }
  static WF_INLINE int bound(int p, int measured) { return 2 * measured + raised(p) - 53 * p; }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void*, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    const f64s v = keep(take_f64<How, T>(x, i), kept);
    add_parts(v, How.is_lifted ? lifted(v) : v, part, lost);
    return v;
  }
  static WF_INLINE void add_parts(f64s v, f64s factor, f64s* part, i64s& lost) {
    if constexpr (parts == 2) {
      part[0] = two_product(factor, factor, part[1]);
      if constexpr (!How.is_lifted) lost |= (i64s)(part[0] == 0.0) & (i64s)(v != 0.0);
    } else {
      part[0] = factor * factor;
    }
  }
};

template <class T, taking How = taking{}>
struct product_source {
  static constexpr int parts = sizeof(T) == 8 ? 2 : 1;
  static constexpr bool pairs = true;
  using element = T;
  using lifting = product_source;
  static constexpr int lifted_below = INT32_MIN;  // a small product may be one of a large number
  static WF_INLINE constexpr int raised(int) { return 0; }
  static WF_INLINE int bound(int p, int measured) { return measured - 53 * p; }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void* y, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    const f64s a = keep(take_f64<How, T>(x, i), kept);
    const f64s b = keep(take_f64<How, T>(y, i), kept);
    if constexpr (parts == 2) {
      part[0] = two_product(a, b, part[1]);
      lost |= (i64s)(part[0] == 0.0) & (i64s)(a != 0.0) & (i64s)(b != 0.0);
    } else {
      part[0] = a * b;
    }
    return part[0];
  }
};

/// x and x² in one pass: mean, variance.
template <class T, taking How = taking{}>
struct moment_source {
  using squares = square_source<T, How>;
  static constexpr int parts = sizeof(T) == 8 ? 3 : 2;
  static constexpr bool pairs = false;
  using element = T;
  using lifting = moment_source<T, taking{true, How.only_finite}>;
  static constexpr int lifted_below = squares::lifted_below;
  static WF_INLINE constexpr int raised(int p) { return How.is_lifted ? (p == 0 ? 1 : 2) * lift : 0; }
  static WF_INLINE int bound(int p, int measured) {
    return p == 0 ? measured + raised(0) : squares::bound(p - 1, measured);
  }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void*, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    const f64s v = keep(take_f64<How, T>(x, i), kept);
    part[0] = How.is_lifted ? lifted(v) : v;
    squares::add_parts(v, part[0], part + 1, lost);
    return v;
  }
};

}  // namespace wf::cpu::WF_TARGET
