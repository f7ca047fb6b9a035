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

/// Sums of integers modulo 2^64. Where integers have a sign, x + 2^(bits - 1) is added, which has none.
template <int Size>
struct whole_sum_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using state = std::uint64_t;
  using running = std::uint64_t;
  using typename base::word;
  static constexpr std::size_t answer_size = 8;
  static constexpr bool any_order = true;
  std::uint64_t lift;  ///< how much is added to each element: 0, or the sign's bit

  std::size_t result_size() const { return 8; }
  static whole_sum_rows of(const rows_request& r) {
    const bool sign = r.element == dtype::i8 || r.element == dtype::i16 || r.element == dtype::i32;
    return {{}, sign ? std::uint64_t{1} << (8 * Size - 1) : 0};
  }
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ std::uint32_t neutral() const { return static_cast<std::uint32_t>(lift) * (Size == 1 ? 0x01010101u : 0x00010001u); }
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
  key most;  ///< for floats the infinity's key, beyond which, and beyond whose complement, NaNs lie; for integers the greatest key

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
  /// The word of a key, of a float that is no NaN.
  __device__ __forceinline__ word_of<Size> word(key k) const { return static_cast<word_of<Size>>(k ^ ((k < 0 ? flip : 0) | top)); }
};

/// min, max, minmax and norm_inf.
template <int Size>
struct extreme_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using typename base::word;
  using key = typename word_keys<Size>::key;
  static constexpr bool wide_columns = true, repeatable = true;
  static constexpr bool quads = Size < 8;  ///< f64 by them took 1.05 times as long
  struct state {
    key least, greatest;
  };
  using running = state;
  word_keys<Size> keys;
  op what;
  dtype type;
  std::uint8_t answer_bytes;
  std::uint32_t turn;  ///< for 1 and 2 bytes: what makes keys without a sign of a word's elements

  std::size_t result_size() const { return answer_bytes; }
  static extreme_rows of(const rows_request& r) {
    const result_kind k = result_of_kind(operation_of(r.what).answer, r.element);
    extreme_rows a{{}, word_keys<Size>::of(r.element), r.what, r.element, static_cast<std::uint8_t>(info(k.type).size * static_cast<std::size_t>(k.values)), 0};
    if constexpr (Size <= 2) a.turn = (static_cast<std::uint32_t>(a.keys.top) & (Size == 1 ? 0xffu : 0xffffu)) * (Size == 1 ? 0x01010101u : 0x00010001u) ^ signs;
    return a;
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
    if constexpr (Size <= 2) {
      halves all;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::uint32_t k = keys_of(p[0].word[j]);
        all.take(k);
        if constexpr (Size == 1) all.take(k << 8);
      }
      r = combine(r, combine(all.lower(), all.upper()));
    } else {
#pragma unroll
      for (int i = 0; i < base::items; ++i) take(r, item_of<word>(p[0], i));
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { take(r, item_of<word>(p[0], 0)); }
  /// Neighbouring columns: two elements at once.
  template <int Columns, int Loads>
  __device__ __forceinline__ void add_columns(running (&r)[Columns], const pack (&p)[Loads][1]) const
    requires(Size <= 2 && Columns * Size % 4 == 0)
  {
#pragma unroll
    for (int w = 0; w < Columns * Size / 4; ++w) {
      halves odd, even;  // odd has both where elements have 2 bytes
#pragma unroll
      for (int j = 0; j < Loads; ++j) {
        const std::uint32_t k = keys_of(p[j][0].word[w]);
        odd.take(k);
        if constexpr (Size == 1) even.take(k << 8);
      }
      running* const four = r + w * 4 / Size;
      if constexpr (Size == 1) {
        four[0] = combine(four[0], even.lower());
        four[1] = combine(four[1], odd.lower());
        four[2] = combine(four[2], even.upper());
        four[3] = combine(four[3], odd.upper());
      } else {
        four[0] = combine(four[0], odd.lower());
        four[1] = combine(four[1], odd.upper());
      }
    }
  }
  /// Writes the answer in place where it is an element, and in a function of its own where it is anything else.
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    if (n == 0 || s.least < ~keys.most || s.greatest > keys.most || (what != op::min && what != op::max)) return answer_apart(s, n, out);
    *static_cast<word*>(out) = keys.word(what == op::min ? s.least : s.greatest);
    return true;
  }

 private:
  __device__ __attribute__((noinline)) bool answer_apart(const state& s, std::uint64_t n, void* out) const {
    with_real(type, [&]<class T>(T) {
      if constexpr (sizeof(T) == Size && !std::is_same_v<T, bool>) extremes_fold<T>{what}.write({s.least, s.greatest}, n, out);
    });
    return true;
  }
  static constexpr std::uint32_t signs = Size == 1 ? 0x80808080u : 0x80008000u;
  /// Keys without a sign of a word's elements.
  __device__ __forceinline__ std::uint32_t keys_of(std::uint32_t w) const {
    if constexpr (Size == 1) return w ^ turn;
    else return w ^ turn ^ (w >> 15 & 0x00010001u) * static_cast<std::uint32_t>(keys.flip);
  }
  /// The least and the greatest of the halves of words. For elements of 1 byte the upper one of a half is compared, and the lower one decides between equal ones.
  struct halves {
    std::uint32_t least = ~0u, greatest = 0;
    __device__ __forceinline__ void take(std::uint32_t w) {
      least = __vminu2(least, w);
      greatest = __vmaxu2(greatest, w);
    }
    static __device__ __forceinline__ key key_of(std::uint32_t half) { return static_cast<key>(half >> (16 - 8 * Size)) - (key{1} << (8 * Size - 1)); }
    __device__ __forceinline__ state lower() const { return {key_of(least & 0xffff), key_of(greatest & 0xffff)}; }
    __device__ __forceinline__ state upper() const { return {key_of(least >> 16), key_of(greatest >> 16)}; }
  };
};

/// The rank of a row's best element, and where it is. The least rank is the best.
template <int Size>
struct place_of {
  std::int64_t index;  ///< -1: none
  typename word_keys<Size>::key rank;
};
/// The same of elements of 1 and 2 bytes: the rank, without a sign, is in the upper 16 bits, and the index below it; for no element all bits are set. No array of such elements has 2^48 of them.
struct narrow_place {
  std::uint64_t bits;
};

/// argmin and argmax.
template <int Size>
struct arg_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using typename base::word;
  using key = typename word_keys<Size>::key;
  static constexpr bool narrow = Size <= 2;
  using state = std::conditional_t<narrow, narrow_place, place_of<Size>>;
  using running = state;
  word_keys<Size> keys;
  static constexpr std::size_t answer_size = 8;
  static constexpr bool wide_columns = Size > 1, repeatable = true, quads = true;
  key flip;  ///< -1 for argmax
  bool is_float;
  std::uint32_t turn;  ///< for 1 and 2 bytes: of integers what makes ranks without a sign of a word's elements; of floats two times 1, or -1 for argmin

  std::size_t result_size() const { return 8; }
  static arg_rows of(const rows_request& r) {
    arg_rows a{{}, word_keys<Size>::of(r.element), static_cast<key>(r.what == op::argmax ? -1 : 0), is_floating(r.element), 0};
    if constexpr (narrow) {
      if (a.is_float) a.turn = (r.element == dtype::f16 ? 0x3c003c00u : 0x3f803f80u) | (r.what == op::argmax ? 0 : 0x80008000u);
      else a.turn = (static_cast<std::uint32_t>(a.keys.top ^ a.flip ^ key{1} << (8 * Size - 1)) & mask) * every;
    }
    return a;
  }
  __device__ __forceinline__ state identity() const {
    if constexpr (narrow) return {~std::uint64_t{0}};
    else return {-1, static_cast<key>(~std::uint64_t{0} >> (65 - 8 * sizeof(key)))};
  }
  __device__ __forceinline__ running start() const { return identity(); }
  /// A state without elements has the last rank, and an index that is beyond all others as an unsigned number.
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    if constexpr (narrow) return {min(a.bits, b.bits)};
    else return b.rank < a.rank || (b.rank == a.rank && static_cast<std::uint64_t>(b.index) < static_cast<std::uint64_t>(a.index)) ? b : a;
  }
  __device__ __forceinline__ state total(const running& r) const { return r; }
  /// These take what is before others as well as what is behind them.
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t first) const {
    if constexpr (narrow) {
      const pack one[1][1] = {{p[0]}};
      add_packs(r, one, first, base::items);
    } else {
      running here = start();
#pragma unroll
      for (int i = 0; i < base::items; ++i) take(here, item_of<word>(p[0], i), first + static_cast<unsigned>(i));
      r = combine(r, here);
    }
  }
  /// Packs whose first elements are `apart` from each other: one look tells where the best of all is.
  template <int Loads>
  __device__ __forceinline__ void add_packs(running& r, const pack (&p)[Loads][1], std::uint64_t first, std::uint64_t apart) const
    requires narrow
  {
    static_assert(Loads * base::items <= 256);
    std::uint32_t best = ~0u;
#pragma unroll
    for (unsigned j = 0; j < Loads; ++j) {
      std::uint32_t rank[4] = {p[j][0].word[0], p[j][0].word[1], p[j][0].word[2], p[j][0].word[3]};
      make_ranks(rank);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const placed two = placed_ranks(rank[i], (Size == 1 ? 0x03020100u : 0x00010000u) + (base::items * j + 4 / Size * i) * every);
        best = better(best, better(two.even, two.odd));
      }
    }
    if constexpr (Size == 1) best = min(best & 0xffff, best >> 16);
    const std::uint32_t place = best & mask;
    r = combine(r, found(best, Loads == 1 ? first + place : first + place / base::items * apart + place % base::items));
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t i) const {
    if constexpr (narrow) {
      std::uint32_t rank[1] = {item_of<word>(p[0], 0)};
      make_ranks(rank);
      r = combine(r, found((rank[0] & mask) << (8 * Size), i));
    } else {
      running one = start();
      take(one, item_of<word>(p[0], 0), i);
      r = combine(r, one);
    }
  }
  /// Neighbouring columns, later than all before.
  template <int Columns, int Loads>
  __device__ __forceinline__ void add_columns(running (&r)[Columns], const pack (&p)[Loads][1], std::uint64_t first, std::uint64_t step) const {
    if constexpr (narrow) {
      static_assert(Loads <= 255 && Columns * Size % 4 == 0);
      constexpr int words = Columns * Size / 4, of_word = 4 / Size;
#pragma unroll
      for (int w = 0; w < words; ++w) {
        std::uint32_t rank[Loads];
#pragma unroll
        for (int j = 0; j < Loads; ++j) rank[j] = p[j][0].word[w];
        make_ranks(rank);
        placed best{~0u, ~0u};
#pragma unroll
        for (unsigned j = 0; j < Loads; ++j) {
          const placed two = placed_ranks(rank[j], j * every);
          best = {better(best.even, two.even), better(best.odd, two.odd)};
        }
#pragma unroll
        for (int c = 0; c < of_word; ++c) {
          const std::uint32_t of_two = c % 2 == 0 ? best.even : best.odd, one = Size == 2 ? of_two : c < 2 ? of_two & 0xffff : of_two >> 16;
          running& to = r[w * of_word + c];
          to = combine(to, found(one, first + (one & mask) * step));
        }
      }
    } else if (is_float) {
      add_columns_of<true>(r, p, first, step);
    } else {
      add_columns_of<false>(r, p, first, step);
    }
  }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t, const typename base::facts_type&, void* out) const {
    if constexpr (narrow) write_as<std::int64_t>(out, static_cast<std::int64_t>(s.bits << 16) >> 16);
    else write_as<std::int64_t>(out, s.index);
    return true;
  }

 private:
  template <bool Float>
  __device__ __forceinline__ key rank_of(word w) const {
    key k = keys(w);
    if constexpr (!Float) return k ^ flip;
    const bool nan = k > keys.most || k < ~keys.most;  // zeros are equal; NaNs are before all
    k = (k == -1 ? 0 : k) ^ flip;
    return nan ? static_cast<key>(~(~std::uint64_t{0} >> (65 - 8 * sizeof(key)))) : k;
  }
  /// Later than all before.
  __device__ __forceinline__ void take(running& r, word w, std::uint64_t i) const {
    const key k = is_float ? rank_of<true>(w) : rank_of<false>(w);
    if (k < r.rank || r.index < 0) r = {static_cast<std::int64_t>(i), k};
  }
  /// Looks for the place of the loads' best element only where that is better than the best so far.
  template <bool Float, int Columns, int Loads>
  __device__ __forceinline__ void add_columns_of(running (&r)[Columns], const pack (&p)[Loads][1], std::uint64_t first, std::uint64_t step) const {
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      key rank[Loads];
#pragma unroll
      for (int j = 0; j < Loads; ++j) rank[j] = rank_of<Float>(item_of<word>(p[j][0], c));
      key best = rank[0];
#pragma unroll
      for (int j = 1; j < Loads; ++j) best = min(best, rank[j]);
      if (best >= r[c].rank && r[c].index >= 0) continue;
      unsigned at = Loads - 1;
#pragma unroll
      for (int j = Loads - 2; j >= 0; --j) {
        if (rank[j] == best) at = static_cast<unsigned>(j);
      }
      r[c] = {static_cast<std::int64_t>(first + at * step), best};
    }
  }
  // Elements of 1 and 2 bytes: their ranks without a sign, of which the least is the best.
  static constexpr std::uint32_t mask = Size == 1 ? 0xffu : 0xffffu, every = Size == 1 ? 0x01010101u : 0x00010001u;
  /// Ranks, with their places in as many bits below: those of a word's elements at even places, and at odd ones; for elements of 1 byte two to a word.
  struct placed {
    std::uint32_t even, odd;
  };
  static __device__ __forceinline__ placed placed_ranks(std::uint32_t ranks, std::uint32_t places) {
    if constexpr (Size == 1) return {__byte_perm(ranks, places, 0x2604), __byte_perm(ranks, places, 0x3715)};
    else return {ranks << 16 | (places & 0xffff), (ranks & 0xffff0000u) | places >> 16};
  }
  static __device__ __forceinline__ std::uint32_t better(std::uint32_t a, std::uint32_t b) {
    if constexpr (Size == 1) return __vminu2(a, b);
    else return min(a, b);
  }
  /// Words of elements become their ranks.
  template <int Words>
  __device__ __forceinline__ void make_ranks(std::uint32_t (&w)[Words]) const {
    if (Size == 1 || !is_float) {
#pragma unroll
      for (int j = 0; j < Words; ++j) w[j] ^= turn;
    } else if (keys.most == 0x7c00) {
#pragma unroll
      for (int j = 0; j < Words; ++j) w[j] = rank_of_turned(turned<true>(w[j]));
    } else {
#pragma unroll
      for (int j = 0; j < Words; ++j) w[j] = rank_of_turned(turned<false>(w[j]));
    }
  }
  /// Two floats, of argmin with the other sign: the greatest is the best. No zero has a sign, and NaNs are 0x7fff.
  template <bool F16>
  __device__ __forceinline__ std::uint32_t turned(std::uint32_t two) const {
#if defined(__CUDA_ARCH__)
    if constexpr (F16) {
      std::uint32_t y;
      asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(two), "r"(turn), "r"(0));
      return y;
    }
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t y;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(two), "r"(turn), "r"(0));
    return y;
#else
    constexpr std::uint32_t magnitudes = 0x7fff7fff, signs = 0x80008000;
    const std::uint32_t magnitude = two & magnitudes;
    const std::uint32_t nan = magnitude + (F16 ? 0x03ff03ffu : 0x007f007fu), some = magnitude + magnitudes;  // in the highest bit of each half: is it a NaN, is it more than zero
    return magnitude | ((two ^ turn) & some & ~nan & signs) | (all_of_sign(nan) & magnitudes);
#endif
  }
  static __device__ __forceinline__ std::uint32_t rank_of_turned(std::uint32_t two) { return two ^ (~all_of_sign(two) & 0x7fff7fffu); }
  /// Each half has its highest bit in all places.
  static __device__ __forceinline__ std::uint32_t all_of_sign(std::uint32_t two) {
#if defined(__CUDA_ARCH__)
    std::uint32_t minus;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(minus) : "r"(two));
    return minus;
#else
    return (two >> 15 & 0x00010001u) * 0xffffu;
#endif
  }
  /// A placed rank as a state.
  static __device__ __forceinline__ state found(std::uint32_t one, std::uint64_t index)
    requires narrow
  {
    return {(std::uint64_t{one >> (8 * Size)} << 48) + index};
  }
};

}  // namespace wf::device::inline WF_BUILD
