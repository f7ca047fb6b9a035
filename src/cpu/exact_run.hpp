// SPDX-License-Identifier: Apache-2.0
/// \file exact_run.hpp
/// Runs of elements into exact states: a tile at a time through the kernels, the narrowest window
/// first. What worked last is tried first (a hint of each thread: it sets speed, never answers).
#pragma once

#include <algorithm>
#include <cstring>

#include <warpfold/detail/exact/products.hpp>

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
  int window = 0;
  int until_retry = 0;
  bool specials = false;  // were there infinities or NaNs?
};
inline constexpr int no_window = 2;

window_hint& hint_of(term t, bool is_f64);  // this thread's

/// `Sink` is where a term's sums go: part(p, v, exponent) adds to part p; scalar(x, y, n) adds
/// elements one by one; counted(n, zeros, x, y) counts finite ones, which may be all zeros;
/// special(counts) counts the others. `finish` after the last run.
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
  }

  void finish() { drain(); }

 private:
  static constexpr bool is_f64 = sizeof(C) == 8;
  static constexpr int parts = Term == term::value ? 1
                               : Term == term::moments ? (is_f64 ? 3 : 2)
                                                       : (is_f64 ? 2 : 1);

  void add_tile(const void* x, const void* y, std::int64_t n) {
    int bound = hint_.bound;
    bool bound_is_fresh = false;
    int window = hint_.window;
    if (window > 0 && --hint_.until_retry <= 0) {
      --window;
      bound = measure_first;
    }
    extraction e;
    bool leave_out = hint_.specials;
    while (window < no_window) {
      kernels_.extract[leave_out][static_cast<int>(Term)][is_f64][window](x, y, n, bound, e);
      if (e.exact) {
        take(e);
        const auto found = leave_out ? kernels_.specials[Term == term::product][is_f64](x, y, n) : special_counts{};
        count(x, y, n, found, e.largest == 0);
        remember(window, bound_of(e.largest) + 1);
        return;
      }
      if (e.special && !leave_out) {  // the same window without what is special
        leave_out = true;
        continue;
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
      ++window;
    }
    remember(no_window, bound);
    add_to_buckets(x, y, n);
  }

  void take(const extraction& e) {
    for (int p = 0; p < parts; ++p)
      for (int k = 0; k < e.levels; ++k) sink_.part(p, e.sums[p][k], e.exponents[p][k]);
  }

  /// The next tile starts where this one ended; the next narrower window is tried again now and then.
  void remember(int window, int bound) {
    hint_.bound = std::min(bound, 1023);
    if (window != hint_.window || hint_.until_retry <= 0) {
      hint_.window = window;
      hint_.until_retry = window == no_window ? 256 : 32;
    }
  }

  // The parts of a term that are the elements themselves, and those that are products.
  static constexpr bool of_values = Term == term::value || Term == term::moments;
  static constexpr bool of_products = Term != term::value;
  static constexpr const bucket_shape& value_shape = bucket_shapes[is_f64];
  static constexpr const bucket_shape& product_shape = bucket_shapes[1 + is_f64];
  static constexpr std::int64_t value_size = of_values ? value_shape.whole() : 0;
  static constexpr std::int64_t product_size = of_products ? product_shape.whole() : 0;
  static constexpr std::int64_t worth_buckets = 256;  // clearing and emptying them costs as much

  void add_to_buckets(const void* x, const void* y, std::int64_t n) {
    if (held_ == 0 && n < worth_buckets) {
      sink_.scalar(x, y, n);
      return;
    }
    if (held_ + n > bucket_capacity) drain();
    if (held_ == 0) {
      if constexpr (of_values) clear(value_shape, sums_);
      if constexpr (of_products) clear(product_shape, sums_ + value_size);
    }
    held_ += n;
    special_counts found{};
    if constexpr (of_products)
      found = kernels_.bucket[1][is_f64](x, Term == term::product ? y : x, n, sums_ + value_size);
    if constexpr (of_values) found = kernels_.bucket[0][is_f64](x, nullptr, n, sums_);
    count(x, y, n, found, true);
  }

  /// n elements were added but for these, which are special.
  void count(const void* x, const void* y, std::int64_t n, const special_counts& found, bool may_be_zeros) {
    hint_.specials = found.all() > 0;
    if (hint_.specials) sink_.special(found);
    sink_.counted(n - found.all(), may_be_zeros && !hint_.specials, x, y);
  }

  static void clear(const bucket_shape& shape, std::int64_t* sums) {
    constexpr std::size_t word = sizeof *sums;
    std::memset(sums, 0, static_cast<std::size_t>(shape.size()) * word);
    std::memset(sums + shape.whole() - shape.cleared, 0, static_cast<std::size_t>(shape.cleared) * word);
  }
  template <int Part>
  void drain(const bucket_shape& shape, std::int64_t* sums) {
    if (shape.extra != 0) kernels_.fold[&shape != &bucket_shapes[0]](sums);
    const int each = shape.count * shape.stride;
    for (int c = 1; c < shape.copies; ++c)
      for (int i = 0; i < each; ++i) sums[i] += sums[c * each + i];
    for (int b = 0; b < shape.count; ++b)
      for (int w = 0; w < shape.words; ++w) sink_.part(Part, sums[b * shape.stride + w], shape.units[w] + shape.span * b);
  }
  void drain() {
    if (held_ == 0) return;
    if constexpr (of_values) drain<0>(value_shape, sums_);
    if constexpr (of_products) drain<of_values ? 1 : 0>(product_shape, sums_ + value_size);
    held_ = 0;
  }

  Sink& sink_;
  const kernel_table& kernels_;
  window_hint& hint_;
  std::int64_t held_ = 0;  // elements in the buckets; none: sums_ holds nothing
  alignas(64) std::int64_t sums_[value_size + product_size];
};

}  // namespace wf::cpu
