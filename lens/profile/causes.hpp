// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "beside.hpp"

namespace lens::profile {

/// Null where no cause is known that makes this counter differ in this direction in this rung.
const cause* cause_of(const std::string& rung, const std::string& dtype, std::string_view counter,
                      double simt, double gpu);

}  // namespace lens::profile
