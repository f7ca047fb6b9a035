// SPDX-License-Identifier: Apache-2.0
/// \file dynamic_shared.hpp
/// The definition of dynamic shared memory. It needs no other header: a file that has nothing else is compiled for every kernel
/// that `warpfold` is shown.
#pragma once

namespace simt::detail {

/// Where the calling OS thread has its copy.
bool register_dynamic_shared(void* (*address)(), decltype(sizeof(int)) bytes);

}  // namespace simt::detail

// As device.hpp aligns instrumented shared variables.
#if defined(SIMT_LENS)
#define SIMT_DYNAMIC_ALIGNMENT 32768
#else
#define SIMT_DYNAMIC_ALIGNMENT 4096
#endif

/// Defines the dynamic shared memory that kernels declare as
/// `extern __shared__ __align__(16) unsigned char name[];`. Once in a program, at global scope; in a program with
/// instrumented kernels, in an instrumented file.
#define SIMT_DEFINE_DYNAMIC_SHARED(name)                                                        \
  __attribute__((aligned(SIMT_DYNAMIC_ALIGNMENT))) thread_local unsigned char name[232448];     \
  namespace {                                                                                   \
  [[maybe_unused]] const bool name##_is_known = ::simt::detail::register_dynamic_shared(        \
      []() -> void* { return name; }, sizeof name);                                             \
  }
