// SPDX-License-Identifier: Apache-2.0
/// \file integer_moments.cuh
/// mean, var, std and norm2 of integers, from exact sums, by one thread: first in pairs of doubles with a bound on what they lose, which decides
/// nearly all answers; else in integers of many words.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/certified.hpp>
#include <warpfold/detail/exact/rational.hpp>
#include <warpfold/operations.hpp>
#include <warpfold/rounding.hpp>

namespace wf::device::inline WF_BUILD {

/// The answer of few small elements, to nearest: a quotient or a root of whole numbers that doubles hold. `sum` and `squares` are those of n elements below 2^15; where `lifted` is not negative,
/// these were x - 2^lifted. False: there is no such answer.
/// A function of its own, and not inlined, since integer_moments::answer saves registers of its caller: some hundred bytes of each of a device's threads are more than L2 holds.
inline __device__ __attribute__((noinline)) bool answer_few(op what, std::uint64_t n, int lifted, std::int64_t sum, std::uint64_t squares, std::int64_t correction, double* out) {
  using namespace exact::certified;
  if (n == 0 || n >> 20 != 0) return false;
  if (lifted >= 0) {
    squares += (static_cast<std::uint64_t>(sum) << (lifted + 1)) + (n << (2 * lifted));
    sum += static_cast<std::int64_t>(n << lifted);
  }
  if (what == op::mean) {
    *out = static_cast<double>(sum) / static_cast<double>(n);
    return true;
  }
  if (squares >> 43 != 0) return false;
  if (what == op::norm2) {
    *out = square_root(static_cast<double>(squares));
    return true;
  }
  const auto less = static_cast<std::int64_t>(n - static_cast<std::uint64_t>(correction));  // a correction of -2^63 makes it less than 0, and there is none
  const std::uint64_t above = squares * n - static_cast<std::uint64_t>(sum * sum), below = n * static_cast<std::uint64_t>(less);
  if (less <= 0 || less >> 31 != 0 || above >> 53 != 0) return false;
  const double a = static_cast<double>(above), b = static_cast<double>(below), q = a / b;
  if (what != op::std_dev) {
    *out = q;
    return true;
  }
  return certain(root({q, multiply_add(-q, b, a) / b, multiply(q, 0x1p-104)}), wf::rounding::nearest, *out);
}

/// Σx in two's complement of 128 bits and Σx² in 192, the least word first.
struct integer_moments {
  std::uint64_t sum[2], squares[3];

  /// Becomes the sums of x + 2^by, for n elements.
  __device__ __forceinline__ void lift(int by, std::uint64_t n) {
    const exact::u128 s = whole_sum(), add = exact::u128{n} << by;
    // 2^(by + 1)·Σx with its sign, and n·2^(2·by).
    const exact::u128 low = s << (by + 1), square = 2 * by < 64 ? exact::u128{n} << (2 * by) : exact::u128{n << (2 * by - 64)} << 64;
    const auto high = static_cast<std::uint64_t>(static_cast<std::int64_t>(sum[1]) >> (63 - by));
    const std::uint64_t above = 2 * by < 64 ? 0 : n >> 1 >> (127 - 2 * by);
    const exact::u128 first = low + square, all = first + (exact::u128{squares[1]} << 64 | squares[0]);
    squares[2] += high + above + (first < low ? 1 : 0) + (all < first ? 1 : 0);
    squares[0] = static_cast<std::uint64_t>(all);
    squares[1] = exact::upper_word(all);
    sum[0] = static_cast<std::uint64_t>(s + add);
    sum[1] = exact::upper_word(s + add);
  }

  /// The answer of n elements; of mean_var two. Where `lifted` is not negative, elements were x - 2^lifted. Not inlined: a kernel that asks several times has the
  /// code once (each kernel that asks has it, since ptxas copies what it calls). Squares: other answers than means may be asked for; otherwise their code is left out.
  template <bool Squares = true>
  __device__ __attribute__((noinline)) void answer(op what, std::uint64_t n, int lifted, wf::rounding mode, std::int64_t correction, double* out) const {
    integer_moments m = *this;
    if (lifted >= 0) m.lift(lifted, n);
    if constexpr (!Squares) what = op::mean;
    const bool both = Squares && what == op::mean_var;
#pragma unroll 1
    for (int k = 0; k < (both ? 2 : 1); ++k) {
      const op one = !Squares ? op::mean : !both ? what : k == 0 ? op::mean : op::var;
      double number = 0;
      if (!m.quickly(one, n, mode, correction, number)) number = m.slowly(one, n, mode, correction);
      out[k] = number;
    }
  }

 private:
  __device__ __forceinline__ exact::u128 whole_sum() const { return exact::u128{sum[1]} << 64 | sum[0]; }

  /// A whole number as a pair of doubles: itself where it is below 2^106.
  static __device__ __forceinline__ exact::certified::known known_of_words(const std::uint64_t (&w)[3]) {
    using namespace exact::certified;
    pair p{static_cast<double>(w[2] >> 32) * 0x1p160, 0};
#pragma unroll
    for (int k = 4; k >= 0; --k) p.add_term(static_cast<double>(static_cast<std::uint32_t>(w[k / 2] >> (32 * (k % 2)))) * power(32 * k));
    const bool fits = w[2] == 0 && w[1] >> 42 == 0;
    return known_of(p, fits ? 0.0 : multiply(p.s, 0x1p-100));
  }
  /// n·Σx² - (Σx)², of fewer than 2^32 elements.
  __device__ __forceinline__ void spread(std::uint64_t n, std::uint64_t (&d)[3]) const {
    const exact::u128 s = whole_sum(), m = (sum[1] >> 63) != 0 ? ~s + 1 : s;
    const std::uint64_t low = static_cast<std::uint64_t>(m), high = exact::upper_word(m);  // below 2^32
    const exact::u128 a = exact::u128{low} * low, b = exact::u128{low} * high << 1;
    const exact::u128 middle = exact::u128{exact::upper_word(a)} + static_cast<std::uint64_t>(b);
    const std::uint64_t top = exact::upper_word(middle) + exact::upper_word(b) + high * high;
    const exact::u128 p = exact::u128{squares[0]} * n, q = exact::u128{squares[1]} * n + exact::upper_word(p);
    const exact::u128 first = (exact::u128{static_cast<std::uint64_t>(q)} << 64) | static_cast<std::uint64_t>(p);
    const exact::u128 second = (exact::u128{static_cast<std::uint64_t>(middle)} << 64) | static_cast<std::uint64_t>(a);
    d[0] = static_cast<std::uint64_t>(first - second);
    d[1] = exact::upper_word(first - second);
    d[2] = squares[2] * n + exact::upper_word(q) - top - (first < second ? 1 : 0);
  }
  __device__ __forceinline__ bool quickly(op what, std::uint64_t n, wf::rounding mode, std::int64_t correction, double& out) const {
    using namespace exact::certified;
    if (n == 0 || n >> 32 != 0) return false;
    std::uint64_t w[3] = {squares[0], squares[1], squares[2]};
    const bool negative = what == op::mean && (sum[1] >> 63) != 0;
    if (what == op::mean) {
      const exact::u128 s = whole_sum(), m = negative ? ~s + 1 : s;
      w[0] = static_cast<std::uint64_t>(m);
      w[1] = exact::upper_word(m);
      w[2] = 0;
    } else if (what != op::norm2) {
      if (static_cast<std::int64_t>(n) <= correction) return false;
      spread(n, w);
    }
    known k = known_of_words(w);
    if (negative) k = {-k.h, -k.l, k.error};
    if (what != op::norm2) {
      const std::uint64_t less = what == op::mean ? 1 : n - static_cast<std::uint64_t>(correction);
      const bool at_once = (n | less) >> 26 == 0;
      k = divided(k, at_once ? n * less : n);
      if (!at_once && what != op::mean) k = divided(k, less);
    }
    return certain(what == op::std_dev || what == op::norm2 ? root(k) : k, mode, out);
  }
  __device__ __forceinline__ double slowly(op what, std::uint64_t n, wf::rounding mode, std::int64_t correction) const {
    using f = exact::format<double>;
    const bool spreads = what == op::var || what == op::std_dev;
    if (n == 0 && what != op::norm2) return f::from_bits(f::quiet_nan);
    if (spreads && static_cast<std::int64_t>(n) <= correction) return f::from_bits(f::quiet_nan);
    const exact::u128 whole = whole_sum();
    const bool negative = what == op::mean && (sum[1] >> 63) != 0;
    const exact::u128 m = (sum[1] >> 63) != 0 ? ~whole + 1 : whole;
    exact::natural<4> first;
    exact::natural<6> second;
#pragma unroll
    for (int k = 0; k < 4; ++k) first.limb[k] = static_cast<std::uint32_t>(m >> (32 * k));
#pragma unroll
    for (int k = 0; k < 6; ++k) second.limb[k] = static_cast<std::uint32_t>(squares[k / 2] >> (32 * (k % 2)));
    exact::natural<8> of;  // what is asked of: each step behind it is there once
    if (spreads) {
      of = second.times(n).minus(first.squared());
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) of.limb[k] = what == op::mean ? (k < 4 ? first.limb[k % 4] : 0) : (k < 6 ? second.limb[k % 6] : 0);
    }
    exact::window w = exact::window::of(of, 0);
#pragma unroll 1
    for (int k = 0; k < (what == op::norm2 ? 0 : spreads ? 2 : 1); ++k) w.divide(exact::divisor::of(k == 0 ? n : n - static_cast<std::uint64_t>(correction)));
    const exact::scaled s = what == op::norm2 || what == op::std_dev ? exact::root(w) : exact::leading_bits(w, negative);
    return f::from_bits(exact::pack<exact::ieee_f64>(s, mode));
  }
};

}  // namespace wf::device::inline WF_BUILD
