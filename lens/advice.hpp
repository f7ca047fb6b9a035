// SPDX-License-Identifier: Apache-2.0
/// \file advice.hpp
/// What holds a kernel back, by rule, from what was counted; and what would take it away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explanation.hpp"

namespace lens {

enum class rule : std::uint8_t { bank_conflicts, uncoalesced, divergence, one_address, occupancy, memory_bound, missing_barrier };
std::string_view name_of(rule);

struct advice {
  rule what;
  source_place where;  ///< line 0: of the kernel as a whole
  std::string text;
};
/// Advice for one of the explanation's kernels, the costliest kind first.
std::vector<advice> advice_for(const explanation&, const kernel_counts&);

/// The smallest padding of a row, in elements, without conflicts, for lanes of a constant distance. Nothing if none
/// up to 32 is, or the lanes' distances differ.
std::optional<unsigned> padding_for(const request&);
/// Whether element i is free of conflicts at place i + i / 32.
bool skewing_helps(const request&);
/// Whether column c of row r is free of conflicts at place c ^ (r % 32), where each lane has a row of its own.
bool swizzle_helps(const request&);
/// Bytes from one lane to the next, if it is the same for all active ones and there are two.
std::optional<std::int64_t> stride_of(const request&);

/// What a multiprocessor of compute capability 9.0 holds at once.
struct occupancy {
  unsigned blocks = 0, warps = 0;  ///< for 64 warps
  std::string_view limit;          ///< `threads`, `shared memory`, `registers` or `blocks`, what is used up first
  unsigned registers = 0;          ///< a thread may have so many without fewer blocks
};
/// Registers are handed out to warps by 256, shared memory to blocks by 128 bytes and with 1 KiB of the system's.
occupancy occupancy_of(unsigned threads, std::uint64_t shared_bytes, unsigned registers = 32);

/// What a GPU's data sheet promises: single-precision operations and bytes of memory per second, without tensor cores.
struct published_peak {
  std::string_view name;
  double flops, bytes;
  constexpr double ridge() const { return flops / bytes; }
};
/// The GPU that the lens is checked against, at its boost clock.
inline constexpr published_peak reference_gpu{"H100 SXM", 66.9e12, 3.35e12};

}  // namespace lens
