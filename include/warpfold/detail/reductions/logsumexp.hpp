// SPDX-License-Identifier: Apache-2.0
/// \file logsumexp.hpp
/// log Σ exp(x), shifted by the largest x so that nothing overflows. Native, in f64.
#pragma once

#include <cmath>

#include <warpfold/detail/reductions/sum.hpp>
#include <warpfold/reduction.hpp>

namespace wf::reductions {

template <real T>
struct logsumexp : options {
  static constexpr bool commutes = false;  // its rounding does not
  static constexpr declaration declares{declaration::nothing::least, nan_wins<T>, declaration::rounds::natively};
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// sum·exp(largest); a NaN or +inf element makes sum NaN or inf.
  struct state {
    double largest, sum;
  };
  state identity() const { return {-infinity, 0}; }
  state lift(T x, std::int64_t) const {
    const double v = to_double(x);
    if (v == infinity || v != v) return {0, v};
    return {v, v == -infinity ? 0.0 : 1.0};
  }
  state combine(const state& a, const state& b) const {
    if (a.largest == -infinity) return {b.largest, a.sum + b.sum};
    if (b.largest == -infinity) return {a.largest, a.sum + b.sum};
    if (a.largest >= b.largest) return {a.largest, a.sum + shifted(b.sum, b.largest - a.largest)};
    return {b.largest, shifted(a.sum, a.largest - b.largest) + b.sum};
  }
  void accumulate(state& s, const T* x, std::int64_t n, std::int64_t) const {
    constexpr std::int64_t block = 1024;  // read twice, from L1
    for (std::int64_t i = 0; i < n; i += block) {
      const std::int64_t end = i + block < n ? i + block : n;
      state part = identity();
      for (std::int64_t j = i; j < end; ++j) {
        const double v = to_double(x[j]);
        if (v > part.largest && v < infinity) part.largest = v;
      }
      const double shift = part.largest == -infinity ? 0.0 : part.largest;
      for (std::int64_t j = i; j < end; ++j) {
        const double v = to_double(x[j]);
        part.sum += std::exp(v - shift);
      }
      s = combine(s, part);
    }
  }
  mean_type<T> finish(const state& s, std::int64_t) const {
    if (s.sum != s.sum || s.sum == infinity) return narrow<mean_type<T>>(s.sum);
    if (s.sum == 0) return narrow<mean_type<T>>(-infinity);
    return narrow<mean_type<T>>(s.largest + std::log(s.sum));
  }

 private:
  /// sum·exp(by); an infinity stays one where exp(by) is 0.
  static double shifted(double sum, double by) { return std::isfinite(sum) ? sum * std::exp(by) : sum; }
};

}  // namespace wf::reductions
