// SPDX-License-Identifier: Apache-2.0
// Counters of small kernels, each derived by hand.
#include "kernels.hpp"

#include <lens/counting.hpp>
#include <lens/operations.hpp>

#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <fstream>

namespace {

using lens::counters;
using lens::memory_counts;

int line_of(const std::string& mark) {
  std::ifstream text(LENS_TEST_SOURCE_DIR "/kernels.cpp");
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.ends_with("// @" + mark)) return number;
  }
  ADD_FAILURE() << "no line is marked @" << mark;
  return 0;
}

class counted : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaMalloc(&in, 4096 * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&out, 4096 * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaMemset(in, 0, 4096 * sizeof(float)), cudaSuccess);
  }
  void TearDown() override {
    cudaFree(in);
    cudaFree(out);
    simt::current_options() = before;
  }
  lens::kernel_counts of(const std::string& name, unsigned threads = 32, unsigned blocks = 1) {
    const auto all = lens::count(
        [&] { EXPECT_EQ(lens_test::run(name, blocks, threads, in, out), 0) << simt::last_fault().text; });
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  static counters at(const lens::kernel_counts& k, const std::string& mark) {
    for (const lens::line_counts& l : k.lines)
      if (l.where.line == line_of(mark) && l.where.file.ends_with("kernels.cpp")) return l.counted;
    ADD_FAILURE() << "nothing was counted on the line @" << mark;
    return {};
  }
  float *in = nullptr, *out = nullptr;
  simt::options before = simt::current_options();
};

TEST_F(counted, wavefronts_of_every_width) {
  struct row {
    const char* name;
    std::uint64_t load, ideal_load, store, ideal_store;
  };
  for (const row& r : {row{"stride<float,1>", 1, 1, 1, 1}, {"stride<float,2>", 2, 1, 2, 1},
                       {"stride<float,32>", 32, 1, 32, 1}, {"stride<float,33>", 1, 1, 1, 1},
                       {"stride<double,1>", 2, 2, 2, 2}, {"stride<double,2>", 4, 2, 4, 2},
                       {"stride<float4,1>", 4, 4, 4, 4}, {"stride<float4,2>", 8, 4, 8, 4},
                       {"stride<float4,8>", 32, 4, 32, 4}, {"pairs<double>", 1, 1, 2, 2},
                       {"pairs<float4>", 2, 2, 4, 4}}) {
    const counters c = of(r.name).total;
    EXPECT_EQ(c.shared_load.requests, 1u) << r.name;
    EXPECT_EQ(c.shared_store.requests, 1u) << r.name;
    EXPECT_EQ(c.shared_load.wavefronts, r.load) << r.name;
    EXPECT_EQ(c.shared_load.ideal, r.ideal_load) << r.name;
    EXPECT_EQ(c.shared_store.wavefronts, r.store) << r.name;
    EXPECT_EQ(c.shared_store.ideal, r.ideal_store) << r.name;
    EXPECT_EQ(c.shared_load.ways, r.load / r.ideal_load) << r.name << ": 1 without conflicts, whatever the width";
    EXPECT_EQ(c.shared_store.ways, r.store / r.ideal_store) << r.name;
    EXPECT_EQ(c.shared_load.lanes, 32u) << r.name;
    EXPECT_EQ(c.warp_syncs, 1u) << r.name;
    EXPECT_EQ(c.divergent, 0u) << r.name;
  }
}

TEST_F(counted, lanes_that_leave_a_loop_wait_behind_it) {
  const auto k = of("lanes_leave_a_loop");
  const memory_counts loads = at(k, "leave-load").global_load;
  EXPECT_EQ(loads.requests, 4u);
  EXPECT_EQ(loads.lanes, 32u + 24 + 16 + 8);
  EXPECT_EQ(loads.sectors, 4u * 4);
  EXPECT_EQ(loads.useful_bytes, 4u * (32 + 24 + 16 + 8));
  EXPECT_EQ(at(k, "leave-store").global_store.requests, 1u);
  EXPECT_EQ(k.total.divergent, 3u);
}

TEST_F(counted, rounds_of_different_turns_are_different_requests) {
  const auto k = of("uneven_inner_loops");
  const memory_counts loads = at(k, "uneven-load").global_load;
  EXPECT_EQ(loads.requests, 4u);
  EXPECT_EQ(loads.lanes, 2u * (32 + 16));
  EXPECT_EQ(k.total.divergent, 2u);
}

TEST_F(counted, a_return_a_switch_and_a_call_part_lanes_once) {
  const auto half = of("half_returns", 64);
  EXPECT_EQ(half.total.divergent, 2u);
  EXPECT_EQ(at(half, "half-move").global_load.requests, 2u);
  EXPECT_EQ(at(half, "half-move").global_load.lanes, 32u);
  const auto ways = of("four_ways");
  EXPECT_EQ(ways.total.global_load.requests, 4u);
  EXPECT_EQ(ways.total.global_load.lanes, 32u);
  EXPECT_EQ(at(ways, "four-meet").global_store.requests, 1u) << "all lanes meet behind the switch";
  const auto calls = of("calls");
  EXPECT_EQ(calls.total.divergent, 2u);
  EXPECT_EQ(at(calls, "larger-first").global_load.requests, 2u);
  EXPECT_EQ(at(calls, "larger-first").global_load.lanes, 32u);
  EXPECT_EQ(at(calls, "calls-store").global_store.requests, 1u);
}

TEST_F(counted, lanes_that_part_between_two_calls_are_together_in_the_second) {
  const auto k = of("parts_between_calls");
  EXPECT_EQ(k.total.shuffles, 2u * 5);
  EXPECT_EQ(k.total.divergent, 1u);
  EXPECT_EQ(at(k, "sum-load").global_load.requests, 2u);
  EXPECT_EQ(at(k, "between-store").global_store.requests, 1u);
}

TEST_F(counted, an_object_of_8_or_16_bytes_is_one_access) {
  for (const auto& [name, size] : {std::pair{"moves<quad>", 16u}, {"moves<couple>", 8u}, {"moves<float4>", 16u}}) {
    const counters c = of(name).total;
    EXPECT_EQ(c.global_load.requests, 1u) << name;
    EXPECT_EQ(c.global_load.bytes, 32u * size) << name;
    EXPECT_EQ(c.global_load.sectors, size) << name;
    EXPECT_EQ(c.global_store.requests, 1u) << name;
    EXPECT_EQ(c.global_store.sectors, size) << name;
  }
  const counters two = of("neighbours").total;
  EXPECT_EQ(two.global_load.requests, 2u);
  EXPECT_EQ(two.global_load.sectors, 16u);
  EXPECT_EQ(two.global_load.useful_bytes, 256u);
}

TEST_F(counted, atomics_have_their_turns_and_their_queue) {
  const auto k = of("updates", 64, 3);
  const memory_counts shared = at(k, "update-shared").shared_atomic;
  EXPECT_EQ(shared.requests, 6u);
  EXPECT_EQ(shared.lanes, 192u);
  EXPECT_EQ(shared.turns, 6u * 8);
  EXPECT_EQ(shared.wavefronts, 6u);
  const memory_counts global = at(k, "update-global").global_atomic;
  EXPECT_EQ(global.requests, 6u);
  EXPECT_EQ(global.turns, 6u * 4);
  EXPECT_EQ(global.sectors, 6u);
  EXPECT_EQ(k.atomic_words, 8u);
  EXPECT_EQ(k.longest_queue, 24u);
  EXPECT_EQ(k.total.barriers, 3u * 2 * 2);
}

TEST_F(counted, meetings_are_told_apart) {
  const counters c = of("meetings", 64).total;
  EXPECT_EQ(c.barriers, 4u);
  EXPECT_EQ(c.shuffles, 2u * 3);
  EXPECT_EQ(c.warp_syncs, 2u);
}

TEST_F(counted, a_path_seen_late_counts_for_all_blocks) {
  std::vector<std::uint64_t> stores, parted;
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
    simt::current_options().order = order;
    const auto k = of("a_late_path", 32, 8);
    stores.push_back(at(k, "late-store").global_store.requests);
    parted.push_back(k.total.divergent);
  }
  // The way out of the branch ends the thread: nothing lies on all paths but the end, so nobody waits.
  EXPECT_EQ(stores, std::vector<std::uint64_t>(3, 16));
  EXPECT_EQ(parted, std::vector<std::uint64_t>(3, 8 + 1));
}

TEST_F(counted, floating_point_operations_of_every_lane_and_line) {
  if (!lens::reads_operations()) GTEST_SKIP() << "of this processor's code operations are not read";
  const auto k = of("operations", 64);
  const auto flops = [&](const lens::kernel_counts& of, const char* mark) { return at(of, mark).flops; };
  EXPECT_EQ(flops(k, "op-four"), 4u * 64);
  EXPECT_EQ(flops(k, "op-root"), 64u);
  EXPECT_EQ(flops(k, "op-fused"), 2u * 64);
  EXPECT_EQ(flops(k, "op-fused-double"), 3u * 64);
  EXPECT_EQ(flops(k, "op-lanes"), 2u * 5);
  EXPECT_EQ(flops(k, "op-loop"), 2u * (31 * 32 / 2));
  EXPECT_EQ(flops(k, "op-called"), 64u);
  EXPECT_EQ(flops(k, "op-last"), 64u);
  EXPECT_EQ(k.total.flops, 64u * (4 + 1 + 2 + 3 + 1 + 1) + 10 + 31 * 32) << "comparisons, minima, signs are none";

  EXPECT_EQ(of("conversions").total.flops, 0u);

  const auto h = of("halves");
  EXPECT_EQ(flops(h, "half-add"), 32u);
  EXPECT_EQ(flops(h, "half-fused"), 2u * 32);
  EXPECT_EQ(flops(h, "half-pair"), 2u * 32);
  EXPECT_EQ(flops(h, "half-pair-fused"), 4u * 32);
  EXPECT_EQ(flops(h, "half-divided"), 32u);
  EXPECT_EQ(h.total.flops, 32u * (1 + 2 + 2 + 4 + 1 + 1));

  const auto u = of("float_updates", 32);
  EXPECT_EQ(flops(u, "float-add"), 32u);
  EXPECT_EQ(flops(u, "double-add"), 32u);
  EXPECT_EQ(flops(u, "half2-add"), 2u * 32);
  EXPECT_EQ(u.total.flops, 4u * 32);
}

TEST_F(counted, a_kernel_that_does_nothing_counts_nothing) {
  const auto k = of("nothing", 96, 5);
  EXPECT_EQ(k.name, "nothing");
  EXPECT_EQ(k.launches, 1u);
  counters none = k.total;
  EXPECT_EQ(none.blocks, 3u * 5) << "its own block, a warp each, and nothing of the launch";
  EXPECT_EQ(none.block_lanes, 32 * none.blocks);
  none.blocks = none.block_lanes = 0;
  EXPECT_EQ(none, counters{});
}

TEST_F(counted, schedules_and_orders_change_nothing) {
  for (const char* name : {"uneven_inner_loops", "calls", "updates", "meetings", "four_ways"}) {
    simt::current_options() = before;
    const counters plain = of(name, 64, 2).total;
    simt::current_options().schedule = simt::lane_schedule::lock_step;
    EXPECT_EQ(of(name, 64, 2).total, plain) << name;
    simt::current_options().order = simt::block_order::reversed;
    EXPECT_EQ(of(name, 64, 2).total, plain) << name;
  }
}

TEST_F(counted, lines_add_up_to_the_total) {
  const auto k = of("updates", 64, 3);
  counters sum;
  for (const lens::line_counts& l : k.lines) sum += l.counted;
  EXPECT_EQ(sum, k.total);
  EXPECT_EQ(k.grid[0], 3u);
  EXPECT_EQ(k.block[0], 64u);
}

}  // namespace
