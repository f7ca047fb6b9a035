// SPDX-License-Identifier: Apache-2.0
/// \file sources.hpp
/// Where exact kernels get their numbers: one or more f64 vectors (`parts`) for each vector of
/// elements, every one of them exact.
#pragma once

#include "vector.hpp"

namespace wf::cpu::WF_TARGET {

inline constexpr int step = lanes<double>;  // elements a vector

template <class T>
WF_INLINE f64s load_f64(const void* p, std::int64_t i) {
  const auto* bytes = static_cast<const unsigned char*>(p) + i * static_cast<std::int64_t>(sizeof(T));
  if constexpr (sizeof(T) == 8) {
    return load<f64s>(bytes);
  } else {
    return widen(load<half_f32s>(bytes));
  }
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

/// x: the sum of the elements.
template <class T>
struct value_source {
  static constexpr int parts = 1;
  static constexpr bool pairs = false;
  using element = T;
  /// Each part is below 2^bound(p, measured bound).
  static WF_INLINE int bound(int, int measured) { return measured; }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void*, std::int64_t i, f64s* part, i64s&,
                           const Lanes& kept) {
    part[0] = keep(load_f64<T>(x, i), kept);
    return part[0];
  }
};

/// x² of f32 has 48 bits and fits an f64. Of f64 it is hi + lo; `lost` gets what underflowed whole.
template <class T>
struct square_source {
  static constexpr int parts = sizeof(T) == 8 ? 2 : 1;
  static constexpr bool pairs = false;
  using element = T;
  static WF_INLINE int bound(int p, int measured) { return 2 * measured - 53 * p; }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void*, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    const f64s v = keep(load_f64<T>(x, i), kept);
    if constexpr (parts == 2) {
      part[0] = two_product(v, v, part[1]);
      lost |= (i64s)(part[0] == 0.0) & (i64s)(v != 0.0);
    } else {
      part[0] = v * v;
    }
    return v;
  }
};

template <class T>
struct product_source {
  static constexpr int parts = sizeof(T) == 8 ? 2 : 1;
  static constexpr bool pairs = true;
  using element = T;
  static WF_INLINE int bound(int p, int measured) { return measured - 53 * p; }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void* y, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    const f64s a = keep(load_f64<T>(x, i), kept);
    const f64s b = keep(load_f64<T>(y, i), kept);
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
template <class T>
struct moment_source {
  static constexpr int parts = sizeof(T) == 8 ? 3 : 2;
  static constexpr bool pairs = false;
  using element = T;
  static WF_INLINE int bound(int p, int measured) {
    return p == 0 ? measured : 2 * measured - 53 * (p - 1);
  }
  template <class Lanes>
  static WF_INLINE f64s at(const void* x, const void* y, std::int64_t i, f64s* part, i64s& lost,
                           const Lanes& kept) {
    part[0] = keep(load_f64<T>(x, i), kept);
    return square_source<T>::at(x, y, i, part + 1, lost, kept);
  }
};

}  // namespace wf::cpu::WF_TARGET
