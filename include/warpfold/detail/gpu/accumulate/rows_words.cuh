// SPDX-License-Identifier: Apache-2.0
/// \file rows_words.cuh
/// Accumulators of rows (rows_kernel.cuh) that know of an element type its size alone, the rest being a number or two that the host
/// sends along: sums of integers, and extremes and their places by keys. So one kernel serves all types of a size.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_any.cuh>

namespace wf::device::inline WF_BUILD {

template <int Size>
using word_of = std::conditional_t<Size == 1, std::uint8_t, std::conditional_t<Size == 2, std::uint16_t, std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// What accumulators of words have in common.
template <int Size>
struct word_rows {
  static constexpr int inputs = 1, fixed_size = Size, fixed_align = Size, items = 16 / Size;
  static constexpr bool proves = false, packs = true;
  using word = word_of<Size>;
  struct facts_type {};
  int item_size() const { return Size; }
  int item_align() const { return Size; }
  WF_HD facts_type facts(std::uint64_t, std::uint64_t, std::uint64_t) const { return {}; }
};

/// Sums of integers modulo 2^64: of x + 2^(bits - 1) where they have a sign, so that none has.
template <int Size>
struct whole_sum_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using state = std::uint64_t;
  using running = std::uint64_t;
  using typename base::word;
  static constexpr std::size_t answer_size = 8;
  static constexpr bool any_order = true;
  std::uint64_t lift;  ///< what each element is greater by; 0, or the sign's bit

  std::size_t result_size() const { return 8; }
  static whole_sum_rows of(const rows_request& r) {
    const bool sign = r.element == dtype::i8 || r.element == dtype::i16 || r.element == dtype::i32;
    return {{}, sign ? std::uint64_t{1} << (8 * Size - 1) : 0};
  }
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ state total(running r) const { return r; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
    if constexpr (Size == 1) {
      const auto flip = static_cast<std::uint32_t>(lift * 0x01010101u);
      unsigned part = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) part = __dp4a(p[0].word[j] ^ flip, 0x01010101u, part);
      r += part;
    } else {
#pragma unroll
      for (int i = 0; i < base::items; ++i) r += item_of<word>(p[0], i) ^ lift;
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { r += item_of<word>(p[0], 0) ^ lift; }
  /// Neighbouring columns, 8 bytes of each load: several to a word, as often as these have room.
  template <int Columns, int Loads>
  __device__ __forceinline__ void add_columns(running (&r)[Columns], const pack (&p)[Loads][1]) const
    requires(Size <= 2 && Columns * Size == 8)
  {
    static_assert(Loads <= 256);
    const auto flip = static_cast<std::uint32_t>(lift * (Size == 1 ? 0x01010101u : 0x00010001u));
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      std::uint32_t even = 0, odd = 0;
#pragma unroll
      for (int j = 0; j < Loads; ++j) {
        const std::uint32_t x = p[j][0].word[w] ^ flip;
        even += Size == 1 ? x & 0x00ff00ffu : x & 0xffffu;
        odd += Size == 1 ? x >> 8 & 0x00ff00ffu : x >> 16;
      }
      if constexpr (Size == 1) {
        r[4 * w] += even & 0xffff;
        r[4 * w + 1] += odd & 0xffff;
        r[4 * w + 2] += even >> 16;
        r[4 * w + 3] += odd >> 16;
      } else {
        r[2 * w] += even;
        r[2 * w + 1] += odd;
      }
    }
  }
  __device__ __forceinline__ bool answer(state s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    write_as<std::uint64_t>(out, s - n * lift);
    return true;
  }
};

/// How words become keys in the order of the numbers: floats by a flip of what follows the sign, integers without one by a flip of the
/// highest bit.
template <int Size>
struct word_keys {
  using key = std::conditional_t<Size == 8, std::int64_t, std::int32_t>;
  key flip, top;
  key most;  ///< of floats the infinity's key: NaNs lie beyond it, and beyond its complement; of integers the greatest there is

  static word_keys of(dtype t) {
    constexpr int bits = 8 * Size;
    constexpr auto below = static_cast<key>((std::uint64_t{1} << (bits - 1)) - 1);
    word_keys k{0, 0, below};
    if (is_floating(t)) {
      k.flip = below;
      const int mantissa = t == dtype::f16 ? 10 : t == dtype::bf16 ? 7 : t == dtype::f32 ? 23 : 52;
      k.most = static_cast<key>(below >> mantissa << mantissa);
    } else if (t == dtype::u8 || t == dtype::u16 || t == dtype::u32 || t == dtype::u64) {
      k.top = static_cast<key>(~below);
    }
    return k;
  }
  __device__ __forceinline__ key operator()(word_of<Size> w) const {
    using narrow = std::make_signed_t<word_of<Size>>;
    const auto x = static_cast<key>(static_cast<narrow>(w));
    return x ^ ((x < 0 ? flip : 0) | top);
  }
};

/// min, max, minmax and norm_inf.
template <int Size>
struct extreme_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using typename base::word;
  using key = typename word_keys<Size>::key;
  struct state {
    key least, greatest;
  };
  using running = state;
  word_keys<Size> keys;
  op what;
  dtype type;
  std::uint8_t answer_bytes;

  std::size_t result_size() const { return answer_bytes; }
  static extreme_rows of(const rows_request& r) {
    const result_kind k = result_of_kind(operation_of(r.what).answer, r.element);
    return {{}, word_keys<Size>::of(r.element), r.what, r.element, static_cast<std::uint8_t>(info(k.type).size * static_cast<std::size_t>(k.values))};
  }
  __device__ __forceinline__ state identity() const {
    constexpr auto most = static_cast<key>(~std::uint64_t{0} >> (65 - 8 * sizeof(key)));
    return {most, static_cast<key>(~most)};
  }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    return {min(a.least, b.least), max(a.greatest, b.greatest)};
  }
  __device__ __forceinline__ state total(const running& r) const { return r; }
  __device__ __forceinline__ void take(running& r, word w) const {
    const key k = keys(w);
    r = {min(r.least, k), max(r.greatest, k)};
  }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < base::items; ++i) take(r, item_of<word>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { take(r, item_of<word>(p[0], 0)); }
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    with_real(type, [&]<class T>(T) {
      if constexpr (sizeof(T) == Size && !std::is_same_v<T, bool>) extremes_fold<T>{what}.write({s.least, s.greatest}, n, out);
    });
    return true;
  }
};

/// argmin and argmax.
template <int Size>
struct arg_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using typename base::word;
  using key = typename word_keys<Size>::key;
  struct state {
    std::int64_t index;  ///< -1: none
    key rank;            ///< the least is the best
  };
  using running = state;
  word_keys<Size> keys;
  static constexpr std::size_t answer_size = 8;
  key flip;  ///< -1 for argmax
  bool is_float;

  std::size_t result_size() const { return 8; }
  static arg_rows of(const rows_request& r) {
    return {{}, word_keys<Size>::of(r.element), static_cast<key>(r.what == op::argmax ? -1 : 0), is_floating(r.element)};
  }
  __device__ __forceinline__ state identity() const { return {-1, 0}; }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    if (a.index < 0 || b.index < 0) return b.index < 0 ? a : b;
    return b.rank < a.rank || (b.rank == a.rank && b.index < a.index) ? b : a;
  }
  __device__ __forceinline__ state total(const running& r) const { return r; }
  /// Later than all before.
  __device__ __forceinline__ void take(running& r, word w, std::uint64_t i) const {
    key k = keys(w);
    if (is_float) {  // zeros are equal; NaNs are before all
      const bool nan = k > keys.most || k < ~keys.most;
      k = (k == -1 ? 0 : k) ^ flip;
      if (nan) k = static_cast<key>(~(~std::uint64_t{0} >> (65 - 8 * sizeof(key))));
    } else {
      k ^= flip;
    }
    if (k < r.rank || r.index < 0) r = {static_cast<std::int64_t>(i), k};
  }
  /// These two take what is before others as well as what is behind them.
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t first) const {
    running here = start();
#pragma unroll
    for (int i = 0; i < base::items; ++i) take(here, item_of<word>(p[0], i), first + static_cast<unsigned>(i));
    r = combine(r, here);
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t i) const {
    running one = start();
    take(one, item_of<word>(p[0], 0), i);
    r = combine(r, one);
  }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t, const typename base::facts_type&, void* out) const {
    write_as<std::int64_t>(out, s.index);
    return true;
  }
};

}  // namespace wf::device::inline WF_BUILD
