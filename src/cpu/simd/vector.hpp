// SPDX-License-Identifier: Apache-2.0
/// \file vector.hpp
/// Vectors of the width of the target that this file is compiled for. The compilers' own vector types
/// give every operator on every architecture; only what they lack is written with intrinsics.
///
/// Everything is in a namespace of the target and always inlined: the same function compiled for
/// AVX-512 must never be the one that the linker keeps for all.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "../kernels.hpp"

#define WF_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define WF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WF_UNROLL _Pragma("GCC unroll 32")
#endif

namespace wf::cpu::WF_TARGET {

#if defined(__AVX512F__)
inline constexpr int width = 64;
inline constexpr int registers = 32;
#elif defined(__AVX2__)
inline constexpr int width = 32;
inline constexpr int registers = 16;
#else
inline constexpr int width = 16;
#if defined(__aarch64__)
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
#endif
#endif

template <class T, int Bytes = width>
using vec __attribute__((vector_size(Bytes))) = T;

template <class T, int Bytes = width>
inline constexpr int lanes = Bytes / static_cast<int>(sizeof(T));

using f64s = vec<double>;
using f32s = vec<float>;
using i64s = vec<std::int64_t>;
using i32s = vec<std::int32_t>;
using u32s = vec<std::uint32_t>;
using u64s = vec<std::uint64_t>;
/// As many floats as a vector has doubles.
using half_f32s = vec<float, width / 2>;

/// Any alignment.
template <class V>
WF_INLINE V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

/// What is used twice is loaded once: GCC makes two operands in memory of it, and two vectors of 64 bytes a cycle is more than a processor loads.
WF_INLINE void in_register([[maybe_unused]] f64s& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#endif
}

template <class V>
WF_INLINE void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

/// The first `bytes` of a vector, fewer than it has, and zeros. `before`: of a vector of eight bytes or more eight bytes before the end of what is
/// read may be read too, of a smaller one as many as it has. What copies bytes to memory and loads a vector from there waits until they have arrived.
template <class V>
WF_INLINE V load_first(const unsigned char* p, int bytes, [[maybe_unused]] bool before) {
  V v{};
#if defined(__AVX512F__)
  const auto some = _bzhi_u64(~0ull, static_cast<unsigned>(bytes));
  if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_loadu_epi8(some, p);
  else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_loadu_epi8(static_cast<__mmask32>(some), p);
  const __m128i first = _mm_maskz_loadu_epi8(static_cast<__mmask16>(some), p);
  __builtin_memcpy(&v, &first, sizeof v);
  return v;
#else
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(v[0]) >= 4) return (V)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), (__m256i)(vec<std::int32_t, 32>{0, 4, 8, 12, 16, 20, 24, 28} < bytes));
#endif
  if (!before) {
    __builtin_memcpy(&v, p, static_cast<std::size_t>(bytes));
    return v;
  }
  using word = std::conditional_t<sizeof(V) == 2, std::uint16_t, std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>>;
  constexpr int size = sizeof(word), words = static_cast<int>(sizeof(V)) / size;
  word end;
  __builtin_memcpy(&end, p + bytes - size, sizeof end);
  vec<word, sizeof(V)> all{};
  WF_UNROLL
  for (int k = 0; k < words; ++k) {
    const int left = bytes - k * size;
    if (left >= size) {
      word whole;
      __builtin_memcpy(&whole, p + k * size, sizeof whole);
      all[k] = whole;
    } else if (left > 0) {
      all[k] = static_cast<word>(end >> 8 * (size - left));
    }
  }
  return (V)all;
#endif
}

template <class V, class T>
WF_INLINE V all_lanes(T x) {
  return x - V{};
}

WF_INLINE f64s abs(f64s x) {
  return (f64s)((i64s)x & INT64_MAX);
}
WF_INLINE f32s abs(f32s x) {
  return (f32s)((i32s)x & INT32_MAX);
}

/// The larger; `b` where either is NaN.
WF_INLINE f64s max(f64s a, f64s b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_pd(0xff, a, b);  // maskz: GCC 12 warns of the plain one
#elif defined(__AVX2__)
  return _mm256_max_pd(a, b);
#elif defined(__x86_64__)
  return _mm_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}
WF_INLINE f32s max(f32s a, f32s b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#elif defined(__x86_64__)
  return _mm_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

/// The smaller; `b` where either is NaN.
WF_INLINE f64s min(f64s a, f64s b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_pd(0xff, a, b);
#elif defined(__AVX2__)
  return _mm256_min_pd(a, b);
#elif defined(__x86_64__)
  return _mm_min_pd(a, b);
#else
  return a < b ? a : b;
#endif
}
WF_INLINE f32s min(f32s a, f32s b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#elif defined(__x86_64__)
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

WF_INLINE f64s square_roots(f64s x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(x);
#elif defined(__x86_64__)
  return _mm_sqrt_pd(x);
#else
  return vsqrtq_f64(x);
#endif
}

/// Is any lane of pairs of vectors NaN?
class nan_check {
#if defined(__AVX512F__)
 public:
  WF_INLINE void look_at(f64s a, f64s b) { seen_ |= _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
  WF_INLINE void look_at(f32s a, f32s b) { seen_ |= _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  WF_INLINE bool any() const { return seen_ != 0; }

 private:
  unsigned seen_ = 0;
#else
 public:
#if defined(__AVX2__)
  WF_INLINE void look_at(f64s a, f64s b) { seen_ |= (i64s)_mm256_cmp_pd(a, b, _CMP_UNORD_Q); }
  WF_INLINE void look_at(f32s a, f32s b) { seen_ |= (i64s)_mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
#elif defined(__x86_64__)
  WF_INLINE void look_at(f64s a, f64s b) { seen_ |= (i64s)_mm_cmpunord_pd(a, b); }
  WF_INLINE void look_at(f32s a, f32s b) { seen_ |= (i64s)_mm_cmpunord_ps(a, b); }
#else
  template <class V>
  WF_INLINE void look_at(V a, V b) { seen_ |= (i64s)(a != a) | (i64s)(b != b); }
#endif
  WF_INLINE bool any() const {
    std::int64_t all = 0;
    WF_UNROLL
    for (int j = 0; j < lanes<std::int64_t>; ++j) all |= seen_[j];
    return all != 0;
  }

 private:
  i64s seen_{};
#endif
};

WF_INLINE f64s widen(half_f32s x) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtps_pd(0xff, x);  // GCC 12 converts the halves apart
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(x);  // the same
#else
  return __builtin_convertvector(x, f64s);
#endif
}

WF_INLINE f64s widen(vec<std::int32_t, width / 2> x) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtepi32_pd(0xff, (__m256i)x);
#elif defined(__AVX2__)
  return _mm256_cvtepi32_pd((__m128i)x);
#else
  return __builtin_convertvector(x, f64s);
#endif
}

/// Integers of 32 bits.
template <class T>
WF_INLINE i64s widen_integers(vec<T, width / 2> x) {
#if defined(__AVX512F__)
  if constexpr (static_cast<T>(-1) < 0) return (i64s)_mm512_maskz_cvtepi32_epi64(0xff, (__m256i)x);
  else return (i64s)_mm512_maskz_cvtepu32_epi64(0xff, (__m256i)x);
#elif defined(__AVX2__)
  if constexpr (static_cast<T>(-1) < 0) return (i64s)_mm256_cvtepi32_epi64((__m128i)x);
  else return (i64s)_mm256_cvtepu32_epi64((__m128i)x);
#else
  return __builtin_convertvector(x, i64s);
#endif
}

/// The squares of what that made.
template <bool Signed>
WF_INLINE u64s squares_of_halves(i64s x) {
#if defined(__AVX512F__)
  if constexpr (Signed) return (u64s)_mm512_maskz_mul_epi32(0xff, (__m512i)x, (__m512i)x);
  else return (u64s)_mm512_maskz_mul_epu32(0xff, (__m512i)x, (__m512i)x);
#elif defined(__AVX2__)
  if constexpr (Signed) return (u64s)_mm256_mul_epi32((__m256i)x, (__m256i)x);
  else return (u64s)_mm256_mul_epu32((__m256i)x, (__m256i)x);
#elif defined(__x86_64__)
  if constexpr (Signed) {
    const i64s negative = x >> 63;
    x = (x ^ negative) - negative;
  }
  return (u64s)_mm_mul_epu32((__m128i)x, (__m128i)x);
#else
  const auto half = vmovn_s64(x);
  if constexpr (Signed) return (u64s)vmull_s32(half, half);
  else return (u64s)vmull_u32(vreinterpret_u32_s32(half), vreinterpret_u32_s32(half));
#endif
}

/// hi = a·b rounded and lo = a·b - hi: exact if hi is finite and lo does not underflow.
WF_INLINE f64s two_product(f64s a, f64s b, f64s& lo) {
  const f64s hi = a * b;
#if defined(__AVX512F__)
  lo = _mm512_fmsub_pd(a, b, hi);
#elif defined(__AVX2__)
  lo = _mm256_fmsub_pd(a, b, hi);
#elif defined(__aarch64__)
  lo = vfmaq_f64(-hi, a, b);
#else
  // Dekker, "A floating-point technique for extending the available precision", 1971.
  const f64s split = all_lanes<f64s>(134217729.0);
  const f64s ta = split * a, tb = split * b;
  const f64s ah = ta - (ta - a), al = a - ah;
  const f64s bh = tb - (tb - b), bl = b - bh;
  lo = ((ah * bh - hi) + ah * bl + al * bh) + al * bl;
#endif
  return hi;
}

#if defined(__x86_64__)
/// Sums of eight bytes each.
WF_INLINE u64s sums_of_bytes(vec<std::uint8_t> v) {
#if defined(__AVX512F__)
  return (u64s)_mm512_sad_epu8((__m512i)v, __m512i{});
#elif defined(__AVX2__)
  return (u64s)_mm256_sad_epu8((__m256i)v, __m256i{});
#else
  return (u64s)_mm_sad_epu8((__m128i)v, __m128i{});
#endif
}

/// Sums of two neighbours each.
WF_INLINE i32s sums_of_pairs(vec<std::int16_t> v) {
  const vec<std::int16_t> ones = all_lanes<vec<std::int16_t>>(std::int16_t{1});
#if defined(__AVX512F__)
  return (i32s)_mm512_madd_epi16((__m512i)v, (__m512i)ones);
#elif defined(__AVX2__)
  return (i32s)_mm256_madd_epi16((__m256i)v, (__m256i)ones);
#else
  return (i32s)_mm_madd_epi16((__m128i)v, (__m128i)ones);
#endif
}
#endif

/// Asks for the cache line 2 KiB ahead: longer loops keep fewer loads in flight than memory needs. At
/// DRAM sizes exact sums take 1.1 times the plain one's time with it and 1.25 times without.
WF_INLINE void prefetch(const void* p, std::int64_t ahead = 2048) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(ahead)));
}

/// The same into the caches behind L1.
WF_INLINE void prefetch_beyond_l1(const void* p, std::int64_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(ahead)), 0, 2);
}

/// The same for all of the `Bytes` that begin there.
template <int Bytes>
WF_INLINE void prefetch_lines(const void* p) {
  WF_UNROLL
  for (int b = 0; b < Bytes; b += 64) prefetch(static_cast<const unsigned char*>(p) + b);
}

/// How memory is walked, a turn at a time: in bytes, from run to run and from turn to turn. A turn is a cache line
/// of each of four runs (see kernels.hpp), or four neighbouring ones.
struct walk {
  std::int64_t apart, step;
};
WF_INLINE walk walk_of(std::int64_t apart) { return apart != 0 ? walk{apart, 64} : walk{64, runs * 64}; }

/// Calls f(place, k) for the vectors of one turn, and asks for the lines of the eighth from here.
template <bool Asks = true, class F>
WF_INLINE void for_turn(const unsigned char* p, walk w, F f) {
  constexpr int of_line = 64 / width;
  WF_UNROLL
  for (int k = 0; k < runs * of_line; ++k) {
    const unsigned char* line = p + k / of_line * w.apart;
    if (Asks && k % of_line == 0) prefetch(line, 8 * w.step);
    f(line + k % of_line * width, k);
  }
}

/// The sum of all lanes, mod 2^64.
WF_INLINE std::int64_t sum_lanes(i64s v) {
  const auto u = (u64s)v;
#if defined(__AVX512F__)
  const auto half = __builtin_shufflevector(u, u, 0, 1, 2, 3) + __builtin_shufflevector(u, u, 4, 5, 6, 7);
#elif defined(__AVX2__)
  const auto half = u;
#endif
#if defined(__AVX2__)
  const auto quarter = __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
#else
  const auto quarter = u;
#endif
  return static_cast<std::int64_t>(quarter[0] + quarter[1]);
}

WF_INLINE bool any_lane(i64s v) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256((__m256i)v, (__m256i)v) == 0;
#else
  return (v[0] | v[1]) != 0;
#endif
}

WF_INLINE std::uint64_t or_lanes(i64s v) {
  std::int64_t s = 0;
  WF_UNROLL
  for (int j = 0; j < lanes<std::int64_t>; ++j) s |= v[j];
  return static_cast<std::uint64_t>(s);
}

}  // namespace wf::cpu::WF_TARGET
