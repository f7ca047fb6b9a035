// SPDX-License-Identifier: Apache-2.0
/// \file exact_levels.cuh
/// Exact sums, sums of squares and of products at the speed of memory: a thread adds what lies near an
/// anchor to a few doubles in registers, where no addition rounds, and hands the rest to a row set of
/// exact_rows.cuh, which takes anything.
///
/// s = 1.5·2^k + (a sum) takes x rounded to its last place; (s + x) - s is exact, and so is what it
/// leaves of x, which goes to the next level, whose last place is 42 bits further down (Dekker 1971;
/// Rump, Ogita and Oishi 2008; in bins Demmel and Nguyen 2013). A pack is taken so only if all its
/// elements are zero or between two bounds, which leave nothing below the last level: two integer
/// operations an element, where a look at what is left would be two of FP64. Products of two f32 (or
/// less) are doubles; of f64, an FMA gives the product's low half, which joins a level further down.
/// Parts of complex numbers are elements of their own, and a product of two is four.
/// At the speed of an H100's memory a multiprocessor has 19 FP64 operations for 4 bytes; these are used:
///
///     elements      Σx   Σx²   both   Σxy (of twice the bytes)
///     f16            1     4      5     4      taken: every finite element
///     bf16           1     4      5     5      33 binades below the largest
///     f32            4     7     11     8      38
///     f64            4    16     20    19      30
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_rows.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>
#include <warpfold/detail/gpu/accumulate/pack_numbers.cuh>

namespace wf::device::inline WF_BUILD {

template <class T>
inline constexpr int levels_of_products = sizeof(T) == 8 ? 4 : sizeof(T) == 4 ? 3 : 2;

/// Rest: the row set of the same terms, for what is not taken. Where lanes share its columns, a warp stays
/// together: all its lanes call what adds, and hand things to the rest in turns. T is the type of an element,
/// or of its parts where it is complex.
template <rest_rows Rest, class T, terms Terms, int Threads, int Loads = Rest::loads,
          int ProductLevels = levels_of_products<T>, bool Ahead = false>
struct anchored_rows {
  using f = exact::format<T>;
  using bits = typename f::bits;
  static constexpr int inputs = Rest::inputs, rows = Rest::rows, watches = Rest::watches, loads = Loads;
  static constexpr int item_size = Rest::item_size, items = 16 / item_size;
  static constexpr int item_parts = item_size / static_cast<int>(sizeof(T));
  static constexpr int digits0 = Rest::digits0, digits1 = Rest::digits1;
  static constexpr int digits2 = rows == 3 ? digits_of_row<Rest>(2) : 0;
  static constexpr int unit0 = Rest::unit0, unit1 = Rest::unit1, unit2 = unit_of_row<Rest>(rows - 1);
  static constexpr bool looks_ahead = true;  ///< start() wants the first packs
  static constexpr bool ahead = Ahead;  ///< the next packs are loaded before the last ones are added
  static constexpr int share = share_of<Rest>;
  static constexpr bool together = share > 1;
  static constexpr bool sums_only = has_sums_only<Rest>;

  /// Of each row of sums, which come first, one for each part; and of each row of products, or the one of squares.
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

  double s[levels];
  std::int64_t* sums;  ///< what s came to before, in units of its last places: of level l sums[l·Threads]
  std::uint32_t upper, lower;  ///< sizes that are taken; upper = 0: nothing is any more
  int limit, block_limit;
  int adds;  ///< no fewer than since s was last emptied: at most 1000
  int misses;  ///< of those, to the rest
  std::uint32_t greatest_miss;  ///< since the last review or move
  int moves;
  std::uint32_t ordinary[watches];  ///< for products the greatest, as a signed number; else any bit
  std::uint32_t mask;      ///< of a word of elements: without signs for norm1
  op what;
  bool used;  ///< the rest
  Rest rest;

  /// By all threads of the block, with the packs that a thread has already loaded: the anchor is common.
  __device__ __forceinline__ void start(op o, bool doubles, room& r, const pack (&first)[Loads][inputs], int count) {
    what = o;
    mask = o != op::norm1 || sums_only ? 0xffffffffu : sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu;
    for (std::uint32_t& bits_seen : ordinary) bits_seen = Terms == terms::products ? 0x80000000u : 0u;
    used = false;
    moves = 0;
    misses = adds = 0;
    greatest_miss = 0;
    sums = reinterpret_cast<std::int64_t*>(wf_dynamic_shared + Rest::shared_bytes) + threadIdx.x;
#pragma unroll
    for (int l = 0; l < levels; ++l) sums[l * Threads] = 0;
    if constexpr (cleared_together<Rest>) Rest::clear();
    if constexpr (fixed) {
      anchor(least_limit);
    } else {
      std::uint32_t most = 0;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        double d[products<items>];
        if (u < count) most = max(most, finite(look<items>(first[u], d).greatest));
      }
      most = warp_max(most);
      if (lane_index() == 0) r.greatest_of_warp[warp_index()] = most;
      __syncthreads();
      most = warp_max(lane_index() < warps ? r.greatest_of_warp[lane_index()] : 0u);
      anchor(most == 0 ? 1 : limit_of(most));
    }
    block_limit = limit;
    if (!doubles) upper = 0;
    if constexpr (gives_up) {
      int outside = 0;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        double d[products<items>];
        if (u < count) outside += holds(look<items>(first[u], d)) ? -1 : 1;
      }
      if (static_cast<int>(warp_add(static_cast<std::uint32_t>(outside))) > 0) upper = 0;
    }
  }

  /// Packs that are looked at together: one branch for all, and their additions overlap where threads are few.
  /// Not those of two inputs, but of f64: the products of all of them would take too many registers.
  static constexpr int group = inputs == 1 || sizeof(T) == 8 ? (Loads < 4 ? Loads : 4) : 1;
  static_assert(Loads % group == 0 && Loads <= 32);
  /// Those of a thread's packs that are there: the first `present`. They may be moved.
  __device__ __forceinline__ void add(pack (&p)[Loads][inputs], int present) {
    if constexpr (gives_up) {
      if (upper == 0) {
        all_to_rest(p, present);
        return;
      }
    }
    if constexpr (Terms == terms::sum) {  // the others as if there were all
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        if (u >= present) p[u][0] = pack_of(f::from_bits(f::sign_mask), f::sign_mask);
      }
      present = Loads;
    }
    std::uint32_t left = 0;
    if (present == Loads && (sizeof(T) == 2 || upper != 0)) {  // `upper` only spares work where nothing is taken any more
#pragma unroll
      for (int u = 0; u < Loads; u += group) {
        if (!fits<group>(p + u)) left |= ((1u << group) - 1) << u;
      }
    } else {
      left = (1u << Loads) - 1;
    }
    if (any_sharer(left != 0)) one_by_one(p, left & ((1u << present) - 1));
    count(batch);
  }
  /// A pack of its own, beside what changes nothing: -0, of products -0·0. Of complex products nothing is such.
  template <class X, class... Y>
  __device__ __forceinline__ void add_item(bool mine, X x, Y... y) {
    const X given[inputs] = {x, y...};
    pack p[1][inputs];
#pragma unroll
    for (int k = 0; k < inputs; ++k) p[0][k] = pack_of(given[k], k == 0 ? f::sign_mask : bits{0});
    add_or_miss<Terms == terms::products && item_parts == 2 ? 1 : items>(p[0], mine);
    count(items * adds_an_item);
  }

  __device__ __forceinline__ void finish() {
    empty();
    spill(limit != block_limit);
  }
  __device__ __forceinline__ std::uint32_t kinds(int watch) const {
    const bool any = ordinary[watch] != (Terms == terms::products ? 0x80000000u : 0u);
    return (used ? rest.kinds(watch) : 0u) | (any ? special::ordinary : 0u);
  }

  /// Of the lanes that are `meant`, in each warp: may be called for some of them and then for others.
  template <class... Meant>
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to, Meant... meant) {
    // Sums are within ±2^62: the halves of a thousand threads' fit 48 bits.
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = (true && ... && meant) ? sums[l * Threads] : 0;
      const std::int64_t low = warp_sum_wide(static_cast<std::uint32_t>(sum));
      const std::int64_t high = warp_sum_wide(sum >> 32);
      if (lane_index() == 0) {
        r.of_warp[warp_index()][2 * l] = low;
        r.of_warp[warp_index()][2 * l + 1] = high;
      }
    }
    const bool rests = __syncthreads_or(used ? 1 : 0) != 0;
    if (threadIdx.x < 2 * levels) {
      std::int64_t total = 0;
#pragma unroll
      for (int w = 0; w < warps; ++w) total += r.of_warp[w][threadIdx.x];
      r.total[threadIdx.x] = total;
    }
    if (rests) {
      use_rest();
      rest.sum_over_block(r.rest, to, meant...);
    }
    __syncthreads();
    const int e = block_limit;
    for (int k = static_cast<int>(threadIdx.x); k < first_digit(rows); k += Threads) {
      std::int64_t v = rests ? to[k] : 0;
#pragma unroll
      for (int i = 0; i < 2 * levels; ++i) {
        const int row = row_of(i / 2), at = place(e, i / 2) + 32 * (i % 2);
        const int above = k - first_digit(row) - (at >> 5);
        const bool mine = k >= first_digit(row) && k < first_digit(row + 1);
        const std::int64_t total = r.total[i];
        if (mine && above == 0) v += static_cast<std::uint32_t>(total) << (at & 31);
        if (mine && above == 1) v += total >> (32 - (at & 31));
      }
      to[k] = v;
    }
  }

 protected:
  static __device__ __forceinline__ std::uint32_t finite(std::uint32_t size) { return size < infinite ? size : 0u; }
  __device__ __forceinline__ bool holds(const pack_sizes& z) const {
    return z.greatest < upper && (fixed || z.least >= lower);
  }
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
  template <int Items>
  static constexpr int products = Terms == terms::products ? products_an_item * Items : 1;
  static __device__ __forceinline__ double left_factor(const pack (&p)[inputs], int i, int j) {
    const double x = double_of<T>(p[0], item_parts * i + j % item_parts);
    return item_parts == 2 && j == 1 ? -x : x;
  }
  static __device__ __forceinline__ double right_factor(const pack (&p)[inputs], int i, int j) {
    return double_of<T>(p[inputs - 1], item_parts * i + (j + j / 2) % item_parts);
  }
  /// The sizes of the first Items elements, and products.
  template <int Items>
  static __device__ __forceinline__ pack_sizes look(const pack (&p)[inputs], double (&d)[products<Items>]) {
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
      for (int n = 0; n < products<Items>; ++n) {
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
  /// Of the elements or products of a row. Those of f16 reach down to their last bits.
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
  __device__ __forceinline__ void take(const pack (&p)[inputs], const double (&d)[products<Items>]) {
    if constexpr (Terms == terms::products) {
#pragma unroll
      for (int n = 0; n < products<Items>; ++n) {
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
  __device__ __forceinline__ void count(int additions) {
    adds += additions;
    if (adds > 1000 - batch || (gives_up && misses > 96 && mostly_missed())) review();
  }

  /// s differs from its anchor by a whole number of its last places.
  __device__ __forceinline__ void empty() {
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const double from = anchor_of(l);
      sums[l * Threads] += __double_as_longlong(s[l]) - __double_as_longlong(from);
      s[l] = from;
    }
  }

  __device__ __forceinline__ bool mostly_missed() const { return misses * adds_an_item > adds / 4 * 3; }
  /// Once in a thousand additions.
  __device__ __forceinline__ void review() {
    const bool most_missed = mostly_missed();
    empty();
    adds = 0;
    bool full = false;
#pragma unroll
    for (int l = 0; l < levels; ++l) full = full || (sums[l * Threads] + (std::int64_t{1} << 61)) >> 62 != 0;
    spill(full || most_missed);
    if (most_missed && upper != 0) {
      if constexpr (gives_up) {
        // An anchor that would have caught them, if it is lower, and not too often; else none.
        const int e = limit_of(greatest_miss);
        if (e + 5 <= limit && moves < 16) {
          ++moves;
          anchor(e);
        } else {
          upper = 0;
        }
      } else {
        // The next element that is larger than the least anchor allows moves it; not too often.
        anchor(least_limit);
        if (moves >= 16 || fixed) upper = 0;
      }
    }
    misses = 0;
    greatest_miss = 0;
  }

  /// Whether something holds for this thread, or for any of its warp where lanes share columns.
  static __device__ __forceinline__ bool any_sharer(bool mine) {
    if constexpr (share == 1) return mine;
    else return __any_sync(all_lanes, mine) != 0;
  }
  /// f() by those threads that are meant, no two at a column at once.
  template <class F>
  static __device__ __forceinline__ void in_turns(bool mine, F f) {
    if constexpr (share == 1) {
      if (mine) f();
    } else {
#pragma unroll 1
      for (int turn = 0; turn < share; ++turn) {
        if (mine && lane_index() / (32 / share) == turn) f();
        __syncwarp();
      }
    }
  }
  __device__ __forceinline__ void use_rest() {
    if (used) return;
    in_turns(true, [&] { rest.start(what); });
    used = true;
  }

  /// Adds packs that all are inside the bounds, or nothing.
  template <int Count>
  __device__ __forceinline__ bool fits(const pack (*p)[inputs]) {
    [[maybe_unused]] double d[Count][products<items>];
    pack_sizes z = {0, 0xffffffffu};
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      const pack_sizes one = look<items>(p[u], d[u]);
      z = {max(z.greatest, one.greatest), min(z.least, one.least)};
    }
    if (!holds(z)) return false;
#pragma unroll
    for (int u = 0; u < Count; ++u) take<items>(p[u], d[u]);
    return true;
  }
  template <int Items>
  __device__ __forceinline__ void add_or_miss(const pack (&p)[inputs], bool mine) {
    double d[products<Items>];
    pack_sizes z = {0, 0xffffffffu};
    bool left = mine;
    if (mine) {
      z = look<Items>(p, d);
      left = upper == 0 || !holds(z);
      if (!left) take<Items>(p, d);
    }
    if (any_sharer(left)) miss<Items>(p, z.greatest, left);
  }
  /// Packs that were left, each in the place of the first: their code is there once, away from that of
  /// ordinary ones. An index known at run time would move the packs to local memory (moments of random f64 bits: 1.6 times the time).
  __device__ __forceinline__ void one_by_one(pack (&p)[Loads][inputs], std::uint32_t left) {
#pragma unroll 1
    for (int u = 0; u < Loads; ++u) {
      add_or_miss<items>(p[0], (left >> u & 1) != 0);
#pragma unroll
      for (int j = 1; j < Loads; ++j) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[j - 1][k] = p[j][k];
      }
    }
  }
  /// The first `present` packs, where nothing is taken any more.
  __device__ __forceinline__ void all_to_rest(const pack (&p)[Loads][inputs], int present) {
    static_assert(Loads <= Rest::loads);
    use_rest();
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (u < present) rest.add(p[u]);
    }
    rest.after_batch();
  }
  template <int Items>
  __device__ __forceinline__ void miss(const pack (&p)[inputs], std::uint32_t size, bool mine) {
    use_rest();
    in_turns(mine, [&] {
      if constexpr (Items == items) rest.add(p);
      else rest.add_item(item_of<parts<T>>(p[0], 0), item_of<parts<T>>(p[1], 0));
      rest.after_batch();
    });
    if (mine) {
      misses += items;
      greatest_miss = max(greatest_miss, finite(size));
    }
    const bool moving = mine && !fixed && upper != 0 && size >= upper && size < infinite && limit < most_limit && moves < 16;
    if (moving) empty();
    spill(moving);
    if (moving) {
      ++moves;
      anchor(limit_of(size));
      greatest_miss = 0;
    }
  }
  __device__ __forceinline__ void spill(bool mine) {
    if (!any_sharer(mine)) return;
#pragma unroll
    for (int l = 0; l < levels; ++l) {
      const std::int64_t sum = mine ? sums[l * Threads] : 0;
      if (any_sharer(sum != 0)) {
        use_rest();
        in_turns(sum != 0, [&] { rest.add_scaled(row_of(l), sum, place(limit, l)); });
        if (sum != 0) sums[l * Threads] = 0;
      }
    }
  }
};

}  // namespace wf::device::inline WF_BUILD
