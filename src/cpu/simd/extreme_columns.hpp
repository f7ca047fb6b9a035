// SPDX-License-Identifier: Apache-2.0
/// \file extreme_columns.hpp
/// The least and greatest keys: of columns, and of rows without gaps; and the elements of these.
#pragma once

#include "certify_rows.hpp"
#include "keys.hpp"
#include "walk_columns.hpp"

namespace wf::cpu::WF_TARGET {

#if !defined(__AVX512F__)
/// Vectors of columns that are looked at beside each other.
inline constexpr int extremes_beside = 4;

/// The keys of some rows to those of so many vectors of columns; `first`: there are none yet.
template <class L>
WF_INLINE void look_at_keys(const unsigned char* x, std::int64_t stride, std::int64_t rows, bool first, typename L::element* least, typename L::element* greatest) {
  using V = vec<typename L::element>;
  constexpr std::int64_t per = lanes<typename L::element>;
  V low[extremes_beside], high[extremes_beside];
  WF_UNROLL
  for (int v = 0; v < extremes_beside; ++v) {
    low[v] = first ? key_of<L>(load<V>(x + v * width)) : load<V>(least + v * per);
    high[v] = first ? low[v] : load<V>(greatest + v * per);
  }
  for (std::int64_t k = 0; k < rows; ++k, x += stride) {
    WF_UNROLL
    for (int v = 0; v < extremes_beside; ++v) {
      const V key = key_of<L>(load<V>(x + v * width));
      low[v] = lesser_of(key, low[v]);
      high[v] = greater_of(key, high[v]);
    }
  }
  WF_UNROLL
  for (int v = 0; v < extremes_beside; ++v) {
    store(least + v * per, low[v]);
    store(greatest + v * per, high[v]);
  }
}

/// The same of floats, which are compared as such. False, and then nothing is kept, where there is a NaN, or a zero is an extreme.
template <class L, class F>
WF_INLINE bool look_at_floats(const unsigned char* x, std::int64_t stride, std::int64_t rows, bool first, typename L::element* least, typename L::element* greatest) {
  using V = vec<typename L::element>;
  constexpr std::int64_t per = lanes<typename L::element>;
  F low[extremes_beside], high[extremes_beside];
  nan_check nan;
  WF_UNROLL
  for (int v = 0; v < extremes_beside; ++v) {
    low[v] = first ? load<F>(x + v * width) : (F)key_of<L>(load<V>(least + v * per));
    high[v] = first ? low[v] : (F)key_of<L>(load<V>(greatest + v * per));
  }
  for (std::int64_t k = 0; k < rows; ++k, x += stride) {
    WF_UNROLL
    for (int v = 0; v < extremes_beside; v += 2) {
      const F a = load<F>(x + v * width), b = load<F>(x + (v + 1) * width);
      low[v] = min(a, low[v]);
      high[v] = max(a, high[v]);
      low[v + 1] = min(b, low[v + 1]);
      high[v + 1] = max(b, high[v + 1]);
      nan.look_at(a, b);
    }
  }
  V zeros{};
  WF_UNROLL
  for (int v = 0; v < extremes_beside; ++v) zeros |= (V)(low[v] == F{}) | (V)(high[v] == F{});
  if (nan.any() || any_lane((i64s)zeros)) return false;
  WF_UNROLL
  for (int v = 0; v < extremes_beside; ++v) {
    store(least + v * per, key_of<L>((V)low[v]));
    store(greatest + v * per, key_of<L>((V)high[v]));
  }
  return true;
}

/// The same as extreme_columns of whole vectors, unasked: of columns in the last cache, or of a few rows, which are streams that the processor reads ahead
/// by itself. In a function of its own, since in one with the other loop both were slower.
template <class L>
[[gnu::noinline]] void extreme_columns_beside(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, typename L::element* least,
                                              typename L::element* greatest) {
  using T = typename L::element;
  constexpr std::int64_t size = sizeof(T), per = lanes<T>, apart = extremes_beside * per;
  constexpr bool floats = L::floating && size >= 4;
  // From the next whole vector on, where all rows begin alike; the columns before it, and those of the last vectors, are looked at twice.
  const auto before = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % width);
  const std::int64_t begins = stride % width == 0 && before % size == 0 && before != 0 && count >= 8 * apart ? apart - per + before / size : apart;
  std::int64_t by_keys = 0, done = 0;
  for (std::int64_t i = 0; i < rows; i += most_at_once) {
    const std::int64_t here = rows - i < most_at_once ? rows - i : most_at_once;
    const auto* const row = static_cast<const unsigned char*>(x) + i * stride;
    const bool first = begin && i == 0;
    for (std::int64_t j = 0, next = begins; j < count; j = next, next += apart) {
      if (next > count) j = count - apart;
      if constexpr (floats) {
        ++done;
        if (by_keys <= 8 + done / 8) {  // else they are mostly in vain
          if (look_at_floats<L, std::conditional_t<size == 4, f32s, f64s>>(row + j * size, stride, here, first, least + j, greatest + j)) continue;
          ++by_keys;
        }
      }
      look_at_keys<L>(row + j * size, stride, here, first, least + j, greatest + j);
    }
  }
}
#endif

/// The least and greatest keys of columns; `begin`: there are none yet; `cached` as in sum_columns.
template <class L>
void extreme_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, bool cached, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
#if !defined(__AVX512F__)
  constexpr std::int64_t size = sizeof(T);
  if (count >= extremes_beside * lanes<T> && (cached || (rows <= most_at_once && 2 * count * size <= stride)))
    return extreme_columns_beside<L>(x, stride, rows, count, begin, static_cast<T*>(least), static_cast<T*>(greatest));
#endif
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

/// The least and greatest keys of rows of n > 0 elements, `Apart` places from one to the next, a row `stride` bytes after the one before. Where that is 2,
/// a row has as many elements as a vector.
template <class L, int Apart = 1>
void extreme_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  constexpr std::int64_t size = Apart * sizeof(T), per = lanes<T>;
  const std::int64_t whole = whole_of_row<Apart>(n, per);
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    V low[2], high[2];
    const auto look = [&](const unsigned char* p, int k) __attribute__((always_inline)) {
      prefetch_lines_of<Apart>(p);
      const V key = key_of<L>(load_of_row<V, Apart>(p));
      low[k] = lesser_of(key, low[k]);
      high[k] = greater_of(key, high[k]);
    };
    if (Apart == 1 && n < per) {
      T first;
      __builtin_memcpy(&first, row, sizeof first);
      V v = all_lanes<V>(first);
      __builtin_memcpy(&v, row, static_cast<std::size_t>(n * size));
      low[0] = high[0] = key_of<L>(v);
    } else {
      // The last vectors may have some elements twice.
      low[1] = high[1] = key_of<L>(load_end_of_row<V, Apart>(row + (n - 1) * size));
      low[0] = low[1];
      high[0] = high[1];
      std::int64_t j = 0;
      for (; j + 2 * per <= whole; j += 2 * per) {
        look(row + j * size, 0);
        look(row + (j + per) * size, 1);
      }
      if (j < whole) look(row + j * size, 0);
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
