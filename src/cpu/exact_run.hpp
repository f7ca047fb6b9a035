// SPDX-License-Identifier: Apache-2.0
/// \file exact_run.hpp
/// Runs of elements into exact states: a tile at a time through the kernels, the narrowest window
/// first. What worked last is tried first (a hint of each thread: it sets speed, never answers).
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include <warpfold/exact/products.hpp>

#include "dispatch.hpp"
#include "environment.hpp"

namespace wf::cpu {

/// Adds v·2^exponent, a multiple of the least digit's unit.
template <int Count, int MinExponent>
inline void deposit(exact::digits<Count, MinExponent>& to, std::int64_t v, int exponent) {
  if (v == 0) return;
  const int shift = exponent - MinExponent;
  if (shift < 0) to.add_signed(v >> std::min(-shift, 63), 0);
  else to.add_signed(v, shift);
}

inline int bound_of(double x) {  // B with |x| < 2^B
  const auto field = static_cast<int>(__builtin_bit_cast(std::uint64_t, x) >> 52 & 0x7ff);
  return field == 0 ? -1022 : field - 1022;
}

struct window_hint {
  int bound = 1;
  int level = 0;
  int until_retry = 0;
};
inline constexpr int bucket_level = 3;

window_hint& hint_of(term t, bool is_f64);  // of this thread

/// Elements that are not finite, counted and replaced by zeros in a copy of the tile.
template <class C>
struct finite_copy {
  C x[tile];
  std::int64_t nan = 0, pos_inf = 0, neg_inf = 0;

  finite_copy(const void* from, std::int64_t n) {
    std::memcpy(x, from, static_cast<std::size_t>(n) * sizeof(C));
    for (std::int64_t i = 0; i < n; ++i) {
      const C v = x[i];
      nan += v != v;
      pos_inf += v == std::numeric_limits<C>::infinity();
      neg_inf += v == -std::numeric_limits<C>::infinity();
      if (!(v - v == 0)) x[i] = 0;
    }
  }
};

/// `Sink` is where a term's sums go: part(p, v, exponent) adds to part p; scalar(x, y, n) adds
/// elements one by one; counted(n, zeros, x, y) counts finite ones, which may be all zeros.
template <term Term, class C, class Sink>
class exact_runner {
 public:
  explicit exact_runner(Sink& sink)
      : sink_(sink), kernels_(kernels()), hint_(hint_of(Term, is_f64)) {}

  void run(const void* x, const void* y, std::int64_t n) {
    const ieee_environment environment;
    const auto* px = static_cast<const unsigned char*>(x);
    const auto* py = static_cast<const unsigned char*>(y);
    constexpr auto size = static_cast<std::int64_t>(sizeof(C));
    for (std::int64_t i = 0; i < n; i += tile)
      add_tile(px + i * size, Term == term::product ? py + i * size : nullptr, std::min(tile, n - i));
    drain();
  }

 private:
  static constexpr bool is_f64 = sizeof(C) == 8;
  static constexpr int parts = Term == term::value ? 1
                               : Term == term::moments ? (is_f64 ? 3 : 2)
                                                       : (is_f64 ? 2 : 1);
  static constexpr bool for_any_data = Term == term::value && !is_f64;  // of the last level

  void add_tile(const void* x, const void* y, std::int64_t n) {
    int bound = hint_.bound;
    bool bound_is_fresh = false;
    int level = hint_.level;
    if (level > 0 && --hint_.until_retry <= 0) {
      level = 0;
      bound = measure_first;
    }
    extraction e;
    while (level < bucket_level) {
      const auto extract = kernels_.extract[static_cast<int>(Term)][is_f64][level];
      if (extract == nullptr) break;
      extract(x, y, n, for_any_data && level == 2 ? 128 : bound, e);
      if (e.exact) {
        take(e);
        sink_.counted(n, e.largest == 0, x, y);
        remember(level, bound_of(e.largest) + 1);
        return;
      }
      const int fresh = bound_of(e.largest) + 1;
      if (!bound_is_fresh && fresh < 1024) {
        bound_is_fresh = true;
        if (fresh != bound && bound != measure_first) {
          bound = fresh;
          continue;
        }
        bound = fresh;
      }
      ++level;
    }
    remember(bucket_level, bound);
    if constexpr (for_any_data) {
      const finite_copy<C> f(x, n);
      sink_.specials(f.nan, f.pos_inf, f.neg_inf);
      kernels_.extract[static_cast<int>(Term)][is_f64][2](f.x, nullptr, n, 128, e);
      take(e);
      sink_.counted(n - f.nan - f.pos_inf - f.neg_inf, false, x, y);
      hint_.level = 2;
    } else {
      add_to_buckets(x, y, n);
    }
  }

  void take(const extraction& e) {
    for (int p = 0; p < parts; ++p)
      for (int k = 0; k < e.bins; ++k) sink_.part(p, e.sums[p][k], e.exponents[p][k]);
  }

  /// The next tile starts where this one ended; narrower windows are tried again now and then.
  void remember(int level, int bound) {
    hint_.bound = std::min(bound, 1023);
    if (level != hint_.level || hint_.until_retry <= 0) {
      hint_.level = level;
      hint_.until_retry = 32;
    }
  }

  void add_to_buckets(const void* x, const void* y, std::int64_t n) {
    const auto bucket = kernels_.bucket[static_cast<int>(Term)][is_f64];
    if (bucket == nullptr) {
      sink_.scalar(x, y, n);
      return;
    }
    // Copies of the buckets take turns: a run that is no multiple of them counts as one.
    const std::int64_t rounded = (n + buckets::copies - 1) / buckets::copies * buckets::copies;
    if (buckets_ != nullptr && held_ + rounded > bucket_capacity) drain();
    if (buckets_ == nullptr) {
      buckets_ = new (memory_) buckets;
      for (int p = 0; p < parts; ++p) std::memset(buckets_->sums[p], 0, sizeof buckets_->sums[p]);
    }
    if (products && !all_finite(x, y, n)) {
      sink_.scalar(x, y, n);  // products of infinities are not those of their factors' terms
      return;
    }
    held_ += rounded;
    if (bucket(x, y, n, *buckets_)) {
      const finite_copy<C> f(x, n);
      sink_.specials(f.nan, f.pos_inf, f.neg_inf);
      sink_.counted(n - f.nan - f.pos_inf - f.neg_inf, false, x, y);
    } else {
      sink_.counted(n, true, x, y);
    }
  }

  static constexpr bool products = Term != term::value;

  static bool all_finite(const void* x, const void* y, std::int64_t n) {
    C any = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      C v, w = 0;
      std::memcpy(&v, static_cast<const unsigned char*>(x) + i * static_cast<std::int64_t>(sizeof(C)), sizeof(C));
      if constexpr (Term == term::product)
        std::memcpy(&w, static_cast<const unsigned char*>(y) + i * static_cast<std::int64_t>(sizeof(C)), sizeof(C));
      any += (v - v) + (w - w);
    }
    return any == 0;
  }

  /// Buckets to states: hi counts 2^26 units of the last bit that a number of the bucket can have.
  void drain() {
    if (buckets_ == nullptr) return;
    for (int p = 0; p < parts; ++p) {
      for (int b = 0; b < buckets::count; ++b) {
        const int unit = std::max(16 * b, 1) - 1075;
        const int scaled_unit = unit + (b < buckets::scaled_from ? buckets::scaled_by : -buckets::scaled_by);
        const double to_integer =
            __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 - scaled_unit) << 52);
        std::int64_t hi = 0, lo = 0;
        for (auto& copy : buckets_->sums[p]) {
          hi += static_cast<std::int64_t>(copy[b][0] * to_integer * 0x1p-26);
          lo += static_cast<std::int64_t>(copy[b][1] * to_integer);
        }
        sink_.part(p, hi, unit + 26);
        sink_.part(p, lo, unit);
      }
    }
    buckets_ = nullptr;
    held_ = 0;
  }

  Sink& sink_;
  const kernel_table& kernels_;
  window_hint& hint_;
  buckets* buckets_ = nullptr;
  std::int64_t held_ = 0;
  alignas(64) unsigned char memory_[sizeof(buckets)];
};

}  // namespace wf::cpu
