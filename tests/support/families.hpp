// SPDX-License-Identifier: Apache-2.0
/// \file families.hpp
/// The data that kernels are tried on, by the names of their families.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <warpfold/detail/exact/format.hpp>
#include <warpfold/half.hpp>

inline const std::vector<std::string>& family_names() {
  static const std::vector<std::string> names{
      "normal",   "bits",     "finite_bits", "subnormals", "huge",    "cancelling", "minus_zeros",
      "zeros",    "sparse",   "one_nan",     "one_inf",    "two_infs", "ties",       "wide",
      "rising",   "falling",  "steps",       "edge",       "runs"};
  return names;
}

/// n elements of a family whose parameters are those of wf::exact::format<T>.
template <class T>
std::vector<T> make_family(const std::string& name, std::uint64_t n, std::uint64_t seed) {
  using f = wf::exact::format<T>;
  using bits = typename f::bits;
  std::mt19937_64 g(seed);
  std::normal_distribution<double> normal;
  const auto random_bits = [&] { return static_cast<bits>(g()); };
  const auto finite = [&] {
    bits b = random_bits();
    while (!f::is_finite(b)) b = random_bits();
    return b;
  };
  const auto of_exponent = [&](int field) {
    return static_cast<bits>((random_bits() & (f::sign_mask | f::mantissa_mask)) |
                             static_cast<bits>(static_cast<bits>(field) << f::mantissa_bits));
  };
  std::vector<bits> v(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    bits& b = v[i];
    b = f::to_bits(T(normal(g)));
    if (name == "bits") b = random_bits();
    if (name == "finite_bits") b = finite();
    if (name == "subnormals") b = static_cast<bits>(random_bits() & (f::sign_mask | f::mantissa_mask));
    if (name == "huge") {  // partial sums overflow, the sum does for some n
      b = static_cast<bits>(f::greatest - (random_bits() & 7));
      if (g() % 3 == 0) b = static_cast<bits>(b | f::sign_mask);
    }
    if (name == "cancelling") {
      b = i % 2 == 1 && i != 1 ? static_cast<bits>(v[i - 1] ^ f::sign_mask) : finite();
    }
    if (name == "layers") {  // runs of 2048 bytes of one exponent each: huge ones, which cancel those of another run, and small ones between
      constexpr std::uint64_t run = 2048 / sizeof(T);
      constexpr int one = f::exponent_field_max / 2;
      b = i / run % 4 == 2 ? static_cast<bits>(v[i - 2 * run] ^ f::sign_mask) : of_exponent(i / run % 2 == 1 ? one : one + one / 2);
    }
    if (name == "minus_zeros") b = f::sign_mask;
    if (name == "zeros") b = g() % 2 == 0 ? f::sign_mask : bits{0};
    if (name == "sparse" && g() % 16 != 0) b = 0;
    if (name == "ties") {  // 1 and halves of its last place, and now and then a crumb
      const int one = f::exponent_field_max / 2;
      const int half_ulp = one - f::mantissa_bits - 1;
      b = static_cast<bits>(static_cast<bits>(i == 0 ? one : half_ulp > 0 ? half_ulp : 0)
                            << f::mantissa_bits);
      if (i > 1) b = g() % 64 == 0 ? bits{1} : bits{0};
    }
    if (name == "neighbours") {  // two numbers next to each other, by turns: the mean of an even number of them is a tie
      b = static_cast<bits>((static_cast<bits>(f::exponent_field_max / 2) << f::mantissa_bits) + (static_cast<bits>(seed * 0x9e3779b97f4a7c15u >> 11) & f::mantissa_mask) + i % 2);
    }
    if (name == "far_crumb") {  // 1, half of its last place, and far below a crumb, of three threads that lose nothing: their sum is no tie, but a double of it is
      constexpr int one = f::exponent_field_max / 2, half = one - f::mantissa_bits - 1, crumb = half - 36;
      const int field = i == 0 ? one : i == 64 ? half : i == 128 ? crumb : 0;
      b = static_cast<bits>(static_cast<bits>(field > 0 ? field : 0) << f::mantissa_bits);
    }
    if (name == "octaves") {  // over 90 powers of 2, fewer of f16: sums in doubles lose some bits, and do not overflow
      constexpr int one = f::exponent_field_max / 2, reach = one < 45 ? one - 1 : 45;
      b = of_exponent(one - reach + static_cast<int>(g() % (2 * reach)));
    }
    if (name == "bands") {  // about 1 and 2^-42 by stretches, each at even places or at odd ones alone, between zeros: doubles that add up both lose bits of the small ones
      constexpr int one = f::exponent_field_max / 2, lower = one > 42 ? one - 42 : 1;
      const bool small = i / 48 % 2 == 0;
      b = i % 2 == (small ? seed : seed / 2) % 2 ? of_exponent(small ? lower : one) : bits{0};
    }
    if (name == "cancelling_octaves") {  // as the last, and all but the first two cancel
      constexpr int one = f::exponent_field_max / 2, reach = one < 45 ? one - 1 : 45;
      b = i % 2 == 1 && i != 1 ? static_cast<bits>(v[i - 1] ^ f::sign_mask) : of_exponent(one - reach + static_cast<int>(g() % (2 * reach)));
    }
    if (name == "grid" || name == "grid_crumbs" || name == "grid_layers") {  // multiples of few bits of about 1: many sums of some hundred and more are ties
      constexpr int digits = f::mantissa_bits - 6, one = f::exponent_field_max / 2, lower = one > 2 * f::mantissa_bits + 6 ? one - 2 * f::mantissa_bits - 6 : 1;
      const double x = std::rint(std::ldexp(normal(g), digits));
      // Now and then a crumb, which decides a tie; or stretches of crumbs alone, between zeros.
      if (name == "grid_layers" && i % 4096 >= 3000) b = 0;
      else if (name == "grid_layers" && i / 4096 % 2 == 1) b = of_exponent(lower);
      else if (name == "grid_crumbs" && g() % 2500 == 0) b = static_cast<bits>(static_cast<bits>(lower) << f::mantissa_bits | (g() % 2 == 0 ? f::sign_mask : bits{0}));
      else b = f::to_bits(T(std::ldexp(x, -digits)));
    }
    if (name == "late_crumb") {  // a tie of two numbers of one size, and far behind them, between zeros, crumbs that decide it
      constexpr int one = f::exponent_field_max / 2, lower = one > 2 * f::mantissa_bits + 6 ? one - 2 * f::mantissa_bits - 6 : 1;
      constexpr bits unit = static_cast<bits>(static_cast<bits>(one) << f::mantissa_bits);
      b = i == 16 ? static_cast<bits>(unit | (1 + seed % 2 * 2)) : i == 17 ? unit : 0;
      if (i % 4096 == 3000) b = static_cast<bits>(static_cast<bits>(lower) << f::mantissa_bits | (seed % 4 / 2 == 0 ? f::sign_mask : bits{0}));
    }
    if (name == "rare_exponent" || name == "unsampled") {  // about 1, and far below it: one in 1000, or all that are not one step of a sample of 2^16 apart
      constexpr int one = f::exponent_field_max / 2;
      const bool in_step = n < 65536 || i % (n / 65536) == 0;
      b = of_exponent(in_step || (name == "rare_exponent" && i % 1000 != 1) ? one : one / 4);
    }
    if (name == "wide") b = of_exponent(static_cast<int>(g() % static_cast<std::uint64_t>(f::exponent_field_max)));
  }
  if (n > 0) {
    const auto at = [&] { return g() % n; };
    const auto nan = static_cast<bits>(f::infinity | 1 | (g() % 2 == 0 ? f::sign_mask : bits{0}));
    const auto minus_inf = static_cast<bits>(f::infinity | f::sign_mask);
    if (name == "one_nan") v[at()] = nan;
    if (name == "one_inf") v[at()] = g() % 2 == 0 ? f::infinity : minus_inf;
    if (name == "two_infs") {
      v[at()] = f::infinity;
      v[at()] = minus_inf;
    }
  }
  // What moves an anchor: sizes that grow, that shrink, that jump; and two that are as far apart as one
  // anchor reaches, give or take.
  constexpr auto fields = static_cast<std::uint64_t>(f::exponent_field_max);
  const int middle = f::exponent_field_max / 2;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (name == "rising") v[i] = of_exponent(static_cast<int>(i * fields / n));
    if (name == "falling") v[i] = of_exponent(static_cast<int>((n - 1 - i) * fields / n));
    if (name == "steps") v[i] = of_exponent(static_cast<int>((i * 40 / n * 7919) % fields));
    // They have one size for as long as warps of small arrays are, and then of another.
    if (name == "runs") v[i] = of_exponent(static_cast<int>((i / 256 * 7919 + 100) % fields));
    if (name == "edge") {
      const int down = middle > 64 ? 25 + static_cast<int>(g() % 12) : 1;
      v[i] = of_exponent(g() % 8 == 0 ? middle : middle - down);
    }
  }
  std::vector<T> x(n);
  for (std::uint64_t i = 0; i < n; ++i) x[i] = f::from_bits(v[i]);
  return x;
}
