// SPDX-License-Identifier: Apache-2.0
/// \file mutant_bounds.hpp
/// What scales the bounds of certificates in the mutants (certified.hpp): WF_MUTANT_BOUNDS of the environment.
#pragma once

#include <cstdio>
#include <cstdlib>

inline const double wf_mutant_bounds = [] {
  const char* text = std::getenv("WF_MUTANT_BOUNDS");
  if (text == nullptr) {
    std::fputs("WF_MUTANT_BOUNDS is not set; what scales the bounds is wanted\n", stderr);
    std::_Exit(2);
  }
  return std::strtod(text, nullptr);
}();
