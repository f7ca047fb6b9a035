// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simt/entry.hpp>
#include <simt/machine.hpp>

namespace simt::detail {

inline int multiprocessors(const options& o) {
  return o.multiprocessors != 0 ? static_cast<int>(o.multiprocessors) : device_limits.multiprocessors;
}

}  // namespace simt::detail
