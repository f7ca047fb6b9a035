// SPDX-License-Identifier: Apache-2.0
/// \file request.hpp
/// What one memory instruction of a warp costs: wavefronts of shared memory, sectors of global memory.
/// The rules are those of docs/lens.md; here they depend on nothing but addresses.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace lens {

/// The addresses that the active lanes of a warp access together, `size` bytes each.
struct request {
  std::uint32_t mask = 0;  ///< active lanes; the others' addresses mean nothing
  std::uint32_t size = 0;
  std::array<std::uint64_t, 32> address;

  unsigned lanes() const { return static_cast<unsigned>(std::popcount(mask)); }
};

struct shared_cost {
  unsigned wavefronts = 0;  ///< passes over the banks
  unsigned ideal = 0;       ///< passes if no two words fell into one bank
  unsigned conflicts() const { return wavefronts - ideal; }
  /// Conflicts are n-way: 1 if there are none, whatever the width.
  unsigned ways() const { return ideal == 0 ? 0 : (wavefronts + ideal - 1) / ideal; }
};

/// 32 banks of 4 bytes. Lanes that want the same word share it; different words of one bank take a
/// pass each. Where a cluster's blocks read each other, each block's memory has banks of its own.
shared_cost cost_in_shared(const request&);

/// The lanes of `mask`, which is not 0, that want the same block's shared memory as the first of them.
std::uint32_t same_block(const request&, std::uint32_t mask);

/// The lanes that share a pass, for accesses of 8 and 16 bytes: each group of lanes goes by itself.
struct lane_groups {
  unsigned count = 1, lanes = 32;  ///< groups, and lanes in each
};
lane_groups groups_of(const request&);

struct global_cost {
  unsigned sectors = 0;       ///< different 32-byte sectors touched
  unsigned useful_bytes = 0;  ///< different bytes in them that a lane asked for
};
global_cost cost_in_global(const request&);
/// Those that its useful bytes would fill, were they neighbours.
inline unsigned fewest_sectors(const global_cost& c) { return (c.useful_bytes + 31) / 32; }

/// The most lanes with one address: how often atomics of this request follow each other.
unsigned multiplicity(const request&);

}  // namespace lens
