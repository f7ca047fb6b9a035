// SPDX-License-Identifier: Apache-2.0
/// \file exact_sinks.hpp
/// From runs of any float type to exact states. f16 and bf16 are widened to f32 a tile at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exact_run.hpp"

namespace wf::cpu {

template <class T>
using carrier = std::conditional_t<sizeof(T) == 8, double, float>;

template <class C>
inline C load_one(const void* p, std::int64_t i) {
  C v;
  std::memcpy(&v, static_cast<const unsigned char*>(p) + i * static_cast<std::int64_t>(sizeof(C)), sizeof(C));
  return v;
}

template <class C>
inline bool is_negative_zero(C x) {
  return x == 0 && std::signbit(x);
}

/// Digits stay within their budget if they are carried every 2^24 elements.
template <class Digits>
inline void carry(Digits& d, std::int64_t before, std::int64_t after) {
  if ((before ^ after) >> 24 != 0) d.normalise();
}

inline void add_counts(exact::counters& to, const special_counts& more) {
  to.count += more.all();
  to.nan += more.nan;
  to.pos_inf += more.pos_inf;
  to.neg_inf += more.neg_inf;
}

template <class T>
struct value_sink {
  using C = carrier<T>;
  exact::sum_state<T>& s;

  void part(int, std::int64_t v, int exponent) { deposit(s.sum, v, exponent); }
  void counted(std::int64_t n, bool zeros, const void* x, const void*) {
    s.seen.count += n;
    if (zeros && is_negative_zero(load_one<C>(x, 0)) && kernels().all_negative_zero[sizeof(C) == 8](x, n))
      s.seen.neg_zero += n;
  }
  void special(const special_counts& c) { add_counts(s.seen, c); }
  void scalar(const void* x, const void*, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) s.add(static_cast<T>(load_one<C>(x, i)));
  }
};

template <class T, class State, bool Dot>
struct product_sink {
  using C = carrier<T>;
  State& s;

  void part(int, std::int64_t v, int exponent) { deposit(s.sum, v, exponent); }
  void counted(std::int64_t n, bool zeros, const void* x, const void* y) {
    s.seen.count += n;
    if constexpr (Dot) {
      bool all = zeros;
      for (std::int64_t i = 0; i < n && all; ++i) {
        const C a = load_one<C>(x, i), b = load_one<C>(y, i);
        all = (a == 0 || b == 0) && std::signbit(a) != std::signbit(b);
      }
      if (all) s.seen.neg_zero += n;
    }
  }
  void special(const special_counts& c) {
    if constexpr (Dot) add_counts(s.seen, c);
    else add_counts(s.seen, {c.nan, c.pos_inf + c.neg_inf, 0});
  }
  void scalar(const void* x, const void* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T a = static_cast<T>(load_one<C>(x, i));
      if constexpr (Dot) s.add(a, static_cast<T>(load_one<C>(y, i)));
      else s.add(a);
    }
  }
};

template <class T>
struct moment_sink {
  using C = carrier<T>;
  exact::moments_state<T>& s;

  void part(int p, std::int64_t v, int exponent) {
    if (p == 0) deposit(s.first.sum, v, exponent);
    else deposit(s.second, v, exponent);
  }
  void counted(std::int64_t n, bool zeros, const void* x, const void* y) {
    value_sink<T>{s.first}.counted(n, zeros, x, y);
  }
  void special(const special_counts& c) { add_counts(s.first.seen, c); }
  void scalar(const void* x, const void*, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) s.add(static_cast<T>(load_one<C>(x, i)));
  }
};

/// n floats of fewer bits as f32: f16 and bf16 by a kernel.
template <class T>
inline void widen(const void* x, std::int64_t n, float* to) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) kernels().widen_half[std::is_same_v<T, bf16>](x, n, to);
  else for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(load_one<T>(x, i));
}

/// Calls f(widened x, widened y, n) for tiles of floats of fewer bits than 32, or once for what is wide enough.
template <class T, class F>
inline void for_carriers(const void* const* x, std::int64_t n, bool pairs, F f) {
  if constexpr (sizeof(T) >= 4) {
    f(x[0], pairs ? x[1] : nullptr, n);
  } else {
    const ieee_environment environment;  // widening f16 multiplies
    alignas(64) float a[tile];
    alignas(64) float b[tile];
    for (std::int64_t i = 0; i < n; i += tile) {
      const std::int64_t m = std::min(tile, n - i);
      constexpr auto size = static_cast<std::int64_t>(sizeof(T));
      widen<T>(static_cast<const unsigned char*>(x[0]) + size * i, m, a);
      if (pairs) widen<T>(static_cast<const unsigned char*>(x[1]) + size * i, m, b);
      f(static_cast<const void*>(a), static_cast<const void*>(b), m);
    }
  }
}

/// Calls f(|x|, n) for tiles.
template <class C, class F>
inline void for_magnitudes(const void* x, std::int64_t n, F f) {
  alignas(64) C a[tile];
  for (std::int64_t i = 0; i < n; i += tile) {
    const std::int64_t m = std::min(tile, n - i);
    std::memcpy(a, static_cast<const unsigned char*>(x) + i * static_cast<std::int64_t>(sizeof(C)),
                static_cast<std::size_t>(m) * sizeof(C));
    for (std::int64_t j = 0; j < m; ++j) a[j] = std::fabs(a[j]);
    f(static_cast<const void*>(a), m);
  }
}

template <class T>
inline void exact_values(exact::sum_state<T>& s, const void* const* x, std::int64_t n, bool absolute) {
  const std::int64_t before = s.seen.count;
  value_sink<T> sink{s};
  exact_runner<term::value, carrier<T>, value_sink<T>> runner(sink);
  for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) {
    if (absolute)
      for_magnitudes<carrier<T>>(p, m, [&](const void* q, std::int64_t k) { runner.run(q, nullptr, k); });
    else
      runner.run(p, nullptr, m);
  });
  runner.finish();
  carry(s.sum, before, s.seen.count);
}

template <class T>
inline void exact_squares(exact::squares_state<T>& s, const void* const* x, std::int64_t n) {
  const std::int64_t before = s.seen.count;
  using sink_type = product_sink<T, exact::squares_state<T>, false>;
  sink_type sink{s};
  exact_runner<term::square, carrier<T>, sink_type> runner(sink);
  for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) { runner.run(p, nullptr, m); });
  runner.finish();
  carry(s.sum, before, s.seen.count);
}

template <class T>
inline void exact_products(exact::dot_state<T>& s, const void* const* x, std::int64_t n) {
  const std::int64_t before = s.seen.count;
  using sink_type = product_sink<T, exact::dot_state<T>, true>;
  sink_type sink{s};
  exact_runner<term::product, carrier<T>, sink_type> runner(sink);
  for_carriers<T>(x, n, true, [&](const void* p, const void* q, std::int64_t m) { runner.run(p, q, m); });
  runner.finish();
  carry(s.sum, before, s.seen.count);
}

template <class T>
inline void exact_moments(exact::moments_state<T>& s, const void* const* x, std::int64_t n) {
  const std::int64_t before = s.first.seen.count;
  moment_sink<T> sink{s};
  exact_runner<term::moments, carrier<T>, moment_sink<T>> runner(sink);
  for_carriers<T>(x, n, false, [&](const void* p, const void*, std::int64_t m) { runner.run(p, nullptr, m); });
  runner.finish();
  carry(s.first.sum, before, s.first.seen.count);
  carry(s.second, before, s.first.seen.count);
}

}  // namespace wf::cpu
