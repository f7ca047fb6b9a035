// SPDX-License-Identifier: Apache-2.0
// What the lens advises: each rule on a kernel that it speaks of, and silent on one that it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>

#include <lens/advice.hpp>
#include <lens/own/races.hpp>

#include "advice_kernels.hpp"

namespace {

using lens::rule;

/// All rules that are told of the kernel, and the text of one.
struct told {
  std::vector<lens::advice> all;
  const lens::advice* find(rule r) const {
    for (const lens::advice& a : all)
      if (a.what == r) return &a;
    return nullptr;
  }
  bool says(rule r) const { return find(r) != nullptr; }
  std::string text(rule r) const { return says(r) ? find(r)->text : "nothing"; }
};
told advice_on(subject s) {
  lens::explanation e;
  e.kernels = lens::count([&] { launch_subject(s); });
  const auto run = [&]() -> std::string {
    launch_subject(s);
    const std::string fault = simt::last_fault().text;
    simt::clear_fault();
    return fault;
  };
  simt::current_options().unwritten_reads = true;
  e.races = lens::own::judge_races(run, 2, 1000).races;
  simt::current_options().unwritten_reads = false;
  EXPECT_EQ(e.kernels.size(), 1u);
  return {lens::advice_for(e, e.kernels.front())};
}
bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }
#define EXPECT_HAS(text, part) EXPECT_TRUE(has(text, part)) << text

TEST(lens_advice, bank_conflicts_with_the_padding_and_the_swizzle) {
  const std::string text = advice_on(subject::column_of_tile).text(rule::bank_conflicts);
  EXPECT_HAS(text, "up to 32-way");
  EXPECT_HAS(text, "Rows of 33 elements instead of 32 have no conflicts");
  EXPECT_HAS(text, "c ^ (r % 32)");
  EXPECT_FALSE(advice_on(subject::padded_tile).says(rule::bank_conflicts));
  EXPECT_FALSE(advice_on(subject::swizzled_tile).says(rule::bank_conflicts));
}

TEST(lens_advice, bank_conflicts_of_a_strided_tree_go_by_skewing) {
  const std::string text = advice_on(subject::strided_tree).text(rule::bank_conflicts);
  EXPECT_HAS(text, "element i at i + i / 32");
}

TEST(lens_advice, uncoalesced_with_the_stride) {
  const std::string text = advice_on(subject::every_eighth).text(rule::uncoalesced);
  EXPECT_HAS(text, "touches 32 sectors where 4 would hold its bytes: its lanes are 32 bytes apart, and want 4 each");
  EXPECT_FALSE(advice_on(subject::neighbours).says(rule::uncoalesced));
  EXPECT_HAS(advice_on(subject::gathered).text(rule::uncoalesced), "follow no one distance");
}

TEST(lens_advice, divergence) {
  EXPECT_HAS(advice_on(subject::odd_lanes_work).text(rule::divergence), "of the lanes are idle");
  EXPECT_FALSE(advice_on(subject::whole_warps_work).says(rule::divergence));
  EXPECT_HAS(advice_on(subject::modulo_tree).text(rule::divergence), "over the loads and stores");
  EXPECT_FALSE(advice_on(subject::sequential_tree).says(rule::divergence));
}

TEST(lens_advice, atomics_at_one_address) {
  const std::string text = advice_on(subject::all_to_one).text(rule::one_address);
  EXPECT_HAS(text, "32 warps' atomics on global memory take 1024 turns");
  EXPECT_HAS(text, "1024 updates wait for each other at one word");
  EXPECT_HAS(text, "let one lane update: 32 turns");
  EXPECT_FALSE(advice_on(subject::warp_adds_first).says(rule::one_address));
  EXPECT_HAS(advice_on(subject::shared_to_one).text(rule::one_address), "on shared memory take 1024 turns");
}

TEST(lens_advice, occupancy) {
  EXPECT_HAS(advice_on(subject::one_warp_blocks).text(rule::occupancy), "leave 16 lanes of their last warp empty");
  EXPECT_HAS(advice_on(subject::ragged_blocks).text(rule::occupancy), "leave 28 lanes");
  EXPECT_FALSE(advice_on(subject::full_blocks).says(rule::occupancy));
  EXPECT_HAS(advice_on(subject::much_shared).text(rule::occupancy), "2 blocks of 256 threads fit on a multiprocessor, 16 warps of 64: shared memory run");
}

// The table of CUDA's own occupancy calculator for compute capability 9.0.
TEST(lens_advice, occupancy_calculator) {
  const auto is = [](unsigned threads, unsigned shared, unsigned registers, unsigned blocks, unsigned warps, std::string_view limit) {
    const lens::occupancy o = lens::occupancy_of(threads, shared, registers);
    EXPECT_EQ(o.blocks, blocks) << threads << " threads";
    EXPECT_EQ(o.warps, warps) << threads << " threads";
    EXPECT_EQ(o.limit, limit) << threads << " threads";
  };
  is(256, 0, 32, 8, 64, "threads");
  is(1024, 0, 32, 2, 64, "threads");
  is(768, 0, 32, 2, 48, "threads");
  is(32, 0, 32, 32, 32, "blocks");
  is(256, 0, 64, 4, 32, "registers");
  is(256, 0, 33, 6, 48, "registers");  // 33 registers of 32 lanes are 1056, handed out as 1280
  is(1024, 0, 128, 0, 0, "registers");
  is(128, 48 * 1024, 32, 4, 16, "shared memory");
  is(128, 227 * 1024, 32, 1, 4, "shared memory");
  EXPECT_EQ(lens::occupancy_of(256, 0).registers, 32u);
  EXPECT_EQ(lens::occupancy_of(768, 0).registers, 40u);
}

TEST(lens_advice, roofline_of_the_published_peak) {
  const std::string text = advice_on(subject::one_flop_a_word).text(rule::memory_bound);
  EXPECT_HAS(text, "0.25 operations a byte: memory holds it back below 20 on an H100 SXM");
  EXPECT_FALSE(advice_on(subject::many_flops_a_word).says(rule::memory_bound));
}

TEST(lens_advice, a_missing_barrier_between_the_racing_lines) {
  const told missing = advice_on(subject::no_barrier);
  EXPECT_HAS(missing.text(rule::missing_barrier), "put a __syncthreads() between them");
  EXPECT_FALSE(advice_on(subject::with_barrier).says(rule::missing_barrier));
  EXPECT_HAS(advice_on(subject::in_place_shift).text(rule::missing_barrier), "between what it reads and what it writes");
  EXPECT_HAS(advice_on(subject::between_blocks).text(rule::missing_barrier), "an atomic does within a kernel");
}

// The table of the rules: a kernel that each speaks of, and one that it is silent on.
TEST(lens_advice, each_rule_has_both_kernels) {
  const struct {
    rule what;
    subject triggers, silent;
  } table[] = {{rule::bank_conflicts, subject::column_of_tile, subject::padded_tile}, {rule::uncoalesced, subject::every_eighth, subject::neighbours},
               {rule::divergence, subject::odd_lanes_work, subject::whole_warps_work}, {rule::one_address, subject::all_to_one, subject::warp_adds_first},
               {rule::occupancy, subject::one_warp_blocks, subject::full_blocks}, {rule::memory_bound, subject::one_flop_a_word, subject::many_flops_a_word},
               {rule::missing_barrier, subject::no_barrier, subject::with_barrier}};
  EXPECT_EQ(std::size(table), static_cast<std::size_t>(rule::missing_barrier) + 1) << "missing_barrier is the last rule";
  for (std::size_t k = 0; k < std::size(table); ++k) {
    EXPECT_EQ(static_cast<std::size_t>(table[k].what), k);
    EXPECT_TRUE(advice_on(table[k].triggers).says(table[k].what)) << lens::name_of(table[k].what);
    EXPECT_FALSE(advice_on(table[k].silent).says(table[k].what)) << lens::name_of(table[k].what);
  }
}

}  // namespace
