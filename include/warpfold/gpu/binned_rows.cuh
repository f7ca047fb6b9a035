// SPDX-License-Identifier: Apache-2.0
/// \file binned_rows.cuh
/// Exact rows (exact_rows.cuh) of an array of few elements, which one block adds to bins in shared memory: bin j of a row
/// weighs 2^(16j) units, an element is cut into parts of 16 bits, and they are added by atomics that wait for nothing. A
/// column a thread would have to be cleared and summed, which takes longer than all else that a small array needs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/gpu/exact_column.cuh>
#include <warpfold/gpu/exact_terms.cuh>

namespace wf::device::inline WF_BUILD {

/// Terms of elements of T. In shared memory; zeroed by clear().
template <class T, terms Terms>
struct binned_rows {
  using number = number_of<T>;
  using f = exact::format<number>;
  static constexpr bool complex = !std::is_same_v<T, number>, sums = Terms == terms::sum || Terms == terms::moments;
  static constexpr bool squares = Terms == terms::squares || Terms == terms::moments;
  static constexpr int parts_in = complex && Terms != terms::squares ? 2 : 1;
  static constexpr int watches = parts_in, rows = parts_in + (Terms == terms::moments ? 1 : 0);
  static constexpr int sum_digits = f::digits, product_digits = f::product_digits;
  static constexpr int digits0 = sums ? sum_digits : product_digits, unit0 = sums ? f::min_exponent : 2 * f::min_exponent;
  static constexpr int digits1 = rows < 2 ? 0 : complex ? digits0 : product_digits;
  static constexpr int unit1 = complex ? unit0 : 2 * f::min_exponent;
  static constexpr int digits2 = product_digits, unit2 = 2 * f::min_exponent;
  static constexpr int digits = digits0 + digits1 + (rows > 2 ? digits2 : 0);
  /// Numbers of an array: each, twice at most, adds less than 2^16 to a bin.
  static constexpr int most_numbers = 1 << 14;

  std::int32_t bin[2 * digits];
  std::uint32_t kinds[watches];

  __device__ __forceinline__ void clear() {
    for (int j = static_cast<int>(threadIdx.x); j < 2 * digits; j += static_cast<int>(blockDim.x)) bin[j] = 0;
    if (threadIdx.x < watches) kinds[threadIdx.x] = 0;
  }
  /// What a thread knows of special values.
  struct watch {
    special_watch<number> of[watches];
    __device__ __forceinline__ void start() {
      for (int w = 0; w < watches; ++w) of[w].start();
    }
  };
  /// A number whose sign is left out for norm1.
  __device__ __forceinline__ void add_item(watch& w, bool magnitudes, T x) {
    if constexpr (complex) {
      add_number(w.of[0], false, x.re, 0);
      add_number(w.of[watches - 1], false, x.im, sums ? 1 : 0);
    } else {
      add_number(w.of[0], magnitudes, x, 0);
    }
  }
  __device__ __forceinline__ void add_item(watch& w, bool, T x, T y) {
    if constexpr (complex) {
      const number minus = f::from_bits(static_cast<typename f::bits>(f::to_bits(x.im) ^ f::sign_mask));
      add_product(w.of[0], x.re, y.re, 0);
      add_product(w.of[0], minus, y.im, 0);
      add_product(w.of[watches - 1], x.re, y.im, 1);
      add_product(w.of[watches - 1], x.im, y.re, 1);
    } else {
      add_product(w.of[0], x, y, 0);
    }
  }
  /// By all lanes of a warp, once it has added everything.
  __device__ __forceinline__ void tell(const watch& w) {
#pragma unroll
    for (int i = 0; i < watches; ++i) {
      const std::uint32_t k = warp_or(w.of[i].kinds());
      if (lane_index() == 0 && k != 0) atomicOr(kinds + i, k);
    }
  }
  /// The carry-save digits of all rows, one after the other. Behind a barrier that follows all additions.
  __device__ __forceinline__ void to_digits(std::int64_t* to) const {
    for (int k = static_cast<int>(threadIdx.x); k < digits; k += static_cast<int>(blockDim.x)) {
      to[k] = std::int64_t{bin[2 * k]} + std::int64_t{bin[2 * k + 1]} * 65536;
    }
  }

 private:
  __device__ __forceinline__ void add_number(special_watch<number>& w, bool magnitudes, number x, int row) {
    if (magnitudes) x = f::from_bits(static_cast<typename f::bits>(f::to_bits(x) & ~f::sign_mask));
    const decoded<number> d(x);
    if constexpr (sums) {
      w.add(x);
      add_parts<f::mantissa_bits + 1>(d.mantissa, d.p, d.negative, row * digits0);
    } else {
      w.add_square(x);
    }
    if constexpr (squares) {
      add_parts<2 * f::mantissa_bits + 2>(exact::u128{d.mantissa} * d.mantissa, 2 * d.p, false, digits - product_digits);
    }
  }
  __device__ __forceinline__ void add_product(special_watch<number>& w, number x, number y, int row) {
    w.add_product(x, y);
    const decoded<number> a(x), b(y);
    add_parts<2 * f::mantissa_bits + 2>(exact::u128{a.mantissa} * b.mantissa, a.p + b.p, a.negative != b.negative, row * digits0);
  }
  template <int Bits>
  __device__ __forceinline__ void add_parts(exact::u128 m, int p, bool negative, int first_digit) {
    std::int32_t* to = bin + 2 * first_digit + (p >> 4);
    const exact::u128 v = m << (p & 15);
#pragma unroll
    for (int i = 0; i < (Bits + 15 + 15) / 16; ++i) {
      const auto part = static_cast<std::int32_t>(static_cast<std::uint32_t>(v >> (16 * i)) & 0xffffu);
      if (part != 0) atomicAdd(to + i, negative ? -part : part);
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
