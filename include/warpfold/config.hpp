// SPDX-License-Identifier: Apache-2.0
/// \file config.hpp
/// The two macros that let one source serve every compiler.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "warpfold: its C++ headers need C++20: -std=c++20; in CMake CMAKE_CXX_STANDARD 20, and CMAKE_CUDA_STANDARD 20 for .cu files"
#include <warpfold/stops_here_without_cxx20>  // no such file: it ends the compilation, so that the line above is the first
#endif

#if defined(__FAST_MATH__)
#error "warpfold: -ffast-math breaks exact sums; compile the files that include warpfold without it"
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "warpfold: with -ffinite-math-only answers could be no NaN or infinity; compile the files that include warpfold without it"
#endif

/// A function for host and device. Always inlined: one program may hold the same function compiled
/// for the host, for a GPU, for simt and for simt with instrumentation, and the linker must not
/// choose one of them for all.
#if defined(__CUDACC__)
#define WF_HD __host__ __device__ __forceinline__
#else
#define WF_HD inline __attribute__((always_inline))
#endif

/// \cond
/// The inline namespace that keeps apart the builds of code holding kernels:
/// `namespace wf::device::inline WF_BUILD { … }`. Only `.cuh` files use it.
#if defined(__CUDACC__)
#define WF_BUILD cuda_build
#elif defined(SIMT_LENS)
#define WF_BUILD lens_build
#else
#define WF_BUILD simt_build
#endif
/// \endcond
