// SPDX-License-Identifier: Apache-2.0
/// \file device.hpp
/// The language of kernels: its keywords, built-in variables, barriers and fences.
#pragma once

#include <cassert>  // nvcc knows assert() and clock() without a header
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <simt/build.hpp>
#include <simt/entry.hpp>

#define __host__
#define __device__
#if defined(SIMT_TRANSLATED)  // clang's own parser of CUDA wants to know a kernel (simt/translate)
#define __global__ __attribute__((global))
#else
#define __global__
#endif
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
// No __noinline__: the C++ library's headers use that word within their own attributes.
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

// A block is an OS thread. Instrumented, shared variables lie far apart, so that an access past the end
// of one is seen before it reaches the next.
//
// A class with a constructor, such as float4 or __half, gets a guard variable from g++, as if it had
// something to run: a read of what nobody wrote. `constinit` takes it away; clang++ makes none, and
// refuses the word.
#if defined(__clang__)
#define SIMT_NO_GUARD
#else
#define SIMT_NO_GUARD constinit
#endif
// `used` keeps a variable that is only read (it would be a constant) or only written (it would be gone). Of an
// `extern` array it says nothing, and compilers warn of that.
#if defined(SIMT_LENS)
#pragma GCC diagnostic ignored "-Wattributes"
#define __shared__ __attribute__((aligned(32768), used)) SIMT_NO_GUARD thread_local
#else
#define __shared__ SIMT_NO_GUARD thread_local
#endif

namespace simt {
inline namespace SIMT_BUILD {

// Keeps the call before it from being the last thing its function does: a wait is known by the line it
// returns to.
#define SIMT_NOT_LAST() __asm__ volatile("")

namespace builtin {

template <unsigned (*Value)(unsigned), unsigned Axis>
struct component {
  SIMT_INLINE operator unsigned() const { return Value(Axis); }
};

template <class T>
struct value {
  using type = T;
};
template <unsigned (*Value)(unsigned), unsigned Axis>
struct value<component<Value, Axis>> {
  using type = unsigned;
};
/// What a function template takes an argument for: threadIdx.x is an unsigned.
template <class T>
using value_t = typename value<T>::type;

// Empty, so no instrumented access; the members are no data.
template <unsigned (*Value)(unsigned)>
struct triple {
  [[no_unique_address]] component<Value, 0> x;
  [[no_unique_address]] component<Value, 1> y;
  [[no_unique_address]] component<Value, 2> z;
  SIMT_INLINE operator uint3() const { return {Value(0), Value(1), Value(2)}; }
  SIMT_INLINE operator dim3() const { return {Value(0), Value(1), Value(2)}; }
};

SIMT_INLINE unsigned thread_index(unsigned axis) { return simt_thread_index(axis); }
SIMT_INLINE unsigned block_index(unsigned axis) { return simt_block_index(axis); }
SIMT_INLINE unsigned block_extent(unsigned axis) { return simt_block_extent(axis); }
SIMT_INLINE unsigned grid_extent(unsigned axis) { return simt_grid_extent(axis); }

}  // namespace builtin

inline constexpr builtin::triple<builtin::thread_index> threadIdx{};
inline constexpr builtin::triple<builtin::block_index> blockIdx{};
inline constexpr builtin::triple<builtin::block_extent> blockDim{};
inline constexpr builtin::triple<builtin::grid_extent> gridDim{};
inline constexpr int warpSize = 32;

SIMT_INLINE void __syncthreads() {
  detail::block_barrier(detail::vote::none, 0);
  SIMT_NOT_LAST();
}
SIMT_INLINE int __syncthreads_count(int predicate) {
  const int r = detail::block_barrier(detail::vote::count, predicate);
  SIMT_NOT_LAST();
  return r;
}
SIMT_INLINE int __syncthreads_and(int predicate) {
  const int r = detail::block_barrier(detail::vote::all, predicate);
  SIMT_NOT_LAST();
  return r;
}
SIMT_INLINE int __syncthreads_or(int predicate) {
  const int r = detail::block_barrier(detail::vote::any, predicate);
  SIMT_NOT_LAST();
  return r;
}

SIMT_INLINE void __threadfence_block() { detail::fence(0); }
SIMT_INLINE void __threadfence() { detail::fence(1); }
SIMT_INLINE void __threadfence_system() { detail::fence(2); }

/// The time does not matter here; what matters is that the others run.
SIMT_INLINE void __nanosleep(unsigned) {
  detail::spin_yield();
  SIMT_NOT_LAST();
}

[[noreturn]] SIMT_INLINE void __trap() { detail::trap(); }
SIMT_INLINE void __brkpt() {}
SIMT_INLINE long long clock64() { return detail::clock(); }
SIMT_INLINE unsigned long long __globaltimer() { return detail::nanoseconds(); }

}  // inline namespace SIMT_BUILD
}  // namespace simt
