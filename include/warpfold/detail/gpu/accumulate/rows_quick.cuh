// SPDX-License-Identifier: Apache-2.0
/// \file rows_quick.cuh
/// Exact sums of short rows of floats (rows_kernel.cuh): a sum in doubles, and what tells that it lost nothing, which is so of most short rows, or
/// at most how much. Where that does not decide the rounding, the row goes the way of certified_rows' uncertain ones. Its state is half of theirs and its answer a tenth of their instructions, which is what short rows
/// cost; its bound grows with the row, and theirs hardly.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>

namespace wf::device::inline WF_BUILD {

/// Rows of no more elements than this, and a thread's share of them, are short.
inline constexpr std::uint64_t quick_elements = 1 << 11, quick_length = 1 << 10;

struct quick_facts {
  double loss;      ///< times the magnitudes' sum, or a power of 2 above the greatest: no sum differs by more from what is exact
  double by[2];     ///< 1 / n
  double shift;     ///< 1 / n where that is a power of 2, or 1 where no quotient is asked for; 0: a quotient need not be exact
  int span;         ///< powers of 2 between the greatest and the least magnitude, at most, where nothing is lost
  std::uint64_t chain;
};

/// What is kept of f16: their sum. They are multiples of 2^-24 below 2^16: a sum of 2^13 of them loses nothing, nor does a pair of any number.
struct half_quick_sum {
  double s;
};
/// What is kept of bf16 and f32: their sum, that of their magnitudes in a float, and the least magnitude's bits, doubled, less 1.
struct narrow_quick_sum {
  double s;
  float magnitudes;
  std::uint32_t least;
};
/// The same of longer rows.
struct half_quick_pair {
  certified::pair s;
};
struct narrow_quick_pair {
  certified::pair s;
  float magnitudes;
  std::uint32_t least;
};
/// What is kept of f64: the sum, its errors, the greatest and the least of the magnitudes' upper words.
struct wide_quick_sum {
  certified::pair s;
  std::uint32_t greatest, least;
};

/// Σx, Σ|x| and means of real floats, to nearest.
template <class T>
struct quick_rows {
  using full = certified_rows<T, terms::sum>;
  static constexpr bool wide = sizeof(T) == 8, half = std::is_same_v<T, f16>;
  static constexpr int inputs = 1, size = static_cast<int>(sizeof(T)), items = 16 / size;
  static constexpr int fixed_size = size, fixed_align = size;
  static constexpr bool proves = true, packs = true, quick = true, any_order = true;
  using state = std::conditional_t<wide, wide_quick_sum, std::conditional_t<half, half_quick_sum, narrow_quick_sum>>;
  using running = state;
  /// Of rows of which a thread has several totals (rows_stream.cuh).
  using long_state = std::conditional_t<wide, wide_quick_sum, std::conditional_t<half, half_quick_pair, narrow_quick_pair>>;

  op what;

  int item_size() const { return size; }
  int item_align() const { return size; }
  std::size_t result_size() const { return sizeof(T); }

  static constexpr std::size_t answer_size = sizeof(T);

  /// A thread adds `length` elements at most, one after the other, and then `merges` sums of such, as pairs where rows are long.
  ///
  /// f16: nothing is ever lost. Narrow: each of the length + 5 additions that a term goes through, and the 3 more of `merges`, loses 2^-53 of a partial sum, which is no greater than the sum of
  /// magnitudes; that is a float's, of fewer than 2^14 additions a term, and so too small by less than 2^-9. What pairs lose is 2^-53 of that
  /// for each merge. Nothing is lost where all elements are multiples of 2^unit and that sum is below 2^(unit + 53).
  /// Wide: with D operations between a term and the result, errors add up to at most 2^-53 · D · n times the greatest magnitude, and D
  /// additions of them lose 2^-53 of that each; nothing, where those are below 2^53 of the elements' unit.
  WF_HD quick_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    quick_facts f{0, {0, 0}, 1, 0, length};
    const std::uint64_t deep = length + merges + 8 + 64 < n ? length + merges + 8 + 64 : n;
    const auto d = static_cast<double>(wide ? deep : length + merges + 8);
    f.loss = wide ? 4 * d * d * static_cast<double>(n) * 0x1p-106 : d * (1 + 0x1p-7) * 0x1p-53;
    // D · 2^-53 · n · 2^top <= 2^(53 + unit), and unit is 52 below the least's exponent.
    if constexpr (wide) f.span = 52 - certified::log2_of(n) - certified::log2_of(deep);
    if (what == op::mean) {
      const reciprocals r = reciprocals::of(n, 0);
      f.by[0] = r.n[0];
      f.by[1] = r.n[1];
      f.shift = (n & (n - 1)) == 0 ? r.n[0] : 0;
    }
    return f;
  }

  static WF_HD std::uint64_t chain_of(std::uint64_t length) { return length; }

  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < items; ++i) add_number(r, item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { add_number(r, item_of<T>(p[0], 0)); }
  __device__ __forceinline__ state identity() const {
    if constexpr (wide) return {certified::pair::nothing(), 0, ~0u};
    else if constexpr (half) return {-0.0};
    else return {-0.0, 0, ~0u};
  }
  /// The states of all lanes of a warp, in each of them. 32 times the greatest of the lanes' sums of magnitudes is told in place of their sum.
  __device__ __forceinline__ state warp_together(state s) const {
#pragma unroll
    for (int m = 1; m < warp_lanes; m *= 2) {
      if constexpr (wide) s.s.merge({__shfl_xor_sync(all_lanes, s.s.s, m), __shfl_xor_sync(all_lanes, s.s.c, m)});
      else s.s = certified::add(s.s, __shfl_xor_sync(all_lanes, s.s, m));
    }
    if constexpr (wide) {
      s.greatest = warp_max(s.greatest);
      s.least = warp_min(s.least);
    } else if constexpr (!half) {
      s.magnitudes = warp_lanes * __uint_as_float(warp_max(__float_as_uint(s.magnitudes)));
      s.least = warp_min(s.least);
    }
    return s;
  }
  __device__ __forceinline__ long_state lengthened(const state& s) const {
    if constexpr (wide) return s;
    else if constexpr (half) return {{s.s, 0}};
    else return {{s.s, 0}, s.magnitudes, s.least};
  }
  __device__ __forceinline__ long_state combine_long(long_state a, const long_state& b) const {
    a.s.merge(b.s);
    if constexpr (wide) {
      a.greatest = max(a.greatest, b.greatest);
      a.least = min(a.least, b.least);
    } else if constexpr (!half) {
      a.magnitudes = __fadd_rn(a.magnitudes, b.magnitudes);
      a.least = min(a.least, b.least);
    }
    return a;
  }
  __device__ __forceinline__ state total(const running& r, std::uint64_t) const { return r; }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    if constexpr (wide) {
      a.s.merge(b.s);
      a.greatest = max(a.greatest, b.greatest);
      a.least = min(a.least, b.least);
    } else {
      a.s = certified::add(a.s, b.s);
      if constexpr (!half) {
        a.magnitudes = __fadd_rn(a.magnitudes, b.magnitudes);
        a.least = min(a.least, b.least);
      }
    }
    return a;
  }

  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const quick_facts& f, void* to) const {
    return answer_long(lengthened(s), n, f, to);
  }
  __device__ __forceinline__ bool answer_long(const long_state& s, std::uint64_t n, const quick_facts& f, void* to) const {
    auto* const out = static_cast<T*>(to);
    using format = exact::format<T>;
    if (n == 0) {
      *out = format::from_bits(what == op::mean ? format::quiet_nan : typename format::bits{0});
      return true;
    }
    certified::known k{0, 0, 0};
    bool whole = false;  // nothing was lost
    if constexpr (wide) {
      k = certified::known_of(s.s, 0);
      // Exponents, biased. Below the least upper word there are 32 bits: sums lose nothing of those either, unless they are too many.
      const std::uint32_t top = min(s.greatest >> 20, 0x7feu), low = max(s.least >> 20, 1u);
      whole = s.greatest == 0 || (s.greatest >> 20 < 0x7fe && static_cast<int>(top) - static_cast<int>(low) <= f.span);
      if (!whole) {
        k.error = certified::multiply(f.loss, __hiloint2double(static_cast<int>((top + 1) << 20), 0));
        if (top < 200) k.error = certified::power(1024);  // it might underflow
      }
      // A normal number: the quotient of a power of 2 is one, too.
      if (whole && f.shift != 0 && certified::magnitude(k.h) > 0x1p-900) {
        *out = certified::multiply(k.h, f.shift);
        return true;
      }
    } else {
      k = certified::known_of(s.s, 0);
      if constexpr (half) {
        whole = certified::magnitude(k.h) < certified::power(1024);
      } else {
        k.error = certified::multiply(f.loss, static_cast<double>(s.magnitudes));
        // 2^(unit + 53), where the least magnitude is 2^(unit + 23) or more, or a multiple of the least number.
        const std::uint32_t low = s.least >> 24;
        whole = static_cast<double>(s.magnitudes) < __hiloint2double(static_cast<int>((low + 1023 - 127 + 29) << 20), 0);
      }
      if (whole && k.l == 0 && f.shift != 0) {
        *out = rounded(certified::multiply(k.h, f.shift));
        return true;
      }
      if (half && !whole) return false;  // infinities, NaNs
    }
    if (whole && k.h == 0 && k.l == 0) {  // with the sign that additions gave it
      *out = format::from_bits(__double2hiint(k.h) < 0 ? format::sign_mask : typename format::bits{0});
      return true;
    }
    if (what == op::mean) k = times_reciprocal(k, f.by);
    T by_bound;
    if (round_quickly(k.h, k.l, k.error, by_bound)) {
      *out = by_bound;
      return true;
    }
    return false;
  }

  using exact_room = typename full::exact_room;
  using room = typename full::room;
  /// All threads of the block, or one warp.
  __device__ __forceinline__ void exactly(room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    full{{what, wf::rounding::nearest, 0}}.exactly(shared, v, row, by_block, out);
  }

 private:
  /// An exact sum to nearest: to odd in a float first, which has bits enough for that not to be seen.
  static __device__ __forceinline__ T rounded(double x) {
    if constexpr (std::is_same_v<T, float>) {
      return __double2float_rn(x);
    } else {
      const float f = __double2float_rz(x);
      const std::uint32_t odd = __float_as_uint(f) | (static_cast<double>(f) != x ? 1u : 0u);
      if constexpr (std::is_same_v<T, f16>) return exact::format<T>::from_bits(__half_as_ushort(__float2half_rn(__uint_as_float(odd))));
      else return exact::format<T>::from_bits(static_cast<std::uint16_t>((odd + 0x7fff + (odd >> 16 & 1)) >> 16));
    }
  }
  /// What of an element's upper word counts: not its sign, for norm1.
  __device__ __forceinline__ std::uint32_t kept() const { return what == op::norm1 ? 0x7fffffffu : ~0u; }
  __device__ __forceinline__ void add_number(running& r, T x) const {
    if constexpr (wide) {
      r.s.add_term(__hiloint2double(static_cast<int>(static_cast<std::uint32_t>(__double2hiint(x)) & kept()), __double2loint(x)));
      const std::uint32_t upper = static_cast<std::uint32_t>(__double2hiint(x)) & 0x7fffffffu;
      r.greatest = max(r.greatest, upper);
      r.least = min(r.least, upper);
    } else {
      const std::uint32_t bits = __float_as_uint(to_float(x)) & kept();
      r.s = certified::add(r.s, static_cast<double>(__uint_as_float(bits)));
      if constexpr (!half) {
        r.magnitudes = __fadd_rn(r.magnitudes, fabsf(__uint_as_float(bits)));
        r.least = min(r.least, 2 * bits - 1);  // zeros are out of the way
      }
    }
  }
};

/// What short rows of an accumulator go by instead of it, if they do.
template <class Acc>
struct quick_of {
  static constexpr bool there = false;
};
template <class T>
  requires(std::is_same_v<number_of<T>, T>)
struct quick_of<certified_rows<T, terms::sum>> {
  static constexpr bool there = true;
  using type = quick_rows<T>;
  static bool fits(const certified_rows<T, terms::sum>& a) { return !a.states && a.q.rounding == wf::rounding::nearest; }
  static WF_HD type of(const certified_rows<T, terms::sum>& a) { return {a.q.what}; }
};

}  // namespace wf::device::inline WF_BUILD
