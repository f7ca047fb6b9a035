// SPDX-License-Identifier: Apache-2.0
/// \file exact_small.cuh
/// The exact sum of an array that one block takes in one batch, where each step between the loads and the
/// answer is seen.
///
/// Most data lie so close together that doubles add a thread's elements without rounding. The threads' sums are then
/// integers, in units of the last place of the warp's least element, and the warp's total is a word. Else the warp adds
/// its elements to bins in shared memory, by atomics that wait for nothing. The first warp puts the warps together: where
/// all have words, in a word, which is rounded as an integer is converted; else in the bins. Packs that are not there are
/// -0 and are added like others: behind a branch elements would wait for those before it, and at these sizes waiting is
/// all that takes time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/epilogue/exact_round.cuh>
#include <warpfold/detail/gpu/kernels/fast_sum.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// The packs of a thread of the only block: threadIdx.x, threadIdx.x + Threads, …; -0 where there is none.
template <class T, int Threads, int Loads>
struct small_packs {
  static constexpr int items = Loads * pack_items<T>;
  pack p[Loads];

  explicit __device__ __forceinline__ small_packs(const aligned_part<T>& part) {
    const auto packs = static_cast<std::uint32_t>(part.last);
    const loader<cache::keep> load(1);
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      const std::uint32_t v = threadIdx.x + u * Threads;
#pragma unroll
      for (int j = 0; j < 4; ++j) p[u].word[j] = absent_word<T>(j);
      if (v < packs) p[u] = load_pack<true>(part, v, load);
    }
    if (part.rest != 0) {
      const std::uint32_t tail_at = part.tail() != 0 ? packs : ~0u, head_at = part.head() != 0 ? packs + (part.tail() != 0 ? 1 : 0) : ~0u;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        const std::uint32_t v = threadIdx.x + u * Threads;
        const bool is_head = v == head_at;
        if (is_head || v == tail_at) p[u] = load_part(is_head ? part.x - part.head() : part.x + packs * pack_items<T>, static_cast<int>(is_head ? part.head() : part.tail()));
      }
    }
  }
  /// Element i as an f32.
  __device__ __forceinline__ float value(int i) const {
    return fast_fold<T>::item(p[i / pack_items<T>], i % pack_items<T>);
  }
  __device__ __forceinline__ std::uint32_t bits(int i) const { return __float_as_uint(value(i)); }

  __device__ __forceinline__ bool is_zero(int u) const {
    const std::uint32_t any = p[u].word[0] | p[u].word[1] | p[u].word[2] | p[u].word[3];
    return (any & ~absent_word<T>(0)) == 0;
  }

  /// The sum in doubles, by four chains: half of the conversions by each of two units.
  __device__ __forceinline__ double sum() const {
    double chain[4] = {-0.0, -0.0, -0.0, -0.0};
#pragma unroll
    for (int i = 0; i < items; ++i) {
      double& to = chain[i % 4];
      to = i % 2 == 1 ? add_by_fields(to, bits(i)) : to + static_cast<double>(value(i));
    }
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
  }

 private:
  /// to + x, of the bits of a float, without the conversion that a multiprocessor does for 16 floats a
  /// clock: the bits in a double's fields are x·2^-896 (not those of infinities and NaNs).
  static __device__ __forceinline__ double add_by_fields(double to, std::uint32_t b) {
    const auto high = static_cast<std::uint32_t>(static_cast<std::int32_t>(b) >> 3) & 0x8fffffffu;
    return fma(__hiloint2double(static_cast<int>(high), static_cast<int>(b << 29)), 0x1p896, to);
  }
};

/// How far apart a warp's elements lie, as bits of f32.
template <class T, class Packs>
struct small_extent {
  static constexpr int spare = 23 - exact::format<T>::mantissa_bits;  ///< last bits that are zeros
  static constexpr int count_bits = 32 - __builtin_clz(Packs::items - 1);
  std::uint32_t greatest;  ///< twice its magnitude
  std::uint32_t least;     ///< less 2, modulo 2^32: zeros are the greatest

  explicit __device__ __forceinline__ small_extent(const Packs& packs) {
    greatest = 0;
    least = ~0u;
#pragma unroll
    for (int i = 0; i < Packs::items; ++i) {
      const std::uint32_t b = packs.bits(i);
      greatest = max(greatest, 2 * b);
      least = min(least, 2 * b - 2);
    }
    least = warp_min(least);
    greatest = warp_max(greatest);
  }
  __device__ __forceinline__ bool zeros() const { return greatest == 0; }
  __device__ __forceinline__ bool specials() const { return greatest >= 0xff000000u; }
  /// All elements are multiples of 2^(unit - 150).
  __device__ __forceinline__ std::uint32_t unit() const {
    return max(field() + spare, static_cast<std::uint32_t>(150 + exact::format<T>::min_exponent));
  }
  /// A thread's elements add up to less than 2^51 units: doubles do not round. From 24 on nothing is
  /// subnormal, so that no flush to zero, wherever set, can touch it.
  __device__ __forceinline__ bool holds() const {
    return field() >= 24 && field() <= 200 && greatest_field() + count_bits <= unit() + 27;
  }
  __device__ __forceinline__ std::uint32_t greatest_field() const { return greatest >> 24; }

 private:
  __device__ __forceinline__ std::uint32_t field() const { return (least + 2) >> 24; }
};

/// The special values among a warp's elements, as bits of `special`.
template <class Packs>
__device__ __forceinline__ std::uint32_t specials_of(const Packs& packs) {
  std::uint32_t kinds = 0;
#pragma unroll
  for (int i = 0; i < Packs::items; ++i) {
    const std::uint32_t b = packs.bits(i), magnitude = b & 0x7fffffffu;
    if (magnitude > 0x7f800000u) kinds |= special::nan;
    if (magnitude == 0x7f800000u) kinds |= b >> 31 != 0 ? special::neg_inf : special::pos_inf;
  }
  return warp_or(kinds);
}

/// A whole number to which a block adds: bin j weighs 2^(8j - 149). An element is m·2^(p - 149) with 24 bits
/// of m: m·2^(p mod 8) is cut, its lower 16 bits for bin p / 8 and the upper ones for two bins up, so that
/// 2^15 of them fit, with their signs. Lanes that are Copies apart share a copy: so 32 / Copies collide at the most, where
/// all exponents are alike. One copy has zeros for a whole warp to read.
template <int Threads, int Copies>
struct small_bins {
  static constexpr int unit = exact::format<float>::min_exponent;
  static constexpr int bins = Copies == 1 ? 128 : 36;  // 34, and whole digits
  alignas(16) std::int32_t bin[Copies * bins];

  /// All threads call it; the block synchronises before it adds.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < Copies * bins; j += Threads) {
      if (j + Threads <= Copies * bins || j + threadIdx.x < Copies * bins) bin[j + threadIdx.x] = 0;
    }
  }

  /// Adds an f32 by its bits: an infinity or a NaN spoils bins that nobody will read. Narrow: the
  /// lower half of the bits are zeros.
  template <bool Narrow>
  __device__ __forceinline__ void add(std::uint32_t b) {
    const std::uint32_t magnitude = b & 0x7fffffffu;
    const int p = max(static_cast<int>(magnitude >> 23) - 1, 0);
    const auto shifted = static_cast<std::int32_t>((magnitude - (static_cast<std::uint32_t>(p) << 23)) << (p & 7));
    const std::int32_t v = static_cast<std::int32_t>(b) < 0 ? -shifted : shifted;
    std::int32_t* to = own() + (p >> 3);
    if constexpr (!Narrow) atomicAdd(to, v & 0xffff);
    atomicAdd(to + 2, v >> 16);
  }
  /// Adds v·2^p, |v| < 2^57, of which there may be few.
  __device__ __forceinline__ void add_word(std::int64_t v, int p) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto part = static_cast<std::int32_t>(v >> (16 * i)) & (i < 3 ? 0xffff : -1);
      atomicAdd(own() + (p >> 3) + 2 * i, part * (1 << (p & 7)));
    }
  }

  /// Digit k in lane k, of one warp.
  __device__ __forceinline__ std::int64_t digit() const {
    std::int64_t v = 0;
    if (lane_index() < bins / 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        std::int32_t sum = 0;
#pragma unroll
        for (int c = 0; c < Copies; ++c) sum += bin[c * bins + 4 * lane_index() + i];
        v += std::int64_t{sum} * (1 << 8 * i);
      }
    }
    return v;
  }

 private:
  __device__ __forceinline__ std::int32_t* own() { return bin + lane_index() % Copies * bins; }
};

/// The sum over the warp of multiples of 2^(unit - 150), as a number of these units; each lane's is below 2^51.
__device__ __forceinline__ std::int64_t word_of_doubles(double d, std::uint32_t unit) {
  // An anchor as in anchored_doubles.cuh, whose last place is the unit.
  const double anchor = __hiloint2double(static_cast<int>((unit + 925) << 20 | 0x80000u), 0);
  const std::int64_t q = __double_as_longlong(d + anchor) - __double_as_longlong(anchor);
  const std::uint32_t low = warp_add(static_cast<std::uint32_t>(q) & 0x3ffffffu);
  const auto high = static_cast<std::int32_t>(warp_add(static_cast<std::uint32_t>(q >> 26)));
  return std::int64_t{high} * (1 << 26) + std::int64_t{low};
}

/// The sum of 32 words within ±2^57.
__device__ __forceinline__ std::int64_t sum_of_words(std::int64_t v) {
  const std::uint32_t low = warp_add(static_cast<std::uint32_t>(v) & 0x3ffffffu);
  const std::uint32_t middle = warp_add(static_cast<std::uint32_t>(v >> 26) & 0x3ffffffu);
  const auto high = static_cast<std::int32_t>(warp_add(static_cast<std::uint32_t>(v >> 52)));
  return std::int64_t{high} * (std::int64_t{1} << 52) + (std::int64_t{middle} << 26) + std::int64_t{low};
}

template <class T, int Threads, int Loads, int Copies>
__global__ void __launch_bounds__(Threads) exact_sum_small_kernel(aligned_part<T> part, T* out) {
  await_stream();
  using f = exact::format<T>;
  using packs = small_packs<T, Threads, Loads>;
  constexpr int warps = Threads / 32;
  constexpr std::uint32_t of_zeros = 255, in_bins = 0;  // in place of a warp's unit
  static_assert(Threads * packs::items < 1 << 15);
  __shared__ struct {
    small_bins<Threads, Copies> bins;
    std::int64_t word_of_warp[warps];
    std::uint32_t unit_of_warp[warps];  // and above it the greatest's field
  } shared;
  auto& bins = shared.bins;
  const packs mine(part);
  bins.clear();
  __syncthreads();

  // Doubles of many packs a thread do not wait for the warp; those of few are spared where they do not help.
  constexpr bool eager = Loads > 2;
  const double eager_sum = eager ? mine.sum() : 0;
  const small_extent<T, packs> extent(mine);
  std::int64_t word = 0;  // what is in bins, and zeros: the kinds of special values
  std::uint32_t unit = in_bins;
  if (extent.holds()) {
    unit = extent.unit();
    word = word_of_doubles(eager ? eager_sum : mine.sum(), unit);
  } else if (extent.zeros()) {
    unit = of_zeros;
    std::uint32_t other = 0;  // than -0
#pragma unroll
    for (int i = 0; i < packs::items; ++i) other |= mine.bits(i) ^ 0x80000000u;
    word = warp_or(other) != 0 ? special::ordinary : 0u;
  } else {
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (!mine.is_zero(u)) {
#pragma unroll
        for (int i = 0; i < pack_items<T>; ++i) {
          bins.template add<f::mantissa_bits == 7>(mine.bits(u * pack_items<T> + i));
        }
      }
    }
    if (extent.specials()) word = specials_of(mine);
  }

  bool all_in_bins = unit == in_bins && word == 0;
  if constexpr (warps == 1) {
    __syncwarp();
  } else {
    if (lane_index() == 0) {
      shared.word_of_warp[warp_index()] = word;
      shared.unit_of_warp[warp_index()] = unit | extent.greatest_field() << 16;
    }
    all_in_bins = __syncthreads_and(all_in_bins ? 1 : 0) != 0;
    if (warp_index() != 0) return;
  }
  if (!all_in_bins) {
    bool fits = true;
    std::uint32_t least = unit;
    if constexpr (warps > 1) {
      const bool some = lane_index() < warps;
      const std::uint32_t fields = some ? shared.unit_of_warp[lane_index()] : of_zeros;
      word = some ? shared.word_of_warp[lane_index()] : 0;
      unit = fields & 0xffffu;
      least = warp_min(unit);
      fits = warp_max(fields >> 16) + extent.count_bits <= least + 28;  // a thousand threads' sum in 62 bits
    }
    const bool is_word = unit != of_zeros && unit != in_bins;
    if (least != of_zeros && least != in_bins) {
      if (fits) {
        if constexpr (warps > 1) word = sum_of_words(is_word ? word << (unit - least) : 0);
        if (lane_index() == 0) *out = round_word<T>({word, static_cast<int>(least) - 150, false});
        return;
      }
    } else {
      std::uint32_t kinds = warp_or(is_word ? 0u : static_cast<std::uint32_t>(word));
      if (least == in_bins || part.empty()) kinds |= special::ordinary;
      T answer = f::from_bits(0);
      if (special_answer(kinds, answer) || least == of_zeros) {
        if (lane_index() == 0) *out = answer;
        return;
      }
    }
    if (warps > 1 && is_word) bins.add_word(word, static_cast<int>(unit) - 1);
    __syncwarp();
  }
  const T answer = round_word<T>(leading_word_of(bins.digit(), bins.unit));
  if (lane_index() == 0) *out = answer;
}

template <class T, int Threads, int Loads, int Copies = Threads == 32 ? 1 : 8>
cudaError_t exact_sum_small(const T* x, std::uint64_t n, T* out, const workspace& scratch, cudaStream_t stream) {
  return launch(exact_sum_small_kernel<T, Threads, Loads, Copies>, {1, Threads, 0, stream, scratch.overlaps()}, cut_aligned(x, n, Threads), out);
}

}  // namespace wf::device::inline WF_BUILD
