// SPDX-License-Identifier: Apache-2.0
/// \file few_moments.hpp
/// Means, sums of squares and variances of few elements, and their roots, rounded to nearest: all elements are in registers, added in pairs by two-sums,
/// whose errors are a plain sum. The caller has set the processor.
///
/// Let e and E be the exponents of the least and the greatest magnitude, each less one unit in its last place, zeros left out: all elements are multiples of
/// 2^(e-52), and none is more than 2^(E+1). On each of the five levels of the tree all sums are at most 32·2^(E+1) together, and lose 2^-53 of that. So
/// all errors together are less than 2^(E-44.6): each partial sum of them is exact where E - e <= 45, and else at most 62 additions lose less than
/// 2^(E-91). Squares are S in all. Their errors are at most 5·2^-53·S, and their lower halves 2^-53·S. So the sum of both loses less than 2^-97·S, and
/// nothing if all are zero. No lower half underflows where e is -480 or more.
#pragma once

#include "round_columns.hpp"

namespace wf::cpu::WF_TARGET {

/// `Count` doubles, of which the last may be zeros that are no elements.
template <int Count>
struct few_vectors {
  static constexpr int vectors = Count / step;
  f64s v[vectors];

  WF_INLINE few_vectors(const double* p, std::int64_t n) {
    WF_UNROLL
    for (int k = 0; k < vectors; ++k) {
#if defined(__AVX512F__)
      v[k] = _mm512_maskz_loadu_pd(static_cast<__mmask8>(_bzhi_u32(~0u, static_cast<unsigned>(n)) >> (k * step)), p + k * step);
#elif defined(__AVX2__)
      v[k] = _mm256_maskload_pd(p + k * step, (__m256i)(i64s{0, 1, 2, 3} < n - k * step));
#else
      take(p, n, k);
#endif
    }
  }
  WF_INLINE few_vectors(const float* p, std::int64_t n) {
    WF_UNROLL
    for (int k = 0; k < vectors; ++k) {
#if defined(__AVX512F__)
      v[k] = widen(_mm256_maskz_loadu_ps(static_cast<__mmask8>(_bzhi_u32(~0u, static_cast<unsigned>(n)) >> (k * step)), p + k * step));
#elif defined(__AVX2__)
      const auto left = static_cast<std::int32_t>(n) - k * step;
      v[k] = widen(_mm_maskload_ps(p + k * step, (__m128i)(vec<std::int32_t, 16>{0, 1, 2, 3} < left)));
#else
      take(p, n, k);
#endif
    }
  }

 private:
#if !defined(__AVX2__)
  template <class T>
  WF_INLINE void take(const T* p, std::int64_t n, int k) {
    const auto* const at = reinterpret_cast<const unsigned char*>(p + 2 * k);
    v[k] = f64s{};
    if (2 * k + 2 <= n) v[k] = f64s{static_cast<double>(load<T>(at)), static_cast<double>(load<T>(at + sizeof(T)))};
    else if (2 * k < n) v[k] = f64s{static_cast<double>(load<T>(at)), 0.0};
  }
#endif
};

/// f(the lanes of v in another order) until each lane has met all others.
template <class F>
WF_INLINE void for_other_lanes(F f) {
#if defined(__AVX512F__)
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3); });
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5); });
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6); });
#elif defined(__AVX2__)
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 2, 3, 0, 1); });
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 1, 0, 3, 2); });
#else
  f([](auto v) __attribute__((always_inline)) { return __builtin_shufflevector(v, v, 1, 0); });
#endif
}

/// The exponents e and E of above, with their bias; high is negative where all are zero.
struct few_range {
  int low, high;

  template <int Count>
  WF_INLINE explicit few_range(const few_vectors<Count>& x) {
    using words = vec<std::int32_t>;
    using numbers = vec<std::uint32_t>;
    words greatest = words{} - 1;
    numbers least = numbers{} - 1;
    WF_UNROLL
    for (const f64s& v : x.v) {
      const auto m = (words)(((i64s)v & INT64_MAX) - 1);  // zeros become -1
      greatest = m > greatest ? m : greatest;
      least = (numbers)m < least ? (numbers)m : least;
    }
    for_other_lanes([&](auto other) __attribute__((always_inline)) {
      const auto more = (words)other((i64s)greatest);
      const auto less = (numbers)other((i64s)least);
      greatest = more > greatest ? more : greatest;
      least = less < least ? less : least;
    });
    low = static_cast<int>(least[1] >> 20);
    high = greatest[1] >> 20;
  }
  WF_INLINE bool suits() const { return low >= 1023 - 480 && high < 1023 + 480 && low <= high; }
};

/// Σ = s + c in each lane. c begins with what is lost of each term, where Lower says that there is such.
template <int Count>
struct few_sums {
  static constexpr int vectors = Count / step;
  static_assert(vectors <= 16);
  f64s s[vectors], c[vectors];
  i64s any{};  // bits of what is lost

  template <bool Lower>
  WF_INLINE void add_all() {
    if constexpr (Lower) {
      WF_UNROLL
      for (int k = 0; k < vectors; ++k) any |= (i64s)c[k];
    }
    if constexpr (vectors >= 16) add_half<Lower, 16>();
    if constexpr (vectors >= 8) add_half<Lower || vectors >= 16, 8>();
    if constexpr (vectors >= 4) add_half<Lower || vectors >= 8, 4>();
    if constexpr (vectors >= 2) add_half<Lower || vectors >= 4, 2>();
    if constexpr (!Lower && vectors == 1) c[0] = f64s{};
    for_other_lanes([&](auto other) __attribute__((always_inline)) {
      f64s e;
      s[0] = lane_pairs<width>::two_sum(s[0], other(s[0]), e);
      c[0] = (c[0] + other(c[0])) + e;
      any |= (i64s)e;
    });
  }

 private:
  /// Half of the `Of` vectors are left.
  template <bool Lost, int Of>
  WF_INLINE void add_half() {
    WF_UNROLL
    for (int k = 0; k < Of / 2; ++k) {
      f64s e;
      s[k] = lane_pairs<width>::two_sum(s[k], s[k + Of / 2], e);
      c[k] = Lost ? (c[k] + c[k + Of / 2]) + e : e;
      any |= (i64s)e;
    }
  }
};

template <int Count>
WF_INLINE knowns sum_of_values(const few_vectors<Count>& x, few_range r) {
  few_sums<Count> sums;
  WF_UNROLL
  for (int k = 0; k < few_vectors<Count>::vectors; ++k) sums.s[k] = x.v[k];
  sums.template add_all<false>();
  const double off = r.high - r.low <= 45 ? 0.0 : __builtin_bit_cast(double, static_cast<std::int64_t>(r.high - 91) << 52);
  return knowns::of(sums.s[0], sums.c[0], all_lanes<f64s>(off));
}
/// Squares of f32 are doubles.
template <class T, int Count>
WF_INLINE knowns sum_of_squares(const few_vectors<Count>& x) {
  few_sums<Count> sums;
  WF_UNROLL
  for (int k = 0; k < few_vectors<Count>::vectors; ++k) {
    if constexpr (sizeof(T) == 8) sums.s[k] = two_product(x.v[k], x.v[k], sums.c[k]);
    else sums.s[k] = x.v[k] * x.v[k];
  }
  sums.template add_all<sizeof(T) == 8>();
  const i64s lost = any_lane(sums.any & INT64_MAX) ? i64s{} - 1 : i64s{};
  return knowns::of(sums.s[0], sums.c[0], (f64s)((i64s)(sums.s[0] * 0x1p-97) & lost));
}

template <class T>
WF_INLINE bool told(const knowns& a, void* out) {
  f64s high;
  if (a.round<T>(high)[0] == 0) return false;
  const auto answer = static_cast<T>(high[0]);
  __builtin_memcpy(out, &answer, sizeof answer);
  return true;
}

/// f(elements), n of them, 1 <= n <= most_of_few_moments.
template <class T, class F>
WF_INLINE bool with_few_vectors(const void* x, std::int64_t n, F f) {
  const auto* const p = static_cast<const T*>(x);
  if (n <= 8) return f(few_vectors<8>(p, n));
  if (n <= 16) return f(few_vectors<16>(p, n));
  return f(few_vectors<32>(p, n));
}
static_assert(most_of_few_moments == 32);

/// The mean of few elements; false where another way must be tried.
template <class T>
bool few_mean(const void* x, std::int64_t n, void* out) {
  return with_few_vectors<T>(x, n, [&](const auto& all) __attribute__((always_inline)) {
    const few_range r(all);
    return r.suits() && told<T>(sum_of_values(all, r).divided(all_lanes<f64s>(static_cast<double>(n))), out);
  });
}

/// The sum of squares of few elements, or its root; or the variance, which is a quotient by `divisor`, or its root.
template <class T, bool Root>
bool few_squares(const void* x, std::int64_t n, double divisor, void* out) {
  return with_few_vectors<T>(x, n, [&](const auto& all) __attribute__((always_inline)) {
    const few_range r(all);
    if (!r.suits()) return false;
    knowns a = sum_of_squares<T>(all);
    if (divisor != 0) a = a.times(all_lanes<f64s>(static_cast<double>(n))).minus(sum_of_values(all, r).squared()).positive().divided(all_lanes<f64s>(divisor));
    if constexpr (Root) a = a.root();
    return told<T>(a, out);
  });
}

}  // namespace wf::cpu::WF_TARGET
