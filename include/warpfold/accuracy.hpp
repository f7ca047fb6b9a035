// SPDX-License-Identifier: Apache-2.0
/// \file accuracy.hpp
/// Exact, or native arithmetic.
#pragma once

namespace wf {

/// How a result is computed.
enum class accuracy {
  exact,  ///< the true result, rounded once
  /// native arithmetic in a fixed order, so the same bits from run to run, whatever the threads and the rounding mode or
  /// flushing of subnormals that the caller has set
  fast
};

}  // namespace wf
