// SPDX-License-Identifier: Apache-2.0
/// \file certify_columns.hpp
/// Sums of columns with what they lost, in arrays: s + c, and `lost`.
#pragma once

#include "column_sums.hpp"

namespace wf::cpu::WF_TARGET {

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
#else
/// Columns of f32: some rows by one addition an element, beside the greatest magnitude and the least, zeros left out. Partial sums of n terms are
/// multiples of the least one's last place, so nothing is lost where the exponents are no further apart than the 53 bits allow; else at most
/// u·greatest·n(n + 1)/2 is.
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

}  // namespace wf::cpu::WF_TARGET
