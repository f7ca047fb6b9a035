// SPDX-License-Identifier: Apache-2.0
// The counters of twenty kernels are those that a pencil derives: warps times turns, 8 words a sector, 32 banks. Nothing here
// is copied from what the lens prints. An H200's (bench/results/twenty-h200.json) are the same, but where nvcc joins loads.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

#include <lens/counting.hpp>

#include "twenty_kernels.hpp"

namespace {

using count = std::uint64_t;

/// What is not named is none.
struct expected {
  count loads = 0, load_sectors = 0, stores = 0, store_sectors = 0, atomics = 0, atomic_sectors = 0;
  count shared_loads = 0, load_passes = 0, shared_stores = 0, store_passes = 0, shared_atomics = 0;
  count shuffles = 0, barriers = 0;
};

constexpr count warps = 4096 / 32;       // in a kernel with a thread an element
constexpr count whole = warps * 4;       // sectors of as many words, side by side
constexpr count blocks = 16, in_block = 8;  // blocks of 256 threads, warps of each

const std::map<std::string, expected>& by_pencil() {
  static const std::map<std::string, expected> all = {
      {"copy", {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = whole}},
      // A quarter of the threads; 32 lanes of 16 bytes are 16 sectors.
      {"copy_by_fours", {.loads = warps / 4, .load_sectors = whole, .stores = warps / 4, .store_sectors = whole}},
      // 128 bytes from the second word on: a fifth sector.
      {"copy_shifted", {.loads = warps, .load_sectors = warps * 5, .stores = warps, .store_sectors = whole}},
      // x[i - 1] and x[i + 1] reach into a fifth sector, but that of the first and that of the last warp, which stand at the edge.
      {"stencil", {.loads = 3 * warps, .load_sectors = whole + 2 * (5 * warps - 1), .stores = warps, .store_sectors = whole}},
      // A word more at each end of a block, but for the array's; all of three neighbours are free of conflicts.
      {"stencil_in_shared",
       {.loads = warps + 2 * (blocks - 1), .load_sectors = whole + 2 * (blocks - 1), .stores = warps, .store_sectors = whole,
        .shared_loads = 3 * warps, .load_passes = 3 * warps, .shared_stores = warps + 2 * blocks, .store_passes = warps + 2 * blocks, .barriers = warps}},
      // Columns of 256 bytes: a sector a lane.
      {"transpose", {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = warps * 32}},
      // 4 blocks of 8 warps, 4 rows each. A column of 32 words a row lies in one bank; of 33 in all.
      {"transpose_tiled<32>",
       {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = whole, .shared_loads = warps, .load_passes = warps * 32,
        .shared_stores = warps, .store_passes = warps, .barriers = 4 * in_block}},
      {"transpose_tiled<33>",
       {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = whole, .shared_loads = warps, .load_passes = warps,
        .shared_stores = warps, .store_passes = warps, .barriers = 4 * in_block}},
      // 2 warps, 64 turns: a row is 256 bytes from the next, so 32 sectors; x[k] is one for all.
      {"matvec_thread_a_row", {.loads = 2 * 64 * 2, .load_sectors = 2 * 64 * (32 + 1), .stores = 2, .store_sectors = 2 * 4}},
      // 64 rows, 2 turns, 4 sectors of a and of x.
      {"matvec_warp_a_row", {.loads = 64 * 2 * 2, .load_sectors = 64 * 2 * 2 * 4, .stores = 64, .store_sectors = 64, .shuffles = 64 * 5}},
      // 4 blocks of 8 warps, 2 tiles; a warp is 2 rows of 16: 2 sectors each. In 16 turns two words of a, 16 banks apart, and 16 of b.
      {"matmul",
       {.loads = 4 * 8 * 2 * 2, .load_sectors = 4 * 8 * 2 * 2 * 4, .stores = 4 * 8, .store_sectors = 4 * 8 * 4, .shared_loads = 4 * 8 * 2 * 16 * 2,
        .load_passes = 4 * 8 * 2 * 16 * 2, .shared_stores = 4 * 8 * 2 * 2, .store_passes = 4 * 8 * 2 * 2, .barriers = 4 * 8 * 2 * 2}},
      // 32 numbers that follow each other fall into 32 bins side by side.
      {"histogram", {.loads = warps, .load_sectors = whole, .atomics = warps, .atomic_sectors = whole}},
      // 64 bins are two warps of each block, at the begin and at the end.
      {"histogram_in_shared",
       {.loads = warps, .load_sectors = whole, .atomics = blocks * 2, .atomic_sectors = blocks * 2 * 4, .shared_loads = blocks * 2, .load_passes = blocks * 2,
        .shared_stores = blocks * 2, .store_passes = blocks * 2, .shared_atomics = warps, .barriers = 2 * warps}},
      // 16 counts are half of a warp: 64 bytes, two sectors.
      {"radix_count",
       {.loads = warps, .load_sectors = whole, .stores = blocks, .store_sectors = blocks * 2, .shared_loads = blocks, .load_passes = blocks,
        .shared_stores = blocks, .store_passes = blocks, .shared_atomics = warps, .barriers = 2 * warps}},
      // 8 steps. All warps load their own; of the warps that load from `step` behind, 8 for steps 1 to 16, then 7, 6 and 4.
      {"scan",
       {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = whole, .shared_loads = blocks * (8 * 8 + 5 * 8 + 7 + 6 + 4 + 8),
        .load_passes = blocks * (8 * 8 + 5 * 8 + 7 + 6 + 4 + 8), .shared_stores = blocks * (8 + 8 * 8), .store_passes = blocks * (8 + 8 * 8),
        .barriers = blocks * 8 * 9}},
      // 32 rows of 64, two words a lane; 5 steps for the greatest and 5 for the sum.
      {"softmax", {.loads = 32 * 2, .load_sectors = 32 * 2 * 4, .stores = 32 * 2, .store_sectors = 32 * 2 * 4, .shuffles = 32 * 10}},
      // 2 warps hold the query (2 words a lane) and take 32 keys each; then 64 values of 64, whose weights are one word for all.
      {"attention_row",
       {.loads = 2 * 2 + 64 * 2 + 64 * 2, .load_sectors = (2 * 2 + 64 * 2 + 64 * 2) * 4, .stores = 2, .store_sectors = 2 * 4, .shared_loads = 64 * 2,
        .load_passes = 64 * 2, .shared_stores = 64, .store_passes = 64, .shuffles = 64 * 5, .barriers = 2}},
      // Words 8 apart: a sector a lane. The indexes lie side by side.
      {"gather", {.loads = 2 * warps, .load_sectors = whole + warps * 32, .stores = warps, .store_sectors = whole}},
      // In steps 128, 64 and 32 and less 4, 2 and six times one warp work, with two loads and a store.
      {"tree",
       {.loads = warps, .load_sectors = whole, .stores = blocks, .store_sectors = blocks, .shared_loads = blocks * (2 * (4 + 2 + 6) + 1),
        .load_passes = blocks * (2 * (4 + 2 + 6) + 1), .shared_stores = blocks * (8 + 4 + 2 + 6), .store_passes = blocks * (8 + 4 + 2 + 6),
        .barriers = blocks * 8 * 8}},
      // 16 of a warp are even: 64 bytes at a multiple of 64.
      {"keep_even", {.loads = warps, .load_sectors = whole, .stores = warps, .store_sectors = warps * 2, .atomics = warps, .atomic_sectors = warps, .shuffles = warps}},
  };
  return all;
}

TEST(lens_twenty, counters_are_those_of_a_pencil) {
  const auto counted = lens::count(launch_twenty);
  ASSERT_EQ(counted.size(), 20u);
  for (const lens::kernel_counts& k : counted) {
    const auto found = by_pencil().find(k.name);
    ASSERT_NE(found, by_pencil().end()) << k.name;
    const expected& e = found->second;
    const lens::counters& c = k.total;
    const auto same = [&](const char* what, count is, count should) { EXPECT_EQ(is, should) << k.name << ", " << what; };
    same("global loads", c.global_load.requests, e.loads);
    same("sectors loaded", c.global_load.sectors, e.load_sectors);
    same("global stores", c.global_store.requests, e.stores);
    same("sectors stored", c.global_store.sectors, e.store_sectors);
    same("global atomics", c.global_atomic.requests, e.atomics);
    same("sectors of atomics", c.global_atomic.sectors, e.atomic_sectors);
    same("shared loads", c.shared_load.requests, e.shared_loads);
    same("passes of loads", c.shared_load.wavefronts, e.load_passes);
    same("shared stores", c.shared_store.requests, e.shared_stores);
    same("passes of stores", c.shared_store.wavefronts, e.store_passes);
    same("shared atomics", c.shared_atomic.requests, e.shared_atomics);
    same("shuffles", c.shuffles, e.shuffles);
    same("barriers", c.barriers, e.barriers);
  }
}

/// Shared loads as nvcc joins them: four neighbouring words of a thread's unrolled loop become one of 16 bytes (`LDS.128`), whose
/// 32 lanes want two words of 16 bytes or one: a pass for each half of a warp.
struct joined {
  count requests, wavefronts;
};
const std::map<std::string, joined>& joined_by_nvcc() {
  static const std::map<std::string, joined> all = {
      // 16 words of b as they are, 16 of a in four.
      {"matmul", {4 * 8 * 2 * (16 + 4), 4 * 8 * 2 * (16 + 4 * 2)}},
      {"attention_row", {64 / 4 * 2, 64 / 4 * 2 * 2}},
  };
  return all;
}

std::map<std::string, count> compared(const lens::counters& c) {
  std::map<std::string, count> all = {{"global_load.requests", c.global_load.requests},
                                      {"global_load.sectors", c.global_load.sectors},
                                      {"global_store.requests", c.global_store.requests},
                                      {"global_store.sectors", c.global_store.sectors},
                                      {"global_atomic.requests", c.global_atomic.requests},
                                      {"shared_load.requests", c.shared_load.requests},
                                      {"shared_load.wavefronts", c.shared_load.wavefronts},
                                      {"shared_store.requests", c.shared_store.requests},
                                      {"shared_store.wavefronts", c.shared_store.wavefronts}};
  std::erase_if(all, [](const auto& one) { return one.second == 0; });
  return all;
}

TEST(lens_twenty, an_h200_counts_the_same_but_for_loads_that_nvcc_joins) {
  std::ifstream file(TWENTY_FILE);
  ASSERT_TRUE(file) << TWENTY_FILE;
  const auto measured = nlohmann::json::parse(file);
  const auto counted = lens::count(launch_twenty);
  ASSERT_EQ(measured["kernels"].size(), counted.size());
  std::size_t counters = 0, different = 0;
  for (std::size_t k = 0; k < counted.size(); ++k) {
    const auto& there = measured["kernels"][k];
    EXPECT_EQ(there["kernel"], counted[k].name);
    auto expected = compared(counted[k].total);
    ASSERT_EQ(there["counters"].size(), expected.size()) << counted[k].name;
    for (const auto& [name, here] : expected) EXPECT_EQ(there["counters"].at(name)["simt"], here) << counted[k].name << ", " << name;
    if (const auto j = joined_by_nvcc().find(counted[k].name); j != joined_by_nvcc().end())
      expected["shared_load.requests"] = j->second.requests, expected["shared_load.wavefronts"] = j->second.wavefronts;
    for (const auto& [name, gpu] : expected) {
      const auto& c = there["counters"].at(name);
      EXPECT_EQ(c["gpu"], gpu) << counted[k].name << ", " << name;
      EXPECT_EQ(c.value("cause", ""), c["gpu"] == c["simt"] ? "" : "fused accesses") << counted[k].name << ", " << name;
      ++counters, different += c["gpu"] != c["simt"];
    }
  }
  EXPECT_EQ(counters, 115u);  // docs/lens.md tells both
  EXPECT_EQ(different, 4u);
}

}  // namespace
