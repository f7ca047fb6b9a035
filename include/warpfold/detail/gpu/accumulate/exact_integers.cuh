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

/// The same of 64 bits. Of |x| = a·2^32 + b the sums of a², a·b and b², 128 bits each: a product is one
/// wide multiplication and nothing is carried from sum to sum before the end.
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

  exact::u128 sum;                       ///< two's complement
  exact::u128 squares[Squares ? 3 : 1];  ///< the sums of b², a·b and a²
  bool any;

  __device__ __forceinline__ void start(op) {
    sum = 0;
    for (auto& s : squares) s = 0;
    any = false;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) add_item(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(T x) {
    any = true;
    const auto u = static_cast<std::uint64_t>(x);
    const bool negative = std::is_signed_v<T> && static_cast<std::int64_t>(u) < 0;
    sum += exact::u128{negative ? ~std::uint64_t{0} : 0} << 64 | u;
    if constexpr (Squares) {
      const std::uint64_t m = negative ? 0 - u : u;
      const std::uint64_t a = m >> 32, b = m & 0xffffffff;
      squares[0] += b * b;
      squares[1] += a * b;
      squares[2] += a * a;
    }
  }
  __device__ __forceinline__ void after_batch() {}
  __device__ __forceinline__ void finish() {}
  __device__ __forceinline__ std::uint32_t kinds(int) const { return any ? special::ordinary : 0; }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    std::int64_t word[first_words + second_words] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto digit = static_cast<std::uint32_t>(sum >> (32 * j));
      word[j] = j == 3 ? std::int64_t{static_cast<std::int32_t>(digit)} : std::int64_t{digit};
      if constexpr (Squares) {
#pragma unroll
        for (int k = 0; k < 3; ++k) {
          const auto of_square = static_cast<std::uint32_t>(squares[k] >> (32 * j));
          word[first_words + j + k] += std::int64_t{of_square} << (k == 1 ? 1 : 0);
        }
      }
    }
    r.template sum<first_words, digits0, Squares ? digits1 : 0>(word, to);
  }
};

}  // namespace wf::device::inline WF_BUILD
