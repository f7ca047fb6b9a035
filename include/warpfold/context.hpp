// SPDX-License-Identifier: Apache-2.0
/// \file context.hpp
/// How a reduction is to be run. Passed by const reference, or left out for the defaults.
#pragma once

#include <warpfold/accuracy.hpp>
#include <warpfold/executor.hpp>
#include <warpfold/rounding.hpp>

namespace wf {

/// How a reduction is to be run.
///
///     wf::context c;
///     c.threads = 4;
///     c.rounding = wf::rounding::down;
///     double low = wf::sum(values, c);
struct context {
  wf::accuracy accuracy = wf::accuracy::exact;    ///< exact, or native arithmetic
  wf::rounding rounding = wf::rounding::nearest;  ///< for exact results
  int threads = 0;                                ///< the most threads; 0: as many as the executor has; a negative number is refused
  cpu::executor* executor = nullptr;              ///< what runs the tasks; null: cpu::default_executor()
};

}  // namespace wf
