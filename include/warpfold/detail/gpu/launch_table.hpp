// SPDX-License-Identifier: Apache-2.0
/// \file launch_table.hpp
/// Which launch an array of a given size gets, chosen from runs of bench/gpu/sweep on an H100.
#pragma once

#include <cstdint>

namespace wf::device {

constexpr std::uint32_t divide_up(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>((a + b - 1) / b);
}
constexpr std::uint32_t at_most(std::uint32_t a, std::uint32_t limit) { return a < limit ? a : limit; }

/// The share of an array larger than L2 that its loads leave there, in sixteenths: about half of L2.
/// More of it evicts itself; the next sum of the array finds that share. 0: not worth it.
constexpr int kept_sixteenths(std::uint64_t bytes, std::uint64_t l2_bytes) {
  const std::uint64_t k = 16 * (l2_bytes / 25 * 12) / bytes;
  return k >= 1 ? static_cast<int>(k < 16 ? k : 16) : 2 * bytes <= 25 * l2_bytes ? 1 : 0;
}

/// small_T_L: one block of T threads, L packs of 16 bytes each. grid_T: T threads per block, `workers`
/// blocks and a collector; what they read is evicted first from L2, except by grid_512_keep. share, stream:
/// `workers` blocks of 512 and of fast_sum's large_threads, one of which collects.
enum class fast_kind {
  small_32_1, small_32_4, small_128_4, small_256_4, small_512_4, small_1024_4,
  grid_128, grid_256, grid_512, grid_512_keep, share, stream
};
struct fast_shape {
  fast_kind kind;
  std::uint32_t workers;
  float kept;
};

/// The shape of a fast sum of `bytes` on `sm` multiprocessors.
constexpr fast_shape fast_shape_for(std::uint64_t bytes, std::uint32_t sm, std::uint64_t l2_bytes) {
  const std::uint64_t packs = bytes / 16;
  if (packs <= 32) return {fast_kind::small_32_1, 1, 1};
  if (packs <= 128) return {fast_kind::small_32_4, 1, 1};
  if (packs <= 512) return {fast_kind::small_128_4, 1, 1};
  if (packs <= 1024) return {fast_kind::small_256_4, 1, 1};
  if (packs <= 2048) return {fast_kind::small_512_4, 1, 1};
  if (packs <= 4096) return {fast_kind::small_1024_4, 1, 1};
  // At most 256 workers: the collector's warp looks at so many messages at once. Of up to two blocks a
  // multiprocessor, some room is left for the collector, which so starts with the others.
  if (packs <= 8192) return {fast_kind::grid_128, divide_up(packs, 128), 1};
  if (packs <= 65536) return {fast_kind::grid_256, divide_up(packs, 256), 1};
  if (packs <= (bytes <= l2_bytes / 6 ? 262144u : 131072u)) return {fast_kind::grid_256, divide_up(packs, 1024), 1};
  if (bytes <= l2_bytes / 4 * 3) {
    // As many as make no more rounds: with 247 workers where 256 fit, 2^21 floats took five rounds of loads
    // in place of four, and 0.91 of CUB's time in place of 0.8.
    const std::uint32_t two = at_most(2 * sm - 1, 256);
    const std::uint32_t rounds = divide_up(packs, std::uint64_t{two} * 512);
    // Loads that are the first to go from L2 do not displace what others left there. An array that is more than a part of L2
    // then finds no place: summed again and again, 2^22 floats took 8.5 µs so, and 4.7 by loads that stay. CUB took 6.4.
    return {bytes <= l2_bytes / 6 ? fast_kind::grid_512 : fast_kind::grid_512_keep,
            divide_up(packs, std::uint64_t{rounds} * 512), 1};
  }
  if (2 * bytes <= 25 * l2_bytes) {
    const auto half = l2_bytes / 25 * 12;
    const float kept = 16 * half >= bytes ? static_cast<float>(kept_sixteenths(bytes, l2_bytes)) / 16
                                          : static_cast<float>(half) / static_cast<float>(bytes);
    return {fast_kind::share, sm, kept};
  }
  return {fast_kind::stream, 2 * sm, 1};
}

/// Where bulk copies (bulk.cuh) are faster than loads, and the share of the array that they leave in L2: less than loads
/// do, for they are not faster where they find it there.
constexpr bool bulk_pays(std::uint64_t bytes, std::uint64_t l2_bytes) { return bytes > 5 * l2_bytes; }
constexpr float bulk_kept(std::uint64_t bytes, std::uint64_t l2_bytes) {
  return static_cast<float>(l2_bytes / 12) / static_cast<float>(bytes);
}

/// The shape of an exact sum: `workers` blocks, and a collector if there are several.
struct exact_shape {
  std::uint32_t workers;
  float kept;  ///< 0: stream
};

/// Blocks of `threads` with at least `packs_each` packs per thread; 2, 3 and at last `resident` blocks a
/// multiprocessor, since few blocks are cheap to merge and many keep the memory busy.
constexpr exact_shape exact_shape_for(std::uint64_t bytes, std::uint32_t threads,
                                      std::uint32_t packs_each, std::uint32_t resident,
                                      std::uint32_t sm, std::uint64_t l2_bytes) {
  const std::uint32_t wanted = divide_up(bytes / 16 + 1, std::uint64_t{threads} * packs_each);
  if (bytes > l2_bytes / 4 * 3) {
    const int kept = kept_sixteenths(bytes, l2_bytes);
    return {sm * resident, static_cast<float>(kept) / 16};
  }
  const std::uint32_t a_sm = bytes <= (std::uint64_t{9} << 20) ? 2 : 3;
  return {at_most(wanted, sm * at_most(a_sm, resident)), 1};
}

}  // namespace wf::device
