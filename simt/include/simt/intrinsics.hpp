// SPDX-License-Identifier: Apache-2.0
/// \file intrinsics.hpp
/// Device functions with an exact meaning in C++: cached loads and stores, bits, rounding to nearest.
/// Fast-math approximations are not here.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include <simt/device.hpp>

namespace simt {
inline namespace SIMT_BUILD {

// Caching hints mean nothing here. The copies are typed, so that wide types stay one access.
#define SIMT_CACHED_LOAD(name)                     \
  template <class T>                               \
  SIMT_INLINE T name(const T* address) {           \
    return *address;                               \
  }
SIMT_CACHED_LOAD(__ldg)
SIMT_CACHED_LOAD(__ldca)
SIMT_CACHED_LOAD(__ldcg)
SIMT_CACHED_LOAD(__ldcs)
SIMT_CACHED_LOAD(__ldlu)
SIMT_CACHED_LOAD(__ldcv)
#undef SIMT_CACHED_LOAD
#define SIMT_CACHED_STORE(name)                                         \
  template <class T>                                                    \
  SIMT_INLINE void name(T* address, std::type_identity_t<T> value) {    \
    *address = value;                                                   \
  }
SIMT_CACHED_STORE(__stwb)
SIMT_CACHED_STORE(__stcg)
SIMT_CACHED_STORE(__stcs)
SIMT_CACHED_STORE(__stwt)
#undef SIMT_CACHED_STORE

SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SIMT_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
SIMT_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
  return __builtin_bswap64(x);
}
SIMT_INLINE unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {  // three bits of each digit count: no copies of signs, as PTX's prmt has
  const std::uint64_t both = x | std::uint64_t{y} << 32;
  unsigned r = 0;
  for (unsigned i = 0; i < 4; ++i) r |= (static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7u)) & 255u) << 8 * i;
  return r;
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (shift & 31u)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (shift < 32 ? shift : 32u)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31u));
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift < 32 ? shift : 32u));
}

#define SIMT_BIT_CAST(name, from, to) \
  SIMT_INLINE to name(from x) { return __builtin_bit_cast(to, x); }
SIMT_BIT_CAST(__float_as_int, float, int)
SIMT_BIT_CAST(__float_as_uint, float, unsigned)
SIMT_BIT_CAST(__int_as_float, int, float)
SIMT_BIT_CAST(__uint_as_float, unsigned, float)
SIMT_BIT_CAST(__double_as_longlong, double, long long)
SIMT_BIT_CAST(__longlong_as_double, long long, double)
#undef SIMT_BIT_CAST
SIMT_INLINE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
SIMT_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                                                     static_cast<unsigned>(low)));
}

SIMT_INLINE int __mulhi(int x, int y) { return static_cast<int>(std::int64_t{x} * y >> 32); }
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(std::uint64_t{x} * y >> 32); }
__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;
SIMT_INLINE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<wide_signed>(x) * y >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<wide_unsigned>(x) * y >> 64);
}
SIMT_INLINE int __mul24(int x, int y) { return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8)); }
SIMT_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
SIMT_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }

// Never fused with what is around: the compiler sees a value that it does not know.
template <class T>
SIMT_INLINE T rounded(T x) {
  __asm__("" : "+x"(x));
  return x;
}
SIMT_INLINE float __fadd_rn(float x, float y) { return rounded(x + y); }
SIMT_INLINE float __fsub_rn(float x, float y) { return rounded(x - y); }
SIMT_INLINE float __fmul_rn(float x, float y) { return rounded(x * y); }
SIMT_INLINE float __fdiv_rn(float x, float y) { return rounded(x / y); }
SIMT_INLINE float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
SIMT_INLINE float __fsqrt_rn(float x) { return std::sqrt(x); }
SIMT_INLINE float __frcp_rn(float x) { return rounded(1.0f / x); }
SIMT_INLINE double __dadd_rn(double x, double y) { return rounded(x + y); }
SIMT_INLINE double __dsub_rn(double x, double y) { return rounded(x - y); }
SIMT_INLINE double __dmul_rn(double x, double y) { return rounded(x * y); }
SIMT_INLINE double __ddiv_rn(double x, double y) { return rounded(x / y); }
SIMT_INLINE double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
SIMT_INLINE double __dsqrt_rn(double x) { return std::sqrt(x); }
SIMT_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
SIMT_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
SIMT_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
SIMT_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }
SIMT_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
SIMT_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
SIMT_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
SIMT_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }

/// As CUDA's: of mixed types by the usual conversions; of floats, NaN gives way to a number.
template <class A, class B>
  requires(std::is_arithmetic_v<builtin::value_t<A>> && std::is_arithmetic_v<builtin::value_t<B>>)
SIMT_INLINE constexpr std::common_type_t<builtin::value_t<A>, builtin::value_t<B>> min(A a, B b) {
  using T = std::common_type_t<builtin::value_t<A>, builtin::value_t<B>>;
  if constexpr (std::is_floating_point_v<T>) return std::fmin(static_cast<T>(a), static_cast<T>(b));
  else return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
  requires(std::is_arithmetic_v<builtin::value_t<A>> && std::is_arithmetic_v<builtin::value_t<B>>)
SIMT_INLINE constexpr std::common_type_t<builtin::value_t<A>, builtin::value_t<B>> max(A a, B b) {
  using T = std::common_type_t<builtin::value_t<A>, builtin::value_t<B>>;
  if constexpr (std::is_floating_point_v<T>) return std::fmax(static_cast<T>(a), static_cast<T>(b));
  else return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
SIMT_INLINE unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
SIMT_INLINE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 42)  // C23's
using ::rsqrt, ::rsqrtf;
#else
SIMT_INLINE float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
SIMT_INLINE double rsqrt(double x) { return 1.0 / std::sqrt(x); }
#endif

}  // inline namespace SIMT_BUILD
}  // namespace simt
