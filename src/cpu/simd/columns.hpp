// SPDX-License-Identifier: Apache-2.0
/// \file columns.hpp
/// Answers side by side in memory, whose elements lie a row apart: rows are added to columns, a vector of columns at a time. Arrays of
/// what columns have so far have room for whole cache lines; answers have none.
#pragma once

#include "certify.hpp"
#include "keys.hpp"

namespace wf::cpu::WF_TARGET {

/// Rows that are read beside each other: each is a stream that the processor reads ahead.
inline constexpr std::int64_t rows_at_once = 16;

/// f(j, rows, read) for each vector of V's lanes of columns, from column j on, and up to rows_at_once rows: read(k) is row k's.
template <class V, class T, class F>
WF_INLINE void for_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, F f) {
  constexpr std::int64_t size = sizeof(T), per = static_cast<std::int64_t>(sizeof(V)) / size, ahead = 1024;
  const auto* const from = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t here = rows - i < rows_at_once ? rows - i : rows_at_once;
    const unsigned char* at = from + i * stride;
    std::int64_t j = 0;
    for (; j + per <= count; j += per, at += per * size)
      f(j, here, [&](std::int64_t k) __attribute__((always_inline)) {
        prefetch(at + k * stride, ahead);
        return load<V>(at + k * stride);
      });
    if (j < count) {
      const auto left = static_cast<std::size_t>((count - j) * size);
      f(j, here, [&](std::int64_t k) __attribute__((always_inline)) {
        V v{};
        __builtin_memcpy(&v, at + k * stride, left);
        return v;
      });
    }
  }
}

/// Rows of `count` columns, a row `stride` bytes after the one before: to each column's s and c their sum and the errors of its additions, to `lost`
/// the magnitudes of what c loses. So s + c is the sum where that is 0, and off by what it says, but for its own rounding. Of f32 c is left as it is, and
/// `lost` has the errors of s: mostly there are none. T. Ogita, S. Rump, S. Oishi, Accurate Sum and Dot Product (SISC 2005), Sum3.
template <class T, bool Absolute>
void certify_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  using V = vec<T, width / 8 * static_cast<int>(sizeof(T))>;
  const f64s one = unknown_one();
  // Every second addition by an FMA, as in certify.hpp.
  const auto two_sum = [one](f64s& a, f64s b) __attribute__((always_inline)) {
    const f64s t = a + b, z = subtract_by_fma(t, a, one), error = add_by_fma(a - (t - z), subtract_by_fma(b, z, one), one);
    a = t;
    return error;
  };
  for_columns<V, T>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    f64s sum = load<f64s>(s + j), rest = load<f64s>(c + j), away = load<f64s>(lost + j);
    for (std::int64_t k = 0; k < here; ++k) {
      f64s v;
      if constexpr (sizeof(T) == 8) v = read(k);
      else v = widen(read(k));
      if constexpr (Absolute) v = abs(v);
      f64s error = two_sum(sum, v);
      if constexpr (sizeof(T) == 8) error = two_sum(rest, error);
      away += abs(error);
    }
    store(s + j, sum);
    store(c + j, rest);
    store(lost + j, away);
  });
}

/// The sums of such columns, or those divided by n < 2^53, rounded to nearest, as detail/exact/certified.hpp does one by one; `certain`
/// is 1 where all that is within what was lost rounds alike, and 0 where the answer is not told.
template <class T, bool Mean>
void round_columns(const double* s, const double* c, const double* lost, double n, std::int64_t count, void* out, unsigned char* certain) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr auto where = [](i64s which, f64s a, f64s b) __attribute__((always_inline)) {
    return (f64s)(((i64s)a & which) | ((i64s)b & ~which));
  };
  const f64s divisor = all_lanes<f64s>(n);
  // a - q·divisor, exactly: a remainder is a double.
  const auto remainder = [&](f64s a, f64s q) __attribute__((always_inline)) {
    if constexpr (has_fma) {
      return multiply_subtract(-q, divisor, -a);
    } else {
      f64s low;
      const f64s p = two_product(q, divisor, low);
      return (a - p) - low;
    }
  };
  for (std::int64_t j = 0; j < count; j += step) {
    f64s h = load<f64s>(s + j), l = load<f64s>(c + j), off = load<f64s>(lost + j);
    i64s exact = (i64s)(off == 0.0), sure = ~i64s{};  // not of NaNs
    off *= 1.01;
    if constexpr (Mean) {
      f64s low;
      const f64s sum = lane_pairs<width>::two_sum(h, l, low);
      const i64s is_zero = (i64s)(sum == 0.0) & exact;
      sure = is_zero | ((i64s)(abs(sum) >= 0x1p-900) & (i64s)(abs(sum) <= 0x1p900));
      const f64s q = where((i64s)(l == 0.0), h, sum) / divisor;
      f64s rest_off;
      const f64s rest = lane_pairs<width>::two_sum(remainder(sum, q), low, rest_off), more = rest / divisor;
      exact &= (i64s)(rest_off == 0.0) & (i64s)(remainder(rest, more) == 0.0);
      off = off / divisor + abs(q) * 0x1p-102;
      h = lane_pairs<width>::two_sum(q, more, l);
      h = where(is_zero, q, h);
    }
    // The sums below are rounded: off grows by more than that, but where there is one rounding, of an exact sum.
    half_f32s narrow{};
    f64s high, lower;
    if constexpr (wide) {
      off = (f64s)((i64s)(off * 1.01 + abs(l) * 0x1p-50) & ~exact);
      high = h + (l + off);
      lower = h + (l - off);
      high = where((i64s)(l == 0.0) & exact, h, high);  // -0, too
      lower = where((i64s)(l == 0.0) & exact, h, lower);
    } else {
      exact &= (i64s)(l == 0.0);
      off = off * 1.01 + (abs(l) * 0x1p-50 + abs(h) * 0x1p-51);
      narrow = __builtin_convertvector(where(exact, h, h + (l + off)), half_f32s);
      high = widen(narrow);
      lower = widen(__builtin_convertvector(where(exact, h, h + (l - off)), half_f32s));
    }
    sure &= (i64s)(high == lower) & (exact | (i64s)(high != 0.0));
    const std::int64_t here = count - j < step ? count - j : step;
    auto* const to = static_cast<unsigned char*>(out) + j * static_cast<std::int64_t>(sizeof(T));
    const auto give = [&](auto answers) __attribute__((always_inline)) {
      if (here == step) store(to, answers);
      else __builtin_memcpy(to, &answers, static_cast<std::size_t>(here) * sizeof(T));
    };
    if constexpr (wide) give(high);
    else give(narrow);
    if (here == step && !any_lane(~sure)) {
      __builtin_memset(certain + j, 1, step);
    } else {
      for (std::int64_t k = 0; k < here; ++k) certain[j + k] = sure[k] != 0;
    }
  }
}

/// The least and greatest keys of columns; `begin`: there are none yet.
template <class L>
void extreme_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  auto *const low_keys = static_cast<T*>(least), *const high_keys = static_cast<T*>(greatest);
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const bool first = begin && i == 0;
    for_columns<V, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i < rows_at_once ? rows - i : rows_at_once, count,
                      [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      V low = first ? key_of<L>(read(0)) : load<V>(low_keys + j), high = first ? low : load<V>(high_keys + j);
      for (std::int64_t k = 0; k < here; ++k) {
        const V key = key_of<L>(read(k));
        low = key < low ? key : low;
        high = key > high ? key : high;
      }
      store(low_keys + j, low);
      store(high_keys + j, high);
    });
  }
}

/// The elements of keys; NaNs, whose keys lie beyond those of the infinities, are `nan`, and so where the other extreme is one.
template <class L>
void elements_of_keys(const void* keys, const void* others, std::int64_t count, std::int64_t nan, void* out) {
  using T = typename L::element;
  using V = vec<T>;
  for (std::int64_t j = 0; j < count; j += lanes<T>) {
    V bits = load<V>(static_cast<const T*>(keys) + j);
    if constexpr (L::floating) {
      const V other = load<V>(static_cast<const T*>(others) + j);
      const V is_nan = (V)(bits > L::infinity) | (V)(bits < static_cast<T>(~L::infinity)) | (V)(other > L::infinity) | (V)(other < static_cast<T>(~L::infinity));
      bits = (key_of<L>(bits) & ~is_nan) | (all_lanes<V>(static_cast<T>(nan)) & is_nan);
    }
    T* const to = static_cast<T*>(out) + j;
    if (count - j >= lanes<T>) store(to, bits);
    else __builtin_memcpy(to, &bits, static_cast<std::size_t>(count - j) * sizeof(T));
  }
}

/// Sums mod 2^64, of up to rows_at_once elements in lanes twice as wide, and then in 64 bits.
template <class T>
void integer_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, std::uint64_t* sums) {
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  using wider = std::conditional_t<sizeof(T) == 1, std::conditional_t<is_signed, std::int16_t, std::uint16_t>,
                std::conditional_t<sizeof(T) == 2, std::conditional_t<is_signed, std::int32_t, std::uint32_t>,
                                   std::conditional_t<is_signed && sizeof(T) < 8, std::int64_t, std::uint64_t>>>;
  using W = vec<wider>;
  constexpr int bytes = width / static_cast<int>(sizeof(wider) / sizeof(T)), per = lanes<wider>;
  for_columns<vec<T, bytes>, T>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    W sum{};
    for (std::int64_t k = 0; k < here; ++k) sum += __builtin_convertvector(read(k), W);
    alignas(64) wider parts[per];
    store(parts, sum);
    WF_UNROLL
    for (int p = 0; p < per; p += step)
      store(sums + j + p, load<u64s>(sums + j + p) + __builtin_convertvector((load<vec<wider, step * static_cast<int>(sizeof(wider))>>(parts + p)), u64s));
  });
}

}  // namespace wf::cpu::WF_TARGET
