// SPDX-License-Identifier: Apache-2.0
/// \file extreme_columns.hpp
/// The least and greatest keys: of columns, and of rows without gaps; and the elements of these.
#pragma once

#include "keys.hpp"
#include "walk_columns.hpp"

namespace wf::cpu::WF_TARGET {

/// The least and greatest keys of columns; `begin`: there are none yet; `cached` as in sum_columns.
template <class L>
void extreme_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, bool cached, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  auto *const low_keys = static_cast<T*>(least), *const high_keys = static_cast<T*>(greatest);
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const bool first = begin && i == 0;
    for_columns<V, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, rows - i < rows_at_once ? rows - i : rows_at_once, count,
                      [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      V low = first ? key_of<L>(read(0)) : load<V>(low_keys + j), high = first ? low : load<V>(high_keys + j);
      for (std::int64_t k = 0; k < here; ++k) {
        const V key = key_of<L>(read(k));
        low = key < low ? key : low;
        high = key > high ? key : high;
      }
      store(low_keys + j, low);
      store(high_keys + j, high);
    }, cached);
  }
}

/// The least and greatest keys of rows of n > 0 elements without gaps, a row `stride` bytes after the one before.
template <class L>
void extreme_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  constexpr std::int64_t size = sizeof(T), per = lanes<T>;
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    V low[2], high[2];
    const auto look = [&](const unsigned char* p, int k) __attribute__((always_inline)) {
      prefetch(p);
      const V key = key_of<L>(load<V>(p));
      low[k] = lesser_of(key, low[k]);
      high[k] = greater_of(key, high[k]);
    };
    if (n < per) {
      T first;
      __builtin_memcpy(&first, row, sizeof first);
      V v = all_lanes<V>(first);
      __builtin_memcpy(&v, row, static_cast<std::size_t>(n * size));
      low[0] = high[0] = key_of<L>(v);
    } else {
      // The last vectors may have some elements twice.
      low[0] = high[0] = key_of<L>(load<V>(row));
      low[1] = high[1] = key_of<L>(load<V>(row + (n - per) * size));
      std::int64_t j = per;
      for (; j + 2 * per <= n; j += 2 * per) {
        look(row + j * size, 0);
        look(row + (j + per) * size, 1);
      }
      if (j + per <= n) look(row + j * size, 0);
      low[0] = lesser_of(low[0], low[1]);
      high[0] = greater_of(high[0], high[1]);
    }
    static_cast<T*>(least)[i] = of_all_lanes<T, width>(low[0], lesser_of);
    static_cast<T*>(greatest)[i] = of_all_lanes<T, width>(high[0], greater_of);
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

}  // namespace wf::cpu::WF_TARGET
