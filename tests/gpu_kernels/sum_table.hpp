// SPDX-License-Identifier: Apache-2.0
/// \file sum_table.hpp
/// One table of checks for every machine that runs the kernels.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sum_case.hpp"
#include "kernel_runner.hpp"

using sum_runner = sum_answer (*)(const sum_request&);

inline const char* name_of(element e) {
  constexpr const char* names[]{"f16", "bf16", "f32", "f64", "i32"};
  return names[static_cast<int>(e)];
}

inline std::string describe(const sum_request& r, const std::string& family, std::uint64_t seed) {
  return std::string(name_of(r.type)) + " " + family + " n=" + std::to_string(r.n) + " skipped=" +
         std::to_string(r.skipped) + " shape=" + std::to_string(static_cast<int>(r.launch)) +
         " seed=" + std::to_string(seed);
}

inline void check_exact(sum_runner run, const sum_request& r, const sum_case& c, const std::string& what) {
  const auto got = run(r);
  ASSERT_EQ(got.error, "") << what;
  ASSERT_EQ(got.bits, c.exact_bits) << what << std::hex << " got " << got.bits;
}

inline double fast_value(element type, std::uint64_t bits) {
  if (type == element::f64) {
    double d;
    std::memcpy(&d, &bits, sizeof d);
    return d;
  }
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return static_cast<double>(f);
}

/// Within the classic bound of any order, (n - 1)·u·sum|x| to first order and a bit, where nothing can
/// overflow on the way; a NaN or an infinity is what the exact sum has.
inline void check_fast(sum_runner run, const sum_request& r, const sum_case& c, const std::string& what,
                       std::uint64_t& bits) {
  const auto got = run(r);
  ASSERT_EQ(got.error, "") << what;
  bits = got.bits;
  if (r.type == element::i32) {
    ASSERT_EQ(got.bits, c.exact_bits) << what;
    return;
  }
  const double greatest = r.type == element::f64 ? 1.7e308 : 3.4e38;
  if (!(c.magnitude < greatest / 2)) return;  // may overflow, or is not a number: only the same bits are asked
  const double value = fast_value(r.type, got.bits);
  const double unit = r.type == element::f64 ? 0x1p-53 : 0x1p-24;
  // c.exact_value is a rounding of its own: one more unit.
  const double bound = static_cast<double>(r.n + 2) * unit * 1.01 * c.magnitude + 0x1p-1074;
  ASSERT_LE(std::fabs(value - c.exact_value), bound) << what;
}

/// A family over sizes, shapes and addresses: exact bit for bit, fast within its bound and the same bits
/// at every address.
inline void check_family(sum_runner run, element type, const std::string& family,
                         const std::vector<std::uint64_t>& sizes, const std::vector<shape>& shapes,
                         const std::vector<std::size_t>& skips) {
  for (const auto n : sizes) {
    const std::uint64_t seed = 1000 * n + static_cast<std::uint64_t>(type);
    const auto c = make_case(type, family, n, seed);
    for (const auto s : shapes) {
      bool first = true;
      std::uint64_t first_bits = 0;
      for (const auto skipped : skips) {
        sum_request r;
        r.type = type;
        r.launch = s;
        r.data = c.data.data();
        r.n = n;
        r.skipped = skipped;
        r.exact = true;
        check_exact(run, r, c, "exact " + describe(r, family, seed));
        r.exact = false;
        std::uint64_t bits = 0;
        check_fast(run, r, c, "fast " + describe(r, family, seed), bits);
        if (::testing::Test::HasFatalFailure()) return;
        if (first) first_bits = bits;
        first = false;
        ASSERT_EQ(bits, first_bits) << "the address changed the bits of fast " << describe(r, family, seed);
      }
    }
  }
}

/// Kernels for so many packs, to the last one: an array that begins elsewhere than at a multiple of 16 bytes has a part of a pack more.
inline void check_full_kernels(sum_runner run, element type) {
  const std::size_t items = 16 / size_of(type);
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t packs : {32, 64, 128, 256, 512, 1024, 2048}) {
    for (std::uint64_t n = (packs - 2) * items + 1; n <= (packs + 1) * items; n += items > 2 ? items / 2 - 1 : 1) sizes.push_back(n);
  }
  check_family(run, type, "normal", sizes, {shape::library}, {0, 1, items - 1});
}
