// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simt/entry.hpp>
#include <simt/machine.hpp>

namespace simt::detail {

inline int multiprocessors(const options& o) {
  return o.multiprocessors != 0 ? static_cast<int>(o.multiprocessors) : device_limits.multiprocessors;
}

inline std::uint64_t shared_opt_in(const options& o) {
  return o.shared_opt_in != 0 ? o.shared_opt_in : device_limits.shared_opt_in;
}

}  // namespace simt::detail
