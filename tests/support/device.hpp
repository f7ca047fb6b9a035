// SPDX-License-Identifier: Apache-2.0
/// \file device.hpp
/// What tests need of a device's memory, the same for GPUs and simt: device.cuh is compiled for both.
#pragma once

#include <cstddef>
#include <string>

struct device_functions {
  std::string (*why_not)();              ///< empty if the device is there
  void* (*allocate)(std::size_t bytes);  ///< null if there is no room
  void (*free)(void*);
  std::string (*upload)(void* device, const void* host, std::size_t bytes);
  std::string (*download)(void* host, const void* device, std::size_t bytes);  ///< waits for all streams
};
