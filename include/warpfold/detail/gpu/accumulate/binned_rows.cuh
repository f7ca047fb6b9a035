// SPDX-License-Identifier: Apache-2.0
/// \file binned_rows.cuh
/// Exact rows of digits that take any data: bin j of a row weighs 2^(16j) units, an element is cut into parts of 16 bits,
/// and they are added to bins in shared memory by atomics of 32 bits, which wait for nothing. Lanes have copies of their own,
/// side by side, so that those of a warp meet neither in a word nor in a bank.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_buckets.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Which rows the terms of elements of T have: those of the parts' sums or products, then the squares'.
template <class T, terms Terms>
struct binned_layout {
  using number = number_of<T>;
  using f = exact::format<number>;
  static constexpr bool complex = !std::is_same_v<T, number>, sums = Terms == terms::sum || Terms == terms::moments;
  static constexpr bool squares = Terms == terms::squares || Terms == terms::moments;
  static constexpr bool has_quotients = sums, has_roots = squares;  ///< quotients are means of sums, roots are norms and deviations of squares
  static constexpr int watches = complex && Terms != terms::squares ? 2 : 1, rows = watches + (Terms == terms::moments ? 1 : 0);
  static constexpr int digits0 = sums ? f::digits : f::product_digits, unit0 = sums ? f::min_exponent : 2 * f::min_exponent;
  static constexpr int digits1 = rows < 2 ? 0 : complex ? digits0 : f::product_digits;
  static constexpr int unit1 = complex ? unit0 : 2 * f::min_exponent;
  static constexpr int digits2 = f::product_digits, unit2 = 2 * f::min_exponent;
  static constexpr int digits = digits0 + digits1 + (rows > 2 ? digits2 : 0), bins = 2 * digits;
  /// How often an element adds to one bin, at most.
  static constexpr int adds = complex && Terms != terms::sum ? 2 : 1;
};

/// Copies of the bins: as many as a block has room for where another one of its kind is beside it.
template <class T, terms Terms>
inline constexpr int bin_copies = binned_layout<T, Terms>::bins * 32 * 4 <= 36 * 1024 ? 32 : 16;

/// In shared memory; Copies: a power of two up to 32.
template <class T, terms Terms, int Copies>
struct binned_rows : binned_layout<T, Terms> {
  using layout = binned_layout<T, Terms>;
  using typename layout::number, typename layout::f;
  /// Elements that all threads may add to a copy before flush(): each adds less than 2^16 to a bin.
  static constexpr int most_elements = ((1 << 15) - 1) / layout::adds;

  static constexpr bool by_fours = Copies % 8 == 0;  ///< cleared by 16 bytes: where there is much to clear
  alignas(by_fours ? 16 : 4) std::int32_t bin[layout::bins * Copies];
  std::uint32_t kinds[layout::watches];

  /// Called by all threads of the block; a barrier must follow.
  __device__ __forceinline__ void clear() {
    struct alignas(by_fours ? 16 : 4) words {
      std::int32_t bin[by_fours ? 4 : 1];
    };
    constexpr int count = layout::bins * Copies / (by_fours ? 4 : 1);
    for (int j = static_cast<int>(threadIdx.x); j < count; j += static_cast<int>(blockDim.x)) reinterpret_cast<words*>(bin)[j] = words{};
    if (threadIdx.x < layout::watches) kinds[threadIdx.x] = 0;
  }
  /// The special values that a thread has seen.
  struct watch {
    special_watch<number> of[layout::watches];
    bool finite_only;  ///< the digits are to be those of the finite elements: for a state, not an answer
    __device__ __forceinline__ void start(bool states = false) {
      finite_only = states;
#pragma unroll
      for (int w = 0; w < layout::watches; ++w) of[w].start();
    }
  };
  /// Adds an element, or its magnitude where `magnitudes` says so.
  __device__ __forceinline__ void add(watch& w, bool magnitudes, const T& x) {
    if constexpr (layout::complex) {
      add_number(w, 0, false, x.re, 0);
      add_number(w, layout::watches - 1, false, x.im, layout::sums ? 1 : 0);
    } else {
      add_number(w, 0, magnitudes, x, 0);
    }
  }
  /// Adds the product of two elements.
  __device__ __forceinline__ void add(watch& w, bool, const T& x, const T& y) {
    if constexpr (layout::complex) {
      const number minus = f::from_bits(static_cast<typename f::bits>(f::to_bits(x.im) ^ f::sign_mask));
      add_product(w, 0, x.re, y.re, 0);
      add_product(w, 0, minus, y.im, 0);
      add_product(w, layout::watches - 1, x.re, y.im, 1);
      add_product(w, layout::watches - 1, x.im, y.re, 1);
    } else {
      add_product(w, 0, x, y, 0);
    }
  }
  /// Called by all lanes of a warp, once it has added everything.
  __device__ __forceinline__ void tell(const watch& w) {
#pragma unroll
    for (int i = 0; i < layout::watches; ++i) {
      const std::uint32_t k = warp_or(w.of[i].kinds());
      if (lane_index() == 0 && k != 0) atomicOr(kinds + i, k);
    }
  }
  /// Called by all threads of the block, between barriers. It adds the bins to the carry-save digits `to`, of all rows one after the other.
  __device__ __forceinline__ void flush(std::int64_t* to) {
    for (int k = static_cast<int>(threadIdx.x); k < layout::digits; k += static_cast<int>(blockDim.x)) {
      std::int64_t low = 0, high = 0;
#pragma unroll 4
      for (int i = 0; i < Copies; ++i) {
        const int c = (i + k) % Copies;  // neighbours look at different banks
        std::int32_t* b = bin + 2 * k * Copies + c;
        low += b[0];
        high += b[Copies];
        b[0] = b[Copies] = 0;
      }
      to[k] += low + high * 65536;
    }
  }

 private:
  static __device__ __forceinline__ bool is_finite(number x) { return f::is_finite(f::to_bits(x)); }
  __device__ __forceinline__ void add_number(watch& all, int which, bool magnitudes, number x, int row) {
    special_watch<number>& w = all.of[which];
    if (magnitudes) x = f::from_bits(static_cast<typename f::bits>(f::to_bits(x) & ~f::sign_mask));
    decoded<number> d(x);
    if (all.finite_only && !is_finite(x)) d.mantissa = 0;
    if constexpr (layout::sums) {
      w.add(x);
      add_parts<f::mantissa_bits + 1>(d.mantissa, d.p, d.negative, row * layout::digits0);
    } else {
      w.add_square(x);
    }
    if constexpr (layout::squares) {
      add_parts<2 * f::mantissa_bits + 2>(square_of(d.mantissa, d.mantissa), 2 * d.p, false, layout::digits - f::product_digits);
    }
  }
  __device__ __forceinline__ void add_product(watch& all, int which, number x, number y, int row) {
    all.of[which].add_product(x, y);
    decoded<number> a(x);
    const decoded<number> b(y);
    if (all.finite_only && !(is_finite(x) && is_finite(y))) a.mantissa = 0;
    add_parts<2 * f::mantissa_bits + 2>(square_of(a.mantissa, b.mantissa), a.p + b.p, a.negative != b.negative,
                                        row * layout::digits0);
  }
  static __device__ __forceinline__ auto square_of(std::uint64_t a, std::uint64_t b) {
    if constexpr (sizeof(number) == 8) return exact::u128{a} * b;
    else return std::uint64_t{static_cast<std::uint32_t>(a)} * static_cast<std::uint32_t>(b);
  }
  /// Adds ±m·2^p to the row that begins with this digit.
  template <int Bits, class M>
  __device__ __forceinline__ void add_parts(M m, int p, bool negative, int first_digit) {
    constexpr int parts = (Bits + 15 + 15) / 16;
    std::int32_t* to = bin + (2 * first_digit + (p >> 4)) * Copies + lane_index() % Copies;
    const int shift = p & 15;
    const M low = m << shift;
    const auto top = static_cast<std::uint32_t>(m >> (8 * sizeof(M) - 16) >> (16 - shift));  // what leaves M
#pragma unroll
    for (int i = 0; i < parts; ++i) {
      const auto part = static_cast<std::int32_t>(16 * i >= static_cast<int>(8 * sizeof(M)) ? top : static_cast<std::uint32_t>(low >> (16 * i)) & 0xffffu);
      if (part != 0) atomicAdd(to + i * Copies, negative ? -part : part);
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
