// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace lens::profile {

/// CUPTI is not there, or may not be used: one line, why and what would help. The run can go on
/// without it.
struct unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lens::profile
