// SPDX-License-Identifier: Apache-2.0
/// \file exact_integers.cuh
/// Row sets (row_set_concept.cuh) of integers: sums in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>

namespace wf::device::inline WF_BUILD {

/// Where the words of the threads of a block are added up.
template <int Threads, int Words>
struct word_room {
  std::int64_t of_warp[Threads / 32][Words];

  /// Digits of two rows: the first has the first FirstWords words, zeros above them, the second the others.
  template <int FirstWords, int Digits0, int Digits1>
  __device__ __forceinline__ void sum(const std::int64_t (&word)[Words], std::int64_t* to) {
#pragma unroll
    for (int j = 0; j < Words; ++j) {
      const std::int64_t v = warp_sum_wide(word[j]);
      if (lane_index() == 0) of_warp[warp_index()][j] = v;
    }
    __syncthreads();
    const int k = static_cast<int>(threadIdx.x);
    if (k < Digits0 + Digits1) {
      const int in_row = k < Digits0 ? k : k - Digits0;
      const int from = k < Digits0 ? 0 : FirstWords, size = k < Digits0 ? FirstWords : Words - FirstWords;
      std::int64_t v = 0;
      if (in_row < size) {
#pragma unroll 1
        for (int w = 0; w < Threads / 32; ++w) v += of_warp[w][from + in_row];
      }
      to[k] = v;
    }
  }
};

/// Σx, and Σx² if Squares, of integers up to 32 bits: 32-bit digits in registers.
template <class T, int Threads, bool Squares>
struct integer_rows {
  static constexpr int inputs = 1, rows = Squares ? 2 : 1, watches = 1, loads = 4;
  static constexpr int resident_threads = 1024;
  static constexpr int item_size = static_cast<int>(sizeof(T)), ahead = item_size == 2 ? 4 : 0;  // words have room for 2^31 squares of 16 bits
  static constexpr int digits0 = 6, digits1 = 8;
  static constexpr int unit0 = 0, unit1 = 0;
  static constexpr std::size_t shared_bytes = 0;
  static constexpr int first_words = 2, second_words = Squares ? 3 : 0;
  using room = word_room<Threads, first_words + second_words>;

  std::int64_t word[first_words + second_words];  ///< word j of each row weighs 2^(32 j)
  bool any;

  __device__ __forceinline__ void start(op) {
#pragma unroll
    for (int j = 0; j < first_words + second_words; ++j) word[j] = 0;
    any = false;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
    any = true;
    if constexpr (std::is_same_v<T, bool>) {
      int count = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) count += __popc(static_cast<int>(nonzero_bytes(p[0].word[j])));
      word[0] += count;
      if constexpr (Squares) word[first_words] += count;
    } else if constexpr (item_size == 1) {
      using narrow = std::conditional_t<std::is_signed_v<T>, int, unsigned>;
      narrow sum = 0, squares = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto w = static_cast<narrow>(p[0].word[j]);
        sum = __dp4a(w, static_cast<narrow>(0x01010101), sum);
        if constexpr (Squares) squares = __dp4a(w, w, squares);
      }
      word[0] += std::int64_t{sum};
      if constexpr (Squares) word[first_words] += std::int64_t{squares};
    } else {
#pragma unroll
      for (int i = 0; i < 16 / item_size; ++i) add_one(item_of<T>(p[0], i));
    }
  }
  __device__ __forceinline__ void add_item(T x) {
    any = true;
    add_one(x);
  }
  __device__ __forceinline__ void after_batch() {
    carry(0, first_words);
    if constexpr (Squares) carry(first_words, first_words + second_words);
  }
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int) const { return any ? special::ordinary : 0; }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    r.template sum<first_words, digits0, Squares ? digits1 : 0>(word, to);
  }

 private:
  __device__ __forceinline__ void carry(int from, int to) {
#pragma unroll
    for (int j = from; j < to - 1; ++j) {
      word[j + 1] += word[j] >> 32;
      word[j] &= 0xffffffff;
    }
  }
  __device__ __forceinline__ void add_one(T x) {
    word[0] += std::int64_t{x};
    if constexpr (Squares && sizeof(T) < 4) {
      word[first_words] += std::int64_t{x} * x;
    } else if constexpr (Squares) {
      const auto square = static_cast<std::uint64_t>(std::int64_t{x}) * static_cast<std::uint64_t>(std::int64_t{x});
      word[first_words] += static_cast<std::uint32_t>(square);
      word[first_words + 1] += static_cast<std::int64_t>(square >> 32);
    }
  }
};

/// A sum of up to 2^32 numbers of 64 bits.
struct carried_sum {
  std::uint32_t low, middle, high;

  static __device__ __forceinline__ carried_sum nothing() { return {0, 0, 0}; }
  __device__ __forceinline__ void add(std::uint32_t lower, std::uint32_t upper) {
#if defined(__CUDA_ARCH__)
    asm("add.cc.u32 %0, %0, %3;\n\taddc.cc.u32 %1, %1, %4;\n\taddc.u32 %2, %2, 0;" : "+r"(low), "+r"(middle), "+r"(high) : "r"(lower), "r"(upper));
#else
    put(value() + (std::uint64_t{upper} << 32 | lower));
#endif
  }
  /// Adds a·b: one multiplication with a carry, and an addition of that.
  __device__ __forceinline__ void add_product(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
    asm("mad.lo.cc.u32 %0, %3, %4, %0;\n\tmadc.hi.cc.u32 %1, %3, %4, %1;\n\taddc.u32 %2, %2, 0;" : "+r"(low), "+r"(middle), "+r"(high) : "r"(a), "r"(b));
#else
    put(value() + std::uint64_t{a} * b);
#endif
  }
  __device__ __forceinline__ exact::u128 value() const { return exact::u128{high} << 64 | (std::uint64_t{middle} << 32 | low); }

 private:
  __device__ __forceinline__ void put(exact::u128 v) {
    low = static_cast<std::uint32_t>(v);
    middle = static_cast<std::uint32_t>(v >> 32);
    high = static_cast<std::uint32_t>(v >> 64);
  }
};

/// The same of 64 bits. Each number is taken as u = x + 2^63, or as it is where it has no sign, and u = a·2^32 + b: the sums of u, a², a·b and b² have room for 2^32 elements of a thread, and
/// nothing is carried from sum to sum before the end, when 2^63 is taken out: Σx = Σu - n·2^63, Σx² = Σu² - 2^64·Σu + n·2^126.
template <class T, int Threads, bool Squares>
struct long_rows {
  static constexpr int inputs = 1, rows = Squares ? 2 : 1, watches = 1, loads = 4;
  static constexpr int resident_threads = 1024;
  static constexpr int item_size = 8, ahead = Squares ? 2 : 0;
  static constexpr int digits0 = 6, digits1 = 8;
  static constexpr int unit0 = 0, unit1 = 0;
  static constexpr std::size_t shared_bytes = 0;
  static constexpr int first_words = 4, second_words = Squares ? 6 : 0;
  using room = word_room<Threads, first_words + second_words>;

  carried_sum sum;
  carried_sum squares[Squares ? 3 : 1];  ///< the sums of b², a·b and a²
  std::uint32_t count;

  __device__ __forceinline__ void start(op) {
    sum = carried_sum::nothing();
    for (auto& s : squares) s = carried_sum::nothing();
    count = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) add_halves(p[0].word[2 * i], p[0].word[2 * i + 1]);
    count += 2;
  }
  __device__ __forceinline__ void add_item(T x) {
    const auto u = static_cast<std::uint64_t>(x);
    add_halves(static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(u >> 32));
    ++count;
  }
  __device__ __forceinline__ void after_batch() {}
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int) const { return count != 0 ? special::ordinary : 0; }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    std::int64_t word[first_words + second_words] = {};
    const exact::u128 n = is_signed ? count : 0;
    put(sum.value() - (n << 63), 0, word);
    if constexpr (Squares) {
      put(squares[0].value(), first_words, word);
      put(squares[1].value() << 1, first_words + 1, word);
      put(squares[2].value() - (is_signed ? sum.value() : 0) + (n << 62), first_words + 2, word);
    }
    r.template sum<first_words, digits0, Squares ? digits1 : 0>(word, to);
  }

 private:
  static constexpr bool is_signed = std::is_signed_v<T>;

  __device__ __forceinline__ void add_halves(std::uint32_t lower, std::uint32_t upper) {
    const std::uint32_t a = is_signed ? upper ^ 0x80000000u : upper;
    sum.add(lower, a);
    if constexpr (Squares) {
      squares[0].add_product(lower, lower);
      squares[1].add_product(a, lower);
      squares[2].add_product(a, a);
    }
  }
  /// Adds v, in two's complement, to four words.
  static __device__ __forceinline__ void put(exact::u128 v, int from, std::int64_t (&word)[first_words + second_words]) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto digit = static_cast<std::uint32_t>(v >> (32 * j));
      word[from + j] += j == 3 ? std::int64_t{static_cast<std::int32_t>(digit)} : std::int64_t{digit};
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
