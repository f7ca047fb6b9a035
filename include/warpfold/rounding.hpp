// SPDX-License-Identifier: Apache-2.0
/// \file rounding.hpp
/// How exact answers are rounded.
#pragma once

namespace wf {

/// To which neighbour a number is rounded where its type cannot hold it. In C these are WF_ROUND_NEAREST … WF_ROUND_DOWN.
///
///     double low = wf::sum(values, wf::rounding::down), high = wf::sum(values, wf::rounding::up);
enum class rounding {
  nearest,  ///< to the nearest, ties to even
  zero,     ///< toward 0
  away,     ///< away from 0
  up,       ///< toward +infinity
  down      ///< toward -infinity
};

}  // namespace wf
