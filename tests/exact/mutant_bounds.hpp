// SPDX-License-Identifier: Apache-2.0
/// \file mutant_bounds.hpp
/// What scales the bounds of certificates in the mutants (certified.hpp): WF_MUTANT_BOUNDS of the environment, 1 if it is not set.
#pragma once

#include <cstdlib>

inline const double wf_mutant_bounds = [] {
  const char* text = std::getenv("WF_MUTANT_BOUNDS");
  return text == nullptr ? 1.0 : std::strtod(text, nullptr);
}();
