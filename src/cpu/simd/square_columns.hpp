// SPDX-License-Identifier: Apache-2.0
/// \file square_columns.hpp
/// Sums of squares of columns, and with them those of the elements, in arrays.
#pragma once

#include "certify_columns.hpp"
#include "certify_rows.hpp"

namespace wf::cpu::WF_TARGET {

#if defined(__AVX512F__)
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
#else
/// Squares of columns, and with `Values` the elements, of a type whose squares are doubles: one addition of each. `at` and `apart` as in
/// square_columns. Sums of n squares lose at most their n·2^-53th, and those of elements, none of which is greater than the squares' root, u·n(n +
/// 1)/2 of that; nothing, where all are multiples of a unit that is not too small.
template <class T, bool Values>
void enclose_square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  constexpr bool narrow = std::is_same_v<T, float>;
  constexpr int sums = Values ? 2 : 1;
  constexpr std::int64_t most_rows = 1 << 20;  // sums of integers of so many rows lose nothing
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
#endif

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

/// The sums of their squares, and, if `Values`, their sums too: s, c and lost of squares, and then of elements, `apart` doubles from each other.
/// `Exact`, of f32: c takes what s loses, so that mostly nothing is lost.
template <class T, bool Values, bool Exact = false>
void square_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart) {
  if constexpr (!Exact && (sizeof(T) < 4 || std::is_same_v<T, float>)) return enclose_square_columns<T, Values>(x, stride, rows, count, at, apart);
  if constexpr (!Exact && std::is_same_v<T, double>)
    if (rows >= many) {
      constexpr std::int64_t some = Values ? 128 : anchored_sums::most;  // 256 columns of them are in L2 for the second look
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

/// The same of rows of n <= most_of_row integers of up to 32 bits without gaps, a row `stride` bytes after the one before: exact.
template <class T, bool Values>
void square_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* at, std::int64_t apart) {
  constexpr std::int64_t size = sizeof(T);
  constexpr bool narrow = size < 4;
  const std::int64_t whole = n / step * step;
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    const auto give = [&](std::int64_t k, double sum, double rest) __attribute__((always_inline)) {
      at[k * apart + i] = sum;
      at[(k + 1) * apart + i] = rest;
      at[(k + 2) * apart + i] = 0;
    };
    // Squares of at most 2^32, and their sums, are doubles; larger ones are added in halves of 32 bits.
    f64s squares[2] = {}, values[2] = {};
    u64s low[2] = {}, high[2] = {};
    i64s sums[2] = {};
    const auto add = [&](few<T> some, int k) __attribute__((always_inline)) {
      if constexpr (narrow) {
        const f64s v = as_doubles<T>(some);
        squares[k] = multiply_add(v, v, squares[k]);
        if constexpr (Values) values[k] += v;
      } else {
        const i64s v = widen_integers<T>(some);
        const u64s square = squares_of_halves<(static_cast<T>(-1) < 0)>(v);
        low[k] += square & 0xffffffff;
        high[k] += square >> 32;
        if constexpr (Values) sums[k] += v;
      }
    };
    std::int64_t j = 0;
    for (; j + 2 * step <= n; j += 2 * step) {
      prefetch(row + j * size);
      add(load<few<T>>(row + j * size), 0);
      add(load<few<T>>(row + (j + step) * size), 1);
    }
    if (j < whole) add(load<few<T>>(row + j * size), 0);
    if (whole < n) add(load_left<few<T>>(row, n, n - whole), 1);
    const auto lanes_of = [](f64s v) __attribute__((always_inline)) {
      double sum = 0;
      WF_UNROLL
      for (int k = 0; k < step; ++k) sum += v[k];
      return sum;
    };
    if constexpr (narrow) {
      give(0, lanes_of(squares[0] + squares[1]), 0);
      if constexpr (Values) give(3, lanes_of(values[0] + values[1]), 0);
    } else {
      const double above = static_cast<double>(sum_lanes((i64s)(high[0] + high[1]))) * 0x1p32, below = static_cast<double>(sum_lanes((i64s)(low[0] + low[1])));
      const double sum = above + below, more = sum - above;  // below is less than 2^44, above a multiple of 2^32
      give(0, sum, (above - (sum - more)) + (below - more));
      if constexpr (Values) give(3, static_cast<double>(sum_lanes(sums[0] + sums[1])), 0);
    }
  }
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

}  // namespace wf::cpu::WF_TARGET
