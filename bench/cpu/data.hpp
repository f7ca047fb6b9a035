// SPDX-License-Identifier: Apache-2.0
/// \file data.hpp
/// What the benchmarks reduce, and what the answers must be. A million numbers and seven are made and
/// repeated, so that filling memory takes as long as copying it, and the exact core, which adds them
/// one by one to be the judge, need not see them twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <warpfold/detail/exact/products.hpp>
#include <warpfold/warpfold.hpp>

namespace bench {

/// Beyond any cache that a machine has: 1 GiB of every type (WARPFOLD_BENCH_MIB for another size).
inline std::size_t dram_bytes() {
  const char* text = std::getenv("WARPFOLD_BENCH_MIB");
  return (text != nullptr ? std::strtoull(text, nullptr, 10) : 1024) << 20;
}

/// `other…`: a second array, for dot. Random bits may be infinite or NaN; tiny numbers are normal data times 2^-1000 (f64)
/// or 2^-120 (f32).
enum class family { normal, random_bits, finite_bits, tiny, subnormal, other, other_finite_bits };
inline constexpr int families = 7;
constexpr bool is_of_bits(family k) {
  return k == family::random_bits || k == family::finite_bits || k == family::other_finite_bits;
}

inline constexpr std::size_t period = (1 << 20) + 7;

template <class T, class Random>
T number(family k, Random& random, std::normal_distribution<double>& gauss) {
  using format = wf::exact::format<T>;
  using bits = typename format::bits;
  if (k == family::tiny) return static_cast<T>(std::ldexp(gauss(random), sizeof(T) == 8 ? -1000 : -120));
  if (k == family::subnormal) return format::from_bits(static_cast<bits>(random() & (format::mantissa_mask | format::sign_mask)));
  if (!is_of_bits(k)) return static_cast<T>(gauss(random));
  auto b = static_cast<bits>(random());
  while (k != family::random_bits && !format::is_finite(b)) b = static_cast<bits>(random());
  return format::from_bits(b);
}

template <class T>
const std::vector<T>& numbers(family k) {
  static std::vector<T> made[families];
  auto& some = made[static_cast<int>(k)];
  if (!some.empty()) return some;
  std::mt19937_64 random(1 + static_cast<unsigned>(k));
  std::normal_distribution<double> gauss;
  some.resize(period);
  for (T& s : some) s = number<T>(k, random, gauss);
  return some;
}

/// n numbers. An array of each family is held for every float type, so that benchmarks may take turns.
/// Integers are the bytes of the f64s.
template <class T>
std::span<const T> data(family k, std::size_t n) {
  if constexpr (wf::integer<T>) {
    const std::span<const double> x = data<double>(k, n * sizeof(T) / sizeof(double));
    return {reinterpret_cast<const T*>(x.data()), n};
  } else {
    struct place {
      std::unique_ptr<std::byte[]> memory;
      std::size_t bytes = 0, filled = 0;
    };
    static std::map<family, place>& places = *new std::map<family, place>;  // those of T
    place& p = places[k];
    const auto& some = numbers<T>(k);
    const std::size_t bytes = n * sizeof(T);
    if (p.bytes < bytes) {
      p.memory.reset();
      p.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
      p.bytes = bytes;
      p.filled = 0;
    }
    if (p.filled < bytes) {
      for (std::size_t at = 0; at < bytes; at += period * sizeof(T))
        std::memcpy(p.memory.get() + at, some.data(), std::min(period * sizeof(T), bytes - at));
      p.filled = bytes;
    }
    return {reinterpret_cast<const T*>(p.memory.get()), n};
  }
}

/// A state of the first n numbers: add(state, i) adds number i of a period.
template <class State, class Add>
State judged(std::size_t n, Add add) {
  State all = State::identity(), once = State::identity();
  for (std::size_t i = 0; i < std::min(n, period); ++i) {
    if (i < n % period) add(all, i);
    if (n >= period) add(once, i);
  }
  if (n < period) return all;
  once.normalise();
  for (std::size_t k = 0; k < n / period; ++k) {
    all.merge(once);
    all.normalise();
  }
  return all;
}

template <class T>
wf::exact::sum_state<T> judge_sum(family k, std::size_t n) {
  const auto& x = numbers<T>(k);
  return judged<wf::exact::sum_state<T>>(n, [&](auto& s, std::size_t i) { s.add(x[i]); });
}
template <class T>
wf::exact::dot_state<T> judge_dot(family k, family l, std::size_t n) {
  const auto &x = numbers<T>(k), &y = numbers<T>(l);
  return judged<wf::exact::dot_state<T>>(n, [&](auto& s, std::size_t i) { s.add(x[i], y[i]); });
}
template <class T>
wf::exact::squares_state<T> judge_squares(family k, std::size_t n) {
  const auto& x = numbers<T>(k);
  return judged<wf::exact::squares_state<T>>(n, [&](auto& s, std::size_t i) { s.add(x[i]); });
}
template <class T>
wf::exact::moments_state<T> judge_moments(family k, std::size_t n) {
  const auto& x = numbers<T>(k);
  return judged<wf::exact::moments_state<T>>(n, [&](auto& s, std::size_t i) { s.add(x[i]); });
}

/// Is an inexact answer right? `scale` is the sum of what was added, without signs.
template <class T>
bool near(double got, double want, double scale) {
  return std::fabs(got - want) <= scale * (sizeof(T) == 8 ? 1e-12 : 1e-5);
}
/// Sum of magnitudes, to compare with.
template <class T>
double magnitude(family k, std::size_t n) {
  const auto& x = numbers<T>(k);
  double sum = 0;
  for (const T v : x) sum += std::fabs(static_cast<double>(v));
  return sum * static_cast<double>(n) / static_cast<double>(period) + 1;
}

}  // namespace bench
