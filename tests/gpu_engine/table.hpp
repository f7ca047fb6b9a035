// SPDX-License-Identifier: Apache-2.0
/// \file table.hpp
/// One table of operations × types × accuracies × data × shapes, on any machine, against the CPU: byte for
/// byte where the answer is defined by the input alone, within an error bound where it is native.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "../support/bytes.hpp"
#include "machine.hpp"
#include "table_ops.hpp"

/// A native answer against the true one.
inline void check_native(wf::op o, wf::dtype t, const std::string& family, const strided& x, const strided& y,
                         const wf::options& options, const std::vector<unsigned char>& got, const std::string& what) {
  const auto want = cpu_answer(o, t, wf::accuracy::exact, options, x, y);
  const std::string fault = native_fault(o, t, family, x, y, want, got);
  ASSERT_TRUE(fault.empty()) << what << ": " << fault;
}

/// Uploaded inputs and a place for answers.
class device_inputs {
 public:
  device_inputs(const machine& m, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y)
      : m_(m), x_(m.allocate(x.size() + 1)), y_(m.allocate(y.size() + 1)), out_(m.allocate(64)) {
    EXPECT_EQ(m.upload(x_, x.data(), x.size()), "");
    EXPECT_EQ(m.upload(y_, y.data(), y.size()), "");
  }
  ~device_inputs() {
    m_.free(x_);
    m_.free(y_);
    m_.free(out_);
  }
  device_inputs(const device_inputs&) = delete;
  device_inputs& operator=(const device_inputs&) = delete;
  const unsigned char* x() const { return static_cast<const unsigned char*>(x_); }
  const unsigned char* y() const { return static_cast<const unsigned char*>(y_); }
  void* out() const { return out_; }

 private:
  const machine& m_;
  void *x_, *y_, *out_;
};

/// One cell of the table, for the given data.
inline void check_cell(const machine& m, const wf::device_place& place, wf::op o, wf::dtype t, wf::accuracy a,
                       const std::string& family, const layout& s, const device_inputs& in,
                       const std::vector<unsigned char>& x, const std::vector<unsigned char>& y,
                       const wf::options& options, bool checked = false) {
  const auto size = static_cast<std::int64_t>(wf::info(t).size);
  const std::string what = (checked ? "checked " : "") + name_of(o, t, a, family, s);
  const std::int64_t first = s.skipped + (s.stride < 0 ? -s.stride * std::max<std::int64_t>(s.n - 1, 0) : 0);
  const strided hx{x.data() + first * size, s.n, s.stride}, hy{y.data() + first * size, s.n, s.stride};
  wf::device_request r{o, t, a, options, {in.x() + first * size, in.y() + first * size}, {s.stride, s.stride}, s.n, in.out()};
  r.checked = checked;
  std::vector<unsigned char> poison(64, 0xa5), got(64);
  ASSERT_EQ(m.upload(in.out(), poison.data(), 64), "") << what;
  place.kernels().run(r, place.scratch(), place.stream());
  ASSERT_EQ(m.download(got.data(), in.out(), 64), "") << what;
  auto want = cpu_answer(o, t, a, options, hx, hy, checked ? wf::find_checked(o, t) : nullptr);
  for (std::size_t i = want.size(); i < got.size(); ++i) ASSERT_EQ(got[i], 0xa5) << what << ": wrote past its answer";
  if (checked) want.resize(offsetof(wf::checked<std::int64_t>, overflow) + 1);  // what follows means nothing
  got.resize(want.size());
  if (!checked && is_native(o, t, a)) check_native(o, t, family, hx, hy, options, got, what);
  else ASSERT_EQ(hex(got), hex(want)) << what;
}

/// All operations of a type on one family and one layout.
inline void check_row(const machine& m, const wf::device_place& place, wf::dtype t, const std::string& family,
                      const layout& s, std::uint64_t seed) {
  const auto reach = static_cast<std::uint64_t>(s.skipped + std::max<std::int64_t>(s.n, 1) * std::max<std::int64_t>(std::abs(s.stride), 1));
  const auto made = [&](std::uint64_t s1) { return family == in_any_order ? make_in_any_order(t, reach, s1) : make_bytes(t, family, reach, s1); };
  const auto x = made(seed), y = made(seed + 1);
  const device_inputs in(m, x, y);
  for (int k = 0; k < wf::op_count; ++k) {
    const auto o = static_cast<wf::op>(k);
    for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
      if (!m.library->takes(o, t, a)) continue;
      // Native answers have bounds for ordinary data only; of special values they must be right as well.
      const bool ordinary = family == "normal" || family == "one_nan" || family == in_any_order || wf::is_integer(t);
      if (is_native(o, t, a) && !ordinary) continue;
      const std::int64_t most = family == in_any_order && !wf::is_complex(t) ? 5000 : 40;  // others may underflow
      if (o == wf::op::prod && is_native(o, t, a) && s.n > most) continue;
      wf::options options;
      if (a == wf::accuracy::exact && s.n % 2 == 1) {
        options.rounding = static_cast<wf::rounding>(s.n / 2 % 5);
        options.correction = is_spread(o) ? s.n % 3 : 0;
      }
      check_cell(m, place, o, t, a, family, s, in, x, y, options);
      if (::testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(wf::is_checked_on_devices(o, t), wf::find_checked(o, t) != nullptr) << wf::op_names[k];
    if (wf::find_checked(o, t) != nullptr) check_cell(m, place, o, t, wf::accuracy::exact, family, s, in, x, y, {}, true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// The families that a type has.
inline std::vector<std::string> families_of(wf::dtype t) {
  if (wf::is_integer(t)) return {"bits", "ties", "huge", "zeros"};
  return family_names();
}

/// An infinity in one block, and far larger numbers than those beside it in others.
inline void check_infinity_and_larger_numbers(const machine& m, const wf::device_place& place) {
  const std::int64_t n = 70001;
  const auto check = [&]<class T>(T) {
    for (const bool first : {true, false}) {
      std::vector<unsigned char> bytes(static_cast<std::size_t>(n) * sizeof(T));
      for (std::int64_t i = 0; i < n; ++i) {
        const T x(i == (first ? 0 : n - 1) ? INFINITY : (i < n / 2) == first ? 0.0f : 1000.0f);
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof x);
      }
      const device_inputs in(m, bytes, {});
      m.library->run({wf::op::logsumexp, wf::dtype_of<T>, wf::accuracy::exact, {}, {in.x(), nullptr}, {1, 1}, n, in.out()},
                     place.scratch(), place.stream());
      T got{};
      ASSERT_EQ(m.download(&got, in.out(), sizeof got), "");
      ASSERT_EQ(static_cast<double>(got), INFINITY) << wf::info(wf::dtype_of<T>).name << (first ? ", first" : ", last");
    }
  };
  check(double{});
  check(float{});
  check(wf::f16{});
}

/// Products far below the least number, all but the first of one sign: their sum is a zero that keeps it, and no certificate
/// may take it for one of zeros.
inline void check_least_products(const machine& m, const wf::device_place& place) {
  for (const std::int64_t n : {5, 4000, 70001}) {
    for (const double sign : {1.0, -1.0}) {
      std::vector<unsigned char> x(static_cast<std::size_t>(n) * sizeof(double)), y(x.size());
      for (std::int64_t i = 0; i < n; ++i) {
        const double least = 0x1p-1074, other = i == 0 ? -sign * least : sign * least;
        std::memcpy(x.data() + static_cast<std::size_t>(i) * sizeof least, &least, sizeof least);
        std::memcpy(y.data() + static_cast<std::size_t>(i) * sizeof other, &other, sizeof other);
      }
      const device_inputs in(m, x, y);
      m.library->run({wf::op::dot, wf::dtype::f64, wf::accuracy::exact, {}, {in.x(), in.y()}, {1, 1}, n, in.out()}, place.scratch(),
                     place.stream());
      double got = 1;
      ASSERT_EQ(m.download(&got, in.out(), sizeof got), "");
      ASSERT_EQ(got, 0) << n;
      ASSERT_EQ(std::signbit(got), sign < 0) << n;
    }
  }
}

/// Complex numbers are aligned to their parts: every operation, from the middle of an element on.
inline void check_halves(const machine& m, const wf::device_place& place, wf::dtype t) {
  const std::int64_t n = 20011;
  const std::size_t size = wf::info(t).size, half = size / 2;
  const auto x = make_bytes(t, "normal", static_cast<std::uint64_t>(n) + 1, 4);
  const device_inputs in(m, x, x);
  for (int k = 0; k < wf::op_count; ++k) {
    const auto o = static_cast<wf::op>(k);
    for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
      if (!m.library->takes(o, t, a) || is_native(o, t, a)) continue;
      const strided host{x.data() + half, n, 1};
      const auto want = cpu_answer(o, t, a, {}, host, host);
      m.library->run({o, t, a, {}, {in.x() + half, in.y() + half}, {1, 1}, n, in.out()}, place.scratch(), place.stream());
      std::vector<unsigned char> got(want.size());
      ASSERT_EQ(m.download(got.data(), in.out(), got.size()), "");
      ASSERT_EQ(hex(got), hex(want)) << name_of(o, t, a, "from half an element on", {n, 0, 1});
    }
  }
}
