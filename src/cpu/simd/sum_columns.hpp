// SPDX-License-Identifier: Apache-2.0
/// \file sum_columns.hpp
/// Sums and means of whole columns, rounded from what encloses them without keeping anything.
#pragma once

#include "round_columns.hpp"

namespace wf::cpu::WF_TARGET {

/// Elements of a column to its sum, in f64: anchored.
template <class Rest>
struct whole_sum {
  static constexpr bool squared = false;
  anchored_sums_and<Rest> sums;
  f64s anchor;

  template <class F>
  WF_INLINE void begin(std::int64_t rows, F read) {
    f64s greatest{};
    for (std::int64_t k = 0; k < rows; ++k) greatest = max(abs(read(k)), greatest);
    anchor = anchored_sums::anchor(greatest);
    sums.begin(anchor);
  }
  WF_INLINE void take(const double* kept, std::int64_t apart) {
    sums.begin(load<f64s>(kept));
    anchor = anchored_sums::anchor_of(sums.t);
    sums.rest.take(kept + apart, kept + 2 * apart, 0);
  }
  WF_INLINE void give(double* kept, std::int64_t apart) {
    store(kept, sums.t);
    sums.rest.give(kept + apart, kept + 2 * apart, 0);
  }
};

#if !defined(__AVX512F__)
/// The same, and the sum of squares, which takes one operation where it takes two to look whether t left: n elements and so all their partial sums are at
/// most the root of n times their squares, so t stays where that is less than 2^(k-1), the anchor being 1.5·2^k. Squares lose 2^-53 of themselves in each
/// operation, and what is below 2^-1074; what t has lost, n times 2^(k-53), is no more than that either.
struct squared_whole_sum {
  static constexpr bool squared = true;
  static constexpr std::int64_t least = most_at_once + 1, most = 1 << 14;  // rows; the rests of more lose too much
  f64s t, rest, squares;

  static WF_INLINE f64s anchor(f64s greatest, std::int64_t rows) {
    return anchored_sums::anchor_of(max(greatest * (64.0 * static_cast<double>(rows)), all_lanes<f64s>(0x1p-400)));  // NaN where there is no room
  }
  /// Columns whose squares over- or underflow. Zeros do not.
  static WF_INLINE i64s unfit(f64s greatest) { return ((i64s)(greatest < 0x1p-400) & (i64s)(greatest > 0.0)) | (i64s)(greatest > 0x1p400); }
  WF_INLINE void begin(f64s at) {
    t = at;
    rest = squares = f64s{};
  }
  WF_INLINE void add(f64s v, int k, f64s one) {
    in_register(v);
    const f64s before = t;
    t = before + v;
    const f64s left = v - subtract_by_fma(t, before, one);
    rest = k % 2 != 0 ? add_by_fma(left, rest, one) : rest + left;  // so that neither units for additions nor those for FMAs wait for the others
    squares = multiply_add(v, v, squares);
  }
  WF_INLINE void take(const double* kept, std::int64_t apart) {
    t = load<f64s>(kept);
    rest = load<f64s>(kept + apart);
    squares = load<f64s>(kept + 2 * apart);
  }
  WF_INLINE void give(double* kept, std::int64_t apart) const {
    store(kept, t);
    store(kept + apart, rest);
    store(kept + 2 * apart, squares);
  }
  /// Which sums of n elements never left this anchor; where a number is infinite or a NaN, none.
  WF_INLINE i64s stayed(f64s anchor, std::int64_t n) const {
    const auto terms = static_cast<double>(n);
    const f64s half = anchor * (1 / 3.0 * 0.99);
    return (i64s)((squares + terms * 0x1p-1073) * (1.01 * terms) < half * half);
  }
  WF_INLINE whole_sum<plain_rests> with(f64s anchor) const {
    whole_sum<plain_rests> all;
    all.sums.begin(t);
    all.sums.rest.all = rest;
    all.anchor = anchor;
    return all;
  }
};
#endif

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
  /// Where a and b are the same number, and its quotient is a double, a and b are that. Else a quotient halfway between two answers is never told, as
  /// those of ten numbers often are.
  WF_INLINE void divide(f64s& a, f64s& b) const {
    const f64s about = b * low, q = multiply_add(rest<down>(about, b), low, about);  // b has the sign of zeros
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
  /// For sums of floats and answers of 24 bits or fewer. Where a and b are the same number, so is its quotient by n: a halfway point h of such
  /// answers has n·h as a double, from which a differs by its last place at least, which is more than n times half of the quotient's.
  WF_INLINE void divide(f64s& a, f64s& b) const {
    const f64s q = a / n, by = (b - a) * inverse * 1.01 + abs(q) * 0x1p-51;
    const i64s exact = (i64s)(a == b);
    a = where(exact, q, q - by);
    b = where(exact, q, q + by);
  }
  /// a / n as a division rounds it, a being finite and no smaller than f32's least number: P. Markstein, Computation of elementary functions on the IBM
  /// RISC System/6000 processor (1990), for 1/n is rounded to nearest.
  WF_INLINE f64s quotient(f64s a) const {
    if constexpr (!has_fma) return a / n;
    const f64s q = a * inverse;
    return multiply_add(rest(q, a), inverse, q);
  }
  /// (s + e)/n = q + ((s - q·n) + e)/n, whatever q is, as long as its last place times n leaves s - q·n a double.
  WF_INLINE ends round(f64s sum, f64s e, f64s lost = f64s{}) const {
    const f64s q = sum / n, more = (rest(q, sum) + e) * inverse, by = lost * inverse * 1.01 + (abs(more) * 0x1p-50 + 0x1p-1070);
    return {q + (more - by), q + (more + by)};
  }
  /// s + e, of which nothing is lost, over n. Where the second quotient is a double, too, so are both ends: else a quotient halfway between two answers
  /// is never told, as one in ten of ten numbers is.
  WF_INLINE ends round_exactly(f64s sum, f64s e) const {
    const f64s q = sum * inverse;
    f64s error;
    const f64s left = lane_pairs<width>::two_sum(rest(q, sum), e, error), about = left * inverse, more = multiply_add(rest(about, left), inverse, about);
    const f64s by = where((i64s)(rest(more, left) == 0.0) & (i64s)(error == 0.0), f64s{}, abs(more) * 0x1p-50 + 0x1p-1070);
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
  // -0 where all elements are. A mean that is zero at both ends is one: of two doubles only those that cancel add up to zero, so both ends of what
  // was added to q are -q.
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
/// The same of the first `some` columns from x on, where a plain sum of what is left tells too little: mostly that sum is exact, and halfway between
/// two answers.
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

/// Few rows, whose sums often come to a tie: what t does not take goes to a second anchored sum, and mostly nothing is left behind that. None leaves,
/// since the greatest of all is looked for before. Vectors of columns beside each other, since each addition waits for the one before.
template <int Vectors>
struct few_rows {
  f64s sum[Vectors], rest[Vectors];
  i64s behind[Vectors] = {};

  template <class F>
  WF_INLINE void add(std::int64_t rows, F read) {
    f64s high[Vectors] = {}, t[Vectors], u[Vectors];
    for (std::int64_t k = 0; k < rows; ++k) {
      WF_UNROLL
      for (int v = 0; v < Vectors; ++v) high[v] = max(abs(read(k, v)), high[v]);
    }
    const f64s one = unknown_one();
    constexpr double below = most_at_once * 0x1p-51;
    WF_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      t[v] = high[v] = anchored_sums::anchor(high[v]);
      u[v] = high[v] * below;
    }
    for (std::int64_t k = 0; k < rows; ++k) {
      WF_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        const f64s x = read(k, v), before = t[v], u_before = u[v];
        t[v] = add_by_fma(x, before, one);
        const f64s left = x - subtract_by_fma(t[v], before, one);
        u[v] = add_by_fma(left, u_before, one);
        behind[v] |= (i64s)(left - (u[v] - u_before));
      }
    }
    WF_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      sum[v] = t[v] - high[v];
      rest[v] = u[v] - high[v] * below;
    }
  }
  /// Those of vector v whose answer is certain; zeros are not.
  template <bool Mean>
  WF_INLINE i64s round(int v, const quotients& by, f64s& answers) const {
    const i64s nothing_lost = (i64s)((f64s)behind[v] == 0.0);
    if constexpr (Mean) {
      const ends both = by.round_exactly(sum[v], rest[v]);
      answers = both.high;
      return nothing_lost & (i64s)(both.low == both.high) & (i64s)(both.high != 0.0);
    }
    answers = sum[v] + rest[v];
    return nothing_lost & (i64s)(answers != 0.0);
  }
};
#endif

/// Answers of f32, or their means, from what encloses both halves of their columns' sums; which of them are certain, in doubles.
template <bool Mean>
WF_INLINE i64s round_narrow(ends (&both)[narrow_sums::parts], const quotients& by, f32s& answers) {
  half_f32s halves[narrow_sums::parts];
  i64s wrong{};
  for (int part = 0; part < narrow_sums::parts; ++part) {
    f64s low = both[part].low, high = both[part].high;
    const i64s either = (i64s)(low < 0.0) & (i64s)(high >= 0.0);
    if constexpr (Mean) by.divide(low, high);
    halves[part] = __builtin_convertvector(high, half_f32s);
    const f64s answer = widen(halves[part]);
    wrong |= ~(i64s)(answer == widen(__builtin_convertvector(low, half_f32s)));
    if constexpr (Mean) wrong |= (i64s)(answer == 0.0) & either;  // a zero of which sign?
  }
  __builtin_memcpy(&answers, halves, sizeof answers);
  return ~wrong;
}

#if !defined(__AVX512F__)
/// Sums of a vector of columns of f32, or their means, whose range is looked at: where roots of squares tell too little.
template <bool Mean>
[[gnu::noinline]] i64s narrow_sums_again(const unsigned char* x, std::int64_t stride, std::int64_t rows, const quotients& by, f32s& answers) {
  const f64s one = unknown_one();
  narrow_sums all;
  for (std::int64_t k = 0; k < rows; ++k, x += stride) all.add(load<f32s>(x), one, x);
  ends both[narrow_sums::parts];
  all.between(rows, both);
  return round_narrow<Mean>(both, by, answers);
}
#endif

/// The sums of whole columns, or their means, rounded to nearest: both ends of what encloses them round alike. False where that is not so for one, or
/// an anchor does not serve; then nothing is told. `cached`: memory is in the last cache, from which it is read as fast without asking for it.
/// `Kept` is what a vector of columns keeps.
template <class T, bool Mean, class Kept>
bool sum_columns_by(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool cached, void* out) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int vectors = wide && Kept::squared ? 4 : 2;  // beside each other: each addition waits for the one before
  constexpr std::int64_t size = sizeof(T), per = width / size, apart = vectors * per, words = wide ? 3 + Kept::squared : 2;
  // What is kept of vectors that are beside each other lies together: in arrays of their own each would begin in the same place of L1.
  constexpr std::int64_t places = most_whole_columns / apart + 2;
  alignas(64) double kept[places * words * apart];
#if !defined(__AVX512F__)
  if (count < apart) return false;
#endif
  // Where all rows begin alike in their vectors (by AVX-512 cache lines), the columns before the next one are taken by themselves, if there are many.
  const auto before_vector = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % width);
  const std::int64_t head = stride % width == 0 && before_vector % size == 0 && (width == 64 || count >= 8 * apart) ? (before_vector / size < count ? before_vector / size : count) : 0;
  const f64s one = unknown_one();
  const quotients by(static_cast<double>(rows));
  i64s wrong{};
  constexpr bool unasked = wide && Kept::squared;  // since a branch for each row takes as long as what it adds
  [[maybe_unused]] std::int64_t again = 0;
  [[maybe_unused]] const std::int64_t few_again = wide ? 4 + count / (8 * per) : 16;  // more are faster in the order of memory
  constexpr std::int64_t of_cached = width == 32 ? most_at_once : rows_at_once;
  const std::int64_t at_once = rows <= most_at_once ? most_at_once : cached ? of_cached : 8;  // memory is read best by no more streams than that
  for (std::int64_t i = 0; i < rows; i += at_once) {
    const std::int64_t here = rows - i < at_once ? rows - i : at_once;
    const bool first = i == 0, last = i + here == rows;
    // Too much is read before it is used for L1. f32 in the last cache is asked for in the order of memory, if rows have no gaps; f64 comes as fast
    // unasked, and by vectors of 32 bytes f32 does, too. Behind the last rows those of the next plane are asked for, where rows are hardly wider than
    // this; else the first ones of the next columns, but for a few rows, which are streams that the processor reads ahead by itself.
    const bool no_gaps = !wide && width != 32 && cached && stride == count * size && !last, next_plane = 2 * count * size > stride;
    const std::int64_t next = last ? here : rows - i - here < here ? rows - i - here : here, asked = no_gaps ? next : cached || (last && first && !next_plane) ? 0 : next,
                       ask_step = no_gaps ? vectors * width : stride;
    const auto* ask = static_cast<const unsigned char*>(x) + (!last || next_plane ? (i + here) * stride : count * size);
    /// read(k, v): row k's vector v of `some` columns, which lie at `from`, and of which is kept what lies in that place; write(v, answers).
    const auto add = [&](std::int64_t place, [[maybe_unused]] std::int64_t some, [[maybe_unused]] const unsigned char* from, auto read, auto write) __attribute__((always_inline)) {
      double* const at_place = kept + place * words * apart;
      if constexpr (wide && !Kept::squared) {
        if (first && last) {
#if defined(__AVX512F__)
          whole_sum<enclosed_rests> all[vectors];
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].begin(here, [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); });
          for (std::int64_t k = 0; k < here; ++k) {
            WF_UNROLL
            for (int v = 0; v < vectors; ++v) all[v].sums.add(read(k, v), all[v].anchor);
          }
#else
          few_rows<vectors> all;
          all.add(here, read);
#endif
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) {
            f64s answers;
#if defined(__AVX512F__)
            const auto row = [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); };
            const i64s certain = round_anchored<Mean>(all[v], here, by, row, answers) & ~all[v].sums.has_left();
#else
            i64s certain = all.template round<Mean>(v, by, answers);
            if (any_lane(~certain)) [[unlikely]] certain = sums_again<Mean>(from + v * width, stride, here, per, by, answers);
#endif
            wrong |= ~certain;
            write(v, answers);
          }
          return;
        }
        Kept all[vectors];
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (first) all[v].begin(here, [&](std::int64_t k) __attribute__((always_inline)) { return read(k, v); });
          else all[v].take(at_place + v * per, apart);
        }
        for (std::int64_t k = 0; k < here; ++k) {
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].sums.add(read(k, v), all[v].anchor);
        }
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          wrong |= all[v].sums.has_left();
          if (!last) {
            all[v].give(at_place + v * per, apart);
            continue;
          }
          f64s answers;
          i64s certain = round_anchored<Mean>(all[v], rows, by, [&](std::int64_t k) __attribute__((always_inline)) { return read(k - i, v); }, answers);
          if (any_lane(~certain)) [[unlikely]] certain = sums_again<Mean>(from - i * stride + v * width, stride, rows, some - v * per, by, answers);
          wrong |= ~certain;
          write(v, answers);
        }
#if !defined(__AVX512F__)
      } else if constexpr (wide) {
        double* const anchors = at_place + 3 * apart;
        Kept all[vectors];
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (!first) {
            all[v].take(at_place + v * per, apart);
            continue;
          }
          f64s greatest{};
          for (std::int64_t k = 0; k < here; ++k) greatest = max(abs(read(k, v)), greatest);
          wrong |= Kept::unfit(greatest);
          const f64s anchor = Kept::anchor(greatest, rows);
          store(anchors + v * per, anchor);
          all[v].begin(anchor);
        }
        for (std::int64_t k = 0; k < here; ++k) {
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].add(read(k, v), v, one);
        }
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (!last) {
            all[v].give(at_place + v * per, apart);
            continue;
          }
          f64s answers;
          const f64s anchor = load<f64s>(anchors + v * per);
          i64s certain = round_anchored<Mean>(all[v].with(anchor), rows, by, [&](std::int64_t k) __attribute__((always_inline)) { return read(k - i, v); }, answers) &
                         all[v].stayed(anchor, rows);
          if (any_lane(~certain)) [[unlikely]] {
            if (++again > few_again) {
              wrong = ~i64s{};
              return;
            }
            certain = sums_again<Mean>(from - i * stride + v * width, stride, rows, per, by, answers);
          }
          wrong |= ~certain;
          write(v, answers);
        }
#endif
      } else {
        Kept all[vectors];
        WF_UNROLL
        for (int v = 0; v < vectors; ++v)
          if (!first) all[v].take(at_place, at_place + apart, v * per);
        for (std::int64_t k = 0; k < here; ++k) {
          WF_UNROLL
          for (int v = 0; v < vectors; ++v) all[v].add(read(k, v), one, from + k * stride + v * width);
        }
        WF_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (!last) {
            all[v].give(at_place, at_place + apart, v * per);
            continue;
          }
          f32s answers;
#if !defined(__AVX512F__)
          if (all[v].nothing_lost(rows)) [[likely]] {
            half_f32s halves[narrow_sums::parts];
            for (int part = 0; part < narrow_sums::parts; ++part) halves[part] = __builtin_convertvector(Mean ? by.quotient(all[v].all[part]) : all[v].all[part], half_f32s);
            __builtin_memcpy(&answers, halves, sizeof answers);
            write(v, answers);
            continue;
          }
#endif
          ends both[narrow_sums::parts];
          all[v].between(rows, both);
          i64s certain = round_narrow<Mean>(both, by, answers);
#if !defined(__AVX512F__)
          if constexpr (Kept::squared) {
            if (any_lane(~certain)) [[unlikely]] {
              if (++again > few_again) {
                wrong = ~i64s{};
                return;
              }
              certain = narrow_sums_again<Mean>(from - i * stride + v * width, stride, rows, by, answers);
            }
          }
#endif
          wrong |= ~certain;
          write(v, answers);
        }
      }
    };
    const auto* at = static_cast<const unsigned char*>(x) + i * stride;
    auto* to = static_cast<unsigned char*>(out);
#if defined(__AVX512F__)
    const auto add_some = [&](std::int64_t place, std::int64_t some) __attribute__((always_inline)) {
      const auto bytes = some * size;
      const __mmask64 which[] = {bytes >= width ? ~__mmask64{} : _bzhi_u64(~0ull, static_cast<unsigned>(bytes)),
                                 bytes <= width ? 0 : _bzhi_u64(~0ull, static_cast<unsigned>(bytes - width))};
      add(place, some, at, [&](std::int64_t k, int v) __attribute__((always_inline)) { return (vec<T>)_mm512_maskz_loadu_epi8(which[v], at + k * stride + v * width); },
          [&](int v, vec<T> answers) __attribute__((always_inline)) { _mm512_mask_storeu_epi8(to + v * width, which[v], (__m512i)answers); });
    };
    const std::int64_t before = head;
#else
    // The first and the last whole vectors, some of whose columns have their answers twice.
    const auto add_some = [&](std::int64_t place, std::int64_t some) __attribute__((always_inline)) {
      const std::int64_t back = place == places - 1 ? 0 : (apart - some) * size;
      add(place, apart, at - back, [&](std::int64_t k, int v) __attribute__((always_inline)) { return load<vec<T>>(at + k * stride + v * width - back); },
          [&](int v, vec<T> answers) __attribute__((always_inline)) { store(to + v * width - back, answers); });
    };
    const std::int64_t before = head == 0 ? 0 : apart - per + head;
    ask += before * size;
#endif
    std::int64_t j = before, place = 0;
    for (int part = 0; part < 2; ++part) {  // the head, and what is left at the end
      const std::int64_t some = part == 0 ? before : count - j;
      if (some > 0) add_some(part == 0 ? places - 1 : place, some);
      if (part != 0) break;
      at += before * size;
      to += before * size;
      for (; j + apart <= count; j += apart, ++place, at += vectors * width, to += vectors * width) {
        add(place, apart, at,
            [&](std::int64_t k, int v) __attribute__((always_inline)) {
              if (!unasked && v * width % 64 == 0 && k < asked) prefetch_beyond_l1(ask + k * ask_step, v * width);
              return load<vec<T>>(at + k * stride + v * width);
            },
            [&](int v, vec<T> answers) __attribute__((always_inline)) { store(to + v * width, answers); });
        ask += no_gaps ? asked * vectors * width : vectors * width;
      }
    }
    if (any_lane(wrong)) return false;
  }
  return true;
}

template <class T, bool Mean>
bool sum_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool cached, void* out) {
#if !defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    if (squared_sums::suit(x, stride, rows, count) && sum_columns_by<T, Mean, squared_sums>(x, stride, rows, count, cached, out)) return true;
  } else if constexpr (has_fma) {
    if (cached && rows >= squared_whole_sum::least && rows <= squared_whole_sum::most && sum_columns_by<T, Mean, squared_whole_sum>(x, stride, rows, count, cached, out)) return true;
  }
#endif
  using kept = std::conditional_t<sizeof(T) == 4, narrow_sums, whole_sum<plain_rests>>;
  return sum_columns_by<T, Mean, kept>(x, stride, rows, count, cached, out);
}

}  // namespace wf::cpu::WF_TARGET
