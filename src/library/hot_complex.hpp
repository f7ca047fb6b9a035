// SPDX-License-Identifier: Apache-2.0
/// \file hot_complex.hpp
/// The moments, squares and dots of complex numbers, a part at a time.
#pragma once

#include <warpfold/detail/reductions/complex.hpp>

#include "hot.hpp"

namespace wf::reductions {

template <complex_number T, bool Exact>
void hot(const complex_moments<T, Exact>&, typename complex_moments<T, Exact>::state& s,
         const void* const* x, std::int64_t n, std::int64_t) {
  using of_part = typename complex_moments<T, Exact>::of_part;
  for_parts<typename T::value_type>(x[0], n, [&](const void* re, const void* im, std::int64_t m) {
    hot(of_part(), s.re, &re, m, 0);
    hot(of_part(), s.im, &im, m, 0);
  });
}

/// The squares of n complex numbers are those of 2n real ones.
template <complex_number T, bool Exact>
void hot(const complex_squares<T, Exact>&, typename complex_squares<T, Exact>::state& s, const void* const* x,
         std::int64_t n, std::int64_t) {
  hot(typename complex_squares<T, Exact>::of_part(), s, x, 2 * n, 0);
}

template <complex_number T, bool Exact>
void hot(const dot<T, Exact>&, typename dot<T, Exact>::state& s, const void* const* x, std::int64_t n, std::int64_t) {
  using C = typename T::value_type;
  const typename dot<T, Exact>::of_part part;
  constexpr std::int64_t most = 1024;
  alignas(64) C xr[most], xi[most], minus_xi[most], yr[most], yi[most];
  const auto add = [&](auto& to, const C* a, const C* b, std::int64_t m) {
    const void* const both[] = {a, b};
    hot(part, to, both, m, 0);
  };
  for (std::int64_t i = 0; i < n; i += most) {
    const std::int64_t m = std::min(most, n - i);
    for (std::int64_t j = 0; j < m; ++j) {
      xr[j] = cpu::load_one<C>(x[0], 2 * (i + j));
      xi[j] = cpu::load_one<C>(x[0], 2 * (i + j) + 1);
      minus_xi[j] = -xi[j];
      yr[j] = cpu::load_one<C>(x[1], 2 * (i + j));
      yi[j] = cpu::load_one<C>(x[1], 2 * (i + j) + 1);
    }
    add(s.re, xr, yr, m);
    add(s.re, minus_xi, yi, m);
    add(s.im, xr, yi, m);
    add(s.im, xi, yr, m);
  }
}

}  // namespace wf::reductions
