// SPDX-License-Identifier: Apache-2.0
/// \file places_table.hpp
/// argmin and argmax of data that a pack of elements can get wrong, on any machine, against a plain loop: a NaN of either sign anywhere, zeros of both signs,
/// elements that are all the least or the greatest of their type, and the best one several times.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <warpfold/detail/exact/format.hpp>

#include "machine.hpp"

template <class T>
long double number_of(T x) {
  if constexpr (wf::floating<T>) return static_cast<double>(x);
  else return static_cast<long double>(x);
}

template <class T>
std::int64_t place_of_best(const std::vector<T>& x, bool greatest) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double v = number_of(x[i]), b = number_of(x[best]);
    if (std::isnan(v)) return static_cast<std::int64_t>(i);
    if (greatest ? v > b : v < b) best = i;
  }
  return static_cast<std::int64_t>(best);
}

template <class T>
T special_of(int kind) {  // for integers the least and the greatest, else 0
  if constexpr (wf::floating<T>) {
    using f = wf::exact::format<T>;
    const auto bits = static_cast<typename f::bits>(kind / 2 == 0 ? f::infinity | 1u : kind / 2 == 1 ? 0u : f::infinity);
    return f::from_bits(static_cast<typename f::bits>(bits | (kind % 2 == 0 ? f::sign_mask : 0u)));
  } else {
    if (kind / 2 != 2) return T{};
    return kind % 2 == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
}

template <class T>
void check_places_of(const machine& m, const wf::device_place& place, wf::dtype t) {
  std::mt19937_64 random(7);
  // A part of a pack, a warp, a block of many warps, few blocks and more than 33 of them.
  for (const std::size_t n : {1, 3, 17, 70, 5003, 40001, 200001}) {
    for (int kind = 0; kind < 12; ++kind) {
      if (n > 50000 && kind % 3 != 0) continue;
      const int special = kind % 6;
      std::vector<T> x(n + 1);
      for (T& v : x) {
        if (kind >= 6 || special / 2 == 1) v = special_of<T>(special / 2 == 1 ? 2 + static_cast<int>(random() % 2) : special);  // nothing else, but zeros of both signs
        else v = T(static_cast<float>(random() % 100));  // each several times
      }
      for (int k = 0; k < 3; ++k) x[random() % n] = special_of<T>(special);
      x.pop_back();
      auto* in = static_cast<unsigned char*>(m.allocate((n + 1) * sizeof(T)));
      auto* out = static_cast<unsigned char*>(m.allocate(8));
      const std::size_t skipped = kind % 2;
      EXPECT_EQ(m.upload(in + skipped * sizeof(T), x.data(), n * sizeof(T)), "");
      for (const bool greatest : {false, true}) {
        m.library->run({greatest ? wf::op::argmax : wf::op::argmin, t, wf::accuracy::exact, {}, {in + skipped * sizeof(T), nullptr}, {1, 1}, static_cast<std::int64_t>(n), out},
                       place.scratch(), place.stream());
        std::int64_t got = -1;
        EXPECT_EQ(m.download(&got, out, sizeof got), "");
        EXPECT_EQ(got, place_of_best(x, greatest)) << wf::info(t).name << ", n = " << n << ", kind " << kind << (greatest ? ", argmax" : ", argmin");
      }
      m.free(in);
      m.free(out);
    }
  }
}

inline void check_places(const machine& m, const wf::device_place& place) {
  check_places_of<wf::f16>(m, place, wf::dtype::f16);
  check_places_of<wf::bf16>(m, place, wf::dtype::bf16);
  check_places_of<float>(m, place, wf::dtype::f32);
  check_places_of<double>(m, place, wf::dtype::f64);
  check_places_of<std::int8_t>(m, place, wf::dtype::i8);
  check_places_of<std::uint16_t>(m, place, wf::dtype::u16);
  check_places_of<std::int32_t>(m, place, wf::dtype::i32);
  check_places_of<std::uint64_t>(m, place, wf::dtype::u64);
}
