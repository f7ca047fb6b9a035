// SPDX-License-Identifier: Apache-2.0
/// \file checked_folds.cuh
/// Reductions of integers that say whether their answer fits: sums of terms in 192 bits, which hold 2^63 products of two integers of
/// 64, and products beside their magnitude while it fits. A kernel a size of element; its sign, and which sum it is, are
/// known at run time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fold.cuh>
#include <warpfold/detail/gpu/accumulate/keys.cuh>
#include <warpfold/io/dtype.hpp>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

template <int Size>
using word_of_size = std::conditional_t<Size == 1, std::uint8_t, std::conditional_t<Size == 2, std::uint16_t,
                     std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// Elements as 64 bits in two's complement. Only those of a byte may be booleans, or what `MayBeBool` says.
template <int Size, bool MayBeBool = Size == 1>
struct words_of_64 {
  bool is_signed, is_bool;

  static words_of_64 of(dtype t) { return {t >= dtype::i8 && t <= dtype::i64, t == dtype::boolean}; }
  __device__ __forceinline__ std::uint64_t operator()(word_of_size<Size> x) const {
    if (MayBeBool && is_bool) return x != 0 ? 1 : 0;
    if (is_signed) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::make_signed_t<word_of_size<Size>>>(x)});
    return x;
  }
  __device__ __forceinline__ bool negative(std::uint64_t v) const { return is_signed && static_cast<std::int64_t>(v) < 0; }
  __device__ __forceinline__ std::uint64_t magnitude(std::uint64_t v) const { return negative(v) ? 0 - v : v; }
};

/// A wf::checked of an integer, as words.
__device__ __forceinline__ void write_checked(void* out, std::uint64_t value, std::uint64_t high0, std::uint64_t high1, bool overflow) {
  auto* const to = static_cast<std::uint64_t*>(out);
  to[0] = value;
  to[1] = high0;
  to[2] = high1;
  to[3] = overflow ? 1 : 0;
}
static_assert(sizeof(checked<std::int64_t>) == 32);

/// sum, norm1 and sum_of_squares of one input, dot of two.
template <int Size, int Inputs, bool MayBeBool = Size == 1>
struct checked_sum_fold {
  /// Two's complement, the low word first.
  struct state {
    std::uint64_t word[3];
  };
  using running = state;
  using word = word_of_size<Size>;
  static constexpr int inputs = Inputs, item_size = Size, loads = 4;
  static constexpr bool packs = true;
  op what;
  words_of_64<Size, MayBeBool> wide;

  __device__ __forceinline__ state identity() const { return {{0, 0, 0}}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    state s = a;
    join(s, b.word[0], b.word[1], b.word[2]);
    return s;
  }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ void add(running& s, const pack (&p)[Inputs], std::uint64_t) const {
    constexpr int items = 16 / Size;
    if constexpr (Size == 1) {
      add_bytes(s, p[0].word, p[Inputs - 1].word);
    } else if constexpr (Size == 4) {
      if (product()) {
#pragma unroll
        for (int i = 0; i < items; ++i) add_product(s, wide(item_of<word>(p[0], i)), wide(item_of<word>(p[Inputs - 1], i)));
      } else {  // a pack's numbers together fit 64 bits
        std::uint64_t part = 0;
#pragma unroll
        for (int i = 0; i < items; ++i) part += simple_term(wide(item_of<word>(p[0], i)));
        join_signed(s, static_cast<std::int64_t>(part));
      }
    } else if constexpr (Size == 2) {  // and so do products of 16 bits
      std::uint64_t part = 0;
      if (product()) {
#pragma unroll
        for (int i = 0; i < items; ++i) part += wide(item_of<word>(p[0], i)) * wide(item_of<word>(p[Inputs - 1], i));
      } else {
#pragma unroll
        for (int i = 0; i < items; ++i) part += simple_term(wide(item_of<word>(p[0], i)));
      }
      join_signed(s, static_cast<std::int64_t>(part));
    } else if (product()) {
      if (wide.is_signed) add_products<true>(s, p);
      else add_products<false>(s, p);
    } else {  // fewer than 2^63 numbers of 64 bits fit 128: total() has the third word
      const bool magnitudes = what == op::norm1;
#pragma unroll
      for (int i = 0; i < items; ++i) {
        const std::uint64_t x = wide(item_of<word>(p[0], i));
        const bool negative = wide.negative(x);
        const std::uint64_t low = magnitudes && negative ? 0 - x : x, high = !magnitudes && negative ? ~std::uint64_t{0} : 0;
        s.word[0] += low;
        s.word[1] += high + (s.word[0] < low ? 1 : 0);
      }
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, word x) const { add_one(s, x, x); }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, word x, word y) const { add_one(s, x, y); }
  __device__ __forceinline__ state total(const running& s, const arrays<Inputs>&) const {
    if (Size < 8 || product()) return s;
    return {{s.word[0], s.word[1], static_cast<std::uint64_t>(static_cast<std::int64_t>(s.word[1]) >> 63)}};
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t, void* out) const {
    const bool answer_is_signed = what != op::norm1 && (wide.is_signed || wide.is_bool);
    const std::uint64_t sign = answer_is_signed && static_cast<std::int64_t>(s.word[0]) < 0 ? ~std::uint64_t{0} : 0;
    write_checked(out, s.word[0], s.word[1], s.word[2], s.word[1] != sign || s.word[2] != sign);
  }

 private:
  static __device__ __forceinline__ void join(state& s, std::uint64_t low, std::uint64_t middle, std::uint64_t high) {
    s.word[0] += low;
    const std::uint64_t carry = s.word[0] < low ? 1 : 0, with_carry = middle + carry;
    s.word[1] += with_carry;
    s.word[2] += high + (with_carry < carry ? 1 : 0) + (s.word[1] < with_carry ? 1 : 0);
  }
  static __device__ __forceinline__ void join_signed(state& s, std::int64_t v) {
    const auto sign = static_cast<std::uint64_t>(v >> 63);
    join(s, static_cast<std::uint64_t>(v), sign, sign);
  }
  __device__ __forceinline__ bool product() const { return Inputs == 2 || what == op::sum_of_squares; }
  /// Bytes four at a time, by what they are multiplied by: the other ones, or 1, or of magnitudes their signs.
  template <int Words>
  __device__ __forceinline__ void add_bytes(state& s, const std::uint32_t (&x)[Words], const std::uint32_t (&y)[Words]) const {
    constexpr std::uint32_t ones = 0x01010101;
    const bool magnitudes = what == op::norm1 && wide.is_signed;
    std::uint32_t a[Words], b[Words];
#pragma unroll
    for (int j = 0; j < Words; ++j) {
      a[j] = wide.is_bool ? nonzero_bytes(x[j]) >> 7 : x[j];
      b[j] = wide.is_bool ? nonzero_bytes(y[j]) >> 7 : y[j];
      if (!product()) b[j] = magnitudes ? (a[j] >> 7 & ones) * 0xffu | ones : ones;
    }
    std::int32_t part = 0;
    if (wide.is_signed) {
#pragma unroll
      for (int j = 0; j < Words; ++j) part = __dp4a(static_cast<int>(a[j]), static_cast<int>(b[j]), part);
    } else {
#pragma unroll
      for (int j = 0; j < Words; ++j) part = static_cast<std::int32_t>(__dp4a(a[j], b[j], static_cast<std::uint32_t>(part)));
    }
    join_signed(s, part);
  }
  __device__ __forceinline__ void add_one(state& s, word x, word y) const {
    if constexpr (Size == 1) {
      const std::uint32_t a[1] = {x}, b[1] = {y};
      add_bytes(s, a, b);
    } else {
      add_term(s, wide(x), wide(y));
    }
  }
  __device__ __forceinline__ std::uint64_t simple_term(std::uint64_t x) const { return what == op::norm1 ? wide.magnitude(x) : x; }
  __device__ __forceinline__ void add_term(state& s, std::uint64_t x, std::uint64_t y) const {
    if (product()) {
      add_product(s, x, y);
    } else if (what == op::norm1) {
      join(s, wide.magnitude(x), 0, 0);
    } else {
      const std::uint64_t sign = wide.negative(x) ? ~std::uint64_t{0} : 0;
      join(s, x, sign, sign);
    }
  }
  __device__ __forceinline__ void add_product(state& s, std::uint64_t x, std::uint64_t y) const {
    if constexpr (Size < 8) {
      const std::uint64_t low = x * y, high = wide.negative(low) ? ~std::uint64_t{0} : 0;
      join(s, low, high, high);
    } else if (wide.is_signed) {
      add_long_product<true>(s, x, y);
    } else {
      add_long_product<false>(s, x, y);
    }
  }
  template <bool Signed>
  static __device__ __forceinline__ void add_long_product(state& s, std::uint64_t x, std::uint64_t y) {
    const auto high = Signed ? static_cast<std::uint64_t>(__mul64hi(static_cast<long long>(x), static_cast<long long>(y))) : __umul64hi(x, y);
    join(s, x * y, high, Signed && static_cast<std::int64_t>(high) < 0 ? ~std::uint64_t{0} : 0);
  }
  /// Elements of 64 bits.
  template <bool Signed>
  static __device__ __forceinline__ void add_products(state& s, const pack (&p)[Inputs]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) add_long_product<Signed>(s, item_of<std::uint64_t>(p[0], i), item_of<std::uint64_t>(p[Inputs - 1], i));
  }
};

/// Products modulo 2^64, and beside them their magnitude while it fits 64 bits.
template <int Size, bool MayBeBool = Size == 1>
struct checked_product_fold {
  struct state {
    std::uint64_t value, magnitude;
    std::uint32_t negative, too_large, zero;
  };
  using running = state;
  static constexpr int inputs = 1, item_size = Size, loads = 4;
  static constexpr bool packs = true;
  words_of_64<Size, MayBeBool> wide;

  __device__ __forceinline__ state identity() const { return {1, 1, 0, 0, 0}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    return {a.value * b.value, a.magnitude * b.magnitude, a.negative ^ b.negative,
            a.too_large | b.too_large | (__umul64hi(a.magnitude, b.magnitude) != 0 ? 1u : 0u), a.zero | b.zero};
  }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < 16 / Size; ++i) add_item(s, 0, item_of<word_of_size<Size>>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, word_of_size<Size> x) const {
    const std::uint64_t v = wide(x);
    s = combine(s, {v, wide.magnitude(v), wide.negative(v) ? 1u : 0u, 0, v == 0 ? 1u : 0u});
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const { return s; }
  __device__ __forceinline__ void write(const state& s, std::uint64_t, void* out) const {
    bool fits = s.zero != 0 || s.too_large == 0;
    if (s.zero == 0 && (wide.is_signed || wide.is_bool)) fits = fits && s.magnitude <= (std::uint64_t{1} << 63) - (s.negative != 0 ? 0 : 1);
    write_checked(out, s.value, 0, 0, !fits);
  }
};

}  // namespace wf::device::inline WF_BUILD
