// SPDX-License-Identifier: Apache-2.0
/// \file build.hpp
/// The name of the build that is being compiled: `namespace simt::inline SIMT_BUILD { … }`.
#pragma once

// One program may hold a kernel twice, plain and instrumented. What has code in a header lives in an
// inline namespace of its build, or the linker would choose one of the two for both. What crosses into
// the runtime library (dim3, cudaError_t, streams …) lives in `simt` itself.
#if defined(SIMT_LENS)
#define SIMT_BUILD simt_lens
#else
#define SIMT_BUILD simt_plain
#endif

/// For functions whose calls, basic blocks and accesses are no kernel's, although kernels' files hold them.
#if defined(__clang__)
#define SIMT_NOT_OBSERVED __attribute__((no_sanitize("thread"), no_sanitize("coverage")))
#else
#define SIMT_NOT_OBSERVED __attribute__((no_sanitize_thread, no_sanitize_coverage))
#endif

/// clang++ would copy a call that waits for other lanes into both ways of a branch before it, and the lanes of a warp would come to it
/// at two places, which nvcc does not let happen. So all that stands between a kernel and such a call says so.
#if defined(__clang__)
#define SIMT_CONVERGENT __attribute__((convergent))
#else
#define SIMT_CONVERGENT
#endif

/// For the few functions of `simt` that have a body in a header.
#define SIMT_INLINE SIMT_CONVERGENT inline __attribute__((always_inline))
