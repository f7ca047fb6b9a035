// SPDX-License-Identifier: Apache-2.0
/// \file clocks.hpp
/// What NVML says of a GPU. The library is opened at run time, so that nothing needs it.
#pragma once

#include <optional>
#include <string>

namespace ladder {

struct gpu_clocks {
  unsigned sm_mhz = 0, memory_mhz = 0;  ///< now
  unsigned most_sm_mhz = 0, most_memory_mhz = 0;
  std::string driver;  ///< its own version, as 580.95.05
};

/// Nothing where there is no NVML, or it does not know the device of that PCI bus id.
std::optional<gpu_clocks> read_clocks(const std::string& pci);

}  // namespace ladder
