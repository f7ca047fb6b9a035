// SPDX-License-Identifier: Apache-2.0
/// \file product_buckets.hpp
/// Hot accumulators of a host thread for sums of products (see buckets.hpp for the idea).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <warpfold/detail/exact/buckets.hpp>
#include <warpfold/detail/exact/products.hpp>

namespace wf::exact {

/// x as a double, exactly, subnormals included, whatever FTZ, DAZ and the rounding mode are: what
/// is subnormal in T is normal here, and the one subtraction has no subnormal operand or result.
template <class T>
inline double widen(T x) {
  using f = format<T>;
  static_assert(f::exponent_bits < ieee_f64::exponent_bits);
  constexpr int up = 52 - f::mantissa_bits;
  constexpr std::uint64_t bias_step = 1024 - (std::uint64_t{1} << (f::exponent_bits - 1));
  constexpr std::uint64_t one = std::uint64_t{1} << 52;
  const auto b = f::to_bits(x);
  const auto sign = static_cast<std::uint64_t>(f::negative(b)) << 63;
  const std::uint64_t magnitude = static_cast<typename f::bits>(b & ~f::sign_mask);
  std::uint64_t r = (magnitude << up) + bias_step * one;
  const int e = f::exponent_field(b);
  if (e == f::exponent_field_max) r |= ieee_f64::infinity;
  if (e == 0) {
    const double shifted = __builtin_bit_cast(double, r + one);
    const double offset = __builtin_bit_cast(double, (bias_step + 1) * one);
    r = __builtin_bit_cast(std::uint64_t, shifted - offset) & ~ieee_f64::sign_mask;
  }
  return __builtin_bit_cast(double, r | sign);
}

/// Writes the n products a[i]·b[i], which are doubles exactly. The conversion in hardware makes a
/// dot of floats cost 1.1 to 1.4 ns per element, not 2.6 to 3.0, but is wrong for subnormals under
/// DAZ: blocks with any go the slow way.
template <class T>
inline void multiply(const T* a, const T* b, double* products, std::size_t n) {
  if constexpr (std::is_same_v<T, float>) {
    using f = format<float>;
    std::uint32_t subnormals = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t x = f::to_bits(a[i]) & ~f::sign_mask;
      const std::uint32_t y = f::to_bits(b[i]) & ~f::sign_mask;
      subnormals |= static_cast<std::uint32_t>(x - 1 < f::mantissa_mask) |
                    static_cast<std::uint32_t>(y - 1 < f::mantissa_mask);
    }
    if (subnormals == 0) {
      for (std::size_t i = 0; i < n; ++i) {
        products[i] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
      }
      return;
    }
  }
  for (std::size_t i = 0; i < n; ++i) products[i] = widen(a[i]) * widen(b[i]);
}

/// Buckets for products of doubles: 128 bits for each sign and sum of two exponents (128 KiB).
class product_buckets {
  using f = format<double>;
  static constexpr int indexes = 1 << 13;

 public:
  /// The most products between two flushes: they have 106 bits.
  static constexpr std::size_t capacity = std::size_t{1} << 22;

  product_buckets() { std::memset(table_, 0, sizeof table_); }

  void add(const double* a, const double* b, std::size_t n, counters& seen) {
    bool only_neg_zero = true;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = f::to_bits(a[i]), y = f::to_bits(b[i]);
      const std::uint64_t negative = (x ^ y) >> 63;
      if (!f::is_finite(x) || !f::is_finite(y)) [[unlikely]] {
        auto one = product_state<double>::identity();
        add_product<double>(one, a[i], b[i]);
        seen.merge(one.seen);
        only_neg_zero = false;
        continue;
      }
      const u128 p = u128{f::mantissa(x)} * f::mantissa(y);
      table_[negative << 12 | static_cast<unsigned>(f::shift(x) + f::shift(y))] += p;
      only_neg_zero = only_neg_zero && negative != 0 && p == 0;
      ++seen.count;
    }
    if (only_neg_zero) seen.neg_zero += static_cast<std::int64_t>(n);
  }

  template <int Count, int MinExponent>
  void flush(digits<Count, MinExponent>& to) {
    static_assert(MinExponent == 2 * f::min_exponent);
    to.normalise();
    for (int index = 0; index < indexes; ++index) {
      if (table_[index] == 0) continue;
      to.add_wide(table_[index], index & 0xfff, index >> 12 != 0);
      table_[index] = 0;
    }
  }

 private:
  alignas(64) u128 table_[indexes];
};

/// Adds the n products a[i]·b[i] to a row of digits and its counters. Takes up to 140 KiB of stack.
/// Products of anything narrower than double are doubles, exactly.
template <class T, int Count, int MinExponent>
inline void accumulate_products(state<Count, MinExponent>& to, const T* a, const T* b,
                                std::size_t n) {
  reserve(to, n);
  if (n < bucket_threshold<double>) {
    for (std::size_t i = 0; i < n; ++i) add_product<T>(to, a[i], b[i]);
    return;
  }
  if constexpr (sizeof(T) == 8) {
    product_buckets table;
    while (n != 0) {
      const std::size_t block = n < product_buckets::capacity ? n : product_buckets::capacity;
      table.add(a, b, block, to.seen);
      table.flush(to.sum);
      a += block, b += block, n -= block;
    }
  } else {
    accumulate_filled<double>(to, n, [&](double* part, std::size_t first, std::size_t m) {
      multiply(a + first, b + first, part, m);
    });
  }
  to.sum.normalise();
}

}  // namespace wf::exact
