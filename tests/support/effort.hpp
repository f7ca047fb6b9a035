// SPDX-License-Identifier: Apache-2.0
/// \file effort.hpp
/// How much of a long test is done. WARPFOLD_TEST_EFFORT is a number above 0 and up to 1, and 1 if it is not set: all. ./check
/// does a quarter, and a seventh under the sanitizers, which look at what is touched. WARPFOLD_TEST_DRAW says which part; ./check takes
/// the number of commits, so that another revision does other cases.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

namespace wf::test {

inline double effort() {
  static const double value = [] {
    const char* text = std::getenv("WARPFOLD_TEST_EFFORT");
    if (text == nullptr) return 1.0;
    char* end = nullptr;
    const double given = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(given > 0 && given <= 1)) {
      std::cerr << "WARPFOLD_TEST_EFFORT is '" << text << "'; a number above 0 and up to 1 is wanted\n";
      std::exit(2);
    }
    return given;
  }();
  return value;
}

/// A whole number; 0 if it is not set.
inline std::uint32_t draw() {
  static const std::uint32_t value = [] {
    const char* text = std::getenv("WARPFOLD_TEST_DRAW");
    if (text == nullptr) return std::uint32_t{0};
    if (std::strlen(text) == 0 || std::strlen(text) > 9 || std::strspn(text, "0123456789") != std::strlen(text)) {
      std::cerr << "WARPFOLD_TEST_DRAW is '" << text << "'; a whole number of at most nine digits is wanted\n";
      std::exit(2);
    }
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
  }();
  return value;
}

/// As many of n drawings as the effort asks for, and one at least.
inline int trials(double n) { return static_cast<int>(std::max(n * effort(), 1.0)); }

/// Which cases of a sweep are done: the first, and a share of the others in steps that are drawn, the same for the same draw: a
/// count that took every fifth would take the same values of a loop over five each time.
class some_of_all {
 public:
  explicit some_of_all(std::uint32_t which = draw()) : random_(which) {}
  bool operator()() {
    if (++now_ <= next_) return false;  // that at floor(next_) is done: the second can be, too
    next_ += 1 + static_cast<double>(random_() - random_.min()) / (random_.max() - random_.min()) * (2 / effort() - 2);
    return true;
  }

 private:
  std::mt19937 random_;
  double now_ = 0, next_ = 0;
};

}  // namespace wf::test
