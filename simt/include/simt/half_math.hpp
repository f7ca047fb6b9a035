// SPDX-License-Identifier: Apache-2.0
/// \file half_math.hpp
/// The mathematical functions of f16 and bf16 and of pairs of them: computed in double and rounded once, so within half a
/// unit in the last place but for ties that double has already rounded. A GPU's may be further off, by its stated error.
#pragma once

#include <cmath>

#include <simt/half_types.hpp>

namespace simt {
inline namespace SIMT_BUILD {
namespace half_math {
template <class T>
SIMT_INLINE T rounded_once(double x) {
  return T::of(T::ops::from_double(x, rounding::nearest));
}
}  // namespace half_math

#define SIMT_HALF_MATH(name, of_x)                                               \
  template <class Format, class Raw>                                             \
  SIMT_INLINE small_float<Format, Raw> h##name(small_float<Format, Raw> a) {     \
    const double x = static_cast<float>(a);                                      \
    return half_math::rounded_once<small_float<Format, Raw>>(of_x);              \
  }                                                                              \
  template <class Half, class Raw>                                               \
  SIMT_INLINE small_pair<Half, Raw> h2##name(small_pair<Half, Raw> a) {          \
    return {h##name(a.x), h##name(a.y)};                                         \
  }
SIMT_HALF_MATH(ceil, std::ceil(x))
SIMT_HALF_MATH(floor, std::floor(x))
SIMT_HALF_MATH(trunc, std::trunc(x))
SIMT_HALF_MATH(rint, std::nearbyint(x))
SIMT_HALF_MATH(sqrt, std::sqrt(x))
SIMT_HALF_MATH(rsqrt, 1 / std::sqrt(x))
SIMT_HALF_MATH(rcp, 1 / x)
SIMT_HALF_MATH(exp, std::exp(x))
SIMT_HALF_MATH(exp2, std::exp2(x))
SIMT_HALF_MATH(exp10, std::pow(10.0, x))
SIMT_HALF_MATH(log, std::log(x))
SIMT_HALF_MATH(log2, std::log2(x))
SIMT_HALF_MATH(log10, std::log10(x))
SIMT_HALF_MATH(sin, std::sin(x))
SIMT_HALF_MATH(cos, std::cos(x))
SIMT_HALF_MATH(tanh, std::tanh(x))
SIMT_HALF_MATH(tanh_approx, std::tanh(x))
#undef SIMT_HALF_MATH

/// All ones where it is so, of each half of a pair.
#define SIMT_HALF_MASK(name)                                                                        \
  template <class Half, class Raw>                                                                  \
  SIMT_INLINE unsigned __h##name##2_mask(small_pair<Half, Raw> a, small_pair<Half, Raw> b) {        \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);         \
  }
SIMT_HALF_MASK(eq)
SIMT_HALF_MASK(ne)
SIMT_HALF_MASK(lt)
SIMT_HALF_MASK(le)
SIMT_HALF_MASK(gt)
SIMT_HALF_MASK(ge)
SIMT_HALF_MASK(equ)
SIMT_HALF_MASK(neu)
SIMT_HALF_MASK(ltu)
SIMT_HALF_MASK(leu)
SIMT_HALF_MASK(gtu)
SIMT_HALF_MASK(geu)
#undef SIMT_HALF_MASK

}  // namespace SIMT_BUILD
}  // namespace simt
