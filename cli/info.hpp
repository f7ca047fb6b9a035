// SPDX-License-Identifier: Apache-2.0
/// \file info.hpp
/// What the CUDA runtime says of this machine. Its own file, compiled by nvcc: the rest of the
/// command line sees no CUDA header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct cuda_device {
  std::string name;
  int major, minor;  ///< compute capability
  int processors;
  std::uint64_t memory_bytes;
};

struct cuda_facts {
  int runtime_version;  ///< 13000 for 13.0
  int driver_version;   ///< 0: no driver
  std::string failure;  ///< in CUDA's own words; empty if there are devices
  std::vector<cuda_device> devices;
};

/// Only where WARPFOLD_HAS_CUDA.
cuda_facts query_cuda();

}  // namespace cli
