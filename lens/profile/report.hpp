// SPDX-License-Identifier: Apache-2.0
/// \file report.hpp
/// What the forms of a profile's report share: its tables, and its lines of prose.
#pragma once

#include <string>
#include <vector>

#include "profile.hpp"

namespace lens::profile {

using table = std::vector<std::vector<std::string>>;

std::string heading(const profile&);                    ///< device, driver, clocks
std::string subject(const profile&);                    ///< what was run
std::string verdict(const profile&);                    ///< whether the answer is right
std::string operations_of_its_own(const profile&);      ///< what the roofline's points are, where nothing was counted
table times_table(const std::vector<statistics>&, const std::string& of);
table shapes_table(const profile&);
table counters_table(const profile&, source);           ///< a row a metric, a column a kernel
std::vector<statistics> kernel_times(const profile&);
/// Why something is not shown, and what is; empty if all is.
std::vector<std::string> omissions(const profile&);

extern const char* const page_style;

}  // namespace lens::profile
