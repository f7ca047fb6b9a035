// SPDX-License-Identifier: Apache-2.0
/// \file checked.hpp
/// Reductions of integers in 192 bits: those that say whether their answer overflowed, and norm 2.
/// 192 bits hold 2^63 products of two integers of 64.
#pragma once

#include <algorithm>
#include <type_traits>

#include <warpfold/detail/exact/rational.hpp>
#include <warpfold/detail/reductions/moments.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/results.hpp>

namespace wf::reductions {

/// The leading 64 bits of a nonnegative state's root, as a scaled number.
inline exact::scaled root_of(integer_fold_state s) {
  s.sum.normalise();
  return exact::root(exact::window::of(exact::natural<6>::magnitude(s.sum), 0));
}

/// What the 192 bits say of an answer of type T.
template <class T>
checked<T> checked_value(integer_fold_state s) {
  s.sum.normalise();
  const auto word = [&](int k) {
    return std::uint64_t{s.sum.word(2 * k + 1)} << 32 | s.sum.word(2 * k);
  };
  checked<T> c{static_cast<T>(word(0)), {word(1), word(2)}, false};
  const std::uint64_t sign = std::is_signed_v<T> && static_cast<std::int64_t>(word(0)) < 0 ? ~std::uint64_t{0} : 0;
  c.overflow = c.high[0] != sign || c.high[1] != sign;
  return c;
}

template <integer T>
struct checked_sum : wide_fold<T>, options {
  checked<sum_type<T>> finish(const integer_fold_state& s, std::int64_t) const {
    return checked_value<sum_type<T>>(s);
  }
};

/// Σx² of at most 2^30 elements, as low + 2^32·high. Runs of a fixed length are vectorised without -O3, too.
struct narrow_squares {
  std::uint64_t low = 0, high = 0;
  template <integer T>
    requires(sizeof(T) < 8)
  static narrow_squares of(const T* x, std::int64_t n) {
    constexpr int run = 64;
    std::uint64_t low = 0, high = 0;  // not members, which a byte might be a part of
    std::int64_t i = 0;
    for (; i + run <= n; i += run) add_run<run>(x + i, low, high);
    for (; i < n; ++i) add_run<1>(x + i, low, high);
    return {low, high};
  }
  template <int N, class T>
  static void add_run(const T* x, std::uint64_t& low, std::uint64_t& high) {
    if constexpr (sizeof(T) == 1) {
      std::int16_t wide[N];
      for (int i = 0; i < N; ++i) wide[i] = static_cast<std::int16_t>(x[i]);
      std::int32_t sum = 0;
      for (int i = 0; i < N; ++i) sum += wide[i] * wide[i];
      low += static_cast<std::uint32_t>(sum);
    } else {
      for (int i = 0; i < N; ++i) {
        const auto m = static_cast<std::uint32_t>(x[i] < T{} ? 0u - static_cast<std::uint32_t>(x[i]) : static_cast<std::uint32_t>(x[i]));
        if constexpr (sizeof(T) == 2) {
          low += m * m;
        } else {
          const std::uint64_t square = std::uint64_t{m} * m;
          low += square & 0xffffffff;
          high += square >> 32;
        }
      }
    }
  }
};

struct square_term;

/// Σ f(x…) of 192 bits, f a product or a magnitude of at most 128 with a sign apart.
template <class Term, integer... T>
struct wide_terms {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::never};
  using state = integer_fold_state;
  state identity() const { return {exact::state<6, 0>::identity()}; }
  state lift(T... x, std::int64_t) const {
    state s = identity();
    s.add_finite(Term::magnitude(x...), 0, Term::negative(x...));
    return s;
  }
  state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
  void accumulate(state& s, const T*... x, std::int64_t n, std::int64_t) const {
    if constexpr (std::is_same_v<Term, square_term> && ((sizeof(T) < 8) && ...)) {
      constexpr std::int64_t most = std::int64_t{1} << 30;
      for (std::int64_t i = 0; i < n; i += most) {
        state part = identity();
        part.seen.count = std::min(most, n - i);
        const auto squares = narrow_squares::of((x + i)..., part.seen.count);
        part.sum.add(squares.low, 0, false);
        part.sum.add(squares.high, 32, false);
        s.merge(part);
      }
      return;
    }
    exact::u128 low[2] = {0, 0}, high[2] = {0, 0};  // positive terms', negative ones'
    for (std::int64_t i = 0; i < n; ++i) {
      const exact::u128 m = Term::magnitude(x[i]...);
      const bool negative = Term::negative(x[i]...);
      low[negative] += static_cast<std::uint64_t>(m);
      high[negative] += static_cast<std::uint64_t>(m >> 64);
    }
    state part = identity();
    for (const bool negative : {false, true}) {
      part.sum.add_wide(low[negative], 0, negative);
      part.sum.add_wide(high[negative], 64, negative);
    }
    part.seen.count = n;
    s.merge(part);
  }
};

struct square_term {
  template <class T>
  static exact::u128 magnitude(T x) {
    return exact::u128{reductions::magnitude(x)} * reductions::magnitude(x);
  }
  template <class T>
  static bool negative(T) { return false; }
};
struct product_term {
  template <class T>
  static exact::u128 magnitude(T x, T y) {
    return exact::u128{reductions::magnitude(x)} * reductions::magnitude(y);
  }
  template <class T>
  static bool negative(T x, T y) { return (x < T{}) != (y < T{}); }
};
struct magnitude_term {
  template <class T>
  static exact::u128 magnitude(T x) { return reductions::magnitude(x); }
  template <class T>
  static bool negative(T) { return false; }
};

template <integer T>
struct checked_sum_of_squares : wide_terms<square_term, T>, options {
  checked<sum_type<T>> finish(const integer_fold_state& s, std::int64_t) const {
    return checked_value<sum_type<T>>(s);
  }
};
template <integer T>
struct checked_dot : wide_terms<product_term, T, T>, options {
  checked<sum_type<T>> finish(const integer_fold_state& s, std::int64_t) const {
    return checked_value<sum_type<T>>(s);
  }
};
template <integer T>
struct checked_norm1 : wide_terms<magnitude_term, T>, options {
  checked<std::uint64_t> finish(const integer_fold_state& s, std::int64_t) const {
    return checked_value<std::uint64_t>(s);
  }
};
/// The root of the true sum of squares, rounded once to f64.
template <integer T, bool Exact>
struct norm2<T, Exact> : wide_terms<square_term, T>, options {
  static constexpr declaration declares{declaration::nothing::zero, declaration::nans::none, declaration::rounds::once};
  double finish(const integer_fold_state& s, std::int64_t) const {
    return exact::format<double>::from_bits(exact::pack<exact::ieee_f64>(root_of(s), rounding));
  }
};

/// Products are kept mod 2^64; beside that, their magnitude while it fits 64 bits.
template <integer T>
struct checked_prod : options {
  static constexpr bool commutes = true;
  static constexpr declaration declares{declaration::nothing::one, declaration::nans::none, declaration::rounds::never};
  struct state {
    std::uint64_t value, magnitude;
    bool negative, too_large, zero;
  };
  state identity() const { return {1, 1, false, false, false}; }
  state lift(T x, std::int64_t) const {
    return {static_cast<std::uint64_t>(x), reductions::magnitude(x), x < T{}, false, x == T{}};
  }
  state combine(const state& a, const state& b) const {
    state r{a.value * b.value, 0, a.negative != b.negative, a.too_large || b.too_large, a.zero || b.zero};
    r.too_large |= __builtin_mul_overflow(a.magnitude, b.magnitude, &r.magnitude);
    return r;
  }
  /// `high` is zero: a product may have more than 192 bits.
  checked<sum_type<T>> finish(const state& s, std::int64_t) const {
    const auto value = static_cast<sum_type<T>>(s.value);
    bool fits = s.zero || !s.too_large;
    if (!s.zero && std::is_signed_v<sum_type<T>>)
      fits = fits && s.magnitude <= (std::uint64_t{1} << 63) - !s.negative;
    return {value, {0, 0}, !fits};
  }
};

}  // namespace wf::reductions
