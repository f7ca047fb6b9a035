// SPDX-License-Identifier: Apache-2.0
/// \file accumulate.hpp
/// Adds a run of elements to an exact state: one thread, no SIMD beyond the base instruction set.
/// Any alignment that the element type has; n = 0 works. Takes up to 140 KiB of stack. More elements than a
/// state counts are refused before any is added (wf::error, errc::capacity).
#pragma once

#include <cstddef>

#include <warpfold/detail/exact/buckets.hpp>
#include <warpfold/detail/exact/product_buckets.hpp>
#include <warpfold/detail/exact/sum_state.hpp>

namespace wf::exact {

/// Adds x[0 … n) to a sum of T or of any type that holds T's values.
template <class T, int Count, int MinExponent>
inline void accumulate(state<Count, MinExponent>& to, const T* x, std::size_t n) {
  reserve(to, n);
  if (n < bucket_threshold<T>) {
    for (std::size_t i = 0; i < n; ++i) add_element(to, x[i]);
    return;
  }
  buckets<T> table;
  while (n != 0) {
    const std::size_t block = n < buckets<T>::capacity ? n : buckets<T>::capacity;
    table.add(x, block, to.seen);
    table.flush(to);
    x += block;
    n -= block;
  }
  to.sum.normalise();
}
template <class T>
inline void accumulate(sum_state<T>& to, const T* x, std::size_t n) {
  accumulate(static_cast<typename sum_state<T>::base&>(to), x, n);
}

/// Adds the products a[0]·b[0] … a[n-1]·b[n-1].
template <class T>
inline void accumulate(dot_state<T>& to, const T* a, const T* b, std::size_t n) {
  accumulate_products<T>(to, a, b, n);
}

/// Adds the squares of x[0 … n).
template <class T>
inline void accumulate(squares_state<T>& to, const T* x, std::size_t n) {
  accumulate_products<T>(to, x, x, n);
}

/// Adds x[0 … n) and their squares.
template <class T>
inline void accumulate(moments_state<T>& to, const T* x, std::size_t n) {
  constexpr std::size_t block_size = 1 << 16;  // read twice, the second time from a cache
  reserve(to.first, n);
  while (n != 0) {
    const std::size_t block = n < block_size ? n : block_size;
    accumulate(to.first, x, block);
    auto squares = squares_state<T>::identity();
    accumulate(squares, x, block);
    squares.normalise();
    to.second.add(squares.sum);
    to.second.normalise();
    x += block;
    n -= block;
  }
}

}  // namespace wf::exact
