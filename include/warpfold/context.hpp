// SPDX-License-Identifier: Apache-2.0
/// \file context.hpp
/// How a reduction is to be run. Passed by const reference, or left out for the defaults.
#pragma once

#include <warpfold/executor.hpp>
#include <warpfold/rounding.hpp>

namespace wf {

/// How a result is computed.
enum class accuracy {
  exact,  ///< the true result, rounded once
  /// native arithmetic in a fixed order, so the same bits from run to run, whatever the threads and the rounding mode or
  /// flushing of subnormals that the caller has set
  fast
};

/// How a reduction is to be run.
///
///     wf::context c;
///     c.threads = 4;
///     c.rounding = wf::rounding::down;
///     double low = wf::sum(values, c);
struct context {
  wf::accuracy accuracy = wf::accuracy::exact;    ///< exact, or native arithmetic
  wf::rounding rounding = wf::rounding::nearest;  ///< of exact results
  int threads = 0;                                ///< threads at most; 0: as many as the executor has; below 0 is refused
  cpu::executor* executor = nullptr;              ///< who runs the tasks; null: cpu::default_executor()
};

}  // namespace wf
