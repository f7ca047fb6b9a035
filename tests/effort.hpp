// SPDX-License-Identifier: Apache-2.0
/// \file effort.hpp
/// How much of a long test is done. WARPFOLD_TEST_EFFORT is a number above 0 and up to 1, and 1 if it is not set: all. CTest
/// sets a part of it under the sanitizers, which look at what is touched, after the same tests were done in full without.
#pragma once

#include <algorithm>
#include <cstdlib>
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

/// Of n drawings, as many as the effort asks for, and one at least.
inline int trials(double n) { return static_cast<int>(std::max(n * effort(), 1.0)); }

/// Which cases of a sweep are done: the first, and a share of the others in steps that are drawn, always the same: a count
/// that took every fifth would take the same values of a loop over five each time.
class some_of_all {
 public:
  bool operator()() {
    if (now_++ < next_) return false;
    next_ += 1 + static_cast<double>(random_() - random_.min()) / (random_.max() - random_.min()) * (2 / effort() - 2);
    return true;
  }

 private:
  std::minstd_rand random_;
  double now_ = 0, next_ = 0;
};

}  // namespace wf::test
