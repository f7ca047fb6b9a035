// SPDX-License-Identifier: Apache-2.0
/// \file activity.hpp
/// What a stretch of a program did on the GPU and asked of the CUDA runtime, with times, by CUPTI's
/// activity records. Host-safe: no CUDA type crosses this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lens::profile {

struct kernel_record {
  std::string name;  ///< demangled, with parameters
  double seconds = 0;
  std::uint64_t order = 0;  ///< device time of its start, in ns
  std::size_t window = 0;   ///< the one that launched it, among those that open() began
  std::uint32_t grid[3] = {}, block[3] = {};
  unsigned registers = 0;  ///< a thread
  std::uint64_t static_shared = 0, dynamic_shared = 0, local_bytes = 0;  ///< a block, a block, a thread
};

/// A copy or a fill by the device.
struct transfer_record {
  std::string name;  ///< `copy, host to device`
  double seconds = 0;
  std::uint64_t bytes = 0;
};

struct call_record {
  std::string name;  ///< `cudaLaunchKernelExC`
  double seconds = 0;
};

struct trace {
  std::vector<kernel_record> kernels;  ///< in the order of their starts
  std::vector<transfer_record> transfers;
  std::vector<call_record> calls;
  std::uint64_t dropped = 0;  ///< records that CUPTI lost
};

/// Records from its construction to finish(). Only one at a time. The constructor throws unavailable.
class recording {
 public:
  recording();
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// The calls between open() and close() count, and what the device did for them; nothing else does.
  void open();
  void close();

  /// Call when the device is idle.
  trace finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// `ladder::tree_sum<float>(float const*, …)` of a mangled name.
std::string demangled(const char*);

}  // namespace lens::profile
