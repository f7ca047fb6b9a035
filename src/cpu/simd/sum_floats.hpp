// SPDX-License-Identifier: Apache-2.0
/// \file sum_floats.hpp
/// Sums and means of whole columns of f32 that the last cache holds: one addition an element.
#pragma once

#include "sum_columns.hpp"

namespace wf::cpu::WF_TARGET {

/// Sums t of v·c in doubles, where c is a power of two: while |t| < 2 each addition loses at most 2^-53, whatever v is. The first bit of the exponent tells, which is set in all other numbers,
/// infinities and NaNs: one or of two sums collects it.
struct converted_sums {
  /// Two vectors of 32 bytes take a processor less time to convert than one of 64.
  static constexpr int bytes = width == 64 ? 32 : width, parts = 8 * bytes / 32, lanes_of_part = bytes / 8;
  static constexpr std::int64_t columns = parts * lanes_of_part;
  using doubles = vec<double, bytes>;
  using words = vec<std::int64_t, bytes>;
  using floats = vec<float, bytes / 2>;
  static constexpr std::int64_t large = std::int64_t{1} << 62;

  static WF_INLINE doubles widened(floats v) {
#if defined(__AVX2__)
    return _mm256_cvtps_pd(v);
#else
    return __builtin_convertvector(v, doubles);
#endif
  }
  static WF_INLINE doubles add_product(doubles a, doubles b, doubles c) {
#if defined(__AVX2__)
    return _mm256_fmadd_pd(a, b, c);
#else
    return multiply_add(a, b, c);
#endif
  }
  static WF_INLINE void collect(words& to, doubles a, doubles b) {
#if defined(__AVX512F__)
    to = (words)_mm256_ternarylogic_epi64((__m256i)to, (__m256i)a, (__m256i)b, 0xfe);
#else
    to |= (words)a | (words)b;
#endif
  }
  static WF_INLINE floats part_of(const unsigned char* row, int k) { return load<floats>(row + k * static_cast<int>(sizeof(floats))); }
  static WF_INLINE doubles chosen(words which, doubles a, doubles b) { return (doubles)(((words)a & which) | ((words)b & ~which)); }
  static WF_INLINE bool any(words v) {
    std::int64_t all = 0;
    WF_UNROLL
    for (int k = 0; k < lanes_of_part; ++k) all |= v[k];
    return all != 0;
  }

  /// c for a column of n elements of which `some` begin it: if none is greater than the greatest of these, |t| < 2.
  static WF_INLINE doubles scale(const unsigned char* x, std::int64_t stride, std::int64_t some, double n, int part) {
    doubles greatest{};
    for (std::int64_t k = 0; k < some; ++k) {
      const auto magnitude = (doubles)((words)widened(part_of(x + k * stride, part)) & INT64_MAX);
      greatest = chosen((words)(magnitude > greatest), magnitude, greatest);
    }
    // 2^-k of a number in [2^k, 2^(k + 1)); of an infinity nothing that serves.
    return (doubles)((words{} + (std::int64_t{2046} << 52)) - ((words)(greatest * n + 0x1p-400) & (std::int64_t{0x7ff} << 52)));
  }
};

/// The sums of whole columns of f32, or their means, rounded to nearest, where both ends of what was lost round alike. Few columns where they do not are added again as sum_columns does it;
/// false where more are so, or one of them is uncertain still. All rows are in the last cache, and asking for them takes longer than reading them.
template <bool Mean>
bool sum_float_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, float* out) {
  using f = converted_sums;
  using doubles = f::doubles;
  using words = f::words;
  constexpr std::int64_t at_once = 16, places = most_whole_columns + f::columns;
  alignas(64) double sums[places], scales[places];
  const auto n = static_cast<double>(rows);
  int again = 4;
  for (std::int64_t i = 0; i < rows; i += at_once) {
    const std::int64_t here = rows - i < at_once ? rows - i : at_once;
    for (std::int64_t j = 0; j < count; j += f::columns) {
      // The last columns may have some of those before them once more.
      const std::int64_t column = j + f::columns <= count ? j : count - f::columns;
      const auto* const at = static_cast<const unsigned char*>(x) + i * stride + column * static_cast<std::int64_t>(sizeof(float));
      doubles t[f::parts], c[f::parts];
      words left[f::parts / 2];
      WF_UNROLL
      for (int k = 0; k < f::parts; ++k) {
        if (i == 0) {
          c[k] = f::scale(at, stride, here, n, k);
          t[k] = doubles{};
        } else {
          c[k] = load<doubles>(scales + j + k * f::lanes_of_part);
          t[k] = load<doubles>(sums + j + k * f::lanes_of_part);
        }
        if (k % 2 == 0) left[k / 2] = words{};
      }
      for (std::int64_t row = 0; row < here; ++row) {
        WF_UNROLL
        for (int k = 0; k < f::parts; ++k) {
          t[k] = f::add_product(f::widened(f::part_of(at + row * stride, k)), c[k], t[k]);
#if defined(__x86_64__)
          asm("" : "+v"(t[k]));  // else GCC copies all sums in each turn
#endif
          if (k % 2 != 0) f::collect(left[k / 2], t[k - 1], t[k]);
        }
      }
      WF_UNROLL
      for (int k = 0; k < f::parts; ++k) {
        t[k] = (doubles)((words)t[k] | (words)((left[k / 2] & f::large) != 0));  // no number from here on
        if (i == 0) store(scales + j + k * f::lanes_of_part, c[k]);
        store(sums + j + k * f::lanes_of_part, t[k]);
      }
      if (i + here < rows) continue;
      words uncertain{};
      WF_UNROLL
      for (int k = 0; k < f::parts; ++k) {
        const doubles unit = 1 / c[k];
        doubles sum = t[k] * unit, by = unit * (0x1p-53 * 1.01 * (n + 8));  // what is rounded here is less than four additions lose
        if constexpr (Mean) {
          sum /= n;
          by /= n;
        }
        const f::floats low = __builtin_convertvector(sum - by, f::floats), high = __builtin_convertvector(sum + by, f::floats);
        const doubles answer = f::widened(high);
        uncertain |= ~((words)(f::widened(low) == answer) & (words)(answer != 0.0));  // a zero of which sign?
        store(out + column + k * f::lanes_of_part, high);
      }
      if (!f::any(uncertain)) [[likely]] continue;
      if (again-- == 0) return false;
      if (!sum_columns<float, Mean>(at - i * stride, stride, rows, f::columns, false, out + column)) return false;
    }
  }
  return true;
}

template <class T, bool Mean>
bool sum_whole_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool cached, void* out) {
  if constexpr (std::is_same_v<T, float> && has_fma)
    if (cached && rows >= 32 && count >= converted_sums::columns && sum_float_columns<Mean>(x, stride, rows, count, static_cast<float*>(out))) return true;
  return sum_columns<T, Mean>(x, stride, rows, count, cached, out);
}

}  // namespace wf::cpu::WF_TARGET
