// SPDX-License-Identifier: Apache-2.0
/// \file cuda_types.cuh
/// CUDA's own element types as the library's: arrays of __half, __nv_bfloat16, float2 (cuComplex) and double2
/// (cuDoubleComplex) are taken wherever those of wf::f16, wf::bf16 and complex numbers are, and so are places for answers.
/// gpu.cuh includes it; a `.cpp` by itself, where it wants it with gpu.hpp. Needs CUDA's headers, and no nvcc.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <warpfold/types.hpp>

namespace wf {

/// CUDA's binary16.
template <>
struct stands_for<__half> {
  using type = f16;  ///< the same bits
};
/// CUDA's bfloat16.
template <>
struct stands_for<__nv_bfloat16> {
  using type = bf16;  ///< the same bits
};
/// cuComplex.
template <>
struct stands_for<float2> {
  using type = c64;  ///< the same bits
};
/// cuDoubleComplex.
template <>
struct stands_for<double2> {
  using type = c128;  ///< the same bits
};
static_assert(sizeof(__half) == sizeof(f16) && sizeof(__nv_bfloat16) == sizeof(bf16) && sizeof(float2) == sizeof(c64) && sizeof(double2) == sizeof(c128));

}  // namespace wf
