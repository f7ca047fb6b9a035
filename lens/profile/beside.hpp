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

/// Why the two sides differ, told once for all the rungs that it makes differ.
struct cause {
  std::string_view name;    ///< `predication`
  std::string_view reason;  ///< a sentence
};

struct beside_row {
  std::string_view counter;
  double simt = 0, gpu = 0;
  bool to_the_unit = false;
  const cause* why = nullptr;  ///< of a difference; null if it has none that is known
  double difference() const { return gpu - simt; }
  bool equal() const;
  bool explained() const { return equal() || why != nullptr; }
};

struct beside_kernel {
  std::string name;
  std::vector<beside_row> rows;  ///< of counters that either side has
};

struct beside {
  std::string rung, dtype;
  std::uint64_t n = 0;
  unsigned block = 0;
  std::string refused;  ///< why there is nothing to set beside
  std::vector<beside_kernel> kernels;
  bool explained() const;
};

/// One kernel's. `dtype` as `f32`: causes depend on it.
beside_kernel set_beside(const std::string& rung, const std::string& dtype, const std::string& kernel,
                         const counters& simt, const counted_kernel& gpu);

std::string to_text(const beside&);
std::string to_json(const std::vector<beside>&, const std::string& device, const std::string& driver,
                    const std::string& command);
std::string to_html(const std::vector<beside>&, const std::string& device, const std::string& command);

}  // namespace lens::profile
