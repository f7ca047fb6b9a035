// SPDX-License-Identifier: Apache-2.0
/// \file beside.hpp
/// The lens's counters, from simt, beside the hardware's, and the cause of each difference.
#pragma once

#include <lens/counters.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics.hpp"

namespace lens {
struct kernel_counts;  // from lens/counting.hpp, which stands beside simt's own <cuda_runtime.h>
}

namespace lens::profile {

/// A counter that both sides have. `to_the_unit`: what the lens counts is what the instructions do, and
/// must come out equal where the GPU runs the same memory operations.
struct shared_counter {
  std::string_view name;                   ///< `shared_load.wavefronts`
  std::vector<std::string_view> metrics;   ///< that add up to it
  double (*simt)(const counters&);
  bool to_the_unit;
};
std::span<const shared_counter> shared_counters();

/// Why the two sides differ, said once for all the rungs that it makes differ.
struct cause {
  std::string_view name;    ///< `predication`
  std::string_view reason;  ///< a sentence
};

struct beside_row {
  std::string_view counter;
  double simt = 0, gpu = 0;
  bool to_the_unit = false;
  const cause* why = nullptr;  ///< for a difference; null if it has none that is known
  double difference() const { return gpu - simt; }
  bool equal() const;
  bool explained() const { return equal() || why != nullptr; }
};

struct beside_kernel {
  std::string name;
  std::vector<beside_row> rows;  ///< for counters that either side has
  counted_kernel gpu;            ///< all that was counted, as the rows are sums of it
};

struct beside {
  std::string rung, dtype;
  std::uint64_t n = 0;
  unsigned block = 0;
  std::string refused;  ///< why there is nothing to set beside
  std::vector<beside_kernel> kernels;
  bool explained() const;
};

struct counted_launch {
  std::string name;
  counted_kernel counted;
};

/// Fills the kernels of `b`, whose rung and type the causes depend on; launches of a kernel add up. Refused
/// if the two sides ran different kernels.
void set_beside(beside& b, const std::vector<kernel_counts>& simt, const std::vector<counted_launch>& gpu);

/// Where and how all of it was counted.
struct beside_origin {
  std::string device, driver;
  unsigned multiprocessors = 0;
  std::string command;
};

std::string to_text(const beside&);
std::string to_json(const std::vector<beside>&, const beside_origin&);
std::string to_html(const std::vector<beside>&, const std::string& device, const std::string& command);

}  // namespace lens::profile
