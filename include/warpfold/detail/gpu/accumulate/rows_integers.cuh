// SPDX-License-Identifier: Apache-2.0
/// \file rows_integers.cuh
/// Accumulators of rows (rows_kernel.cuh) of integers whose element's size alone is known: sums of products and of magnitudes modulo 2^64, and
/// Σx and Σx² exactly. Numbers without a sign have their highest bit flipped for the moments, so that they have one; the answer knows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>
#include <warpfold/detail/gpu/domain/same_size.cuh>
#include <warpfold/detail/gpu/epilogue/integer_moments.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr std::uint32_t ones_of_bytes = 0x01010101u;

/// Σxy of two inputs; Σx² or Σ|x| of one: modulo 2^64.
template <int Size, int Inputs>
struct whole_product_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using state = std::uint64_t;
  using running = std::uint64_t;
  using typename base::word;
  static constexpr int inputs = Inputs;
  static constexpr std::size_t answer_size = 8;
  bool is_signed, magnitudes;

  std::size_t result_size() const { return 8; }
  static whole_product_rows of(const rows_request& r) { return {{}, has_sign(r.element), r.what == op::norm1}; }
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ state total(running r) const { return r; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[Inputs], std::uint64_t) const {
    if constexpr (Size == 1) {
      std::uint32_t y[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) y[j] = factor(p[0].word[j], p[Inputs - 1].word[j]);
      add_bytes(r, p[0].word, y);
    } else {
#pragma unroll
      for (int i = 0; i < base::items; ++i) take(r, item_of<word>(p[0], i), item_of<word>(p[Inputs - 1], i));
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[Inputs], std::uint64_t) const {
    if constexpr (Size == 1) {
      const std::uint32_t x[1] = {p[0].word[0] & 0xffu}, y[1] = {factor(x[0], p[Inputs - 1].word[0])};
      add_bytes(r, x, y);
    } else {
      take(r, item_of<word>(p[0], 0), item_of<word>(p[Inputs - 1], 0));
    }
  }
  __device__ __forceinline__ bool answer(state s, std::uint64_t, const typename base::facts_type&, void* out) const {
    write_as<std::uint64_t>(out, s);
    return true;
  }

 private:
  /// What bytes are multiplied by: -1 and 1 of magnitudes.
  __device__ __forceinline__ std::uint32_t factor(std::uint32_t x, std::uint32_t y) const {
    if (Inputs == 2 || !magnitudes) return y;
    return is_signed ? (x >> 7 & ones_of_bytes) * 0xffu | ones_of_bytes : ones_of_bytes;
  }
  /// One branch for all words: in each of them it costs as much as they do.
  template <int Words>
  __device__ __forceinline__ void add_bytes(running& r, const std::uint32_t (&x)[Words], const std::uint32_t (&y)[Words]) const {
    int part = 0;
    if (is_signed) {
#pragma unroll
      for (int j = 0; j < Words; ++j) part = __dp4a(static_cast<int>(x[j]), static_cast<int>(y[j]), part);
    } else {
#pragma unroll
      for (int j = 0; j < Words; ++j) part = static_cast<int>(__dp4a(x[j], y[j], static_cast<unsigned>(part)));
    }
    r += static_cast<std::uint64_t>(std::int64_t{part});
  }
  /// A number in as many bits as its products need half of.
  using number = std::conditional_t<Size == 2, std::int32_t, std::int64_t>;
  __device__ __forceinline__ number number_of(word w) const {
    if constexpr (Size == 8) return static_cast<number>(w);
    else return is_signed ? number{static_cast<std::make_signed_t<word>>(w)} : static_cast<number>(w);
  }
  __device__ __forceinline__ void take(running& r, word x, word y) const {
    const number a = number_of(x);
    number b = number_of(y);
    if constexpr (Inputs == 1) {
      if (magnitudes) b = is_signed && a < 0 ? -1 : 1;
    }
    if constexpr (Size == 2) r += static_cast<std::uint64_t>(std::int64_t{a} * b);
    else r += static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
  }
};
template <int Size>
using whole_square_rows = whole_product_rows<Size, 1>;
template <int Size>
using whole_dot_rows = whole_product_rows<Size, 2>;

/// What a thread keeps of 64-bit integers: Σx, and of |x| = a·2^32 + b the sums of b², a·b and a², as long_rows.
template <bool Squares>
struct long_moments {
  exact::u128 sum;
  exact::u128 square[Squares ? 3 : 1];
};
/// The same of shorter ones: no thread adds 2^32 of them.
template <bool Squares>
struct short_moments {
  std::uint64_t sum;
  std::uint64_t square[Squares ? 2 : 1];  ///< for 8 and 16 bits in the first
};

/// mean; with Squares var, std, mean_var and norm2 too.
template <int Size, bool Squares>
struct whole_moment_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using typename base::word;
  /// The state of a row of any length: the sum in two's complement, the squares' sum behind it.
  static constexpr int sum_words = Size < 4 ? 1 : 2, square_words = !Squares ? 0 : Size == 1 ? 1 : Size == 8 ? 3 : 2;
  struct state {
    std::uint64_t w[sum_words + square_words];
  };
  using running = std::conditional_t<Size == 8, long_moments<Squares>, short_moments<Squares>>;

  op what;
  wf::rounding rounding;
  bool flips;  ///< numbers have no sign
  std::int64_t correction;

  std::size_t result_size() const { return what == op::mean_var ? 16 : 8; }
  static whole_moment_rows of(const rows_request& r) { return {{}, r.what, r.options.rounding, !has_sign(r.element), r.options.correction}; }
  __device__ __forceinline__ state identity() const { return {}; }
  __device__ __forceinline__ running start() const { return {}; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
    if constexpr (Size == 1) {
      int sum = 0, squares = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto w = static_cast<int>(p[0].word[j] ^ flip());
        sum = __dp4a(w, static_cast<int>(ones_of_bytes), sum);
        if constexpr (Squares) squares = __dp4a(w, w, squares);
      }
      r.sum += static_cast<std::uint64_t>(std::int64_t{sum});
      if constexpr (Squares) r.square[0] += static_cast<std::uint32_t>(squares);
    } else if constexpr (Size == 2) {
      int sum = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto w = static_cast<int>(p[0].word[j] ^ flip());
        sum = __dp2a_lo(w, static_cast<int>(ones_of_bytes), sum);
        if constexpr (Squares) {
          const int a = static_cast<std::int16_t>(w), b = w >> 16;
          r.square[0] += static_cast<std::uint64_t>(std::int64_t{a} * a);
          r.square[0] += static_cast<std::uint64_t>(std::int64_t{b} * b);
        }
      }
      r.sum += static_cast<std::uint64_t>(std::int64_t{sum});
    } else {
#pragma unroll
      for (int i = 0; i < base::items; ++i) take(r, item_of<word>(p[0], i));
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { take(r, item_of<word>(p[0], 0)); }
  __device__ __forceinline__ state total(const running& r) const {
    state s{};
    if constexpr (Size == 8) {
      put(s.w, r.sum);
      if constexpr (Squares) {  // b² + 2^33·a·b + 2^64·a²
        const exact::u128 low = r.square[0] + (r.square[1] << 33), high = r.square[2] + (low < r.square[0] ? exact::u128{1} << 64 : 0);
        const exact::u128 upper = high + exact::upper_word(low) + (r.square[1] >> 95 << 64);
        s.w[2] = static_cast<std::uint64_t>(low);
        put(s.w + 3, upper);
      }
    } else {
      s.w[0] = r.sum;
      if constexpr (Size == 4) s.w[1] = sign_of(r.sum);
      if constexpr (Squares) {
        s.w[sum_words] = r.square[0];
        if constexpr (Size == 4) s.w[sum_words + 1] = r.square[1];
      }
    }
    return s;
  }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    add_words<sum_words>(a.w, b.w);
    if constexpr (Squares) add_words<square_words>(a.w + sum_words, b.w + sum_words);
    return a;
  }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    if constexpr (Size <= 2) {
      bool few = rounding == wf::rounding::nearest;
      if constexpr (Size == 2 && Squares) few = few && s.w[sum_words + 1] == 0;
      if (few) {
        auto* const to = static_cast<double*>(out);
        const auto answer = [&](op one, double* at) { return answer_few(one, n, flips ? 8 * Size - 1 : -1, static_cast<std::int64_t>(s.w[0]), Squares ? s.w[sum_words] : 0, correction, at); };
        if (what == op::mean_var ? answer(op::mean, to) && answer(op::var, to + 1) : answer(what, to)) return true;
      }
    }
    integer_moments m{{s.w[0], sum_words == 2 ? s.w[sum_words - 1] : sign_of(s.w[0])}, {0, 0, 0}};
#pragma unroll
    for (int k = 0; k < square_words; ++k) m.squares[k] = s.w[sum_words + k];
    m.template answer<Squares>(what, n, flips ? 8 * Size - 1 : -1, rounding, correction, static_cast<double*>(out));
    return true;
  }

 private:
  static __device__ __forceinline__ std::uint64_t sign_of(std::uint64_t w) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(w) >> 63); }
  static __device__ __forceinline__ void put(std::uint64_t* to, exact::u128 x) {
    to[0] = static_cast<std::uint64_t>(x);
    to[1] = exact::upper_word(x);
  }
  template <int Words>
  static __device__ __forceinline__ void add_words(std::uint64_t* to, const std::uint64_t* from) {
    exact::u128 carry = 0;
#pragma unroll
    for (int k = 0; k < Words; ++k) {
      carry += exact::u128{to[k]} + from[k];
      to[k] = static_cast<std::uint64_t>(carry);
      carry = exact::upper_word(carry);
    }
  }
  /// The highest bits of what is in 32, if they are to be flipped.
  __device__ __forceinline__ std::uint32_t flip() const {
    constexpr std::uint32_t bits = Size == 1 ? 0x80808080u : Size == 2 ? 0x80008000u : 0x80000000u;
    return flips ? bits : 0;
  }
  __device__ __forceinline__ void take(running& r, word w) const {
    if constexpr (Size == 8) {
      const std::uint64_t x = w ^ std::uint64_t{flip()} << 32, sign = sign_of(x);
      r.sum += exact::u128{sign} << 64 | x;
      if constexpr (Squares) {
        const std::uint64_t m = (x ^ sign) - sign, a = m >> 32, b = m & 0xffffffffu;
        r.square[0] += b * b;
        r.square[1] += a * b;
        r.square[2] += a * a;
      }
    } else {
      const std::int64_t x = static_cast<std::make_signed_t<word>>(w ^ static_cast<word>(flip()));
      r.sum += static_cast<std::uint64_t>(x);
      if constexpr (Squares) {
        const auto square = static_cast<std::uint64_t>(x * x);
        r.square[0] += square;
        if constexpr (Size == 4) r.square[1] += r.square[0] < square ? 1 : 0;
      }
    }
  }
};
template <int Size>
using whole_mean_rows = whole_moment_rows<Size, false>;
template <int Size>
using whole_spread_rows = whole_moment_rows<Size, true>;

}  // namespace wf::device::inline WF_BUILD
