// SPDX-License-Identifier: Apache-2.0
/// \file round_columns.hpp
/// What columns lost is known, so their answers are rounded where that leaves one number.
#pragma once

#include "column_sums.hpp"

namespace wf::cpu::WF_TARGET {

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

}  // namespace wf::cpu::WF_TARGET
