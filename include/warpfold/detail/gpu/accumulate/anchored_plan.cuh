// SPDX-License-Identifier: Apache-2.0
/// \file anchored_plan.cuh
/// Where the levels of anchored rows (exact_levels.cuh) lie: their number, the sizes of elements that they take, their last places; and
/// the look at a pack that tells whether it is taken.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/pack_numbers.cuh>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>

namespace wf::device::inline WF_BUILD {

template <class T>
inline constexpr int levels_of_products = sizeof(T) == 8 ? 4 : sizeof(T) == 4 ? 3 : 2;

/// What is known when the kernel is compiled, and no thread keeps.
template <rest_rows Rest, class T, terms Terms, int Threads, int Loads, int ProductLevels>
struct anchored_plan {
  using f = exact::format<T>;
  using bits = typename f::bits;
  static constexpr int inputs = Rest::inputs, rows = Rest::rows, watches = Rest::watches, loads = Loads;
  static constexpr int item_size = Rest::item_size, items = 16 / item_size;
  static constexpr int item_parts = item_size / static_cast<int>(sizeof(T));
  static constexpr int digits0 = Rest::digits0, digits1 = Rest::digits1;
  static constexpr int digits2 = rows == 3 ? digits_of_row<Rest>(2) : 0;
  static constexpr int unit0 = Rest::unit0, unit1 = Rest::unit1, unit2 = unit_of_row<Rest>(rows - 1);
  static constexpr bool looks_ahead = true;  ///< start() wants the first packs
  static constexpr int share = share_of<Rest>;
  static constexpr bool together = share > 1;
  static constexpr bool sums_only = has_sums_only<Rest>;

  /// Levels of each row of sums, which come first, one for each part; and of each row of products, or the one of squares.
  static constexpr int sum_levels = Terms == terms::squares || Terms == terms::products ? 0 : sizeof(T) == 2 ? 1 : 2;
  static constexpr int product_levels = Terms == terms::sum ? 0 : ProductLevels;
  static constexpr bool magnitudes = has_magnitudes<Rest>;
  static constexpr int sum_rows = sum_levels == 0 ? 0 : item_parts + (magnitudes ? 1 : 0);
  static constexpr int first_product = sum_levels * sum_rows;  ///< of the levels
  static constexpr int levels = first_product + product_levels * (rows - sum_rows);
  /// Registers for the packs that are on their way, and for many levels.
  static constexpr int resident_threads = item_parts == 2 && levels > 4 ? 640 : 768;
  static constexpr int warps = Threads / 32;
  static constexpr std::size_t shared_bytes = Rest::shared_bytes + sizeof(std::int64_t) * levels * Threads;
  struct room {
    typename Rest::room rest;
    std::int64_t of_warp[warps][2 * levels], total[2 * levels];
    std::uint32_t greatest_of_warp[warps];
  };

  // Sizes are leading bits of elements, or of products where those are looked at.
  static constexpr bool of_products = Terms == terms::products && !(sizeof(T) == 2 && f::mantissa_bits == 10);
  static constexpr int bias = of_products || sizeof(T) == 8 ? 1023 : f::exponent_field_max / 2;
  static constexpr int fraction = of_products || sizeof(T) == 8 ? 20 : f::mantissa_bits;
  static constexpr std::uint32_t infinite =
      static_cast<std::uint32_t>(of_products ? 2047 : f::exponent_field_max) << fraction;

  /// |element| or |product| < 2^limit. f16 needs no anchor: all of its range is taken.
  static WF_HD constexpr int reach(int count) { return 41 + 42 * (count - 1); }
  static constexpr bool fixed = f::mantissa_bits == 10;
  static constexpr int factor = Terms == terms::products ? 1 : 2;  // of limit, for the rows of products
  /// How many binades below the limit are taken.
  static constexpr int depth = [] {
    int d = 1 << 20;
    if (sum_levels > 0) d = reach(sum_levels) - f::mantissa_bits;
    if (product_levels > 0) {
      const int p = Terms == terms::products ? reach(product_levels) - 2 * f::mantissa_bits - 2
                                             : (reach(product_levels) - 2 * f::mantissa_bits) / 2;
      d = d < p ? d : p;
    }
    return d;
  }();
  static constexpr int least_limit = [] {
    if (fixed) return 0;
    int e = -(1 << 20);
    if (sum_levels > 0) e = unit0 + reach(sum_levels);
    if (product_levels > 0) {
      const int p = unit2 + reach(product_levels);
      const int q = factor == 1 ? p : p >= 0 ? (p + 1) / 2 : -(-p / 2);
      e = e > q ? e : q;
      // Both halves of a product of f64 are normal numbers.
      if (sizeof(T) == 8) e = e > depth - 960 / factor ? e : depth - 960 / factor;
    }
    if (sizeof(T) == 8 && Terms == terms::sum) e = e > -800 ? e : -800;
    return e;
  }();
  static constexpr int most_limit = [] {
    if (fixed) return least_limit;
    const int e = f::exponent_field_max / 2 + 1;
    const int of_terms = product_levels == 0 ? e : Terms == terms::products ? 2 * e : e;
    const int of_doubles = product_levels > 0 && factor == 2 ? 505 : 1007;  // 1.5·2^(… + 11) is finite
    return of_terms < of_doubles ? of_terms : of_doubles;
  }();
  static_assert(least_limit <= most_limit && (fixed || least_limit + bias > 0));

  /// Additions to a level for each element: its parts', and both halves' of a product.
  static constexpr int adds_an_item = (product_levels > 0 ? item_parts : 1) * (sizeof(T) == 8 && product_levels > 0 ? 2 : 1);
  static constexpr int batch = loads * items * adds_an_item;
  /// Where most elements of a warp's first packs miss, or of a thread's first hundred, so will most others: a column of
  /// sums for each thread is quick.
  static constexpr bool gives_up = Terms == terms::sum && !fixed && share == 1;
  /// Packs that are looked at together: one branch for all, and their additions overlap where threads are few.
  /// Not those of two inputs, but of f64: the products of all of them would take too many registers.
  static constexpr int group = inputs == 1 || sizeof(T) == 8 ? (Loads < 4 ? Loads : 4) : 1;
  static_assert(Loads % group == 0 && Loads <= 32);

 protected:
  static __device__ __forceinline__ std::uint32_t finite(std::uint32_t size) { return size < infinite ? size : 0u; }
  static __device__ __forceinline__ std::uint32_t magnitude_word(double p) {
    return static_cast<std::uint32_t>(__double2hiint(p)) & 0x7fffffffu;
  }
  /// Rows, and levels of them.
  static WF_HD constexpr int row_of(int level) {
    return level < first_product ? level / (sum_levels > 0 ? sum_levels : 1)
                                 : sum_rows + (level - first_product) / (product_levels > 0 ? product_levels : 1);
  }
  static WF_HD constexpr int first_level(int row) {
    return row < sum_rows ? sum_levels * row : first_product + product_levels * (row - sum_rows);
  }
  static WF_HD constexpr int first_digit(int row) {
    int all = 0;
    for (int r = 0; r < row; ++r) all += digits_of_row<Rest>(r);
    return all;
  }

  /// Product j of element i, of one with itself where elements are not complex: re·re and -im·im, which are of the real
  /// part, and re·im and im·re.
  static constexpr int products_an_item = item_parts * item_parts;
  static WF_HD constexpr int products(int elements) { return Terms == terms::products ? products_an_item * elements : 1; }
  static __device__ __forceinline__ double left_factor(const pack (&p)[inputs], int i, int j) {
    const double x = double_of<T>(p[0], item_parts * i + j % item_parts);
    return item_parts == 2 && j == 1 ? -x : x;
  }
  static __device__ __forceinline__ double right_factor(const pack (&p)[inputs], int i, int j) {
    return double_of<T>(p[inputs - 1], item_parts * i + (j + j / 2) % item_parts);
  }
  /// The sizes of the first Items elements, and products.
  template <int Items>
  static __device__ __forceinline__ pack_sizes look(const pack (&p)[inputs], double (&d)[products(Items)]) {
    pack_sizes z = {0, 0xffffffffu};
    if constexpr (!of_products) {
#pragma unroll
      for (int k = 0; k < inputs; ++k) {
        const pack_sizes one = sizes_of<T>(p[k]);
        z = {max(z.greatest, one.greatest), min(z.least, one.least)};
      }
    }
    if constexpr (Terms == terms::products) {
#pragma unroll
      for (int n = 0; n < products(Items); ++n) {
        const double x = left_factor(p, n / products_an_item, n % products_an_item);
        const double y = right_factor(p, n / products_an_item, n % products_an_item);
        d[n] = __dmul_rn(x, y);
        if constexpr (of_products) {
          std::uint32_t m = magnitude_word(d[n]);
          z.greatest = max(z.greatest, m);
          // A product of f64 that underflows is not zero; others do not underflow.
          if constexpr (sizeof(T) == 8) m = x == 0 || y == 0 ? 0u : max(m, 1u);
          z.least = min(z.least, m - 1);
        }
      }
    }
    return z;
  }

  /// So that what is up to four times as large (a product: 16 times) is taken as well.
  static __device__ __forceinline__ int limit_of(std::uint32_t size) {
    const int e = static_cast<int>(size >> fraction) - bias + (Terms == terms::products ? 5 : 3);
    return min(max(e, least_limit), most_limit);
  }
  /// The limit of the elements or products of a row. Those of f16 reach down to their last bits.
  static __device__ __forceinline__ int row_limit(int e, int row) {
    const bool sums = row < sum_rows;
    if constexpr (fixed) return unit_of_row<Rest>(row) + reach(sums ? sum_levels : product_levels);
    return sums ? e : factor * e;
  }
  /// The exponent of the last place of a level, in units of its row.
  static __device__ __forceinline__ int place(int e, int level) {
    const int row = row_of(level);
    return row_limit(e, row) - reach(1) - 42 * (level - first_level(row)) - unit_of_row<Rest>(row);
  }
  template <class X>
  static __device__ __forceinline__ pack pack_of(X first, bits others) {
    pack p;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int n = j * 4 / static_cast<int>(sizeof(T));  // the number that begins in this word, or has its upper half here
      std::uint64_t low = others;
      if constexpr (item_parts == 2) {
        if (n < 2) low = f::to_bits(n == 0 ? first.re : first.im);
      } else {
        if (n == 0) low = f::to_bits(first);
      }
      if constexpr (sizeof(T) == 8) p.word[j] = static_cast<std::uint32_t>(j % 2 == 0 ? low : low >> 32);
      else if constexpr (sizeof(T) == 4) p.word[j] = static_cast<std::uint32_t>(low);
      else p.word[j] = static_cast<std::uint32_t>(low | std::uint64_t{others} << 16);
    }
    return p;
  }
};

}  // namespace wf::device::inline WF_BUILD
