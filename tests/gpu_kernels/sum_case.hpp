// SPDX-License-Identifier: Apache-2.0
/// \file sum_case.hpp
/// The data that sums are tried on, and the answers by the host's exact state.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <warpfold/detail/exact/sum_state.hpp>
#include <warpfold/half.hpp>

#include "../support/families.hpp"
#include "kernel_runner.hpp"

/// Data and what its sums must be.
struct sum_case {
  std::vector<unsigned char> data;
  std::uint64_t exact_bits = 0;  ///< the exact answer's, in the type of exact sums
  double exact_value = 0;        ///< rounded to double
  double magnitude = 0;          ///< sum of |x|
  bool finite = true;            ///< no NaN, no infinity
};

template <class T>
sum_case make_case_of(const std::string& name, std::uint64_t n, std::uint64_t seed) {
  sum_case c;
  c.data.resize(n * sizeof(T));
  if constexpr (std::is_same_v<T, int>) {
    std::mt19937_64 g(seed);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const int x = name == "huge" ? std::numeric_limits<int>::min() : static_cast<int>(g());
      std::memcpy(&c.data[i * sizeof(T)], &x, sizeof x);
      sum += static_cast<std::uint64_t>(std::int64_t{x});
    }
    c.exact_bits = sum;
  } else {
    using f = wf::exact::format<T>;
    const auto x = make_family<T>(name, n, seed);
    if (n > 0) std::memcpy(c.data.data(), x.data(), c.data.size());
    auto s = wf::exact::sum_state<T>::identity();
    for (const T v : x) {
      s.add(v);
      c.magnitude += std::fabs(static_cast<double>(v));
    }
    c.exact_bits = f::to_bits(s.value());
    c.exact_value = s.template value<double>();
    c.finite = s.seen.finite();
  }
  return c;
}

inline sum_case make_case(element type, const std::string& name, std::uint64_t n, std::uint64_t seed) {
  switch (type) {
    case element::f16: return make_case_of<wf::f16>(name, n, seed);
    case element::bf16: return make_case_of<wf::bf16>(name, n, seed);
    case element::f32: return make_case_of<float>(name, n, seed);
    case element::f64: return make_case_of<double>(name, n, seed);
    case element::i32: return make_case_of<int>(name, n, seed);
  }
  return {};
}
