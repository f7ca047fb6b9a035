// SPDX-License-Identifier: Apache-2.0
// Families of data that between them reach every path of the exact code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <warpfold/detail/exact/format.hpp>

namespace wf::test {

enum class family {
  uniform,
  normal,
  ill_conditioned,  // wide exponents that cancel down to a tiny rest; f64: condition about 1e300
  pairs,            // x and -x, shuffled: sums to zero
  random_bits,      // NaNs and infinities among them
  finite_bits,      // random bits without those
  subnormals,
  infinities,
  one_nan,
  all_neg_zero,
  zeros,
  greatest,  // ± the greatest finite value and the least subnormal
  constant,
};

inline constexpr family all_families[] = {
    family::uniform,     family::normal,     family::ill_conditioned, family::pairs,
    family::random_bits, family::finite_bits, family::subnormals,      family::infinities,
    family::one_nan,     family::all_neg_zero, family::zeros,          family::greatest,
    family::constant};

inline const char* name(family k) {
  constexpr const char* names[] = {"uniform",    "normal",     "ill_conditioned", "pairs",
                                   "random_bits", "finite_bits", "subnormals",    "infinities",
                                   "one_nan",    "all_neg_zero", "zeros",         "greatest",
                                   "constant"};
  return names[static_cast<int>(k)];
}

using generator = std::mt19937_64;

// WARPFOLD_TEST_SEED changes the data; the seed is printed, so a failure can be repeated.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("WARPFOLD_TEST_SEED");
    const std::uint64_t s = text != nullptr ? std::strtoull(text, nullptr, 10) : 20240229;
    std::cout << "WARPFOLD_TEST_SEED=" << s << '\n';
    return s;
  }();
  return value;
}

template <class T>
T from(std::uint64_t b) {
  using f = exact::format<T>;
  return f::from_bits(static_cast<typename f::bits>(b));
}

template <class T>
T finite_bits(generator& random) {
  for (;;) {
    const T x = from<T>(random());
    if (exact::format<T>::is_finite(exact::format<T>::to_bits(x))) return x;
  }
}

template <class T>
T negated(T x) {
  using f = exact::format<T>;
  return from<T>(f::to_bits(x) ^ f::sign_mask);
}

template <class T>
std::vector<T> make(family k, std::size_t n, generator& random) {
  using f = exact::format<T>;
  std::vector<T> x(n);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> unit;
  const T fixed = finite_bits<T>(random);
  for (std::size_t i = 0; i < n; ++i) {
    switch (k) {
      case family::uniform: x[i] = T(unit(random)); break;
      case family::normal: x[i] = T(gauss(random)); break;
      case family::ill_conditioned:
      case family::pairs:
        x[i] = i % 2 == 1 ? negated(x[i - 1]) : finite_bits<T>(random);
        break;
      case family::random_bits: x[i] = from<T>(random()); break;
      case family::finite_bits: x[i] = finite_bits<T>(random); break;
      case family::subnormals: x[i] = from<T>(random() & (f::mantissa_mask | f::sign_mask)); break;
      case family::infinities:
        x[i] = random() % 5 == 0 ? from<T>(f::infinity | (random() % 64 == 0 ? f::sign_mask : 0u))
                                 : finite_bits<T>(random);
        break;
      case family::one_nan: x[i] = T(gauss(random)); break;
      case family::all_neg_zero: x[i] = from<T>(f::sign_mask); break;
      case family::zeros: x[i] = from<T>(random() % 2 != 0 ? f::sign_mask : 0u); break;
      case family::greatest:
        x[i] = from<T>((random() % 2 != 0 ? f::greatest : typename f::bits{1}) |
                       (random() % 2 != 0 ? f::sign_mask : 0u));
        break;
      case family::constant: x[i] = fixed; break;
    }
  }
  if (k == family::ill_conditioned && n > 0) {
    // The largest cancel; what remains is of the order of the least normal number.
    x[n - 1] = from<T>((random() & f::mantissa_mask) | (f::mantissa_mask + 1));
  }
  if (k == family::one_nan && n > 0) x[random() % n] = from<T>(f::infinity | 1u);
  if (k == family::ill_conditioned || k == family::pairs) std::ranges::shuffle(x, random);
  return x;
}

}  // namespace wf::test
