// SPDX-License-Identifier: Apache-2.0
/// \file columns.hpp
/// Answers side by side in memory, whose elements lie a row apart: rows are added to columns, a vector of columns at a time. Arrays of
/// what columns have so far have room for whole cache lines; answers have none.
#pragma once

#include "certify.hpp"
#include "keys.hpp"

namespace wf::cpu::WF_TARGET {

/// Rows that are read beside each other: each is a stream that the processor reads ahead.
inline constexpr std::int64_t rows_at_once = width == 64 ? 16 : 8, most_at_once = 16;  // the latter of no more rows than that

/// f(j, rows, read) for each vector of V's lanes of columns, from column j on: read(k) is row k's, of the first `here` <= rows_at_once of some rows. Nothing is asked for
/// that is `cached`.
template <class V, class T, class F>
WF_INLINE void for_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t here, std::int64_t count, F f, bool cached = false) {
  constexpr std::int64_t size = sizeof(T), per = static_cast<std::int64_t>(sizeof(V)) / size;
  // The next rows, which are more than L1 holds until they are used; behind the last ones those of the next plane, where rows are hardly wider than this, or the next columns.
  const bool next_rows = here < rows || 2 * count * size > stride;
  const auto ask = [&](const unsigned char* p) __attribute__((always_inline)) {
    if (cached) return;
    if (next_rows) prefetch_beyond_l1(p, here * stride);
    else prefetch(p, 1024);
  };
  const auto* at = static_cast<const unsigned char*>(x);
  std::int64_t j = 0;
  for (; j + per <= count; j += per, at += per * size)
    f(j, here, [&](std::int64_t k) __attribute__((always_inline)) {
      ask(at + k * stride);
      return load<V>(at + k * stride);
    });
  if (j < count) {
    const int left = static_cast<int>((count - j) * size);
    const bool before = count >= per || count * size >= 8;
    f(j, here, [&](std::int64_t k) __attribute__((always_inline)) { return load_first<V>(at + k * stride, left, before); });
  }
}
/// The same for all rows.
template <class V, class T, class F>
WF_INLINE void for_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, F f) {
  for (std::int64_t i = 0; i < rows; i += rows_at_once)
    for_columns<V, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, rows - i < rows_at_once ? rows - i : rows_at_once, count, f);
}

/// As many elements as a vector has doubles, and these as doubles: integers of up to 16 bits too.
template <class T>
using few = vec<T, step * static_cast<int>(sizeof(T))>;
template <class T>
WF_INLINE f64s as_doubles(few<T> v) {
  if constexpr (std::is_same_v<T, double>) return v;
  else if constexpr (std::is_same_v<T, float>) return widen(v);
  else return widen(__builtin_convertvector(v, few<std::int32_t>));  // integers of up to 16 bits
}

/// Sums of columns, a vector of them: s + c, and the magnitudes of what c lost. T. Ogita, S. Rump, S. Oishi, Accurate Sum and Dot Product
/// (SISC 2005), Sum3. Where terms have few bits c is left as it is, and `lost` has the errors of s: mostly there are none.
struct column_sums {
  f64s s, c, lost, one;

  WF_INLINE column_sums(f64s sum, f64s rest, f64s of_rest) : s(sum), c(rest), lost(of_rest), one(unknown_one()) {}
  WF_INLINE column_sums(const double* s_at, const double* c_at, const double* lost_at) : s(load<f64s>(s_at)), c(load<f64s>(c_at)), lost(load<f64s>(lost_at)), one(unknown_one()) {}
  WF_INLINE void give(double* s_at, double* c_at, double* lost_at) const {
    store(s_at, s);
    store(c_at, c);
    store(lost_at, lost);
  }
  /// Every second addition by an FMA, as in certify.hpp.
  WF_INLINE f64s two_sum(f64s& a, f64s b) const {
    const f64s t = a + b, z = subtract_by_fma(t, a, one), error = add_by_fma(a - (t - z), subtract_by_fma(b, z, one), one);
    a = t;
    return error;
  }
  template <bool Wide>
  WF_INLINE void add(f64s v) {
    f64s error = two_sum(s, v);
    if constexpr (Wide) error = two_sum(c, error);
    lost += abs(error);
  }
  /// Where a square is so small that its low half may underflow, the element itself counts as lost.
  template <class T>
  WF_INLINE void add_square(f64s v) {
    if constexpr (sizeof(T) == 4) {
      add<false>(v * v);
    } else {
      f64s low;
      const f64s p = two_product(v, v, low);
      add<true>(p);
      lost += abs(two_sum(c, low));
      lost += (f64s)((i64s)abs(v) & (i64s)(p < 0x1p-960));
    }
  }
};

/// Lane k of the answer is the sum of vector k's lanes.
template <class F>
WF_INLINE f64s sums_of_lanes(const f64s (&v)[step], F add) {
#if defined(__AVX512F__)
  f64s pairs[4], fours[2];
  for (int k = 0; k < 4; ++k)
    pairs[k] = add(__builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14), __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15));
  for (int k = 0; k < 2; ++k)
    fours[k] = add(__builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13),
                   __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15));
  return add(__builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11), __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15));
#elif defined(__AVX2__)
  f64s pairs[2];
  for (int k = 0; k < 2; ++k) pairs[k] = add(__builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 4, 2, 6), __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 5, 3, 7));
  return add(__builtin_shufflevector(pairs[0], pairs[1], 0, 1, 4, 5), __builtin_shufflevector(pairs[0], pairs[1], 2, 3, 6, 7));
#else
  return add(__builtin_shufflevector(v[0], v[1], 0, 2), __builtin_shufflevector(v[0], v[1], 1, 3));
#endif
}

struct ends {
  f64s low, high;
};
WF_INLINE f64s where(i64s which, f64s a, f64s b) { return (f64s)(((i64s)a & which) | ((i64s)b & ~which)); }
#if defined(__AVX512F__)
/// What anchored sums leave of their terms, enclosed.
struct enclosed_rests : enclosed {
  WF_INLINE void add_lanes(const enclosed_rests (&of)[step]) {
    f64s lows[step], highs[step];
    for (int k = 0; k < step; ++k) {
      lows[k] = of[k].low;
      highs[k] = of[k].high;
    }
    low = sums_of_lanes(lows, add_down);
    high = sums_of_lanes(highs, add_up);
  }
  WF_INLINE f64s sum() const { return high; }
  WF_INLINE f64s lost(f64s, double) const { return high - low; }
  WF_INLINE ends between(f64s, double) const { return {low, high}; }
  WF_INLINE i64s nothing() const { return (i64s)(low == 0.0) & (i64s)(high == 0.0); }
  WF_INLINE void take(const double* lows, const double* highs, std::int64_t at) {
    low = load<f64s>(lows + at);
    high = load<f64s>(highs + at);
  }
  WF_INLINE void give(double* lows, double* highs, std::int64_t at) const {
    store(lows + at, low);
    store(highs + at, high);
  }
};
using rests = enclosed_rests;
#else
struct plain_rests;
using rests = plain_rests;
#endif
/// The same by a plain sum, which is one operation less, but is not known to be exact where it is. Each term is at most 2^(k-53) where the anchor is 1.5·2^k, so of n
/// of them a sum loses at most 2^-53·2^(k-53)·n(n + 1)/2, and what is made of it here a little more.
struct plain_rests {
  f64s all{};
  WF_INLINE void add(f64s v, f64s one) { all = add_by_fma(v, all, one); }
  WF_INLINE void add(const plain_rests& more) { all += more.all; }
  WF_INLINE void add_lanes(const plain_rests (&of)[step]) {
    f64s sums[step];
    for (int k = 0; k < step; ++k) sums[k] = of[k].all;
    all = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; });
  }
  WF_INLINE f64s sum() const { return all; }
  WF_INLINE f64s lost(f64s anchor, double n) const { return anchor * (0x1p-106 / 1.5 * 1.01 * (n / 2 + 4) * (n + 1)); }
  WF_INLINE ends between(f64s anchor, double n) const { return {all - lost(anchor, n), all + lost(anchor, n)}; }
  WF_INLINE i64s nothing() const { return (i64s)(all == 0.0); }
  WF_INLINE void take(const double* sums, const double*, std::int64_t at) { all = load<f64s>(sums + at); }
  WF_INLINE void give(double* sums, double*, std::int64_t at) const { store(sums + at, all); }
};

/// Anchored sums of f64. t begins at 1.5·2^k and takes multiples of 2^(k-52) while it stays in [2^k, 2^(k+1)): between two such numbers
/// lies less than 2^k, so that what t does not take of a term v is exact, and goes to `rest`.
template <class Rest>
struct anchored_sums_and {
  static constexpr std::int64_t most = 1024;  // terms; so many never leave, if none is greater than the anchor was made for
  f64s t;
  Rest rest;
  i64s left{};  // bits of t that changed: those of sign and exponent tell that it left
  f64s one = unknown_one();

  static WF_INLINE f64s anchor(f64s greatest) {
    const f64s room = max(greatest * (8.0 * most), all_lanes<f64s>(0x1p-900));
    return anchor_of(room);  // of what has no room: NaN
  }
  /// The anchor of a sum t that has not left.
  static WF_INLINE f64s anchor_of(f64s t) { return (f64s)(((i64s)t & 0x7ff0000000000000) | 0x0008000000000000); }
  WF_INLINE void begin(f64s sum) {
    t = sum;
    rest = {};
    left = i64s{};
  }
  WF_INLINE void add(f64s v, f64s anchor) {
    in_register(v);
    const f64s before = t;
    t = before + v;
    rest.add(v - subtract_by_fma(t, before, one), one);
    left |= (i64s)t ^ (i64s)anchor;
  }
#if defined(__AVX512F__)
  using flags = __mmask8;
  static WF_INLINE flags is_small(f64s square) { return _mm512_cmp_pd_mask(square, all_lanes<f64s>(0x1p-960), _CMP_LT_OQ); }
  static WF_INLINE bool any(flags which) { return which != 0; }
  static WF_INLINE f64s add_where(flags which, f64s a, f64s b) { return (f64s)_mm512_mask_add_pd(a, which, a, b); }
#else
  using flags = i64s;
  static WF_INLINE flags is_small(f64s square) { return (i64s)(square < 0x1p-960); }
  static WF_INLINE bool any(flags which) { return any_lane(which); }
  static WF_INLINE f64s add_where(flags which, f64s a, f64s b) { return a + (f64s)((i64s)b & which); }
#endif
  /// v·v; where that is so small that its lower half may underflow, as zeros are, too, the answer says so.
  WF_INLINE flags add_square(f64s v, f64s anchor) {
    f64s low;
    const f64s square = two_product(v, v, low);
    add(square, anchor);
    rest.add(low, one);
    return is_small(square);
  }
  WF_INLINE i64s has_left() const { return ~(i64s)((u64s)left < 0x0010000000000000u); }
  WF_INLINE i64s nothing(f64s anchor) const { return (i64s)(t == anchor) & rest.nothing(); }
};
using anchored_sums = anchored_sums_and<rests>;

/// Rows of `count` columns, a row `stride` bytes after the one before: their sums. Of f64, with an anchor for each column.
inline constexpr std::int64_t many = 2 * rows_at_once;  // rows; of fewer, two-sums are no slower
enum class adding_up { elements, magnitudes, squares };
template <adding_up What>
void certify_many_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  alignas(64) double sums[most_columns], lows[most_columns], highs[most_columns], of_sums[most_columns];
  for (std::int64_t begin = 0; begin < rows; begin += anchored_sums::most) {
    const std::int64_t end = begin + anchored_sums::most < rows ? begin + anchored_sums::most : rows;
    constexpr double terms = (What == adding_up::squares ? 2 : 1) * static_cast<double>(anchored_sums::most);
    for (std::int64_t i = begin; i < end; i += rows_at_once) {
      const std::int64_t left = end - i < rows_at_once ? end - i : rows_at_once;
      const bool first = i == begin, last = i + left == end;
      for_columns<f64s, double>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count,
                                [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
        f64s anchor;
        anchored_sums sums_here;
        const auto term = [&](std::int64_t k) __attribute__((always_inline)) { return What == adding_up::elements ? read(k) : abs(read(k)); };
        const auto start = [&]() __attribute__((always_inline)) {
          f64s greatest{};
          for (std::int64_t k = 0; k < here; ++k) greatest = max(abs(read(k)), greatest);
          anchor = anchored_sums::anchor(What == adding_up::squares ? greatest * greatest : greatest);
          sums_here.begin(anchor);
        };
        anchored_sums::flags small{};
        const auto add = [&]() __attribute__((always_inline)) {
          for (std::int64_t k = 0; k < here; ++k) {
            if constexpr (What == adding_up::squares) small |= sums_here.add_square(read(k), anchor);
            else sums_here.add(term(k), anchor);
          }
        };
        // Where nothing has been added -0 leaves the sum as it is.
        const auto give = [&](f64s nothing, i64s zeros) __attribute__((always_inline)) {
          const i64s is_nothing = sums_here.nothing(anchor);
          column_sums to(s + j, c + j, lost + j);
          to.add<true>((f64s)(((i64s)nothing & is_nothing) | ((i64s)(sums_here.t - anchor) & ~is_nothing)));
          const f64s off = (f64s)((i64s)sums_here.rest.lost(anchor, terms) & ~zeros);
          to.lost += abs(to.two_sum(to.c, sums_here.rest.sum())) + off;
          to.give(s + j, c + j, lost + j);
        };
        const auto begin_again = [&]() __attribute__((always_inline)) {
          if (first) {
            start();
            return;
          }
          anchor = load<f64s>(of_sums + j);
          sums_here.begin(load<f64s>(sums + j));
          sums_here.rest.take(lows, highs, j);
        };
        begin_again();
        add();
        if (What == adding_up::squares && anchored_sums::any(small)) [[unlikely]] {  // as in column_sums
          f64s more = load<f64s>(lost + j);
          for (std::int64_t k = 0; k < here; ++k) more = anchored_sums::add_where(anchored_sums::is_small(read(k) * read(k)), more, abs(read(k)));
          store(lost + j, more);
        }
        if (any_lane(sums_here.has_left())) [[unlikely]] {
          if (!first) {
            begin_again();
            give(all_lanes<f64s>(-0.0), i64s{});
            start();
            add();
          }
          // What leaves now, too, is no number.
          sums_here.rest.add((f64s)sums_here.has_left(), sums_here.one);
        }
        if (last) {
          i64s zeros = sums_here.nothing(anchor), negative{};  // is every element zero, or -0?
          if (any_lane(zeros)) {
            negative = What == adding_up::elements ? ~i64s{} : i64s{};
            for (std::int64_t k = begin - i; k < here; ++k) {
              zeros &= (i64s)(read(k) == 0.0);
              negative &= (i64s)((i64s)read(k) == INT64_MIN);
            }
          }
          give((f64s)(negative & INT64_MIN), zeros);
          return;
        }
        store(of_sums + j, anchor);
        store(sums + j, sums_here.t);
        sums_here.rest.give(lows, highs, j);
      });
    }
  }
}

/// Rows of `count` columns, a row `stride` bytes after the one before: their sums. Of f64, by two-sums.
template <bool Absolute>
void certify_wide_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  if (rows >= many) return certify_many_rows<Absolute ? adding_up::magnitudes : adding_up::elements>(x, stride, rows, count, s, c, lost);
  for_columns<f64s, double>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    column_sums sums(s + j, c + j, lost + j);
    for (std::int64_t k = 0; k < here; ++k) {
      f64s v = read(k);
      if constexpr (Absolute) v = abs(v);
      sums.add<true>(v);
    }
    sums.give(s + j, c + j, lost + j);
  });
}

#if defined(__AVX512F__)
/// Columns of f32: in doubles, of which so few bits are lost that two roundings tell.
template <bool Absolute>
void certify_narrow_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  alignas(64) double lows[most_columns], highs[most_columns];
  const f64s one = unknown_one();
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t left = rows - i < rows_at_once ? rows - i : rows_at_once;
    for_columns<f32s, float>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count,
                             [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      enclosed parts[2];
      if (i != 0) {
        parts[0] = {load<f64s>(lows + j), load<f64s>(highs + j)};
        parts[1] = {load<f64s>(lows + j + step), load<f64s>(highs + j + step)};
      }
      for (std::int64_t k = 0; k < here; ++k) {
        const f32s v = Absolute ? abs(read(k)) : read(k);
        half_f32s halves[2];
        __builtin_memcpy(halves, &v, sizeof v);
        parts[0].add(widen(halves[0]), one);
        parts[1].add(widen(halves[1]), one);
      }
      WF_UNROLL
      for (int part = 0; part < 2; ++part) {
        const std::int64_t at = j + part * step;
        if (i + left == rows) {
          column_sums to(s + at, c + at, lost + at);
          to.lost += parts[part].high - parts[part].low;
          to.add<true>(parts[part].high);
          to.give(s + at, c + at, lost + at);
        } else {
          store(lows + at, parts[part].low);
          store(highs + at, parts[part].high);
        }
      }
    });
  }
}

/// Squares of columns, and with `Values` the elements, of a type whose squares are doubles: likewise. `at` and `apart` as in square_columns.
template <class T, bool Values>
void enclose_square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  constexpr int parts = sizeof(T) == 4 ? 2 : 1, sums = Values ? 2 : 1;
  alignas(64) double lows[sums][most_columns], highs[sums][most_columns];
  const f64s one = unknown_one();
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t left = rows - i < rows_at_once ? rows - i : rows_at_once;
    for_columns<vec<T, parts * static_cast<int>(sizeof(few<T>))>, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count,
                                                                     [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      enclosed all[parts][sums];
      WF_UNROLL
      for (int part = 0; part < parts; ++part)
        for (int k = 0; k < sums; ++k)
          if (i != 0) all[part][k] = {load<f64s>(lows[k] + j + part * step), load<f64s>(highs[k] + j + part * step)};
      for (std::int64_t k = 0; k < here; ++k) {
        const auto row = read(k);
        few<T> some[parts];
        __builtin_memcpy(some, &row, sizeof row);
        WF_UNROLL
        for (int part = 0; part < parts; ++part) {
          const f64s v = as_doubles<T>(some[part]);
          all[part][0].add_square(v);
          if constexpr (Values) all[part][1].add(v, one);
        }
      }
      WF_UNROLL
      for (int part = 0; part < parts; ++part)
        for (int k = 0; k < sums; ++k) {
          const std::int64_t place = j + part * step;
          if (i + left == rows) {
            double* const p = at + 3 * k * apart + place;
            column_sums to(p, p + apart, p + 2 * apart);
            to.lost += all[part][k].high - all[part][k].low;
            to.add<true>(all[part][k].high);
            to.give(p, p + apart, p + 2 * apart);
          } else {
            store(lows[k] + place, all[part][k].low);
            store(highs[k] + place, all[part][k].high);
          }
        }
    });
  }
}

#endif

/// Elements of a column to its sum, in f64: anchored.
template <class Rest>
struct whole_sum {
  anchored_sums_and<Rest> sums;
  f64s anchor;

  template <class F>
  WF_INLINE void begin(std::int64_t rows, F read) {
    f64s greatest{};
    for (std::int64_t k = 0; k < rows; ++k) greatest = max(abs(read(k)), greatest);
    anchor = anchored_sums::anchor(greatest);
    sums.begin(anchor);
  }
};

#if !defined(__AVX512F__)
/// Magnitudes of f32 as numbers: the greatest, and one less than the least but for zeros.
struct bits_range {
  i32s greatest{};
  u32s below_least = ~u32s{};

  WF_INLINE void look_at(f32s v) {
    const i32s m = (i32s)abs(v);
    const u32s below = (u32s)m - 1;
    greatest = m > greatest ? m : greatest;
    below_least = below < below_least ? below : below_least;
  }
  /// What sums of n such elements in doubles lost at most. Partial sums are multiples of the least one's last place, so nothing is lost where the exponents are no further apart than the 53 bits
  /// allow; else at most u·greatest·n(n + 1)/2 is.
  WF_INLINE void lost(std::int64_t n, f64s (&to)[2]) const {
    const auto terms = static_cast<double>(n);
    const int log2_n = 64 - __builtin_clzll(static_cast<unsigned long long>(n));
    // Both fields of zeros alone are 0; subnormals have the last place of field 1.
    const i32s field = (i32s)((below_least + 1) >> 23), apart = (greatest >> 23) - (field > 1 ? field : all_lanes<i32s>(1));
    const f32s away = (f32s)(greatest & (i32s)(apart > 29 - log2_n));
    half_f32s halves[2];
    __builtin_memcpy(halves, &away, sizeof away);
    for (int part = 0; part < 2; ++part) to[part] = widen(halves[part]) * (0x1p-53 * 1.01 * (terms / 2 + 4) * (terms + 1));
  }
};
#endif

/// Sums of columns of f32, a vector of them, in two vectors of doubles.
struct narrow_sums {
  static constexpr int parts = 2;
#if defined(__AVX512F__)
  enclosed all[parts];

  WF_INLINE void add(f32s v, f64s one) {
    half_f32s halves[parts];
    __builtin_memcpy(halves, &v, sizeof v);
    all[0].add(widen(halves[0]), one);
    all[1].add_by_fmas(widen(halves[1]), one);
  }
  WF_INLINE void take(const double* lows, const double* highs, std::int64_t at) {
    for (int k = 0; k < parts; ++k) all[k] = {load<f64s>(lows + at + k * step), load<f64s>(highs + at + k * step)};
  }
  WF_INLINE void give(double* lows, double* highs, std::int64_t at) const {
    for (int k = 0; k < parts; ++k) {
      store(lows + at + k * step, all[k].low);
      store(highs + at + k * step, all[k].high);
    }
  }
  /// A row's.
  using row = enclosed;
  WF_INLINE row together(const narrow_sums& more) const {
    enclosed sum = all[0];
    sum.add(all[1]);
    sum.add(more.all[0]);
    sum.add(more.all[1]);
    return sum;
  }
  static WF_INLINE void of_rows(const row (&rows)[step], std::int64_t, f64s& sum, f64s& lost) {
    f64s low[step], high[step];
    for (int k = 0; k < step; ++k) {
      low[k] = rows[k].low;
      high[k] = rows[k].high;
    }
    sum = sums_of_lanes(high, add_up);
    lost = sum - sums_of_lanes(low, add_down);
  }
  /// Ends whose zeros have the sum's sign; of n terms.
  WF_INLINE void between(std::int64_t, ends (&to)[parts]) const {
    for (int k = 0; k < parts; ++k) to[k] = {all[k].low, all[k].high};
  }
#else
  f64s all[parts] = {all_lanes<f64s>(-0.0), all_lanes<f64s>(-0.0)};
  bits_range range;

  WF_INLINE void add(f32s v, f64s one) {
    range.look_at(v);
    half_f32s halves[parts];
    __builtin_memcpy(halves, &v, sizeof v);
    all[0] += widen(halves[0]);
    all[1] = add_by_fma(widen(halves[1]), all[1], one);
  }
  WF_INLINE void take(const double* sums, const double* ranges, std::int64_t at) {
    for (int k = 0; k < parts; ++k) all[k] = load<f64s>(sums + at + k * step);
    range = {load<i32s>(ranges + at), load<u32s>(ranges + at + step)};
  }
  WF_INLINE void give(double* sums, double* ranges, std::int64_t at) const {
    for (int k = 0; k < parts; ++k) store(sums + at + k * step, all[k]);
    store(ranges + at, range.greatest);
    store(ranges + at + step, range.below_least);
  }
  /// A row's.
  struct row {
    f64s all{};
    bits_range range{};
  };
  WF_INLINE row together(const narrow_sums& more) const {
    return {(all[0] + all[1]) + (more.all[0] + more.all[1]), {range.greatest > more.range.greatest ? range.greatest : more.range.greatest,
                                                             range.below_least < more.range.below_least ? range.below_least : more.range.below_least}};
  }
  static WF_INLINE void of_rows(const row (&rows)[step], std::int64_t n, f64s& sum, f64s& lost) {
    f64s sums[step];
    bits_range range;
    for (int k = 0; k < step; ++k) {
      sums[k] = rows[k].all;
      std::int32_t greatest = 0;
      std::uint32_t below_least = ~std::uint32_t{};
      for (int j = 0; j < lanes<float>; ++j) {
        greatest = rows[k].range.greatest[j] > greatest ? rows[k].range.greatest[j] : greatest;
        below_least = rows[k].range.below_least[j] < below_least ? rows[k].range.below_least[j] : below_least;
      }
      range.greatest[k] = greatest;
      range.below_least[k] = below_least;
    }
    f64s both[parts];
    range.lost(n, both);
    sum = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; });
    lost = both[0];
  }
  WF_INLINE void between(std::int64_t n, ends (&to)[parts]) const {
    f64s lost[parts];
    range.lost(n, lost);
    for (int k = 0; k < parts; ++k) to[k] = {all[k] - lost[k], where((i64s)(lost[k] == 0.0), all[k], all[k] + lost[k])};
  }
#endif
};

/// The arithmetic of `known` in detail/exact/certified.hpp on a vector of columns. What is not certain has a NaN or an infinity for `off`.
struct knowns {
  f64s h, l, off;

  static WF_INLINE f64s two_sum(f64s a, f64s b, f64s& error) { return lane_pairs<width>::two_sum(a, b, error); }
  /// a - q·d, where that is a double.
  static WF_INLINE f64s remainder(f64s a, f64s q, f64s d) {
    if constexpr (has_fma) {
      return -multiply_subtract(q, d, a);
    } else {
      f64s low;
      const f64s p = two_product(q, d, low);
      return (a - p) - low;
    }
  }
  static WF_INLINE knowns of(f64s s, f64s c, f64s off) {
    f64s l;
    const f64s h = two_sum(s, c, l);
    return {where((i64s)(c == 0.0), s, h), l, off};  // and so -0 stays
  }
  static WF_INLINE knowns of_sums(const double* s, const double* c, const double* lost) {
    return of(load<f64s>(s), load<f64s>(c), load<f64s>(lost) * 1.01);  // which is itself a rounded sum
  }
  WF_INLINE i64s is_exact() const { return (i64s)(off == 0.0); }
  WF_INLINE i64s is_zero() const { return (i64s)(h == 0.0) & is_exact(); }
  WF_INLINE knowns exact_where(i64s which) const { return {h, l, (f64s)((i64s)off & ~which)}; }
  /// Uncertain, but where it is zero or `which`.
  WF_INLINE knowns only(i64s which) const { return {h, l, where(which | is_zero(), off, all_lanes<f64s>(__builtin_inf()))}; }
  WF_INLINE knowns within(double least, double most) const { return only((i64s)(abs(h) >= least) & (i64s)(abs(h) <= most)); }

  WF_INLINE knowns divided(f64s d) const {
    const knowns a = within(0x1p-900, 0x1p900);
    const f64s q = h / d;
    f64s error;
    const f64s rest = two_sum(remainder(h, q, d), l, error), more = rest / d;
    const i64s exact = a.is_exact() & (i64s)(error == 0.0) & (i64s)(remainder(rest, more, d) == 0.0);
    return of(q, more, a.off * 1.01 / d + abs(q) * 0x1p-102).exact_where(exact);
  }
  WF_INLINE knowns times(f64s d) const {
    const knowns a = within(0x1p-900, 0x1p900);
    f64s low, lower, error;
    const f64s p = two_product(h, d, low), q = two_product(l, d, lower), rest = two_sum(low, q, error);
    return of(p, rest, a.off * 1.01 * d + abs(p) * 0x1p-102).exact_where(a.is_exact() & (i64s)(error == 0.0) & (i64s)(lower == 0.0));
  }
  WF_INLINE knowns squared() const {
    const knowns a = within(0x1p-400, 0x1p400);
    f64s low;
    const f64s p = two_product(h, h, low);
    return of(p, low + 2 * h * l, (abs(h) + a.off) * a.off * 2.01 + p * 0x1p-102).exact_where(a.is_exact() & (i64s)(l == 0.0));
  }
  WF_INLINE knowns minus(const knowns& b) const {
    f64s error, low_error, more_error;
    const f64s t = two_sum(h, -b.h, error), low = two_sum(l, -b.l, low_error), more = two_sum(error, low, more_error);
    return of(t, more, (off + b.off) * 1.01 + (abs(h) + abs(b.h)) * 0x1p-102).exact_where(is_exact() & b.is_exact() & (i64s)(low_error == 0.0) & (i64s)(more_error == 0.0));
  }
  /// Only what is positive, and not off by more than a quarter.
  WF_INLINE knowns positive() const { return only((i64s)(h >= 0x1p-900) & (i64s)(off <= h * 0.25)); }
  WF_INLINE knowns root() const {
    const knowns a = positive().within(0x1p-900, 0x1p900);
    const i64s zero = is_zero();
    const f64s r = square_roots(h), rest = remainder(h, r, r) + l;
    const knowns found = of(r, rest / (2 * r), a.off * 0.75 * 1.01 / r + r * 0x1p-102).exact_where(a.is_exact() & (i64s)(rest == 0.0));
    return {where(zero, h, found.h), where(zero, f64s{}, found.l), where(zero, f64s{}, found.off)};
  }

  /// Rounded to nearest, as doubles, where the answer says so.
  template <class T>
  WF_INLINE i64s round(f64s& high) const {
    i64s exact = is_exact();
    f64s lower;
    // The sums below are rounded: the bound grows by more than that.
    if constexpr (sizeof(T) == 8) {
      const f64s by = (f64s)((i64s)(off * 1.01 + abs(l) * 0x1p-50) & ~exact);
      high = where(exact, h, h + (l + by));
      lower = where(exact, h, h + (l - by));
    } else {
      exact &= (i64s)(l == 0.0);
      const f64s by = off * 1.01 + (abs(l) * 0x1p-50 + abs(h) * 0x1p-51);
      high = widen(__builtin_convertvector(where(exact, h, h + (l + by)), half_f32s));
      lower = widen(__builtin_convertvector(where(exact, h, h + (l - by)), half_f32s));
    }
    return (i64s)(high == lower) & (exact | (i64s)(high != 0.0));
  }
  /// Answers j, j + 1, … of `count`, and which are certain.
  template <class T>
  WF_INLINE void give(std::int64_t j, std::int64_t count, void* out, unsigned char* certain) const {
    f64s high;
    const i64s sure = round<T>(high);
    const std::int64_t here = count - j < step ? count - j : step;
    auto* const to = static_cast<unsigned char*>(out) + j * static_cast<std::int64_t>(sizeof(T));
    const auto write = [&](auto answers) __attribute__((always_inline)) {
      if (here == step) store(to, answers);
      else __builtin_memcpy(to, &answers, static_cast<std::size_t>(here) * sizeof(T));
    };
    if constexpr (sizeof(T) == 8) write(high);
    else write(__builtin_convertvector(high, half_f32s));
    if (here == step && !any_lane(~sure)) {
      __builtin_memset(certain + j, 1, step);
    } else {
      for (std::int64_t k = 0; k < here; ++k) certain[j + k] = sure[k] != 0;
    }
  }
};

#if defined(__AVX512F__)
/// Quotients by n, enclosed: each operation is rounded towards the end that it is for, so nothing need be known of how large anything is.
struct quotients {
  static constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC, up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
  f64s n, low, high;  // 1/n lies between

  WF_INLINE explicit quotients(double by)
      : n(all_lanes<f64s>(by)), low(_mm512_maskz_div_round_pd(0xff, all_lanes<f64s>(1.0), n, down)), high(_mm512_maskz_div_round_pd(0xff, all_lanes<f64s>(1.0), n, up)) {}
  /// s - q·n.
  template <int Rounding>
  WF_INLINE f64s rest(f64s q, f64s s) const { return _mm512_maskz_fnmadd_round_pd(0xff, q, n, s, Rounding); }
  /// Where a and b are the same number, and its quotient is a double, a and b are that. Else a quotient halfway between two answers is never told, as those of ten numbers often are.
  WF_INLINE void divide(f64s& a, f64s& b) const {
    const f64s near = b * low, q = multiply_add(rest<down>(near, b), low, near);  // of zeros b has the sign
    const __mmask8 exact = _mm512_cmpeq_pd_mask(a, b) & _mm512_cmpeq_pd_mask(rest<down>(q, b), f64s{}) & _mm512_cmpeq_pd_mask(rest<up>(q, b), f64s{});
    a = min((f64s)_mm512_maskz_mul_round_pd(0xff, a, low, down), (f64s)_mm512_maskz_mul_round_pd(0xff, a, high, down));
    b = max((f64s)_mm512_maskz_mul_round_pd(0xff, b, low, up), (f64s)_mm512_maskz_mul_round_pd(0xff, b, high, up));
    a = _mm512_mask_mov_pd(a, exact, q);
    b = _mm512_mask_mov_pd(b, exact, q);
  }
  /// What lies between sum + left.low and sum + left.high, both ends rounded to nearest: (s + e)/n = q + ((s - q·n) + e)/n, whatever q is.
  template <class Rest>
  WF_INLINE ends round(f64s sum, const Rest& of, f64s anchor, double terms) const {
    const ends left = of.between(anchor, terms);
    f64s e;
    const f64s s = lane_pairs<width>::two_sum(sum, left.high, e), q = s * low;
    f64s least = add_down(rest<down>(q, s), add_down(e, add_down(left.low, -left.high))), greatest = add_up(rest<up>(q, s), e);
    divide(least, greatest);
    return {q + least, q + greatest};
  }
};
#else
/// Quotients by n, which lie between two ends: each rounding is at most 2^-53 of its result, or of the least number.
struct quotients {
  f64s n, inverse;

  WF_INLINE explicit quotients(double by) : n(all_lanes<f64s>(by)), inverse(all_lanes<f64s>(1 / by)) {}
  /// a - q·n, where that is a double.
  WF_INLINE f64s rest(f64s q, f64s a) const {
    if constexpr (has_fma) {
      return -multiply_subtract(q, n, a);
    } else {
      f64s low;
      const f64s p = two_product(q, n, low);
      return (a - p) - low;
    }
  }
  /// For sums of floats and answers of 24 bits or fewer. Where a and b are the same number, so is its quotient by n: a halfway point h of such answers has n·h as a double, from which a differs by
  /// its last place at least, which is more than n times half of the quotient's.
  WF_INLINE void divide(f64s& a, f64s& b) const {
    const f64s q = a / n, by = (b - a) * inverse * 1.01 + abs(q) * 0x1p-51;
    const i64s exact = (i64s)(a == b);
    a = where(exact, q, q - by);
    b = where(exact, q, q + by);
  }
  /// (s + e)/n = q + ((s - q·n) + e)/n.
  WF_INLINE ends round(f64s sum, f64s e, f64s lost = f64s{}) const {
    const f64s q = sum / n, more = (rest(q, sum) + e) * inverse, by = lost * inverse * 1.01 + (abs(more) * 0x1p-50 + 0x1p-1070);
    return {q + (more - by), q + (more + by)};
  }
  WF_INLINE ends round(f64s sum, const rests& of, f64s anchor, double terms) const { return round(sum, of.sum(), of.lost(anchor, terms)); }
};
#endif

/// The sums of a vector of whole columns of f64, or their means, and which of these are certain. read(k): row k of all.
template <bool Mean, class Rest, class F>
WF_INLINE i64s round_anchored(const whole_sum<Rest>& all, std::int64_t rows, const quotients& by, F read, f64s& answers) {
  const auto terms = static_cast<double>(rows);
  const f64s sum = all.sums.t - all.anchor;
  const ends rest = all.sums.rest.between(all.anchor, terms);
  ends both{sum + rest.low, sum + rest.high};
  if constexpr (Mean) both = by.round(sum, all.sums.rest, all.anchor, terms);
  i64s certain = (i64s)(both.low == both.high);
  // -0 where all elements are. A mean that is zero at both ends is one: of two doubles only those that cancel add up to zero, so both ends of what was added to q are -q.
  if (const i64s nothing = ((i64s)(sum == 0.0) & (i64s)(all.sums.rest.sum() == 0.0)) | (i64s)(both.high == 0.0); any_lane(nothing)) [[unlikely]] {
    i64s zeros = nothing, negative = nothing & INT64_MIN;
    for (std::int64_t k = 0; k < rows; ++k) {
      zeros &= (i64s)(read(k) == 0.0);
      negative &= (i64s)read(k);
    }
    certain |= zeros;
    both.high = (f64s)(((i64s)both.high & ~zeros) | (negative & INT64_MIN));
  }
  answers = both.high;
  return certain;
}

#if defined(__AVX512F__)
/// The same of the first `some` columns from x on, where a plain sum of what is left tells too little: mostly that sum is exact, and halfway between two answers.
template <bool Mean>
[[gnu::noinline]] i64s sums_again(const unsigned char* x, std::int64_t stride, std::int64_t rows, std::int64_t some, const quotients& by, f64s& answers) {
  const auto which = static_cast<__mmask8>(_bzhi_u64(0xff, static_cast<unsigned>(some < 0 ? 0 : some)));
  const auto read = [&](std::int64_t k) __attribute__((always_inline)) { return (f64s)_mm512_maskz_loadu_pd(which, x + k * stride); };
  whole_sum<enclosed_rests> all;
  all.begin(rows, read);
  for (std::int64_t k = 0; k < rows; ++k) all.sums.add(read(k), all.anchor);
  return round_anchored<Mean>(all, rows, by, read, answers) & ~all.sums.has_left();
}
#else
/// Sums of a vector of columns, or their means, as column_sums has them: mostly nothing is lost. Of which the answer is certain.
template <bool Mean>
[[gnu::noinline]] i64s sums_again(const unsigned char* x, std::int64_t stride, std::int64_t rows, std::int64_t, const quotients&, f64s& answers) {
  const f64s zero{};
  column_sums sums{all_lanes<f64s>(-0.0), zero, zero};
  for (std::int64_t k = 0; k < rows; ++k) sums.add<true>(load<f64s>(x + k * stride));
  knowns known = knowns::of(sums.s, sums.c, sums.lost * 1.01);
  if constexpr (Mean) known = known.divided(all_lanes<f64s>(static_cast<double>(rows)));
  return known.round<double>(answers);
}

/// Few rows, whose sums often come to a tie: what t does not take goes to a second anchored sum, and mostly nothing is left behind that. None leaves, since the greatest of all is looked for before.
struct few_rows {
  f64s sum, rest;
  i64s behind{};

  template <class F>
  WF_INLINE void add(std::int64_t rows, F read) {
    f64s greatest{};
    for (std::int64_t k = 0; k < rows; ++k) greatest = max(abs(read(k)), greatest);
    const f64s one = unknown_one(), high = anchored_sums::anchor(greatest), low = high * (most_at_once * 0x1p-51);
    f64s t = high, u = low;
    for (std::int64_t k = 0; k < rows; ++k) {
      const f64s v = read(k), before = t, u_before = u;
      t = add_by_fma(v, before, one);
      const f64s left = v - subtract_by_fma(t, before, one);
      u = add_by_fma(left, u_before, one);
      behind |= (i64s)(left - (u - u_before));
    }
    sum = t - high;
    rest = u - low;
  }
  /// Those whose answer is certain; zeros are not.
  template <bool Mean>
  WF_INLINE i64s round(const quotients& by, f64s& answers) const {
    const i64s nothing_lost = (i64s)((f64s)behind == 0.0);
    if constexpr (Mean) {
      const ends both = by.round(sum, rest);
      answers = both.high;
      return nothing_lost & (i64s)(both.low == both.high) & (i64s)(both.high != 0.0);
    }
    answers = sum + rest;
    return nothing_lost & (i64s)(answers != 0.0);
  }
};
#endif

/// The sums of whole columns, or their means, rounded to nearest: both ends of what encloses them round alike. False where that is not so for one, or an anchor does not
/// serve; then nothing is told. `cached`: memory is in the last cache, from which it is read as fast without asking for it.
template <class T, bool Mean>
bool sum_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool cached, void* out) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int vectors = 2;  // beside each other
  constexpr std::int64_t size = sizeof(T), per = width / size;
  constexpr std::int64_t beside_all = most_whole_columns, places = beside_all + 2 * vectors * per;
  alignas(64) double lows[places], highs[places], sums[wide ? places : 1];
#if defined(__AVX512F__)
  // Where all rows begin alike in their cache lines, the columns before the next line are taken by themselves.
  const auto before_line = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % width);
  const std::int64_t head = stride % width == 0 && before_line % size == 0 ? (before_line / size < count ? before_line / size : count) : 0;
#else
  constexpr std::int64_t head = 0;
  if (count < vectors * per) return false;
#endif
  const f64s one = unknown_one();
  const quotients by(static_cast<double>(rows));
  i64s wrong{};
  const std::int64_t at_once = rows <= most_at_once ? most_at_once : cached ? rows_at_once : 8;  // memory is read best by no more streams than that
  for (std::int64_t i = 0; i < rows; i += at_once) {
    const std::int64_t here = rows - i < at_once ? rows - i : at_once;
    const bool first = i == 0, last = i + here == rows;
    // Too much is read before it is used for L1. f32 in the last cache is asked for in the order of memory, if rows have no gaps; f64 comes as fast unasked. Behind the last rows those of the next plane are asked for, where
    // rows are hardly wider than this; else the first ones of the next columns, but for a few rows, which are streams that the processor reads ahead by itself.
    const bool no_gaps = !wide && cached && stride == count * size && !last, next_plane = 2 * count * size > stride;
    const std::int64_t next = last ? here : rows - i - here < here ? rows - i - here : here, asked = no_gaps ? next : cached || (last && first && !next_plane) ? 0 : next,
                       ask_step = no_gaps ? vectors * width : stride;
    const auto* ask = static_cast<const unsigned char*>(x) + (!last || next_plane ? (i + here) * stride : count * size);
    /// read(k, v): row k's vector v of the `some` columns from j on, which lie at `from`; write(v, answers).
    const auto add = [&](std::int64_t j, [[maybe_unused]] std::int64_t some, [[maybe_unused]] const unsigned char* from, auto read, auto write) __attribute__((always_inline)) {
      if constexpr (wide) {
        if (first && last) {
#if defined(__AVX512F__)
          whole_sum<enclosed_rests> all[vectors];
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].begin(here, [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); });
          for (std::int64_t k = 0; k < here; ++k) {
            WF_UNROLL
            for (int v = 0; v < vectors; ++v) all[v].sums.add(read(k, v), all[v].anchor);
          }
#endif
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) {
            const auto row = [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); };
            f64s answers;
#if defined(__AVX512F__)
            const i64s certain = round_anchored<Mean>(all[v], here, by, row, answers) & ~all[v].sums.has_left();
#else
            few_rows all;
            all.add(here, row);
            i64s certain = all.template round<Mean>(by, answers);
            if (any_lane(~certain)) [[unlikely]] certain = sums_again<Mean>(from + v * width, stride, here, per, by, answers);
#endif
            wrong |= ~certain;
            write(v, answers);
          }
          return;
        }
        whole_sum<plain_rests> all[vectors];
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (first) {
            all[v].begin(here, [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); });
          } else {
            const std::int64_t at = j + v * per;
            all[v].sums.begin(load<f64s>(sums + at));
            all[v].anchor = anchored_sums::anchor_of(all[v].sums.t);
            all[v].sums.rest.take(lows, highs, at);
          }
        }
        for (std::int64_t k = 0; k < here; ++k) {
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].sums.add(read(k, v), all[v].anchor);
        }
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          wrong |= all[v].sums.has_left();
          if (!last) {
            const std::int64_t at = j + v * per;
            store(sums + at, all[v].sums.t);
            all[v].sums.rest.give(lows, highs, at);
            continue;
          }
          f64s answers;
          i64s certain = round_anchored<Mean>(all[v], rows, by, [&](std::int64_t k) __attribute__((always_inline)) { return read(k - i, v); }, answers);
          if (any_lane(~certain)) [[unlikely]] certain = sums_again<Mean>(from - i * stride + v * width, stride, rows, some - v * per, by, answers);
          wrong |= ~certain;
          write(v, answers);
        }
      } else {
        narrow_sums all[vectors];
        WF_UNROLL
        for (int v = 0; v < vectors; ++v)
          if (!first) all[v].take(lows, highs, j + v * per);
        for (std::int64_t k = 0; k < here; ++k) {
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].add(read(k, v), one);
        }
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (!last) {
            all[v].give(lows, highs, j + v * per);
            continue;
          }
          half_f32s answers[narrow_sums::parts];
          ends both[narrow_sums::parts];
          all[v].between(rows, both);
          for (int part = 0; part < narrow_sums::parts; ++part) {
            f64s low = both[part].low, high = both[part].high;
            const i64s either = (i64s)(low < 0.0) & (i64s)(high >= 0.0);
            if constexpr (Mean) by.divide(low, high);
            answers[part] = __builtin_convertvector(high, half_f32s);
            const f64s answer = widen(answers[part]);
            wrong |= ~(i64s)(answer == widen(__builtin_convertvector(low, half_f32s)));
            if constexpr (Mean) wrong |= (i64s)(answer == 0.0) & either;  // a zero of which sign?
          }
          f32s together;
          __builtin_memcpy(&together, answers, sizeof together);
          write(v, together);
        }
      }
    };
    const auto* at = static_cast<const unsigned char*>(x) + i * stride;
    auto* to = static_cast<unsigned char*>(out);
#if defined(__AVX512F__)
    const auto add_some = [&](std::int64_t j, std::int64_t some) __attribute__((always_inline)) {
      const auto bytes = some * size;
      const __mmask64 which[] = {bytes >= width ? ~__mmask64{} : _bzhi_u64(~0ull, static_cast<unsigned>(bytes)),
                                 bytes <= width ? 0 : _bzhi_u64(~0ull, static_cast<unsigned>(bytes - width))};
      add(j, some, at, [&](std::int64_t k, int v) __attribute__((always_inline)) { return (vec<T>)_mm512_maskz_loadu_epi8(which[v], at + k * stride + v * width); },
          [&](int v, vec<T> answers) __attribute__((always_inline)) { _mm512_mask_storeu_epi8(to + v * width, which[v], (__m512i)answers); });
    };
#else
    // The last whole vectors, some of whose columns have their answers twice.
    const auto add_some = [&](std::int64_t, std::int64_t some) __attribute__((always_inline)) {
      const std::int64_t back = (vectors * per - some) * size;
      add(beside_all, vectors * per, at - back, [&](std::int64_t k, int v) __attribute__((always_inline)) { return load<vec<T>>(at + k * stride + v * width - back); },
          [&](int v, vec<T> answers) __attribute__((always_inline)) { store(to + v * width - back, answers); });
    };
#endif
    std::int64_t j = 0;
    for (int part = 0; part < 2; ++part) {  // the head, and what is left at the end
      const std::int64_t some = part == 0 ? head : count - head - j;
      if (some != 0) add_some(part == 0 ? beside_all : j, some);
      if (part != 0) break;
      at += head * size;
      to += head * size;
      for (; j + vectors * per <= count - head; j += vectors * per, at += vectors * width, to += vectors * width) {
        add(j, vectors * per, at,
            [&](std::int64_t k, int v) __attribute__((always_inline)) {
              if (k < asked) prefetch_beyond_l1(ask + k * ask_step, v * width);
              return load<vec<T>>(at + k * stride + v * width);
            },
            [&](int v, vec<T> answers) __attribute__((always_inline)) { store(to + v * width, answers); });
        ask += no_gaps ? asked * vectors * width : vectors * width;
      }
    }
  }
  return !any_lane(wrong);
}

/// The first `some` < step elements of f64, and zeros.
WF_INLINE f64s load_some(const void* p, std::int64_t some) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << some) - 1), p);
#elif defined(__AVX2__)
  return _mm256_maskload_pd(static_cast<const double*>(p), (__m256i)(i64s{0, 1, 2, 3} < some));
#else
  f64s v{};
  if (some != 0) __builtin_memcpy(&v, p, sizeof v[0]);
  return v;
#endif
}

/// Is every one of n elements -0, or zero?
template <class T>
bool all_negative(const unsigned char* p, std::int64_t n, bool& zeros) {
  bool negative = true;
  zeros = true;
  for (std::int64_t j = 0; j < n && zeros; ++j, p += sizeof(T)) {
    T v;
    __builtin_memcpy(&v, p, sizeof v);
    if constexpr (std::is_floating_point_v<T>) {
      negative = negative && __builtin_signbit(v);
      zeros = v == 0;
    } else {  // bits
      negative = negative && v >> 15 != 0;
      zeros = (v & 0x7fff) == 0;
    }
  }
  return negative && zeros;
}

/// Rows of n <= most_of_row elements without gaps, a row `stride` bytes after the one before: their sums s + c, and what is lost. There is room for
/// whole vectors. With one anchor for all rows, as long as it serves.
template <bool Absolute>
void certify_wide_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  constexpr std::int64_t size = sizeof(double);
  const std::int64_t whole = n / step * step, tail = n - whole;
  const auto read = [&](const unsigned char* p) __attribute__((always_inline)) {
    prefetch(p);
    return load<f64s>(p);
  };
  f64s anchor{};
  const auto anchor_of = [&](const unsigned char* row) __attribute__((always_inline)) {
    f64s greatest = abs(load_some(row + whole * size, tail));
    for (std::int64_t i = 0; i < whole; i += step) greatest = max(abs(read(row + i * size)), greatest);
    double most = 0;
    for (int k = 0; k < step; ++k) most = greatest[k] > most ? greatest[k] : most;
    anchor = anchored_sums::anchor(all_lanes<f64s>(most));
  };
  bool serves = false;
  for (std::int64_t i = 0; i < rows; i += step) {
    f64s sums[step], anchors{};
    rests rest[step];
    WF_UNROLL
    for (int k = 0; k < step; ++k) {
      sums[k] = f64s{};
      rest[k] = {};
    }
    const auto here = static_cast<int>(rows - i < step ? rows - i : step);
    for (int k = 0; k < here; ++k) {
      const auto* const row = static_cast<const unsigned char*>(x) + (i + k) * stride;
      for (bool again = !serves;; again = true) {
        if (again) anchor_of(row);
        anchored_sums a, b;
        a.begin(anchor);
        b.begin(anchor);
        const auto add = [&](anchored_sums& to, f64s v) __attribute__((always_inline)) { to.add(Absolute ? abs(v) : v, anchor); };
        std::int64_t j = 0;
        for (; j + 2 * step <= n; j += 2 * step) {
          add(a, read(row + j * size));
          add(b, read(row + (j + step) * size));
        }
        if (j < whole) add(a, read(row + j * size));
        if (tail != 0) add(b, load_some(row + whole * size, tail));
        const f64s sum = (a.t - anchor) + (b.t - anchor);
        // Eight such lanes have no more than 53 bits.
        const i64s fits = ~(a.has_left() | b.has_left()) & (i64s)(abs(sum) <= anchor * 0.125);
        serves = !any_lane(~fits);
        if (!serves && !again) continue;
        a.rest.add(b.rest);
        sums[k] = (f64s)((i64s)sum | ~fits);
        rest[k] = a.rest;
        anchors[k] = anchor[0];
        break;
      }
    }
    rests all;
    all.add_lanes(rest);
    f64s sum = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; }), off = all.lost(anchors, static_cast<double>(n));
    if (const i64s zero = (i64s)(sum == 0.0) & all.nothing(); any_lane(zero)) [[unlikely]] {
      for (int k = 0; k < here; ++k) {
        if (zero[k] == 0) continue;
        bool zeros = false;
        sum[k] = all_negative<double>(static_cast<const unsigned char*>(x) + (i + k) * stride, n, zeros) && !Absolute ? -0.0 : 0.0;
        if (zeros) off[k] = 0;
      }
    }
    store(s + i, sum);
    store(c + i, all.sum());
    store(lost + i, off);
    serves = serves && !any_lane((i64s)(off > abs(sum) * 0x1p-60));
  }
}

/// The last `some` elements before `end`, in the last lanes, and zeros; all of the vector's bytes are there.
template <class V>
WF_INLINE V load_last(const unsigned char* end, std::int64_t some) {
  alignas(64) static constexpr struct mask {
    unsigned char bytes[2 * sizeof(V)] = {};
    constexpr mask() {
      for (std::size_t k = sizeof(V); k < sizeof bytes; ++k) bytes[k] = 0xff;
    }
  } all;
  using bytes = vec<std::uint8_t, sizeof(V)>;
  return (V)(load<bytes>(end - sizeof(V)) & load<bytes>(all.bytes + some * static_cast<std::int64_t>(sizeof(V{}[0]))));
}
/// The same of a row that may be shorter, in the first lanes then.
template <class V>
WF_INLINE V load_left(const unsigned char* row, std::int64_t n, std::int64_t left) {
  constexpr std::int64_t size = sizeof(V{}[0]);
  if (n * size >= static_cast<std::int64_t>(sizeof(V))) return load_last<V>(row + n * size, left);
  V v{};
  __builtin_memcpy(&v, row, static_cast<std::size_t>(n * size));
  return v;
}

/// Elements of 16 bits as f32.
using halves_of_f32s = vec<std::uint16_t, width / 2>;
template <class Half>
WF_INLINE f32s widened(halves_of_f32s v) {
  if constexpr (Half::infinity == 0x7f80) {
    return (f32s)(__builtin_convertvector(v, u32s) << 16);
  } else {
#if defined(__AVX512F__)
    return _mm512_maskz_cvtph_ps(0xffff, (__m256i)v);
#elif defined(__F16C__)
    return _mm256_cvtph_ps((__m128i)v);
#else  // as widen_half
    const u32s bits = __builtin_convertvector(v, u32s);
    const f32s magnitude = (f32s)(((bits & 0x7fff) << 13) + (112u << 23)), above = magnitude - 0x1p-14f;
    u32s wide = (u32s)(magnitude + (f32s)((i32s)above & (i32s)(above < 0.0f)));
    wide |= (u32s)((bits & 0x7c00) == 0x7c00) & 0x7f800000u;
    return (f32s)(wide | (bits & 0x8000) << 16);
#endif
  }
}

/// The same of f32, and of what is widened to that.
template <class T, bool Absolute>
void certify_narrow_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  constexpr bool half = !std::is_same_v<T, float>;
  constexpr std::int64_t size = half ? 2 : 4;
  constexpr int per = lanes<float>;
  const f64s one = unknown_one();
  const std::int64_t whole = n / per * per, tail = n - whole;
  const auto read = [&](const unsigned char* p) __attribute__((always_inline)) {
    prefetch(p);
    if constexpr (half) return widened<T>(load<halves_of_f32s>(p));
    else return load<f32s>(p);
  };
  const auto read_tail = [&](const unsigned char* row) __attribute__((always_inline)) {
    if constexpr (half) return widened<T>(load_left<halves_of_f32s>(row, n, tail));
    else return load_left<f32s>(row, n, tail);
  };
  for (std::int64_t i = 0; i < rows; i += step) {
    narrow_sums::row all[step];
    const auto here = static_cast<int>(rows - i < step ? rows - i : step);
    for (int k = 0; k < here; ++k) {
      const auto* const row = static_cast<const unsigned char*>(x) + (i + k) * stride;
      narrow_sums a, b;
      const auto add = [&](narrow_sums& to, f32s v) __attribute__((always_inline)) { to.add(Absolute ? abs(v) : v, one); };
      std::int64_t j = 0;
      for (; j + 2 * per <= n; j += 2 * per) {
        add(a, read(row + j * size));
        add(b, read(row + (j + per) * size));
      }
      if (j < whole) add(a, read(row + j * size));
      if (tail != 0) add(b, read_tail(row));
      all[k] = a.together(b);
    }
    f64s sum, off;
    narrow_sums::of_rows(all, n, sum, off);
    if (const i64s zero = (i64s)(sum == 0.0); any_lane(zero)) [[unlikely]] {
      for (int k = 0; k < here; ++k) {
        if (zero[k] == 0) continue;
        bool zeros = false;
        sum[k] = all_negative<std::conditional_t<half, std::uint16_t, float>>(static_cast<const unsigned char*>(x) + (i + k) * stride, n, zeros) && !Absolute ? -0.0 : 0.0;
      }
    }
    store(s + i, sum);
    store(c + i, f64s{});
    store(lost + i, off);
  }
}
template <class T, bool Absolute>
void certify_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  if constexpr (sizeof(T) == 8) certify_wide_rows<Absolute>(x, stride, rows, n, s, c, lost);
  else certify_narrow_rows<T, Absolute>(x, stride, rows, n, s, c, lost);
}

/// Sums mod 2^64 of rows of n <= most_of_row integers without gaps, a row `stride` bytes after the one before.
template <class T>
void integer_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, std::uint64_t* sums) {
#if defined(__x86_64__)
  constexpr bool by_pairs = sizeof(T) <= 2;
#else
  constexpr bool by_pairs = false;
#endif
  using narrow = std::make_unsigned_t<T>;
  using V = vec<narrow>;
  constexpr std::int64_t size = sizeof(T), per = lanes<T>;
  constexpr bool is_signed = static_cast<T>(-1) < 0, flips = by_pairs && is_signed == (size == 1);  // sums of bytes have no sign, those of pairs have one
  constexpr auto flip = static_cast<narrow>(flips ? std::uint64_t{1} << (8 * size - 1) : 0);
  const std::int64_t whole = n / per * per, taken = whole + (whole < n ? per : 0);
  // Each signed byte is 2^7 too great, each pair without a sign 2^15 too small.
  const std::uint64_t off = static_cast<std::uint64_t>(taken) * flip * (size == 1 ? std::uint64_t{0} - 1 : 1);
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    u64s all[2] = {};
    const auto add = [&](V bits, int k) __attribute__((always_inline)) {
      const V v = bits ^ flip;
#if defined(__x86_64__)
      if constexpr (size == 1) {
        all[k] += sums_of_bytes(v);
        return;
      }
      if constexpr (size == 2) {
        all[k] = (u64s)((i32s)all[k] + sums_of_pairs((vec<std::int16_t>)v));  // of 4096 each at most 2^27
        return;
      }
#endif
      if constexpr (size == 8) {
        all[k] += (u64s)v;
      } else {
        constexpr int parts = 8 / size;
        using part = vec<T, width / parts>;
        part some[parts];
        __builtin_memcpy(some, &v, sizeof v);
        WF_UNROLL
        for (int p = 0; p < parts; ++p) all[k] += (u64s)__builtin_convertvector(some[p], i64s);
      }
    };
    std::int64_t j = 0;
    for (; j + 2 * per <= n; j += 2 * per) {
      WF_UNROLL
      for (int line = 0; line < 2 * width; line += 64) prefetch(row + j * size + line, 4096);
      add(load<V>(row + j * size), 0);
      add(load<V>(row + (j + per) * size), 1);
    }
    if (j < whole) add(load<V>(row + j * size), 0);
    if (whole < n) add(load_left<V>(row, n, n - whole), 1);
    u64s sum = all[0] + all[1];
    if constexpr (by_pairs && size == 2) {
      const i32s pairs = (i32s)all[0] + (i32s)all[1];
      vec<std::int32_t, width / 2> some[2];
      __builtin_memcpy(some, &pairs, sizeof pairs);
      sum = (u64s)(__builtin_convertvector(some[0], i64s) + __builtin_convertvector(some[1], i64s));
    }
    sums[i] = static_cast<std::uint64_t>(sum_lanes((i64s)sum)) + off;
  }
}

#if !defined(__AVX512F__)
/// Squares of columns, and with `Values` the elements, of a type whose squares are doubles: one addition of each. `at` and `apart` as in square_columns. Sums of n squares lose at most their
/// n·2^-53th, and those of elements, none of which is greater than the squares' root, u·n(n + 1)/2 of that; nothing, where all are multiples of a unit that is not too small.
template <class T, bool Values>
void enclose_square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  constexpr bool narrow = std::is_same_v<T, float>;
  constexpr int sums = Values ? 2 : 1;
  constexpr std::int64_t most_rows = 1 << 20;  // of which sums of integers lose nothing
  using some = few<T>;
  using least_of = vec<std::uint32_t, static_cast<int>(sizeof(vec<std::uint32_t>)) / 2>;  // as many as a vector has doubles
  alignas(64) double all[sums][most_columns];
  alignas(64) std::uint32_t least[narrow ? most_columns : 1];
  const f64s one = unknown_one();
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t before = i % most_rows, left = rows - i < rows_at_once ? rows - i : rows_at_once;
    const bool first = before == 0, last = before + rows_at_once == most_rows || i + left == rows;
    for_columns<some, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      f64s squares = first ? f64s{} : load<f64s>(all[0] + j), values = first || !Values ? all_lanes<f64s>(-0.0) : load<f64s>(all[sums - 1] + j);
      least_of below{};
      if constexpr (narrow) below = first ? ~least_of{} : load<least_of>(least + j);
      for (std::int64_t k = 0; k < here; ++k) {
        const some row = read(k);
        const f64s v = as_doubles<T>(row);
        squares = multiply_add(v, v, squares);
        if constexpr (Values) values = add_by_fma(v, values, one);
        if constexpr (narrow) {
          const least_of m = ((least_of)row & 0x7fffffffu) - 1;
          below = m < below ? m : below;
        }
      }
      if (!last) {
        store(all[0] + j, squares);
        if constexpr (Values) store(all[sums - 1] + j, values);
        if constexpr (narrow) store(least + j, below);
        return;
      }
      double* const p = at + j;
      double* const q = Values ? p + 3 * apart : p;
      column_sums to(p, p + apart, p + 2 * apart), also(q, q + apart, q + 2 * apart);
      if constexpr (narrow) {
        // The last place of the least element but for zeros: those of its field, or of field 1, 2^-149.
        const auto field = (below + 1) >> 23;
        const vec<std::int32_t, static_cast<int>(sizeof(least_of))> place = (vec<std::int32_t, static_cast<int>(sizeof(least_of))>)(field > 1 ? field : field * 0 + 1) - 150;
        const i64s wide = __builtin_convertvector(place, i64s);
        const f64s unit = (f64s)((wide + 1023) << 52), limit = unit * 0x1p53;
        const auto terms = static_cast<double>(before + here);
        const f64s lost = squares * (0x1p-53 * 1.01 * (terms + 2));
        to.lost += (f64s)((i64s)lost & ~(i64s)(squares < unit * limit));
        if constexpr (Values) {
          const f64s greatest = square_roots(squares) * 1.01;
          also.lost += (f64s)((i64s)(greatest * (0x1p-53 * 1.01 * (terms / 2 + 4) * (terms + 1))) & ~(i64s)(greatest * terms < limit));
        }
      }
      to.template add<true>(squares);
      to.give(p, p + apart, p + 2 * apart);
      if constexpr (Values) {
        also.template add<true>(values);
        also.give(q, q + apart, q + 2 * apart);
      }
    });
  }
}

/// Columns of f32: some rows by one addition an element, beside the greatest magnitude and the least, zeros left out. Partial sums of n terms are multiples of the
/// least one's last place, so nothing is lost where the exponents are no further apart than the 53 bits allow; else at most u·greatest·n(n + 1)/2 is.
template <bool Absolute>
void certify_narrow_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  constexpr int log2_rows = 8;
  constexpr std::int64_t most_rows = 1 << log2_rows;
  alignas(64) double sums[most_columns];
  alignas(64) std::int32_t greatest[most_columns];
  alignas(64) std::uint32_t below_least[most_columns];
  const f64s one = unknown_one();
  // To the sums of column j and those after it what some rows come to.
  const auto add_up = [&](std::int64_t j, f64s low, f64s high, i32s most, u32s least, std::int64_t some) __attribute__((always_inline)) {
    const double bound = 0x1p-53 * 1.01 / 2 * static_cast<double>(some * (some + 1));
    // Both fields of zeros alone are 0; subnormals have the last place of field 1.
    const i32s field = (i32s)((least + 1) >> 23), apart = (most >> 23) - (field > 1 ? field : all_lanes<i32s>(1));
    const f32s away = (f32s)(most & (i32s)(apart > 29 - log2_rows));
    half_f32s halves[2];
    __builtin_memcpy(halves, &away, sizeof away);
    for (int part = 0; part < 2; ++part) {
      const std::int64_t at = j + part * step;
      column_sums to(s + at, c + at, lost + at);
      to.lost += widen(halves[part]) * bound;
      to.add<false>(part == 0 ? low : high);
      to.give(s + at, c + at, lost + at);
    }
  };
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t before = i % most_rows, left = rows - i < rows_at_once ? rows - i : rows_at_once;
    const bool first = before == 0, last = before + rows_at_once == most_rows || i + left == rows;
    for_columns<f32s, float>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count,
                             [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      f64s low = first ? all_lanes<f64s>(-0.0) : load<f64s>(sums + j), high = first ? low : load<f64s>(sums + j + step);
      i32s most = first ? i32s{} : load<i32s>(greatest + j);
      u32s least = first ? ~u32s{} : load<u32s>(below_least + j);
      for (std::int64_t k = 0; k < here; ++k) {
        f32s v = read(k);
        const i32s m = (i32s)abs(v);
        const u32s below = (u32s)m - 1;
        most = m > most ? m : most;
        least = below < least ? below : least;
        if constexpr (Absolute) v = abs(v);
        half_f32s halves[2];
        __builtin_memcpy(halves, &v, sizeof v);
        low += widen(halves[0]);
        high = add_by_fma(widen(halves[1]), high, one);
      }
      if (last) {
        add_up(j, low, high, most, least, before + here);
        return;
      }
      store(sums + j, low);
      store(sums + j + step, high);
      store(greatest + j, most);
      store(below_least + j, least);
    });
  }
}
#endif
template <class T, bool Absolute>
void certify_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost) {
  if constexpr (sizeof(T) == 8) certify_wide_columns<Absolute>(x, stride, rows, count, s, c, lost);
  else certify_narrow_columns<Absolute>(x, stride, rows, count, s, c, lost);
}

/// Squares of columns of integers of 32 bits, and with `Values` the elements: exact, in halves of 32 bits. `at` and `apart` as in square_columns.
template <class T, bool Values>
void integer_square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  // So that all sums stay below 2^51: then bits are a double beside 2^52, or 1.5·2^52.
  constexpr std::int64_t most = std::int64_t{1} << 19;
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  alignas(64) std::uint64_t halves[2][most_columns];
  alignas(64) std::int64_t all[Values ? most_columns : 1];
  const auto as_double = [](i64s v, double by) __attribute__((always_inline)) { return (f64s)(v + (i64s)all_lanes<f64s>(by)) - by; };
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const std::int64_t before = i % most, left = rows - i < rows_at_once ? rows - i : rows_at_once;
    const bool first = before == 0, last = before + rows_at_once == most || i + left == rows;
    for_columns<few<T>, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, left, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      u64s low{}, high{};
      i64s sum{};
      if (!first) {
        low = load<u64s>(halves[0] + j);
        high = load<u64s>(halves[1] + j);
        if constexpr (Values) sum = load<i64s>(all + j);
      }
      for (std::int64_t k = 0; k < here; ++k) {
        const i64s v = widen_integers<T>(read(k));
        const u64s square = squares_of_halves<is_signed>(v);
        low += square & 0xffffffff;
        high += square >> 32;
        if constexpr (Values) sum += v;
      }
      if (!last) {
        store(halves[0] + j, low);
        store(halves[1] + j, high);
        if constexpr (Values) store(all + j, sum);
        return;
      }
      double* const p = at + j;
      column_sums squares(p, p + apart, p + 2 * apart);
      squares.add<true>(as_double((i64s)high, 0x1p52) * 0x1p32);
      squares.add<true>(as_double((i64s)low, 0x1p52));
      squares.give(p, p + apart, p + 2 * apart);
      if constexpr (Values) {
        column_sums values(p + 3 * apart, p + 4 * apart, p + 5 * apart);
        values.add<true>(as_double(sum, 0x1.8p52));
        values.give(p + 3 * apart, p + 4 * apart, p + 5 * apart);
      }
    });
  }
}

/// The sums of their squares, and, if `Values`, their sums too: s, c and lost of squares, and then of elements, `apart` doubles from each other. `Exact`, of f32:
/// c takes what s loses, so that mostly nothing is lost.
template <class T, bool Values, bool Exact = false>
void square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  if constexpr (!Exact && (sizeof(T) < 4 || std::is_same_v<T, float>)) return enclose_square_columns<T, Values>(x, stride, rows, count, at, apart);
  if constexpr (!Exact && std::is_same_v<T, double>)
    if (rows >= many) {
      constexpr std::int64_t some = Values ? 128 : anchored_sums::most;  // of 256 columns: in L2 for the second look at them
      for (std::int64_t i = 0; i < rows; i += some) {
        const std::int64_t here = rows - i < some ? rows - i : some;
        const void* const row = static_cast<const unsigned char*>(x) + i * stride;
        certify_many_rows<adding_up::squares>(row, stride, here, count, at, at + apart, at + 2 * apart);
        if constexpr (Values) certify_many_rows<adding_up::elements>(row, stride, here, count, at + 3 * apart, at + 4 * apart, at + 5 * apart);
      }
      return;
    }
  for_columns<few<T>, T>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    double* const p = at + j;
    double* const q = Values ? p + 3 * apart : p;
    column_sums squares(p, p + apart, p + 2 * apart), values(q, q + apart, q + 2 * apart);
    for (std::int64_t k = 0; k < here; ++k) {
      const f64s v = as_doubles<T>(read(k));
      if constexpr (Exact) squares.add<true>(v * v);
      else squares.add_square<T>(v);
      if constexpr (Values) values.add<Exact || std::is_same_v<T, double>>(v);
    }
    squares.give(p, p + apart, p + 2 * apart);
    if constexpr (Values) values.give(q, q + apart, q + 2 * apart);
  });
}

/// The same of f64, for states. Squares have 106 bits: a third double, in the array behind all others, takes what c loses.
template <bool Values>
void exact_wide_square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  for_columns<f64s, double>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    double *const p = at + j, *const q = Values ? p + 3 * apart : p, *const rest_at = p + (Values ? 6 : 3) * apart;
    column_sums squares(p, p + apart, p + 2 * apart), values(q, q + apart, q + 2 * apart);
    f64s rest = load<f64s>(rest_at);
    for (std::int64_t k = 0; k < here; ++k) {
      const f64s v = read(k);
      f64s low;
      const f64s square = two_product(v, v, low), error = squares.two_sum(squares.c, squares.two_sum(squares.s, square));
      const f64s other = squares.two_sum(squares.c, low);
      squares.lost += abs(squares.two_sum(rest, error)) + abs(squares.two_sum(rest, other));
      squares.lost += (f64s)((i64s)abs(v) & (i64s)(square < 0x1p-960));  // as in add_square()
      if constexpr (Values) values.add<true>(v);
    }
    squares.give(p, p + apart, p + 2 * apart);
    store(rest_at, rest);
    if constexpr (Values) values.give(q, q + apart, q + 2 * apart);
  });
}

/// The sums of columns, or those divided by n < 2^53, rounded to nearest; `certain` is 1 where all that is within what was lost rounds alike,
/// and 0 where the answer is not told.
template <class T, bool Mean>
void round_columns(const double* s, const double* c, const double* lost, double n, std::int64_t count, void* out, unsigned char* certain) {
  for (std::int64_t j = 0; j < count; j += step) {
    const knowns sum = knowns::of_sums(s + j, c + j, lost + j);
    if constexpr (Mean) sum.divided(all_lanes<f64s>(n)).template give<T>(j, count, out, certain);
    else sum.give<T>(j, count, out, certain);
  }
}

/// The same of the sums of squares, or their roots, and of variances, or their roots: (n·Σx² - (Σx)²) / divisor.
template <class T, bool Root>
void round_squares(const double* at, std::int64_t apart, double n, double divisor, std::int64_t count, void* out, unsigned char* certain) {
  for (std::int64_t j = 0; j < count; j += step) {
    const double *const p = at + j, *const q = p + 3 * apart;
    knowns a = knowns::of_sums(p, p + apart, p + 2 * apart);
    if (divisor != 0) {
      const knowns sum = knowns::of_sums(q, q + apart, q + 2 * apart);
      a = a.times(all_lanes<f64s>(n)).minus(sum.squared()).positive().divided(all_lanes<f64s>(divisor));
    }
    if constexpr (Root) a = a.root();
    a.give<T>(j, count, out, certain);
  }
}

/// The least and greatest keys of columns; `begin`: there are none yet; `cached` as in sum_columns.
template <class L>
void extreme_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, bool cached, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  auto *const low_keys = static_cast<T*>(least), *const high_keys = static_cast<T*>(greatest);
  for (std::int64_t i = 0; i < rows; i += rows_at_once) {
    const bool first = begin && i == 0;
    for_columns<V, T>(static_cast<const unsigned char*>(x) + i * stride, stride, rows - i, rows - i < rows_at_once ? rows - i : rows_at_once, count,
                      [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
      V low = first ? key_of<L>(read(0)) : load<V>(low_keys + j), high = first ? low : load<V>(high_keys + j);
      for (std::int64_t k = 0; k < here; ++k) {
        const V key = key_of<L>(read(k));
        low = key < low ? key : low;
        high = key > high ? key : high;
      }
      store(low_keys + j, low);
      store(high_keys + j, high);
    }, cached);
  }
}

/// What f makes of all lanes: of halves, and then of lanes turned by half, a quarter, … of them.
template <class T, int Bytes, class F, int... J>
WF_INLINE vec<T, Bytes / 2> both_halves(vec<T, Bytes> v, F f, std::integer_sequence<int, J...>) {
  return f(vec<T, Bytes / 2>(__builtin_shufflevector(v, v, J...)), vec<T, Bytes / 2>(__builtin_shufflevector(v, v, (J + lanes<T, Bytes> / 2)...)));
}
template <int By, class T, class F, int... J>
WF_INLINE vec<T, 16> turned(vec<T, 16> v, F f, std::integer_sequence<int, J...> numbers) {
  const vec<T, 16> all = f(v, vec<T, 16>(__builtin_shufflevector(v, v, ((J + By) % lanes<T, 16>)...)));
  if constexpr (By > 1) return turned<By / 2, T>(all, f, numbers);
  else return all;
}
template <class T, int Bytes, class F>
WF_INLINE T of_all_lanes(vec<T, Bytes> v, F f) {
  if constexpr (Bytes > 16) return of_all_lanes<T, Bytes / 2>(both_halves<T, Bytes>(v, f, std::make_integer_sequence<int, lanes<T, Bytes> / 2>()), f);
  else return turned<lanes<T, 16> / 2, T>(v, f, std::make_integer_sequence<int, lanes<T, 16>>())[0];
}

/// The least and greatest keys of rows of n > 0 elements without gaps, a row `stride` bytes after the one before.
template <class L>
void extreme_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, void* least, void* greatest) {
  using T = typename L::element;
  using V = vec<T>;
  constexpr std::int64_t size = sizeof(T), per = lanes<T>;
  const auto lesser = [](auto a, auto b) __attribute__((always_inline)) { return a < b ? a : b; };
  const auto greater = [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; };
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    V low[2], high[2];
    const auto look = [&](const unsigned char* p, int k) __attribute__((always_inline)) {
      prefetch(p);
      const V key = key_of<L>(load<V>(p));
      low[k] = lesser(key, low[k]);
      high[k] = greater(key, high[k]);
    };
    if (n < per) {
      T first;
      __builtin_memcpy(&first, row, sizeof first);
      V v = all_lanes<V>(first);
      __builtin_memcpy(&v, row, static_cast<std::size_t>(n * size));
      low[0] = high[0] = key_of<L>(v);
    } else {
      // The last vectors may have some elements twice.
      low[0] = high[0] = key_of<L>(load<V>(row));
      low[1] = high[1] = key_of<L>(load<V>(row + (n - per) * size));
      std::int64_t j = per;
      for (; j + 2 * per <= n; j += 2 * per) {
        look(row + j * size, 0);
        look(row + (j + per) * size, 1);
      }
      if (j + per <= n) look(row + j * size, 0);
      low[0] = lesser(low[0], low[1]);
      high[0] = greater(high[0], high[1]);
    }
    static_cast<T*>(least)[i] = of_all_lanes<T, width>(low[0], lesser);
    static_cast<T*>(greatest)[i] = of_all_lanes<T, width>(high[0], greater);
  }
}

/// The elements of keys; NaNs, whose keys lie beyond those of the infinities, are `nan`, and so where the other extreme is one.
template <class L>
void elements_of_keys(const void* keys, const void* others, std::int64_t count, std::int64_t nan, void* out) {
  using T = typename L::element;
  using V = vec<T>;
  for (std::int64_t j = 0; j < count; j += lanes<T>) {
    V bits = load<V>(static_cast<const T*>(keys) + j);
    if constexpr (L::floating) {
      const V other = load<V>(static_cast<const T*>(others) + j);
      const V is_nan = (V)(bits > L::infinity) | (V)(bits < static_cast<T>(~L::infinity)) | (V)(other > L::infinity) | (V)(other < static_cast<T>(~L::infinity));
      bits = (key_of<L>(bits) & ~is_nan) | (all_lanes<V>(static_cast<T>(nan)) & is_nan);
    }
    T* const to = static_cast<T*>(out) + j;
    if (count - j >= lanes<T>) store(to, bits);
    else __builtin_memcpy(to, &bits, static_cast<std::size_t>(count - j) * sizeof(T));
  }
}

/// Sums mod 2^64, of up to rows_at_once elements in lanes twice as wide, and then in 64 bits.
template <class T>
void integer_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, std::uint64_t* sums) {
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  using wider = std::conditional_t<sizeof(T) == 1, std::conditional_t<is_signed, std::int16_t, std::uint16_t>,
                std::conditional_t<sizeof(T) == 2, std::conditional_t<is_signed, std::int32_t, std::uint32_t>,
                                   std::conditional_t<is_signed && sizeof(T) < 8, std::int64_t, std::uint64_t>>>;
  using W = vec<wider>;
  constexpr int bytes = width / static_cast<int>(sizeof(wider) / sizeof(T)), per = lanes<wider>;
  for_columns<vec<T, bytes>, T>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    W sum{};
    for (std::int64_t k = 0; k < here; ++k) sum += __builtin_convertvector(read(k), W);
    alignas(64) wider parts[per];
    store(parts, sum);
    WF_UNROLL
    for (int p = 0; p < per; p += step)
      store(sums + j + p, load<u64s>(sums + j + p) + __builtin_convertvector((load<vec<wider, step * static_cast<int>(sizeof(wider))>>(parts + p)), u64s));
  });
}

}  // namespace wf::cpu::WF_TARGET
