// SPDX-License-Identifier: Apache-2.0
/// \file hot_complex.hpp
/// The moments of complex numbers, a part at a time.
#pragma once

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

}  // namespace wf::reductions
