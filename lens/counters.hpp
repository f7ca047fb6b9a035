// SPDX-License-Identifier: Apache-2.0
/// \file counters.hpp
/// What the lens counts, of a kernel or of one of its source lines. Numbers are those of warps: one
/// instruction of a warp is one request, whatever the lanes that are active.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lens {

struct memory_counts {
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;  ///< active ones, summed over the requests
  std::uint64_t bytes = 0;  ///< that lanes asked for, each for itself

  // Counts of global memory:
  std::uint64_t sectors = 0;       ///< each has 32 bytes; different ones within a request
  std::uint64_t useful_bytes = 0;  ///< different bytes of those sectors that a lane asked for

  // Counts of shared memory:
  std::uint64_t wavefronts = 0;  ///< passes over the banks
  std::uint64_t ideal = 0;       ///< passes without conflicts
  std::uint64_t ways = 0;        ///< the worst request's passes over those without conflicts, rounded up

  // Counts of atomics:
  std::uint64_t turns = 0;  ///< lanes with the same address follow each other: the most of each request

  std::uint64_t conflicts() const { return wavefronts - ideal; }
  memory_counts& operator+=(const memory_counts&);
  bool operator==(const memory_counts&) const = default;
};

struct counters {
  memory_counts global_load, global_store, global_atomic;
  memory_counts shared_load, shared_store, shared_atomic;
  std::uint64_t barriers = 0;        ///< __syncthreads, a warp each
  std::uint64_t outer_barriers = 0;  ///< for the grid or a cluster, a warp each
  std::uint64_t warp_syncs = 0;
  std::uint64_t shuffles = 0;     ///< each moves 8 bytes at most
  std::uint64_t collectives = 0;  ///< votes, matches, warp reductions
  std::uint64_t blocks = 0;       ///< basic blocks entered by a warp
  std::uint64_t block_lanes = 0;  ///< active lanes, summed over those
  std::uint64_t divergent = 0;    ///< branches whose lanes went different ways
  std::uint64_t flops = 0;        ///< floating-point operations, of every active lane

  /// 32 sectors' bytes each way, loads, stores and atomics.
  std::uint64_t global_bytes() const {
    return 32 * (global_load.sectors + global_store.sectors + global_atomic.sectors);
  }
  counters& operator+=(const counters&);
  bool operator==(const counters&) const = default;
};

/// A counter beside the hardware's, for CC 9.0. `exact`: equal to the unit wherever the GPU runs the
/// same memory operations (docs/lens.md tells what differs where it does not).
struct hardware_counter {
  std::string_view name;    ///< the lens's own, as in JSON: `shared_load.wavefronts`
  std::string_view metric;  ///< as CUPTI spells it
  double (*value)(const counters&);
  bool exact;
};
std::span<const hardware_counter> hardware_counters();

}  // namespace lens
