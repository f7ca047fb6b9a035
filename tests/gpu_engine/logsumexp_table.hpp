// SPDX-License-Identifier: Apache-2.0
/// \file logsumexp_table.hpp
/// logsumexp of awkward data of every real type, on any machine, against long doubles.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../support/effort.hpp"
#include "../support/bytes.hpp"
#include "machine.hpp"

/// Elements as they lie in memory: bool as bytes.
template <class T>
double exact_logsumexp(const std::vector<T>& x) {
  long double largest = -INFINITY, sum = 0;
  for (const T v : x) {
    const auto w = static_cast<long double>(static_cast<double>(v));
    if (std::isnan(w)) return NAN;
    if (w > largest) largest = w;
  }
  if (std::isinf(largest)) return static_cast<double>(largest);
  for (const T v : x) sum += std::exp(static_cast<long double>(static_cast<double>(v)) - largest);
  return static_cast<double>(largest + std::log(sum));
}

template <class T>
void check_logsumexp(const machine& m, const wf::device_place& place, wf::dtype t, const std::vector<T>& x,
                     const std::string& what, std::int64_t skipped = 0, std::int64_t stride = 1) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> laid(static_cast<std::size_t>(skipped + n * stride + 1));
  for (std::int64_t i = 0; i < n; ++i) laid[static_cast<std::size_t>(skipped + i * stride)] = x[static_cast<std::size_t>(i)];
  auto* in = static_cast<unsigned char*>(m.allocate(laid.size() * sizeof(T)));
  void* out = m.allocate(8);
  ASSERT_EQ(m.upload(in, laid.data(), laid.size() * sizeof(T)), "");
  const unsigned char* first = in + static_cast<std::size_t>(skipped) * sizeof(T);
  m.library->run({wf::op::logsumexp, t, wf::accuracy::exact, {}, {first, nullptr}, {stride, stride}, n, out},
                 place.scratch(), place.stream());
  const auto answer = [&]<class R>(R r) {
    EXPECT_EQ(m.download(&r, out, sizeof r), "");
    return static_cast<double>(r);
  };
  double got, bound = 0x1p-46;  // 128 roundings of the sum
  if constexpr (wf::floating<T> && sizeof(T) < 8) {
    got = answer(T{});
    bound = 0x1p-19;  // exp in f32, and sums of 8 of them
  } else {
    got = answer(double{});
  }
  m.free(in);
  m.free(out);
  const double want = exact_logsumexp(x);
  const std::string all = std::string(wf::info(t).name) + ", " + what + ", n = " + std::to_string(n);
  if (!std::isfinite(want)) {
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << all << ": " << got << ", not " << want;
    return;
  }
  const int bits = t == wf::dtype::f16 ? 10 : t == wf::dtype::bf16 ? 7 : t == wf::dtype::f32 ? 23 : 52;
  ASSERT_NEAR(got, want, bound + 2 * std::ldexp(std::fabs(want), -bits)) << all;
}

/// What all types are asked.
template <class T>
void check_logsumexp_of_numbers(const machine& m, const wf::device_place& place, wf::dtype t, double low, double high) {
  static wf::test::some_of_all chosen;
  const auto ask = [&](std::int64_t n, const std::string& what, auto element, std::int64_t skipped = 0,
                       std::int64_t stride = 1) {
    if (n > 33 && !chosen()) return;
    std::vector<T> x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<T>(element(i));
    check_logsumexp(m, place, t, x, what, skipped, stride);
  };
  std::mt19937_64 g(3);
  const auto within = [&](double a, double b) {
    return std::floor(a + static_cast<double>(g() >> 11) * 0x1p-53 * (b - a + 1));
  };
  const double width = std::min(high - low, 3000.0), top = std::min(high, std::max(low, 0.0) + width);
  for (const std::int64_t n : {0, 1, 3, 33, 20011}) {
    for (const double v : {low, low + 1, 0.0, 1.0, high - 1, high})
      if (v >= low && v <= high) ask(n, "all " + std::to_string(v), [&](std::int64_t) { return v; });
    ask(n, "least and greatest", [&](std::int64_t i) { return i % 2 == 0 ? low : high; });
    ask(n, "the greatest last", [&](std::int64_t i) { return i + 1 == n ? high : low; });
    for (const double d : {1, 30, 94, 95, 708, 709, 2000})
      if (d <= width)
        ask(n, "one among many " + std::to_string(d) + " below", [&](std::int64_t i) { return i == n / 3 ? top : top - d; });
    ask(n, "rising", [&](std::int64_t i) { return top - width + static_cast<double>(i) * width / static_cast<double>(n); });
    ask(n, "falling", [&](std::int64_t i) { return top - static_cast<double>(i) * width / static_cast<double>(n); });
    const double narrow = std::min(width, 20.0);
    ask(n, "close to each other", [&](std::int64_t) { return within(top - narrow, top); }, 1);
    ask(n, "far from each other", [&](std::int64_t) { return within(top - width, top); }, 3);
    ask(n, "with gaps", [&](std::int64_t) { return within(top - width, top); }, 1, 2);
  }
  // One block, whose threads have four packs each: two of the largest, then two that lie below.
  const auto n = static_cast<std::int64_t>(2048 * 16 / sizeof(T));
  const double most = low < 0 ? 0 : top;
  for (const double d : {1, 25, 31})
    if (d <= width)
      ask(n, "half of them " + std::to_string(d) + " below", [&](std::int64_t i) { return 2 * i < n ? most : most - d; });
}

template <class T>
void check_logsumexp_of_specials(const machine& m, const wf::device_place& place, wf::dtype t) {
  const auto number = [](double v) { return static_cast<T>(v); };
  const double lowest = t == wf::dtype::f16   ? -65504.0
                        : t == wf::dtype::f64 ? std::numeric_limits<double>::lowest()
                                              : std::ldexp(-1.0, 127);
  static wf::test::some_of_all chosen;
  for (const std::int64_t n : {1, 3, 20011}) {
    for (const double rest : {0.0, 3.5, double{INFINITY}, -double{INFINITY}, lowest, -lowest}) {
      for (const double one : {double{NAN}, double{INFINITY}, -double{INFINITY}, lowest, -lowest}) {
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
          if (n > 3 && !chosen()) continue;
          std::vector<T> x(static_cast<std::size_t>(n), number(rest));
          x[static_cast<std::size_t>(at)] = number(one);
          const auto what = std::to_string(one) + " at " + std::to_string(at) + " among " + std::to_string(rest);
          check_logsumexp(m, place, t, x, what);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
    std::vector<T> x(static_cast<std::size_t>(n), number(1));
    x[0] = number(INFINITY);
    x[static_cast<std::size_t>(n - 1)] = number(NAN);
    check_logsumexp(m, place, t, x, "+inf and a NaN");
    x[static_cast<std::size_t>(n - 1)] = number(-INFINITY);
    check_logsumexp(m, place, t, x, "+inf and -inf");
  }
}

inline void check_logsumexp_of(const machine& m, const wf::device_place& place, wf::dtype t) {
  const auto integers = [&]<class T>(T) {
    using limits = std::numeric_limits<T>;
    check_logsumexp_of_numbers<T>(m, place, t, static_cast<double>(limits::min()), static_cast<double>(limits::max()));
    std::vector<T> x(static_cast<std::size_t>(wf::test::trials(1 << 20)));
    std::mt19937_64 g(9);
    for (auto& v : x) v = static_cast<T>(g());
    check_logsumexp(m, place, t, x, "any bits");
  };
  const auto floats = [&]<class T>(T, double most) {
    check_logsumexp_of_numbers<T>(m, place, t, -most, most);
    check_logsumexp_of_specials<T>(m, place, t);
  };
  switch (t) {
    case wf::dtype::i8: return integers(std::int8_t{});
    case wf::dtype::u8: return integers(std::uint8_t{});
    case wf::dtype::i16: return integers(std::int16_t{});
    case wf::dtype::u16: return integers(std::uint16_t{});
    case wf::dtype::i32: return integers(std::int32_t{});
    case wf::dtype::u32: return integers(std::uint32_t{});
    case wf::dtype::boolean: return check_logsumexp_of_numbers<std::uint8_t>(m, place, t, 0, 1);
    case wf::dtype::f16: return floats(wf::f16{}, 2048);  // whole numbers up to it
    case wf::dtype::bf16: return floats(wf::bf16{}, 256);
    case wf::dtype::f32: return floats(float{}, 3000);
    case wf::dtype::f64: return floats(double{}, 1e15);
    default: break;
  }
  // Those of 64 bits as whole doubles, which the oracle takes.
  if (t == wf::dtype::i64) check_logsumexp_of_numbers<std::int64_t>(m, place, t, -0x1p53, 0x1p53);
  if (t == wf::dtype::u64) check_logsumexp_of_numbers<std::uint64_t>(m, place, t, 0, 0x1p53);
}

inline constexpr wf::dtype real_dtypes[] = {
    wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8,  wf::dtype::i16,    wf::dtype::i32,
    wf::dtype::i64, wf::dtype::u8,   wf::dtype::u16, wf::dtype::u32, wf::dtype::u64, wf::dtype::boolean};
