// SPDX-License-Identifier: Apache-2.0
/// \file cuComplex.h
/// simt's own: CUDA's complex numbers, which are pairs, and their arithmetic.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace simt {

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

inline namespace SIMT_BUILD {

// The quotient divides by the larger part first, and the length is that of C, so that nothing overflows half-way.
#define SIMT_COMPLEX(Pair, T, f, make, real, imag)                                                     \
  SIMT_INLINE Pair make(T re, T im) { return Pair{re, im}; }                                           \
  SIMT_INLINE T real(Pair x) { return x.x; }                                                           \
  SIMT_INLINE T imag(Pair x) { return x.y; }                                                           \
  SIMT_INLINE Pair cuConj##f(Pair x) { return Pair{x.x, -x.y}; }                                       \
  SIMT_INLINE Pair cuCadd##f(Pair x, Pair y) { return Pair{x.x + y.x, x.y + y.y}; }                    \
  SIMT_INLINE Pair cuCsub##f(Pair x, Pair y) { return Pair{x.x - y.x, x.y - y.y}; }                    \
  SIMT_INLINE Pair cuCmul##f(Pair x, Pair y) { return Pair{x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x}; } \
  SIMT_INLINE Pair cuCfma##f(Pair x, Pair y, Pair z) { return cuCadd##f(cuCmul##f(x, y), z); }         \
  SIMT_INLINE Pair cuCdiv##f(Pair x, Pair y) {                                                         \
    const T size = std::fabs(y.x) + std::fabs(y.y), a = y.x / size, b = y.y / size;                    \
    const T over = (a * a + b * b) * size;                                                             \
    return Pair{(x.x * a + x.y * b) / over, (x.y * a - x.x * b) / over};                               \
  }                                                                                                    \
  SIMT_INLINE T cuCabs##f(Pair x) { return std::hypot(x.x, x.y); }
SIMT_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, cuCrealf, cuCimagf)
SIMT_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, cuCreal, cuCimag)
#undef SIMT_COMPLEX

SIMT_INLINE cuComplex make_cuComplex(float re, float im) { return cuComplex{re, im}; }
SIMT_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return cuDoubleComplex{x.x, x.y}; }
SIMT_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return cuFloatComplex{static_cast<float>(x.x), static_cast<float>(x.y)}; }

}  // inline namespace SIMT_BUILD
}  // namespace simt
