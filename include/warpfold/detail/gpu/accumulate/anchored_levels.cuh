// SPDX-License-Identifier: Apache-2.0
/// \file anchored_levels.cuh
/// The doubles of anchored rows (exact_levels.cuh): an anchor is set, and what lies near it is added without rounding.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_plan.cuh>

namespace wf::device::inline WF_BUILD {

/// What a thread keeps of the elements that it takes.
template <rest_rows Rest, class T, terms Terms, int Threads, int Loads, int ProductLevels>
struct anchored_levels : anchored_plan<Rest, T, Terms, Threads, Loads, ProductLevels> {
  using plan = anchored_plan<Rest, T, Terms, Threads, Loads, ProductLevels>;
  using plan::inputs, plan::item_parts, plan::sums_only, plan::sum_levels, plan::product_levels, plan::magnitudes;
  using plan::first_product, plan::levels, plan::bias, plan::fraction, plan::infinite, plan::fixed, plan::depth;
  using plan::row_of, plan::first_level, plan::products_an_item, plan::products, plan::left_factor, plan::right_factor;
  using plan::row_limit;

  double s[plan::levels];
  std::uint32_t upper, lower;  ///< sizes that are taken; upper = 0: nothing is any more
  int limit;
  std::uint32_t ordinary[plan::watches];  ///< for products the greatest, as a signed number; else any bit
  std::uint32_t mask;      ///< of a word of elements: without signs for norm1

 protected:
  __device__ __forceinline__ bool holds(const pack_sizes& z) const {
    return z.greatest < upper && (fixed || z.least >= lower);
  }
  __device__ __forceinline__ double anchor_of(int level) const {
    const int row = row_of(level);
    const int field = row_limit(limit, row) + 11 - 42 * (level - first_level(row)) + 1023;
    return __hiloint2double(field << 20 | 0x80000, 0);
  }
  __device__ __forceinline__ void anchor(int e) {
    limit = e;
    if constexpr (fixed) {
      upper = infinite;
      lower = 0;
    } else {
      upper = min(static_cast<std::uint32_t>(e + bias) << fraction, infinite);
      const int least = e - depth + bias;
      lower = least > 0 ? (static_cast<std::uint32_t>(least) << fraction) - 1 : 0u;
    }
#pragma unroll
    for (int l = 0; l < levels; ++l) s[l] = anchor_of(l);
  }

  /// Adds x to a level; what it leaves.
  __device__ __forceinline__ double through(int level, double x) {
    const double next = s[level] + x;
    x -= next - s[level];
    s[level] = next;
    return x;
  }
  __device__ __forceinline__ void add_square(double x) {
    constexpr int a = first_product;
    if constexpr (sizeof(T) == 8) {
      add_halves(a, __dmul_rn(x, x), x, x);
    } else {  // x² is a double: the product needs no operation of its own
      const double next = __fma_rn(x, x, s[a]);
      double left = __fma_rn(x, x, s[a] - next);
      s[a] = next;
      if constexpr (product_levels == 3) left = through(a + 1, left);
      s[a + product_levels - 1] += left;
    }
  }
  /// p = x·y rounded, and the rest of it, to the levels from a on.
  __device__ __forceinline__ void add_halves(int a, double p, double x, double y) {
    double low = __fma_rn(x, y, -p);
    s[a + 2] += through(a + 1, through(a, p));
    low = through(a + 2, through(a + 1, low));
    s[a + 3] += low;
  }
  /// The first Items elements, all inside the bounds.
  template <int Items>
  __device__ __forceinline__ void take(const pack (&p)[inputs], const double (&d)[products(Items)]) {
    if constexpr (Terms == terms::products) {
#pragma unroll
      for (int n = 0; n < products(Items); ++n) {
        const int j = n % products_an_item, part = j / item_parts;
        const int a = product_levels * part;
        ordinary[part] = static_cast<std::uint32_t>(max(static_cast<std::int32_t>(ordinary[part]), __double2hiint(d[n])));
        if constexpr (sizeof(T) == 8) {
          const int i = n / products_an_item;
          add_halves(a, d[n], left_factor(p, i, j), right_factor(p, i, j));
        } else {
          double left = through(a, d[n]);
          if constexpr (product_levels == 3) left = through(a + 1, left);
          s[a + product_levels - 1] += left;
        }
      }
    } else {
#pragma unroll
      for (int n = 0; n < Items * item_parts; ++n) {
        double x = double_of<T>(p[0], n);
        if (Terms == terms::sum && !sums_only && mask != 0xffffffffu) x = fabs(x);
        if constexpr (sum_levels > 0) {
          const int a = sum_levels * (n % item_parts);
          s[a + sum_levels - 1] += sum_levels == 2 ? through(a, x) : x;
        }
        if constexpr (magnitudes) s[2 * sum_levels - 1] += sum_levels == 2 ? through(sum_levels, fabs(x)) : fabs(x);
        if constexpr (product_levels > 0) add_square(x);
      }
    }
    if constexpr (Terms == terms::squares) {
      ordinary[0] = 1;
    } else if constexpr (Terms != terms::products) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::uint32_t minus_zero = sizeof(T) == 2 ? 0x80008000u : sizeof(T) == 4 || j % 2 == 1 ? 0x80000000u : 0u;
        const std::uint32_t m = sums_only || (sizeof(T) == 8 && j % 2 == 0) ? 0xffffffffu : mask;
        ordinary[j * 4 / static_cast<int>(sizeof(T)) % item_parts] |= (p[0].word[j] & m) ^ minus_zero;
      }
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
