// SPDX-License-Identifier: Apache-2.0
/// \file anchored_terms.cuh
/// Exact sums of terms that are doubles, where a first look has found a power of two above all of them and one that divides all of them: in
/// registers, for what no certificate answers.
///
/// s = 1.5·2^(k + 52) + (a sum) takes x rounded to multiples of 2^k; (s + x) - s is exact, and so is what it leaves of x, which goes to the next level, whose
/// unit is 40 bits further down. So 2000 terms fit each of them, and three operations per level serve any term, whatever its exponent.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/binned_rows.cuh>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// The levels that a thread adds to. All terms are multiples of 2^unit, and below 2^(unit + reach).
struct anchored_sums {
  static constexpr int width = 40, levels = 7, reach = width * levels;
  static constexpr int always = 4;  ///< levels that are there in any case
  /// How many terms a thread may add.
  static constexpr int most_terms = (1 << (51 - width)) - 8;
  /// Words that the warps of a block tell each other: for each level the lower 27 bits of its sum, and the rest.
  static constexpr int words = 2 * levels, low_bits = 27;

  double s[levels];

  /// The exponent of the unit of a word.
  static __device__ __forceinline__ int unit_of_word(int word, int unit) { return unit + width * (levels - 1 - word / 2) + word % 2 * low_bits; }
  __device__ __forceinline__ void start(int unit) {
#pragma unroll
    for (int j = 0; j < levels; ++j) s[j] = __builtin_bit_cast(double, (static_cast<std::uint64_t>(unit + width * (levels - 1 - j) + 52 + 1023) << 52) + (std::uint64_t{1} << 51));
  }
  /// `all`: terms may reach the first levels. Diagonals: more additions are on their way at once, for loops that do nothing else.
  template <bool Diagonals, int Count>
  __device__ __forceinline__ void add(double (&x)[Count], bool all) {
    if constexpr (Diagonals) {
      if (all) add_in_diagonals<0>(x);
      else add_in_diagonals<levels - always>(x);
    } else {
      if (all) add_to<0, levels - always>(x);
      add_to<levels - always, levels>(x);
    }
  }
  /// All lanes of a warp call it.
  __device__ __forceinline__ void tell(std::uint32_t* to) const {
#pragma unroll
    for (int j = 0; j < levels; ++j) {
      const std::uint64_t u = __builtin_bit_cast(std::uint64_t, s[j]) & ((std::uint64_t{1} << 52) - 1);  // the sum in units, and 2^51
      const std::uint32_t low = warp_add(static_cast<std::uint32_t>(u) & ((1u << low_bits) - 1));
      const std::uint32_t high = warp_add(static_cast<std::uint32_t>(u >> low_bits)) - (32u << (51 - low_bits));
      if (lane_index() == 0) {
        to[2 * j] = low;
        to[2 * j + 1] = high;
      }
    }
  }

 private:
  template <int First, int End, int Count>
  __device__ __forceinline__ void add_to(double (&x)[Count]) {
#pragma unroll
    for (int j = First; j < End; ++j) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        const double t = certified::add(s[j], x[i]);
        x[i] = certified::subtract(x[i], certified::subtract(t, s[j]));
        s[j] = t;
      }
    }
  }
  /// Diagonal d has term i at level d - i. Its terms do not depend on one another, and each step is made for all of them before the next step.
  template <int First, int Count>
  __device__ __forceinline__ void add_in_diagonals(double (&x)[Count]) {
#pragma unroll
    for (int d = First; d < levels + Count - 1; ++d) {
      double t[Count], taken[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        if (d - i >= First && d - i < levels) t[i] = certified::add(s[d - i], x[i]);
      }
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        if (d - i >= First && d - i < levels) taken[i] = certified::subtract(t[i], s[d - i]);
      }
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        if (d - i >= First && d - i < levels) {
          x[i] = certified::subtract(x[i], taken[i]);
          s[d - i] = t[i];
        }
      }
    }
  }
};

/// The terms of elements of E as doubles, a row at a time: rows are those of binned_layout.
template <class E, terms Terms>
struct anchored_terms {
  using traits = certified_traits<E, Terms>;
  using layout = binned_layout<E, Terms>;
  using number = typename traits::number;
  /// Whether a certificate's extent tells the range.
  static constexpr bool serves = Terms == terms::sum || Terms == terms::moments;
  /// `each`: terms that an element brings to a row, at most; a square of f64 is two doubles.
  static constexpr int of_square = traits::wide ? 2 : 1, each = traits::squares ? (traits::complex ? 2 : 1) * of_square : 1;

  static __device__ __forceinline__ bool of_squares(int row) { return traits::squares && row == layout::rows - 1; }
  static __device__ __forceinline__ certified::range range_of_row(int row, const certified::range& r) {
    return of_squares(row) ? certified::range{2 * r.top, 2 * r.unit, r.finite} : r;
  }
  /// Whether sums of elements of this range can be added so: finite ones that are not all zeros, and that anchors serve.
  static __device__ __forceinline__ bool serve(const certified::range& r) {
    if (!r.finite || r.top == r.unit || r.unit >= 680) return false;
    if constexpr (!traits::squares) return r.top - r.unit <= anchored_sums::reach;
    return 2 * (r.top - r.unit) <= anchored_sums::reach && (!traits::wide || (r.top <= 360 && r.unit >= -537));
  }
  static __device__ __forceinline__ int unit_of_row(int row) { return row == 0 ? layout::unit0 : row == 1 ? layout::unit1 : layout::unit2; }
  static __device__ __forceinline__ int first_digit(int row) { return row == 0 ? 0 : row == 1 ? layout::digits0 : layout::digits0 + layout::digits1; }

  /// An element that changes no sum and leaves no trace: what takes the place of elements that are not there.
  static __device__ __forceinline__ E absent() {
    const number minus_zero = exact::format<number>::from_bits(exact::format<number>::sign_mask);
    if constexpr (traits::complex) return {minus_zero, minus_zero};
    else return minus_zero;
  }
  /// kept_bits: the bits of a term's upper word that count; for norm1 all but the sign.
  static __device__ __forceinline__ void terms_of(int row, std::uint32_t kept_bits, const E& x, double* t) {
    if constexpr (traits::complex) {
      const double re = to_double(x.re), im = to_double(x.im);
      if (of_squares(row)) {
        put_square(re, t);
        put_square(im, t + each - of_square);
      } else {
#pragma unroll
        for (int e = 1; e < each; ++e) t[e] = -0.0;
        t[0] = row == 0 ? re : im;
      }
    } else {
      const double v = to_double(x);
      if (of_squares(row)) {
        put_square(v, t);
        return;
      }
#pragma unroll
      for (int e = 1; e < each; ++e) t[e] = -0.0;
      t[0] = __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, v) & (std::uint64_t{kept_bits} << 32 | 0xffffffffu));
    }
  }

 private:
  static __device__ __forceinline__ void put_square(double v, double* t) {
    t[0] = certified::multiply(v, v);
    if constexpr (traits::wide) t[of_square - 1] = certified::multiply_add(v, v, -t[0]);
  }
  static __device__ __forceinline__ double to_double(number x) {
    if constexpr (sizeof(number) == 8) return x;
    else return widened(to_float(x));
  }
};

}  // namespace wf::device::inline WF_BUILD
