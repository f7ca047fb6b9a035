// SPDX-License-Identifier: Apache-2.0
/// \file fast.hpp
/// The inexact sums of accuracy::fast. A block of 4096 elements is added into a fixed number of
/// lanes (256 bytes of them), the lanes by a fixed tree, the blocks pairwise: the same bits on every
/// target. The error grows with 128 additions per lane and the logarithm of the number of blocks.
#pragma once

#include "sources.hpp"

namespace wf::cpu::WF_TARGET {

inline constexpr std::int64_t fast_block = 4096;

template <class T>
inline constexpr int fast_lanes = 256 / sizeof(T);

template <class T>
struct fast_accumulator {
  using V = vec<T>;
  static constexpr int vectors = 256 / width;
  V v[vectors];

  WF_INLINE fast_accumulator() {
    for (V& a : v) a = all_lanes<V>(T(-0.0));  // -0 + x is x, for every x
  }

  /// A fixed tree: lane j with lane j + half.
  WF_INLINE T total() const {
    alignas(64) T a[fast_lanes<T>];
    for (int k = 0; k < vectors; ++k) store(a + k * lanes<T>, v[k]);
    for (int half = fast_lanes<T> / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) a[j] += a[j + half];
    return a[0];
  }
};

/// Sums of blocks, pairwise: a binary counter, whose digit k holds the sum of 2^k blocks.
struct pairwise {
  double sums[52];
  std::uint64_t blocks = 0;

  WF_INLINE void add(double s) {
    int k = 0;
    for (std::uint64_t b = blocks; b & 1; b >>= 1, ++k) s = sums[k] + s;
    sums[k] = s;
    ++blocks;
  }
  WF_INLINE double total() const {
    double s = -0.0;
    for (int k = 0; blocks >> k != 0; ++k)
      if (blocks >> k & 1) s = sums[k] + s;
    return s;
  }
};

/// f(accumulators, pointers...) adds one row of lanes.
template <class T, int Results, bool Pairs, class F>
WF_INLINE void for_blocks(const void* x, const void* y, std::int64_t n, F f,
                          pairwise (&totals)[Results], T padding) {
  constexpr std::int64_t row = fast_lanes<T>;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const auto* px = static_cast<const unsigned char*>(x);
  const auto* py = static_cast<const unsigned char*>(Pairs ? y : x);
  for (std::int64_t start = 0; start < n; start += fast_block) {
    const std::int64_t end = start + fast_block < n ? start + fast_block : n;
    fast_accumulator<T> acc[Results];
    std::int64_t i = start;
    for (; i + row <= end; i += row) {
      prefetch_lines<256>(px + i * size);
      if constexpr (Pairs) prefetch_lines<256>(py + i * size);
      f(acc, px + i * size, py + i * size);
    }
    if (i < end) {
      alignas(64) T rest_x[row], rest_y[Pairs ? row : 1];
      for (T& r : rest_x) r = padding;
      const auto bytes = static_cast<std::size_t>((end - i) * size);
      __builtin_memcpy(rest_x, px + i * size, bytes);
      if constexpr (Pairs) {
        for (T& r : rest_y) r = T(0);
        __builtin_memcpy(rest_y, py + i * size, bytes);
      }
      f(acc, reinterpret_cast<const unsigned char*>(rest_x),
        reinterpret_cast<const unsigned char*>(Pairs ? rest_y : rest_x));
    }
    for (int r = 0; r < Results; ++r) totals[r].add(static_cast<double>(acc[r].total()));
  }
}

/// The blocks of x, as far as they fill four runs, read beside each other (see kernels.hpp) but added up in their
/// order, as for_blocks does; how many elements that was. Where the accumulators of four blocks fit the registers.
template <class T>
WF_INLINE std::int64_t sum_runs(const unsigned char* x, std::int64_t n, pairwise& total) {
  constexpr std::int64_t size = sizeof(T), row = fast_lanes<T>, most = 64;
  using A = fast_accumulator<T>;
  std::int64_t done = 0;
  while ((n - done) * size >= least_for_runs) {
    const std::int64_t blocks = (n - done) / (runs * fast_block), run = blocks < most ? blocks : most;
    if (run == 0) break;
    double sums[runs * most];
    for (std::int64_t b = 0; b < run; ++b) {
      A acc[runs];
      const unsigned char* p = x + (done + b * fast_block) * size;
      for (std::int64_t i = 0; i < fast_block; i += row, p += row * size) {
        WF_UNROLL
        for (int r = 0; r < runs; ++r) {
          const unsigned char* at = p + r * run * fast_block * size;
          WF_UNROLL
          for (int k = 0; k < A::vectors; ++k) {
            prefetch(at + k * width, 1024);
            acc[r].v[k] += load<typename A::V>(at + k * width);
          }
        }
      }
      for (int r = 0; r < runs; ++r) sums[r * run + b] = static_cast<double>(acc[r].total());
    }
    for (std::int64_t b = 0; b < runs * run; ++b) total.add(sums[b]);
    done += runs * run * fast_block;
  }
  return done;
}

template <class T>
double fast_sum(const void* x, std::int64_t n) {
  using A = fast_accumulator<T>;
  pairwise totals[1];
  std::int64_t done = 0;
  if constexpr (width == 64) done = sum_runs<T>(static_cast<const unsigned char*>(x), n, totals[0]);
  for_blocks<T, 1, false>(static_cast<const unsigned char*>(x) + done * static_cast<std::int64_t>(sizeof(T)), nullptr, n - done,
      [](A* acc, const unsigned char* p, const unsigned char*) __attribute__((always_inline)) {
    WF_UNROLL
    for (int k = 0; k < A::vectors; ++k) acc->v[k] += load<typename A::V>(p + k * width);
  }, totals, T(-0.0));
  return totals[0].total();
}

template <class T>
double fast_dot(const void* x, const void* y, std::int64_t n) {
  using A = fast_accumulator<T>;
  pairwise totals[1];
  for_blocks<T, 1, true>(x, y, n,
      [](A* acc, const unsigned char* p, const unsigned char* q) __attribute__((always_inline)) {
    WF_UNROLL
    for (int k = 0; k < A::vectors; ++k)
      acc->v[k] += load<typename A::V>(p + k * width) * load<typename A::V>(q + k * width);
  }, totals, T(-0.0));  // padded by -0·0 = -0
  return totals[0].total();
}

/// Σ(x - c) and Σ(x - c)².
template <class T>
moments fast_moments(const void* x, std::int64_t n, double centre) {
  using A = fast_accumulator<T>;
  pairwise totals[2];
  const auto c = static_cast<T>(centre);
  for_blocks<T, 2, false>(x, nullptr, n,
      [c](A* acc, const unsigned char* p, const unsigned char*) __attribute__((always_inline)) {
    WF_UNROLL
    for (int k = 0; k < A::vectors; ++k) {
      const auto d = load<typename A::V>(p + k * width) - c;
      acc[0].v[k] += d;
      acc[1].v[k] += d * d;
    }
  }, totals, c);
  return {totals[0].total(), totals[1].total()};
}

template <class Half>
void widen_half(const void* x, std::int64_t n, float* out) {
  const auto* p = static_cast<const unsigned char*>(x);
  std::int64_t i = 0;
#if defined(__AVX512F__) || defined(__F16C__) || defined(__aarch64__)
  if constexpr (Half::floating && Half::infinity == 0x7c00) {
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
      _mm512_storeu_ps(out + i, _mm512_maskz_cvtph_ps(0xffff, load<__m256i>(p + 2 * i)));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(load<__m128i>(p + 2 * i)));
#else
    for (; i + 4 <= n; i += 4)
      vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(load<uint16x4_t>(p + 2 * i))));
#endif
  }
#endif
  for (; i < n; ++i) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p + 2 * i, 2);
    std::uint32_t wide;
    if constexpr (Half::infinity == 0x7f80) {
      wide = static_cast<std::uint32_t>(bits) << 16;
    } else {
      // Exponent and mantissa moved into place; subnormals are read as 2^-15 + v / 2. No subnormals are multiplied,
      // which costs 40 others, and the compiler makes vectors of it.
      const std::uint32_t moved = (static_cast<std::uint32_t>(bits & 0x7fff) << 13) + (112u << 23);
      const float magnitude = __builtin_bit_cast(float, moved), above = magnitude - 0x1p-14f;
      wide = __builtin_bit_cast(std::uint32_t, magnitude + (above < 0 ? above : 0));
      if ((bits & 0x7c00) == 0x7c00) wide |= 0x7f800000;
      wide |= static_cast<std::uint32_t>(bits & 0x8000) << 16;
    }
    __builtin_memcpy(out + i, &wide, 4);
  }
}

template <class T>
bool all_negative_zero(const void* x, std::int64_t n) {
  using bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using V = vec<bits>;
  constexpr bits negative_zero = sizeof(T) == 8 ? static_cast<bits>(INT64_MIN) : static_cast<bits>(INT32_MIN);
  const auto* p = static_cast<const unsigned char*>(x);
  constexpr std::int64_t per = lanes<bits>;
  V other{};
  std::int64_t i = 0;
  for (; i + per <= n; i += per)
    other |= load<V>(p + i * static_cast<std::int64_t>(sizeof(T))) ^ negative_zero;
  bool all = or_lanes((i64s)other) == 0;
  for (; i < n; ++i) {
    bits b;
    __builtin_memcpy(&b, p + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    all = all && b == negative_zero;
  }
  return all;
}

}  // namespace wf::cpu::WF_TARGET
