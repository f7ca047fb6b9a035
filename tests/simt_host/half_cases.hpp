// SPDX-License-Identifier: Apache-2.0
// What is asked of f16 and bf16, both of a GPU (half_golden.cu) and of simt (half_golden_test.cpp):
// a list of operations, each a function of 64 random bits, and a checksum over many of them.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define HALF_CASE static __device__ __forceinline__
#else
#define HALF_CASE static inline
#endif

namespace half_cases {

HALF_CASE std::uint64_t mix(std::uint64_t x) {  // the finaliser of SplitMix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

template <class To, class From>
HALF_CASE To cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// Operands of 16 bits; half of the time their exponents are near one another.
struct operands {
  unsigned short a, b, c;
};
template <int Mantissa>
HALF_CASE operands operands_of(std::uint64_t k) {
  const unsigned a = k & 0xFFFF;
  unsigned b = k >> 16 & 0xFFFF, c = k >> 32 & 0xFFFF;
  if (k >> 63) {
    const unsigned exponent_mask = 0x7FFFu >> Mantissa << Mantissa;
    const auto near = [&](unsigned x, unsigned offset) {
      return (x & ~exponent_mask) | ((a + (offset << Mantissa) - (4u << Mantissa)) & exponent_mask);
    };
    b = near(b, k >> 48 & 7);
    c = near(c, k >> 51 & 7);
  }
  return {static_cast<unsigned short>(a), static_cast<unsigned short>(b),
          static_cast<unsigned short>(c)};
}

// A number of a wider type near the numbers of 16 bits and the middles between them, or any at all.
template <int Mantissa>
HALF_CASE float float_of(std::uint64_t k) {
  std::uint32_t u = static_cast<std::uint32_t>(k);
  if (k >> 63) u = (u & 0xFFFF0000u) | (k >> 40 & 0x3000) | ((k >> 32 & 3) - 1);
  if (Mantissa == 10 && (k >> 62 & 1))
    u = (u & 0x8FFFFFFFu) | (u >> 28 & 1 ? 0x30000000u : 0x40000000u);
  return cast<float>(u);
}
template <int Mantissa>
HALF_CASE double double_of(std::uint64_t k) {
  const double near = float_of<Mantissa>(k * 0x9E3779B97F4A7C15u);
  std::uint64_t u = cast<std::uint64_t>(near);
  if (k & 1) u += (k >> 1 & 3) - 1;  // beside the middle by one of double's units
  return (k >> 3 & 7) == 0 ? cast<double>(k) : cast<double>(u);
}
HALF_CASE long long integer_of(std::uint64_t k) {
  return static_cast<long long>(mix(k)) >> (k & 63);
}

template <class T>
HALF_CASE unsigned short bits(T value) {
  return cast<unsigned short>(value);
}
template <class T>
HALF_CASE std::uint32_t pair_bits(T value) {
  return cast<std::uint32_t>(value);
}

// (name, type, pair type, bits of the mantissa, expression of a, b, c, p, q, k; x, d and n are a
// float, a double and an integer)
#define HALF_CASES_OF(CASE, prefix, T, T2, M, to_half, from_half, halves)                          \
  CASE(prefix##_add, T, T2, M, bits(__hadd(a, b)))                                                 \
  CASE(prefix##_sub, T, T2, M, bits(__hsub(a, b)))                                                 \
  CASE(prefix##_mul, T, T2, M, bits(__hmul(a, b)))                                                 \
  CASE(prefix##_div, T, T2, M, bits(__hdiv(a, b)))                                                 \
  CASE(prefix##_fma, T, T2, M, bits(__hfma(a, b, c)))                                              \
  CASE(prefix##_add_sat, T, T2, M, bits(__hadd_sat(a, b)))                                         \
  CASE(prefix##_sub_sat, T, T2, M, bits(__hsub_sat(a, b)))                                         \
  CASE(prefix##_mul_sat, T, T2, M, bits(__hmul_sat(a, b)))                                         \
  CASE(prefix##_fma_sat, T, T2, M, bits(__hfma_sat(a, b, c)))                                      \
  CASE(prefix##_max, T, T2, M, bits(__hmax(a, b)))                                                 \
  CASE(prefix##_min, T, T2, M, bits(__hmin(a, b)))                                                 \
  CASE(prefix##_max_nan, T, T2, M, bits(__hmax_nan(a, b)))                                         \
  CASE(prefix##_min_nan, T, T2, M, bits(__hmin_nan(a, b)))                                         \
  CASE(prefix##_neg, T, T2, M, bits(__hneg(a)))                                                    \
  CASE(prefix##_abs, T, T2, M, bits(__habs(a)))                                                    \
  CASE(prefix##_ordered, T, T2, M,                                                                 \
       __heq(a, b) + 2 * __hne(a, b) + 4 * __hlt(a, b) + 8 * __hle(a, b) + 16 * __hgt(a, b) +      \
           32 * __hge(a, b))                                                                       \
  CASE(prefix##_unordered, T, T2, M,                                                               \
       __hequ(a, b) + 2 * __hneu(a, b) + 4 * __hltu(a, b) + 8 * __hleu(a, b) + 16 * __hgtu(a, b) + \
           32 * __hgeu(a, b))                                                                      \
  CASE(prefix##_operators, T, T2, M,                                                               \
       (a == b) + 2 * (a != b) + 4 * (a < b) + 8 * (a <= b) + 16 * (a > b) + 32 * (a >= b))        \
  CASE(prefix##_class, T, T2, M, __hisnan(a) + 2 * (__hisinf(a) + 1))                              \
  CASE(prefix##_add2, T, T2, M, pair_bits(__hadd2(p, q)))                                          \
  CASE(prefix##_sub2, T, T2, M, pair_bits(__hsub2(p, q)))                                          \
  CASE(prefix##_mul2, T, T2, M, pair_bits(__hmul2(p, q)))                                          \
  CASE(prefix##_fma2, T, T2, M, pair_bits(__hfma2(p, q, p)))                                       \
  CASE(prefix##_max2, T, T2, M, pair_bits(__hmax2(p, q)))                                          \
  CASE(prefix##_eq2, T, T2, M, pair_bits(__heq2(p, q)) + __hbeq2(p, q))                            \
  CASE(prefix##_lt2, T, T2, M, pair_bits(__hlt2(p, q)) + __hblt2(p, q))                            \
  CASE(prefix##_neu2, T, T2, M, pair_bits(__hneu2(p, q)) + __hbneu2(p, q))                         \
  CASE(prefix##_isnan2, T, T2, M, pair_bits(__hisnan2(p)))                                         \
  CASE(prefix##_from_float, T, T2, M, bits(__float2##to_half(x)))                                  \
  CASE(prefix##_from_float_rz, T, T2, M, bits(__float2##to_half##_rz(x)))                          \
  CASE(prefix##_from_float_rd, T, T2, M, bits(__float2##to_half##_rd(x)))                          \
  CASE(prefix##_from_float_ru, T, T2, M, bits(__float2##to_half##_ru(x)))                          \
  CASE(prefix##_from_double, T, T2, M, bits(__double2##to_half(d)))                                \
  CASE(prefix##_to_float, T, T2, M, cast<std::uint32_t>(__##to_half##2##float(a)))                 \
  CASE(prefix##_from_short, T, T2, M, bits(__short2##to_half##_rn(static_cast<short>(n))))         \
  CASE(prefix##_from_int, T, T2, M, bits(__int2##to_half##_rn(static_cast<int>(n))))               \
  CASE(prefix##_from_int_rz, T, T2, M, bits(__int2##to_half##_rz(static_cast<int>(n))))            \
  CASE(prefix##_from_int_rd, T, T2, M, bits(__int2##to_half##_rd(static_cast<int>(n))))            \
  CASE(prefix##_from_int_ru, T, T2, M, bits(__int2##to_half##_ru(static_cast<int>(n))))            \
  CASE(prefix##_from_ll, T, T2, M, bits(__ll2##to_half##_rn(n)))                                   \
  CASE(prefix##_from_ushort, T, T2, M,                                                             \
       bits(__ushort2##to_half##_rn(static_cast<unsigned short>(n))))                              \
  CASE(prefix##_from_uint, T, T2, M, bits(__uint2##to_half##_rn(static_cast<unsigned>(n))))        \
  CASE(prefix##_from_uint_ru, T, T2, M, bits(__uint2##to_half##_ru(static_cast<unsigned>(n))))     \
  CASE(prefix##_from_ull, T, T2, M,                                                                \
       bits(__ull2##to_half##_rn(static_cast<unsigned long long>(n))))                             \
  CASE(prefix##_to_short_rz, T, T2, M, static_cast<unsigned short>(__##to_half##2##short_rz(a)))   \
  CASE(prefix##_to_int_rn, T, T2, M, static_cast<unsigned>(__##to_half##2##int_rn(a)))             \
  CASE(prefix##_to_int_rz, T, T2, M, static_cast<unsigned>(__##to_half##2##int_rz(a)))             \
  CASE(prefix##_to_int_rd, T, T2, M, static_cast<unsigned>(__##to_half##2##int_rd(a)))             \
  CASE(prefix##_to_int_ru, T, T2, M, static_cast<unsigned>(__##to_half##2##int_ru(a)))             \
  CASE(prefix##_to_ll_rn, T, T2, M, static_cast<std::uint64_t>(__##to_half##2##ll_rn(a)))          \
  CASE(prefix##_to_ushort_rz, T, T2, M, __##to_half##2##ushort_rz(a))                              \
  CASE(prefix##_to_uint_rn, T, T2, M, __##to_half##2##uint_rn(a))                                  \
  CASE(prefix##_to_ull_rz, T, T2, M, __##to_half##2##ull_rz(a))

#define HALF_CASES(CASE)                                           \
  HALF_CASES_OF(CASE, f16, __half, __half2, 10, half, half, half2) \
  HALF_CASES_OF(CASE, bf16, __nv_bfloat16, __nv_bfloat162, 7, bfloat16, bfloat16, bfloat162)

// `n` and the others are computed as needed: what is not used is dropped by the compiler.
#define HALF_CASE_FUNCTION(name, T, T2, M, expression)                        \
  struct name##_case {                                                        \
    HALF_CASE std::uint64_t run(std::uint64_t k) {                            \
      const operands o = operands_of<M>(k);                                   \
      const T a = cast<T>(o.a), b = cast<T>(o.b), c = cast<T>(o.c);           \
      const T2 p = cast<T2>(static_cast<std::uint32_t>(o.a | o.b << 16));     \
      const T2 q = cast<T2>(static_cast<std::uint32_t>(o.b | o.c << 16));     \
      const float x = float_of<M>(k);                                         \
      const double d = double_of<M>(k);                                       \
      const long long n = integer_of(k);                                      \
      (void)a, (void)b, (void)c, (void)p, (void)q, (void)x, (void)d, (void)n; \
      return static_cast<std::uint64_t>(expression);                          \
    }                                                                         \
  };

HALF_CASES(HALF_CASE_FUNCTION)

/// What the i-th run adds to a case's checksum.
template <class Case>
HALF_CASE std::uint64_t term(std::uint64_t i) {
  return mix(Case::run(mix(i)) ^ i << 32);
}

}  // namespace half_cases
