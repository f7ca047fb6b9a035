// SPDX-License-Identifier: Apache-2.0
/// \file dispatch.hpp
/// The kernels of the active target.
#pragma once

#include <atomic>

#include "kernels.hpp"

namespace wf::cpu {

extern std::atomic<const kernel_table*> active_kernels;
const kernel_table* choose_kernels();  // sets active_kernels

inline const kernel_table& kernels() {
  const kernel_table* k = active_kernels.load(std::memory_order_acquire);
  return k != nullptr ? *k : *choose_kernels();
}

}  // namespace wf::cpu
