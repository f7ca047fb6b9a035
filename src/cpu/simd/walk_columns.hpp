// SPDX-License-Identifier: Apache-2.0
/// \file walk_columns.hpp
/// Answers side by side in memory, whose elements lie a row apart: walks rows, a vector of columns at a time. Arrays of
/// what columns have so far have room for whole cache lines; answers have none.
#pragma once

#include "sources.hpp"

namespace wf::cpu::WF_TARGET {

/// Rows that are read beside each other: each is a stream that the processor reads ahead.
inline constexpr std::int64_t rows_at_once = width == 64 ? 16 : 8, most_at_once = 16;  // the latter of no more rows than that

/// f(j, rows, read) for each vector of V's lanes of columns, from column j on: read(k) is row k's, of the first `here` <= rows_at_once of some rows.
/// Nothing is asked for that is `cached`.
template <class V, class T, class F>
WF_INLINE void for_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t here, std::int64_t count, F f, bool cached = false) {
  constexpr std::int64_t size = sizeof(T), per = static_cast<std::int64_t>(sizeof(V)) / size;
  // The next rows, which are more than L1 holds until they are used; behind the last ones those of the next plane, where rows are hardly wider than
  // this, or the next columns.
  const bool next_rows = here < rows || 2 * count * size > stride;
  const auto ask = [&](const unsigned char* p) __attribute__((always_inline)) {
    if (cached) return;
    if (next_rows) prefetch_beyond_l1(p, here * stride);
    else prefetch(p, 1024);
  };
  const auto* at = static_cast<const unsigned char*>(x);
  std::int64_t j = 0;
  for (; j + per <= count; j += per, at += per * size)
    f(j, here, [&](std::int64_t k) __attribute__((always_inline)) {
      ask(at + k * stride);
      return load<V>(at + k * stride);
    });
  if (j < count) {
    const int left = static_cast<int>((count - j) * size);
    const bool before = count >= per || count * size >= 8;
    f(j, here, [&](std::int64_t k) __attribute__((always_inline)) { return load_first<V>(at + k * stride, left, before); });
  }
}
/// The same for all rows.
template <class V, class T, class F>
WF_INLINE void for_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, F f) {
  for (std::int64_t i = 0; i < rows; i += rows_at_once)
    for_columns<V, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, rows - i < rows_at_once ? rows - i : rows_at_once, count, f);
}

/// As many elements as a vector has doubles, and these as doubles: integers of up to 16 bits too.
template <class T>
using few = vec<T, step * static_cast<int>(sizeof(T))>;
template <class T>
WF_INLINE f64s as_doubles(few<T> v) {
  if constexpr (std::is_same_v<T, double>) return v;
  else if constexpr (std::is_same_v<T, float>) return widen(v);
  else return widen(__builtin_convertvector(v, few<std::int32_t>));  // integers of up to 16 bits
}

}  // namespace wf::cpu::WF_TARGET
