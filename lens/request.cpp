// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <algorithm>

namespace lens {
namespace {

constexpr unsigned warp_lanes = 32, banks = 32;

template <class Function>
void each_lane(std::uint32_t mask, Function function) {
  for (; mask != 0; mask &= mask - 1) function(static_cast<unsigned>(std::countr_zero(mask)));
}

/// Lanes 2i and 2i+1 are both off, or have the same address.
bool pairs_share(const request& r) {
  for (unsigned lane = 0; lane < warp_lanes; lane += 2) {
    const std::uint32_t pair = r.mask >> lane & 3u;
    if (pair == 1 || pair == 2) return false;
    if (pair == 3 && r.address[lane] != r.address[lane + 1]) return false;
  }
  return true;
}

/// Each lane its own word, in order without gaps: the case of most requests.
bool in_a_row(const request& r) {
  if (r.mask == 0) return false;
  const auto first = static_cast<unsigned>(std::countr_zero(r.mask));
  const std::uint32_t run = r.mask >> first;
  if ((run & (run + 1)) != 0) return false;
  bool same = true;
  for (unsigned k = 1; k < static_cast<unsigned>(std::popcount(run)); ++k)
    same &= r.address[first + k] == r.address[first] + std::uint64_t{k} * r.size;
  return same;
}

/// The most different words that the lanes of `mask` want of one bank.
unsigned passes_of_block(const request& r, std::uint32_t mask) {
  // The words of each bank as a list: a bank's last word, and of each word the one before.
  std::array<std::uint8_t, banks> last{}, in_bank{};
  std::array<std::uint64_t, 5 * warp_lanes> word;
  std::array<std::uint8_t, 5 * warp_lanes> before;
  unsigned words = 0, most = 0;
  each_lane(mask, [&](unsigned lane) {
    const std::uint64_t end = (r.address[lane] + r.size - 1) / 4;
    for (std::uint64_t w = r.address[lane] / 4; w <= end; ++w) {
      const unsigned bank = w % banks;
      unsigned at = last[bank];
      while (at != 0 && word[at - 1] != w) at = before[at - 1];
      if (at != 0) continue;
      word[words] = w;
      before[words] = last[bank];
      last[bank] = static_cast<std::uint8_t>(++words);
      most = std::max<unsigned>(most, ++in_bank[bank]);
    }
  });
  return most;
}

/// Blocks of a cluster have banks of their own.
unsigned passes(const request& r, std::uint32_t mask) {
  unsigned most = 0;
  while (mask != 0) {
    const std::uint32_t block = same_block(r, mask);
    most = std::max(most, passes_of_block(r, block));
    mask &= ~block;
  }
  return most;
}

}  // namespace

// A variable has at most 227 KiB, and blocks lie further apart.
std::uint32_t same_block(const request& r, std::uint32_t mask) {
  constexpr std::uint64_t apart = 256 * 1024;
  const std::uint64_t first = r.address[static_cast<unsigned>(std::countr_zero(mask))];
  std::uint32_t same = 0;
  each_lane(mask, [&](unsigned lane) {
    same |= std::uint32_t{r.address[lane] - first + apart < 2 * apart} << lane;
  });
  return same;
}

lane_groups groups_of(const request& r) {
  if (r.size <= 4) return {1, 32};
  const unsigned groups = (r.size <= 8 ? 2u : 4u) / (pairs_share(r) ? 2u : 1u);
  return {groups, warp_lanes / groups};
}

shared_cost cost_in_shared(const request& r) {
  if (r.mask == 0) return {};
  if (r.size == 4 && in_a_row(r) && r.address[static_cast<unsigned>(std::countr_zero(r.mask))] % 4 == 0)
    return {1, 1};
  const lane_groups g = groups_of(r);
  shared_cost c;
  for (unsigned k = 0; k < g.count; ++k) {
    const std::uint32_t group = g.lanes == 32 ? ~0u : ((1u << g.lanes) - 1) << (k * g.lanes);
    if ((r.mask & group) == 0) continue;
    ++c.ideal;
    c.wavefronts += passes(r, r.mask & group);
  }
  return c;
}

global_cost cost_in_global(const request& r) {
  if (r.mask == 0) return {};
  const unsigned lanes = r.lanes();
  if (in_a_row(r)) {
    const std::uint64_t first = r.address[static_cast<unsigned>(std::countr_zero(r.mask))];
    const unsigned bytes = lanes * r.size;
    return {static_cast<unsigned>((first + bytes - 1) / 32 - first / 32 + 1), bytes};
  }
  // An access of 16 bytes that is not aligned may lie in two sectors.
  std::array<std::uint64_t, 2 * warp_lanes> sector;
  std::array<std::uint32_t, 2 * warp_lanes> bytes;
  unsigned count = 0;
  each_lane(r.mask, [&](unsigned lane) {
    std::uint64_t at = r.address[lane];
    for (std::uint64_t left = r.size; left != 0;) {
      const std::uint64_t in = at % 32, part = std::min<std::uint64_t>(left, 32 - in);
      const auto touched = static_cast<std::uint32_t>(((std::uint64_t{1} << part) - 1) << in);
      unsigned k = count;  // neighbours come one after the other: look at the last one first
      while (k != 0 && sector[k - 1] != at / 32) --k;
      if (k == 0) {
        sector[count] = at / 32;
        bytes[count++] = touched;
      } else {
        bytes[k - 1] |= touched;
      }
      at += part;
      left -= part;
    }
  });
  unsigned useful = 0;
  for (unsigned k = 0; k < count; ++k) useful += static_cast<unsigned>(std::popcount(bytes[k]));
  return {count, useful};
}

unsigned multiplicity(const request& r) {
  unsigned most = 0;
  for (std::uint32_t rest = r.mask; rest != 0;) {
    const std::uint64_t address = r.address[static_cast<unsigned>(std::countr_zero(rest))];
    std::uint32_t equal = 0;
    each_lane(rest, [&](unsigned lane) { equal |= std::uint32_t{r.address[lane] == address} << lane; });
    most = std::max(most, static_cast<unsigned>(std::popcount(equal)));
    rest &= ~equal;
  }
  return most;
}

}  // namespace lens
