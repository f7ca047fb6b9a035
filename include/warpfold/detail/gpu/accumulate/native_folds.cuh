// SPDX-License-Identifier: Apache-2.0
/// \file native_folds.cuh
/// Folds in native floating point: accuracy::fast, and what is native under either accuracy (prod;
/// logsumexp is in logsumexp.cuh). Their order is fixed by n and the launch, so they give the same bits on every run.
/// f16 is accumulated in f32, everything else in f64, which an H100 adds at half the rate of f32:
/// 3.3 elements of f32 a clock come from memory, and 16 are converted, 64 added.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>

namespace wf::device::inline WF_BUILD {

/// The hardware converts it, exactly.
template <class T>
__device__ __forceinline__ float to_float(T x) {
  if constexpr (std::is_same_v<T, f16>) return __half2float(__ushort_as_half(x.bits));
  else if constexpr (std::is_same_v<T, bf16>) return __builtin_bit_cast(float, std::uint32_t{x.bits} << 16);
  else return static_cast<float>(x);
}
/// Subnormals come through, though the caller's compiler may take those of floats for zeros (--use_fast_math).
__device__ __forceinline__ double widened(float x) {
#if defined(__CUDA_ARCH__)
  double d;
  asm("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(x));
  return d;
#else
  return x;
#endif
}
/// The same of an f16 or bf16 by its bits: one instruction, where there are two by way of a float.
template <class T>
__device__ __forceinline__ double widened_bits(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  [[maybe_unused]] double d;
  if constexpr (std::is_same_v<T, f16>) {
    asm("cvt.f64.f16 %0, %1;" : "=d"(d) : "h"(bits));
    return d;
#if __CUDA_ARCH__ >= 900
  } else if constexpr (std::is_same_v<T, bf16>) {
    asm("cvt.f64.bf16 %0, %1;" : "=d"(d) : "h"(bits));
    return d;
#endif
  } else
#endif
  {
    return widened(to_float(exact::format<T>::from_bits(bits)));
  }
}
struct two_doubles {
  double low, high;
};
/// Two elements of f16 or bf16 in a word, the one in the lower half first.
template <class T>
__device__ __forceinline__ two_doubles widened_two(std::uint32_t two) {
  return {widened_bits<T>(static_cast<std::uint16_t>(two)), widened_bits<T>(static_cast<std::uint16_t>(two >> 16))};
}
template <class V, class T>
__device__ __forceinline__ V to_value(T x) {
  if constexpr (sizeof(V) == 8 && (integer<T> || sizeof(T) == 8)) return static_cast<V>(x);
  else return static_cast<V>(to_float(x));
}
/// Rounded to T; one NaN for all, since its bits would depend on the order of operands.
template <class T>
__device__ __forceinline__ T from_double(double x) {
  using f = exact::format<T>;
  return x != x ? f::from_bits(f::quiet_nan) : static_cast<T>(x);
}
__device__ __forceinline__ double native_nan() {
  return __builtin_bit_cast(double, std::uint64_t{0x7ff8} << 48);
}

/// Sums of x, |x| or x·y: Term is sum, norm1 or dot (which squares too). What is asked for at last:
/// sum, mean, norm1, sum_of_squares, norm2, dot.
template <class T, op Term>
struct native_sum_fold {
  using value = std::conditional_t<std::is_same_v<T, f16> || (std::is_same_v<T, bf16> && Term != op::dot),
                                   float, double>;
  using state = double;
  static constexpr int inputs = Term == op::dot ? 2 : 1;
  static constexpr int item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  static constexpr int items = 16 / item_size, chains = items < 4 ? items : 4;
  op what;
  struct running {
    value chain[chains];
  };

  __device__ __forceinline__ state identity() const { return -0.0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ running start() const {
    running s;
#pragma unroll
    for (int i = 0; i < chains; ++i) s.chain[i] = -0.0f;
    return s;
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[inputs], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < items; ++i) add_term(s.chain[i % chains], item_of<T>(p[0], i), item_of<T>(p[inputs - 1], i));
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    add_term(s.chain[0], x, x);
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x, const T& y) const {
    add_term(s.chain[0], x, y);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<inputs>&) const {
    double t = static_cast<double>(s.chain[0]);
#pragma unroll
    for (int i = 1; i < chains; ++i) t += static_cast<double>(s.chain[i]);
    return t;
  }
  __device__ __forceinline__ void write(state s, std::uint64_t n, void* out) const {
    if (what == op::mean) s = s / static_cast<double>(n);
    else if (n == 0) s = 0;
    else if (what == op::norm2) s = std::sqrt(s);
    write_as<T>(out, from_double<T>(s));
  }

 private:
  static __device__ __forceinline__ void add_term(value& to, T x, T y) {
    const value v = to_value<value>(x);
    if constexpr (Term == op::dot) to = fma(v, to_value<value>(y), to);
    else if constexpr (Term == op::norm1) to += v < 0 ? -v : v;
    else to += v;
  }
};

/// Squares: native_sum_fold of one input with itself.
template <class T>
struct native_squares_fold : native_sum_fold<T, op::dot> {
  using base = native_sum_fold<T, op::dot>;
  static constexpr int inputs = 1;
  using running = typename base::running;
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t v) const {
    const pack both[2] = {p[0], p[0]};
    base::add(s, both, v);
  }
  __device__ __forceinline__ double total(const running& s, const arrays<1>&) const {
    return base::total(s, {});
  }
};

/// var, std, mean_var: sums of x - c and (x - c)², c the thread's first element, whose share of the
/// squares keeps them from cancelling; threads are combined as in Chan, Golub and LeVeque, "Updating
/// formulae and a pairwise algorithm for computing sample variances", 1979.
template <class T>
struct native_moments_fold {
  using value = std::conditional_t<std::is_same_v<T, f16>, float, double>;
  struct state {
    double count, mean, squares;
  };
  struct running {
    value centre, sum[2], squares[2];
    std::uint64_t count;
  };
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  op what;
  std::int64_t correction;

  __device__ __forceinline__ state identity() const { return {0, 0, 0}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double n = a.count + b.count, d = b.mean - a.mean;
    return {n, a.mean + d * (b.count / n), a.squares + b.squares + d * d * (a.count / n * b.count)};
  }
  __device__ __forceinline__ running start() const { return {0, {0, 0}, {0, 0}, 0}; }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    constexpr int items = 16 / item_size;
    if (s.count == 0) s.centre = to_value<value>(item_of<T>(p[0], 0));
    s.count += items;
#pragma unroll
    for (int i = 0; i < items; ++i) add_value(s, i % 2, item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    if (s.count == 0) s.centre = to_value<value>(x);
    s.count += 1;
    add_value(s, 0, x);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    if (s.count == 0) return identity();
    const auto n = static_cast<double>(s.count);
    const double d = static_cast<double>(s.sum[0]) + static_cast<double>(s.sum[1]);
    const double q = static_cast<double>(s.squares[0]) + static_cast<double>(s.squares[1]) - d * (d / n);
    return {n, static_cast<double>(s.centre) + d / n, q < 0 ? 0 : q};
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void* out) const {
    const std::uint64_t left = n - static_cast<std::uint64_t>(correction);  // if positive
    const bool none = n == 0 || static_cast<std::int64_t>(n) <= correction;
    double v = none ? native_nan() : s.squares / static_cast<double>(left);
    if (what == op::std_dev) v = std::sqrt(v);
    if (what == op::mean_var) {
      static_cast<T*>(out)[0] = from_double<T>(n == 0 ? native_nan() : s.mean);
      static_cast<T*>(out)[1] = from_double<T>(v);
    } else {
      write_as<T>(out, from_double<T>(v));
    }
  }

 private:
  static __device__ __forceinline__ void add_value(running& s, int chain, T x) {
    const value d = to_value<value>(x) - s.centre;
    s.sum[chain] += d;
    s.squares[chain] = fma(d, d, s.squares[chain]);
  }
};

/// Products of floats, in f64.
template <class T>
struct native_product_fold {
  using state = double;
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  static constexpr int items = 16 / item_size, chains = items < 4 ? items : 4;
  struct running {
    double chain[chains];
  };
  __device__ __forceinline__ state identity() const { return 1; }
  __device__ __forceinline__ state combine(state a, state b) const { return a * b; }
  __device__ __forceinline__ running start() const {
    running s;
#pragma unroll
    for (int i = 0; i < chains; ++i) s.chain[i] = 1;
    return s;
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < items; ++i) s.chain[i % chains] *= to_value<double>(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    s.chain[0] *= to_value<double>(x);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    double t = s.chain[0];
#pragma unroll
    for (int i = 1; i < chains; ++i) t *= s.chain[i];
    return t;
  }
  __device__ __forceinline__ void write(state s, std::uint64_t, void* out) const {
    write_as<T>(out, from_double<T>(s));
  }
};

/// Sums, means and products of complex numbers, for plain_fold.
template <class P>
struct native_complex {
  static constexpr bool commutes = true;  // in the order of the launch
  op what;
  struct state {
    double re, im;
  };
  __device__ __forceinline__ state identity() const {
    if (what == op::prod) return {1, 0};
    return {-0.0, -0.0};
  }
  __device__ __forceinline__ state lift(parts<P> x, std::int64_t) const {
    return {static_cast<double>(x.re), static_cast<double>(x.im)};
  }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    if (what != op::prod) return {a.re + b.re, a.im + b.im};
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  __device__ __forceinline__ parts<P> finish(state s, std::int64_t n) const {
    if (what == op::mean) s = {s.re / static_cast<double>(n), s.im / static_cast<double>(n)};
    else if (n == 0 && what == op::sum) s = {0, 0};
    return {from_double<P>(s.re), from_double<P>(s.im)};
  }
};

}  // namespace wf::device::inline WF_BUILD
