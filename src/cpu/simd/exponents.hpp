// SPDX-License-Identifier: Apache-2.0
/// \file exponents.hpp
/// Exact sums of numbers whose exponents seldom repeat: a word for each sign and exponent. Nothing is
/// shifted or cut, so an element is a handful of scalar instructions and one store, which is the floor:
/// a core writes one scattered word a cycle. The words are folded into the buckets of bucket.hpp.
///
/// f64: mantissas with their leading one are added mod 2^64, and the rare carry goes to the buckets at
/// once. 4096 words; a second copy would no longer fit L1 beside the data (0.43 ns per element, not 0.35).
/// f32: the raw bits and 2^48, so that the top 16 bits count the adds; 512 words in four copies.
/// Infinities and NaNs are left out and counted, zeros and subnormals have no leading one: of f64 by full words, which
/// they overflow one by one. Of f32 the counts of words tell the leading ones, and are compared with the NaNs that vectors see.
///
/// After the "large superaccumulator" of R. Neal, "Fast exact summation using small and large
/// superaccumulators", 2015, where a counter beside each word is tested at each add.
#pragma once

#include "bucket.hpp"

namespace wf::cpu::WF_TARGET {

/// The words for f64, behind the buckets of a wide table in `sums`.
class exponent_words {
  static constexpr bucket_shape shape = bucket_shapes[static_cast<int>(bucket_kind::wide)];
  static constexpr std::uint64_t fields = 2048, leading = std::uint64_t{1} << 52, full = ~std::uint64_t{0};
  static constexpr std::uint64_t low_bits = (std::uint64_t{1} << 42) - 1;
  static_assert(shape.units[0] == -1033 && shape.units[1] == -1075 && shape.span == 32);
  static_assert(shape.extra == 2 * fields + 8 && shape.cleared == 8);

 public:
  explicit WF_INLINE exponent_words(std::int64_t* sums)
      : sums_(sums), words_(reinterpret_cast<std::uint64_t*>(sums + shape.size())) {}

  WF_INLINE void begin() {
    if (words_[2 * fields] != 0) return;
    __builtin_memset(words_, 0, 2 * fields * sizeof *words_);
    set_uncommon(full);
    words_[2 * fields] = 1;
  }

  WF_INLINE void add(const unsigned char* p, std::int64_t n) {
    std::uint64_t* const words = words_;
    const auto one = [&](const unsigned char* from) __attribute__((always_inline)) {
      std::uint64_t bits;
      __builtin_memcpy(&bits, from, sizeof bits);
      std::uint64_t k = bits >> 52;
      std::uint64_t sum;
      if (__builtin_expect(__builtin_add_overflow((bits & (leading - 1)) + leading, words[k], &sum), 0)) sum = carry(*this, k, sum);
      asm("" : "+r"(k));  // or the address takes a register and an instruction: 0.55 ns, not 0.35
      words[k] = sum;
    };
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_lines<16 * 8>(p + 8 * i);
      WF_UNROLL
      for (int j = 0; j < 16; ++j) one(p + 8 * (i + j));
    }
    for (; i < n; ++i) one(p + 8 * i);
  }

  /// The infinities and NaNs since the last time.
  WF_INLINE special_counts take_specials() {
    const std::uint64_t* seen = words_ + 2 * fields + 1;
    const special_counts found = {static_cast<std::int64_t>(seen[0]), static_cast<std::int64_t>(seen[1]),
                                  static_cast<std::int64_t>(seen[2])};
    __builtin_memset(words_ + 2 * fields + 1, 0, 3 * sizeof *words_);
    return found;
  }

  /// Everything goes to the buckets.
  WF_INLINE void fold() {
    if (words_[2 * fields] == 0) return;
    set_uncommon(0);
    words_[2 * fields] = 0;
    u64s numbers;
    for (int j = 0; j < step; ++j) numbers[j] = static_cast<std::uint64_t>(j);
    for (int b = 0; b < shape.count; ++b) {
      u64s high{}, low{};
      for (int r = 0; r < 32; r += step) {
        const u64s shift = numbers + static_cast<std::uint64_t>(r);
        const u64s up = load<u64s>(words_ + 32 * b + r), down = load<u64s>(words_ + fields + 32 * b + r);
        high += (up >> (42 - shift)) - (down >> (42 - shift));
        low += ((up << shift) & low_bits) - ((down << shift) & low_bits);
      }
      to_buckets(b, false, sum_lanes((i64s)high), sum_lanes((i64s)low));
    }
  }

 private:
  /// The words of zeros and subnormals, which have no leading one, and of infinities and NaNs. They are kept full, so
  /// that each such element is a carry and the others cost nothing.
  WF_INLINE void set_uncommon(std::uint64_t to) {
    words_[0] = words_[fields - 1] = words_[fields] = words_[2 * fields - 1] = to;
  }
  WF_INLINE void to_buckets(int b, bool negative, std::int64_t high, std::int64_t low) {
    sums_[2 * b] += negative ? -high : high;
    sums_[2 * b + 1] += negative ? -low : low;
  }
  /// 2^64 of what a word counts, of which at least 2^11 adds went into it; or something uncommon. Returns the word.
  __attribute__((noinline, cold)) static std::uint64_t carry(exponent_words& of, std::uint64_t k, std::uint64_t sum) {
    const auto field = static_cast<int>(k % fields);
    const bool negative = k >= fields;
    if (field != 0 && field != fields - 1) {
      of.to_buckets(field / 32, negative, std::int64_t{1} << (22 + field % 32), 0);
      return sum;
    }
    const std::uint64_t mantissa = sum - (leading - 1);
    if (field == 0)
      of.to_buckets(0, negative, static_cast<std::int64_t>(mantissa >> 41), static_cast<std::int64_t>(mantissa << 1 & low_bits));
    else
      ++of.words_[2 * fields + 1 + (mantissa != 0 ? 0 : negative ? 2 : 1)];
    return full;
  }

  std::int64_t* sums_;
  std::uint64_t* words_;
};

/// f(elements as doubles, how many): x itself, or products, a block at a time.
template <class T, bool Pairs, class F>
WF_INLINE void for_doubles(const unsigned char* x, const unsigned char* y, std::int64_t n, F f) {
  if constexpr (!Pairs) return f(x, n);
  constexpr std::int64_t block = 64, size = sizeof(T);
  alignas(64) double products[Pairs ? block : 1];
  for (std::int64_t i = 0; i < n; i += block, x += block * size, y += block * size) {
    const std::int64_t m = n - i < block ? n - i : block;
    if constexpr (Pairs) {
      prefetch_lines<block * size>(x);
      prefetch_lines<block * size>(y);
      std::int64_t j = 0;
      for (; j + step <= m; j += step) store(products + j, load_f64<T>(x, j) * load_f64<T>(y, j));
      for (; j < m; ++j) {
        T a, b;
        __builtin_memcpy(&a, x + j * size, sizeof(T));
        __builtin_memcpy(&b, y + j * size, sizeof(T));
        products[j] = static_cast<double>(a) * static_cast<double>(b);
      }
      f(reinterpret_cast<const unsigned char*>(products), m);
    } else {
      f(x, m);
    }
  }
}

/// Looks at a few places: do exponents repeat soon, or are many uncommon? A word waits 5 cycles for its own last store, and an
/// uncommon element costs a branch that was predicted wrong. Buckets are as fast where one element in 8 is zero or subnormal,
/// or one in 4 is infinite or NaN (those cost buckets more).
template <class T, bool Pairs>
WF_INLINE bool crowded(const unsigned char* x, const unsigned char* y, std::int64_t n) {
  constexpr int looks = 32, places = looks / step, near = 3;
  const auto at = [&](std::int64_t i) __attribute__((always_inline)) {
    f64s v = load_f64<T>(x, i);
    if constexpr (Pairs) v *= load_f64<T>(y, i);
    return (i64s)v;
  };
  i64s same{}, small{}, special{};
  WF_UNROLL
  for (int place = 0; place < places; ++place) {
    const std::int64_t i = place * (n / places);
    const i64s first = at(i);
    small -= (i64s)((first & exponent_bits) == 0);
    special -= (i64s)((first & exponent_bits) == exponent_bits);
    WF_UNROLL
    for (int ahead = 1; ahead <= near; ++ahead)
      same -= (i64s)(((u64s)(first ^ at(i + ahead)) >> 52) == 0);
  }
  return sum_lanes(same) > looks * near / 6 || sum_lanes(small) > looks / 8 || sum_lanes(special) > looks / 4;
}

/// As `bucket`, of f64 or of products of f32.
template <class T, bool Pairs>
special_counts wide_sums(const void* from_x, const void* from_y, std::int64_t n, std::int64_t* sums) {
  const auto* x = static_cast<const unsigned char*>(from_x);
  const auto* y = static_cast<const unsigned char*>(Pairs ? from_y : from_x);
  constexpr std::int64_t worth_words = 1024;  // clearing and folding them takes as long as 800 adds
  if (n < worth_words || crowded<T, Pairs>(x, y, n)) return bucket<T, Pairs>(from_x, from_y, n, sums);
  exponent_words words(sums);
  words.begin();
  for_doubles<T, Pairs>(x, y, n, [&](const unsigned char* p, std::int64_t m) __attribute__((always_inline)) {
    words.add(p, m);
  });
  return words.take_specials();
}

/// The words for f32, behind the buckets of a narrow table in `sums`.
struct float_words {
  static constexpr bucket_shape shape = bucket_shapes[static_cast<int>(bucket_kind::narrow)];
  static constexpr std::int64_t copies = 4, fields = 256;
  static_assert(copies * 2 * fields == shape.extra && shape.units[0] == -150 && shape.span == 16);
  // Tiles, and one shorter run at last: no copy gets more than its share and a tile.
  static_assert(bucket_capacity / copies + tile < 1 << 16);
  static constexpr int count_at = 48;
};

/// As `bucket`, of f32.
inline special_counts float_sums(const void* from, const void*, std::int64_t n, std::int64_t* sums) {
  constexpr std::int64_t indexes = 2 * float_words::fields;
  auto* words = reinterpret_cast<std::uint64_t*>(sums + float_words::shape.size());
  const auto* x = static_cast<const unsigned char*>(from);
  const auto add = [&](std::int64_t i, std::int64_t copy) __attribute__((always_inline)) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + 4 * i, sizeof bits);
    std::uint64_t k = bits >> 23;
    asm("" : "+r"(k));  // or the copy is added to it, and not to the address
    std::uint64_t* const word = words + copy * indexes;
    std::uint64_t sum = (std::uint64_t{1} << float_words::count_at) + bits + word[k];
    asm("" : "+r"(sum), "+r"(k));  // or one instruction loads, adds and stores, and is issued as four: 0.34 ns, not 0.28
    word[k] = sum;
  };
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    prefetch(x + 4 * i);
    WF_UNROLL
    for (int j = 0; j < 16; ++j) add(i + j, j % float_words::copies);
  }
  for (; i < n; ++i) add(i, i % float_words::copies);
  std::uint64_t left_out = 0;
  for (std::int64_t k = float_words::fields - 1; k < float_words::copies * indexes; k += float_words::fields) {
    left_out += words[k] >> float_words::count_at;
    words[k] = 0;
  }
  if (left_out == 0) return {};
  const std::int64_t nans = count_nans(x, n);  // most often these are all
  if (nans == static_cast<std::int64_t>(left_out)) return {nans, 0, 0};
  return specials<float, false>(from, nullptr, n);
}

inline void fold_wide(std::int64_t* sums) { exponent_words(sums).fold(); }

inline void fold_narrow(std::int64_t* sums) {
  constexpr int fields = float_words::fields, indexes = 2 * fields, span = float_words::shape.span;
  const auto* words = reinterpret_cast<const std::uint64_t*>(sums + float_words::shape.size());
  // The adds of index k: their number, and their mantissas. The bits of k came with each, and so will a
  // leading one.
  const auto adds = [&]<class V>(V k, int from, V& times) __attribute__((always_inline)) {
    times = V{};
    V bits{};
    WF_UNROLL
    for (std::int64_t c = 0; c < float_words::copies; ++c) {
      const V word = load<V>(words + c * indexes + from);
      times += word >> float_words::count_at;
      bits += word & ((std::uint64_t{1} << float_words::count_at) - 1);
    }
    return bits - (times * k << 23);
  };
  u64s numbers;
  for (int j = 0; j < step; ++j) numbers[j] = static_cast<std::uint64_t>(j);
  for (int b = 0; b < fields / span; ++b) {
    u64s sum{};
    WF_UNROLL
    for (int sign = 0; sign < 2; ++sign) {
      u64s part{};
      WF_UNROLL
      for (int r = 0; r < span; r += step) {
        const int k = sign * fields + b * span + r;
        u64s times;
        const u64s mantissas = adds(numbers + static_cast<std::uint64_t>(k), k, times);
        part += (mantissas + (times << 23)) << (numbers + static_cast<std::uint64_t>(r));
      }
      sum += sign == 0 ? part : -part;
    }
    sums[b] += sum_lanes((i64s)sum);
  }
  // Subnormals have the unit of the next exponent, and no leading one.
  for (int sign = 0; sign < 2; ++sign) {
    using one = vec<std::uint64_t, 8>;
    one times;
    const one mantissas = adds(one{} + static_cast<std::uint64_t>(sign * fields), sign * fields, times);
    const auto more = static_cast<std::int64_t>(mantissas[0] - (times[0] << 23));
    sums[0] += sign == 0 ? more : -more;
  }
}

}  // namespace wf::cpu::WF_TARGET
