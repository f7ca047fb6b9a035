// SPDX-License-Identifier: Apache-2.0
/// \file buckets.hpp
/// The hot accumulator of a host thread: a table with a bucket for each sign and exponent, to which
/// an element's raw bits are added as integers. An element costs no shift, no carry and no branch, so the
/// speed hardly depends on the data. The table is flushed into a state before a bucket can overflow.
///
/// After the "large superaccumulator" of R. Neal, "Fast exact summation using small and large
/// superaccumulators", 2015. There a bucket has a counter that is tested at each add; here the
/// bucket's word counts its adds in its top 16 bits, and the caller's blocks bound them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/exact/sum_state.hpp>

namespace wf::exact {

/// Throws wf::error (errc::capacity) if a state cannot count n more elements.
template <int Count, int MinExponent>
inline void reserve(const state<Count, MinExponent>& to, std::size_t n) {
  if (!to.seen.has_room(n)) refuse_capacity();
}

/// Counts the infinities and NaNs among n elements.
template <class T>
inline void count_specials(counters& seen, const T* x, std::size_t n) {
  using f = format<T>;
  std::int64_t nan = 0, pos_inf = 0, neg_inf = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto b = f::to_bits(x[i]);
    nan += f::is_nan(b);
    pos_inf += b == f::infinity;
    neg_inf += b == static_cast<typename f::bits>(f::infinity | f::sign_mask);
  }
  seen.count += nan + pos_inf + neg_inf;
  seen.nan += nan;
  seen.pos_inf += pos_inf;
  seen.neg_inf += neg_inf;
}

/// Below this many elements, digits are added to directly: clearing and emptying the buckets costs
/// about as much as that many direct adds.
template <class T>
constexpr std::size_t bucket_threshold = sizeof(T) > 4 ? 2048 : 512;

/// Uses 2^13 buckets of 16 bytes for f64 (128 KiB), 16 KiB for f32, bf16 and 2 KiB for f16.
template <class T>
class buckets {
  using f = format<T>;
  using bits = typename f::bits;
  static constexpr bool split = f::total_bits > 32;  // a sum of raw bits needs two words

  // An element adds its bits (split: their halves) and 2^48: 16 bits to count, 48 for 2^16 - 1
  // times 32 bits. Lanes take turns: an add to the bucket of the element before would wait for it.
  struct wide_bucket {
    std::uint64_t low, high;
  };
  struct narrow_bucket {
    std::uint64_t high;
  };
  using bucket = std::conditional_t<split, wide_bucket, narrow_bucket>;
  static constexpr std::size_t indexes = 1 << (f::exponent_bits + 1);
  static constexpr std::uint64_t one = std::uint64_t{1} << 48;

 public:
  static constexpr std::size_t lanes = split ? 2 : 4;
  /// The most elements between two flushes. Every call but the last must
  /// bring a multiple of `lanes`, or the first lane fills before the others.
  static constexpr std::size_t capacity = lanes * 0xffff;

  buckets() { std::memset(table_, 0, sizeof table_); }

  /// Adds n elements, in all at most `capacity` since the last flush. Infinities and NaNs, which a
  /// sum of bits cannot tell apart, are counted at once, by a second look at the few around them.
  void add(const T* x, std::size_t n, counters& seen) {
    constexpr std::size_t look = 64;
    for (; n >= look; x += look, n -= look) {
      // The scattered buckets hide the stream from the hardware's prefetchers: 2^24 floats from
      // DRAM took 1.21 ns per element without this, 0.55 with it; doubles 1.55 and 1.05.
      for (std::size_t byte = 0; byte < look * sizeof(T); byte += 64) {
        __builtin_prefetch(
            reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x) + 1024 + byte));
      }
      add_few(x, look, seen);
    }
    add_few(x, n, seen);
  }

  /// Moves everything into the state and empties the buckets.
  template <int Count, int MinExponent>
  void flush(state<Count, MinExponent>& to) {
    to.sum.normalise();  // room for what follows
    for (std::size_t index = 0; index < indexes; ++index) {
      std::uint64_t low = 0, high = 0, times = 0;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        bucket& b = table_[index * lanes + lane];
        times += b.high >> 48;
        high += b.high & (one - 1);
        if constexpr (split) low += b.low;
        b = {};
      }
      if (times == 0) continue;
      const bool negative = index >> f::exponent_bits != 0;
      const int exponent = static_cast<int>(index) & f::exponent_field_max;
      u128 mantissa = split ? (u128{high} << 32) + low : u128{high};
      mantissa -= (u128{times} * index) << f::mantissa_bits;
      if (exponent != 0) mantissa += u128{times} << f::mantissa_bits;
      to.sum.add_at(mantissa, exponent - (exponent != 0) + f::min_exponent, negative);
      to.seen.count += static_cast<std::int64_t>(times);
      if (negative && mantissa == 0) to.seen.neg_zero += static_cast<std::int64_t>(times);
    }
  }

 private:
  void add_few(const T* x, std::size_t n, counters& seen) {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) add_one(x + i + lane, lane);
    }
    for (std::size_t lane = 0; lane < n % lanes; ++lane) add_one(x + i + lane, lane);
    bucket* const positive = table_ + f::exponent_field_max * lanes;
    bucket* const negative = positive + indexes / 2 * lanes;
    std::uint64_t specials = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      specials |= positive[lane].high | negative[lane].high;
    }
    if (specials == 0) return;
    for (std::size_t lane = 0; lane < lanes; ++lane) positive[lane] = negative[lane] = {};
    count_specials(seen, x, n);
  }

  void add_one(const T* x, std::size_t lane) {
    bits b;
    std::memcpy(&b, x, sizeof b);
    bucket& to = table_[static_cast<std::size_t>(b >> f::mantissa_bits) * lanes + lane];
    if constexpr (!split) {
      to.high += one + b;
    } else {
#if defined(__SSE2__)
      const __m128i halves = _mm_unpacklo_epi32(
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)), _mm_setzero_si128());
      const __m128i step = _mm_add_epi64(halves, _mm_set_epi64x(static_cast<long long>(one), 0));
      auto* pair = reinterpret_cast<__m128i*>(&to);
      _mm_store_si128(pair, _mm_add_epi64(_mm_load_si128(pair), step));
#else
      to.low += static_cast<std::uint32_t>(b);
      to.high += one + (b >> 32);
#endif
    }
  }

  alignas(64) bucket table_[indexes * lanes];
};

/// Adds n elements of T, which fill(part, first, m) writes m at a time (up to 512), to any state
/// whose digits can hold them.
template <class T, int Count, int MinExponent, class Fill>
inline void accumulate_filled(state<Count, MinExponent>& to, std::size_t n, Fill&& fill) {
  constexpr std::size_t part_size = 512;
  constexpr std::size_t parts = buckets<T>::capacity / part_size;
  buckets<T> table;
  T part[part_size];
  std::size_t since_flush = 0;
  for (std::size_t first = 0; first < n; first += part_size) {
    const std::size_t m = n - first < part_size ? n - first : part_size;
    fill(part, first, m);
    table.add(part, m, to.seen);
    if (++since_flush == parts) table.flush(to), since_flush = 0;
  }
  table.flush(to);
  to.sum.normalise();
}

}  // namespace wf::exact
