// SPDX-License-Identifier: Apache-2.0
/// \file certified_answer.cuh
/// The first try at an answer by one thread of a kernel, where each operation adds to the kernel's time: rounding to nearest, and quotients by
/// reciprocals that the host made. It decides for most data; all others, ties among them, go to certified::answer().
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/certified.hpp>

namespace wf::device::inline WF_BUILD {

namespace certified = exact::certified;

/// 1/n, and 1/(n·(n - correction)) where that is positive, each as a sum of two doubles with a relative error of 2^-100.
struct reciprocals {
  double n[2], spread[2];
  double lost;  ///< the relative error of a product with n[0] + n[1]: 0 where n is a power of two

  static WF_HD reciprocals of(std::uint64_t n, std::int64_t correction) {
    reciprocals r{};
    if (n == 0 || n >> 53 != 0) return r;  // zeros: nothing is certain
    one_over(n, r.n);
    r.lost = r.n[1] == 0 ? 0 : 0x1p-98;
    const auto rest = n - static_cast<std::uint64_t>(correction);
    if (static_cast<std::int64_t>(n) <= correction || rest >> 53 != 0) return r;
    double by_rest[2];
    one_over(rest, by_rest);
    r.spread[0] = r.n[0] * by_rest[0];
    r.spread[1] = certified::multiply_add(r.n[0], by_rest[0], -r.spread[0]) + (r.n[0] * by_rest[1] + r.n[1] * by_rest[0]);
    return r;
  }

 private:
  static WF_HD void one_over(std::uint64_t n, double (&r)[2]) {
    const auto d = static_cast<double>(n);
    r[0] = 1 / d;
    r[1] = certified::multiply_add(-r[0], d, 1) / d;
  }
};

/// The bounds of certified.hpp for terms below 1: they are multiplied by 2^top, or by a sum of squares.
struct loss_factors {
  double pairs, products, squares, underflow;
  int pair_bits;  ///< nothing is lost where top + bits - unit <= 53
  double anchored = 0;  ///< for anchored moments: what Σx² loses in threads, to be multiplied by 2^(2·top)

  /// The factors for n numbers (a complex element has two) in chains of `length` additions.
  template <bool Wide>
  static loss_factors of(std::uint64_t n, std::uint64_t length, bool chains) {
    constexpr int far = -4096;
    const std::uint64_t paired = chains ? 1 : length;
    return {certified::loss_of_pairs({0, far, true}, paired, n),
            certified::loss_of_products(0, length, n),
            Wide ? certified::loss_of_squares(1, length, n) : certified::loss_of_narrow_squares(1, length),
            static_cast<double>(n) * certified::underflow,
            certified::log2_of(n) + certified::log2_of(paired + static_cast<std::uint64_t>(certified::merges)) - 53};
  }
  /// The factors for moments of n numbers that threads add in anchored segments of 2^bits, at most `segments` one after the other; there is room for `slots` numbers.
  static loss_factors of_anchored(std::uint64_t n, std::uint64_t segments, std::uint64_t slots, int bits) {
    loss_factors f = of<true>(n, segments, false);
    f.pairs = certified::add(f.pairs, certified::loss_of_anchored_sums(slots, bits));
    f.anchored = certified::loss_of_anchored_squares(slots, bits);
    const int least = certified::anchor_spare + 2 * bits - 46;  // what threads keep of lost parts
    if (f.pair_bits < least) f.pair_bits = least;
    return f;
  }
};

/// h + l rounded, if all within `error` of it rounds alike.
template <class Out>
__device__ __forceinline__ bool round_quickly(double h, double l, double error, Out& out, int scale = 0) {
  using namespace certified;
  const double m = magnitude(h);
  if constexpr (sizeof(Out) == 8) {
    const double e = add(multiply(1 + 0x1p-20, error), multiply(0x1p-50, magnitude(l)));
    out = multiply(h, power(scale));  // what overflows here, overflows
    if (!(m > 0x1p-900 && m < 0x1p1020)) return false;
    return error == 0 || (add(h, subtract(l, e)) == h && add(h, add(l, e)) == h);  // h is nearest to an exact sum, ties too
  } else {
    using f = exact::format<Out>;
    // What h alone is, is converted as it is: ties.
    const double e = error == 0 && l == 0 ? 0 : add(multiply(1 + 0x1p-20, error), multiply(0x1p-51, m));
    const auto low = __builtin_bit_cast(std::uint32_t, static_cast<float>(add(h, subtract(l, e))));
    const auto high = __builtin_bit_cast(std::uint32_t, static_cast<float>(add(h, add(l, e))));
    if (!(e < power(1024)) || !(m > (f::exponent_bits == 8 ? 0x1p-120 : 0x1p-13) && m < (f::exponent_bits == 8 ? 0x1p126 : 0x1p15))) return false;
    if constexpr (sizeof(Out) == 4) {
      if (low != high) return false;
      out = f::from_bits(low);
    } else {
      // Both rounded once more: what is between them rounds so too, unless a first rounding ended between two numbers of Out.
      constexpr int drop = 23 - f::mantissa_bits, bias = 127 - ((1 << (f::exponent_bits - 1)) - 1);
      constexpr std::uint32_t half = 1u << (drop - 1), mask = (1u << drop) - 1;
      const std::uint32_t kept = ((low & 0x7fffffffu) + half) >> drop;
      if ((low & mask) == half || (high & mask) == half || (low ^ high) >> 31 != 0 || ((high & 0x7fffffffu) + half) >> drop != kept) return false;
      out = f::from_bits(static_cast<typename f::bits>((low >> 31 << 15) | (kept - (static_cast<std::uint32_t>(bias) << f::mantissa_bits))));
    }
    return true;
  }
}

/// A number times a reciprocal, whose relative error is `lost`.
__device__ __forceinline__ certified::known times_reciprocal(const certified::known& a, const double (&r)[2], double lost) {
  using namespace certified;
  const double p = multiply(a.h, r[0]);
  const double low = add(multiply_add(a.h, r[0], -p), multiply_add(a.h, r[1], multiply(a.l, r[0])));
  const double h = add(p, low), l = subtract(low, subtract(h, p));
  return {h, l, multiply_add(multiply(a.error, r[0]), 1 + 0x1p-40, multiply(magnitude(p), lost)), a.scale};
}

/// n·Σ|x|² - Σ(Σx)² as a double and its error: enough for narrow answers.
template <int Parts>
__device__ __forceinline__ certified::known narrow_spread(const certified::known (&sum)[Parts], const certified::known& squares,
                                                          double n) {
  using namespace certified;
  double d = multiply(n, squares.h), error = add(multiply(multiply(n, squares.error), 1.125), multiply(d, 0x1p-50));
#pragma unroll
  for (int i = 0; i < Parts; ++i) {
    const double m = magnitude(sum[i].h);
    d = multiply_add(-sum[i].h, sum[i].h, d);
    error = add(error, multiply(add(multiply(3, m), sum[i].error), add(sum[i].error, multiply(m, 0x1p-51))));
  }
  return {d, 0, error};
}

/// n·Σ|x|² - Σ(Σx)² as certified::spread() has it, in a fifth of the steps that wait for one another. With p = n·Σ|x|², which no Σ(Σx)² exceeds by more than its rounding,
/// p and (Σx)² are exact as two doubles each, the difference of the first ones is exact as two, and what is rounded or dropped of the rest is below 30u²p (docs/exact.md).
template <int Parts>
__device__ __forceinline__ certified::known wide_spread(const certified::known (&sum)[Parts], const certified::known& squares, double n) {
  using namespace certified;
  const double p = multiply(n, squares.h);
  double d = p, low = multiply_add(n, squares.h, -p), rest = multiply(n, squares.l), lost = 0;
  double error = add(multiply(multiply(n, squares.error), 1 + 0x1p-40), multiply(32 * Parts * uu, p));
#pragma unroll
  for (int i = 0; i < Parts; ++i) {
    const double h = sum[i].h, r = multiply(h, h), t = subtract(d, r);
    lost = add(lost, subtract(subtract(d, t), r));
    low = subtract(low, multiply_add(h, h, -r));
    rest = multiply_add(-2 * h, sum[i].l, rest);
    error = add(error, multiply(multiply(2.01, add(magnitude(h), sum[i].error)), sum[i].error));
    d = t;
  }
  low = add(lost, add(low, rest));
  const double h = add(d, low), l = subtract(low, subtract(h, d));
  const bool sure = p > 0x1p-900 && p < 0x1p1000 && error <= multiply(0.25, h);
  return sure ? known{h, l, error} : uncertain();
}

/// Does what certified::answer() does, for questions about sums alone, squares alone, or either: code for other questions is left out.
template <int Parts, bool Sums = true, bool Squares = true, class Out>
__device__ __forceinline__ bool answer_quickly(op what, const certified::known (&sum)[Parts], const certified::known& squares,
                                               std::uint64_t n, const reciprocals& by, Out* out) {
  using namespace certified;
  const bool spreads = Sums && Squares && (what == op::var || what == op::std_dev || what == op::mean_var);
  Out to[Parts + 1];
  bool sure = n != 0 && by.n[0] != 0;
  int count = 0;
  if (Squares && (!Sums || what == op::norm2 || what == op::sum_of_squares)) {
    known k = squares;
    if (what == op::norm2) k = sizeof(Out) < 8 ? known{square_root(k.h), 0, 0} : root(k);
    // |√(x + e) - √x| <= e/√x, and what is lost of the low half of x is below 2^-52 of x.
    if (what == op::norm2 && sizeof(Out) < 8) k.error = multiply(k.h, add(squares.error / squares.h, 0x1p-51));
    sure = round_quickly(k.h, k.l, k.error, to[0]) && sure;
    count = 1;
  } else {
    if (!spreads || what == op::mean_var) {
      count = Parts;
#pragma unroll
      for (int i = 0; i < Parts; ++i) {
        const known k = what == op::mean || spreads ? times_reciprocal(sum[i], by.n, by.lost) : sum[i];
        sure = round_quickly(k.h, k.l, k.error, to[i], k.scale) && sure;
      }
    }
    if (spreads) {
      known k;
      if constexpr (sizeof(Out) < 8) k = narrow_spread<Parts>(sum, squares, static_cast<double>(n));
      else k = wide_spread<Parts>(sum, squares, static_cast<double>(n));
      k = times_reciprocal(k, by.spread, 0x1p-98);
      if (what == op::std_dev) {
        const double r = square_root(k.h);
        k = sizeof(Out) < 8 ? known{r, 0, multiply(r, add(multiply(2, k.error) / k.h, 0x1p-51))} : root(k);
      }
      Out& answer = to[count == 0 ? 0 : Parts];
      bool found = k.h > 0 && round_quickly(k.h, k.l, k.error, answer);
      if (n == 1) {  // for one number that is finite it is 0
        answer = exact::format<Out>::from_bits(0);
        found = true;
#pragma unroll
        for (int i = 0; i < Parts; ++i) found = found && sum[i].usable();
      }
      sure = found && by.spread[0] != 0 && sure;
      ++count;
    }
  }
  if (!sure) return false;
#pragma unroll
  for (int i = 0; i < Parts + 1; ++i) {
    if (i < count) out[i] = to[i];
  }
  return true;
}

}  // namespace wf::device::inline WF_BUILD
