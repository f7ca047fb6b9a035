// SPDX-License-Identifier: Apache-2.0
// Races in instrumented kernels: each class is named by its lines, and correct kernels by none.
#include "fixture.hpp"

#include <simt/recorder.hpp>
#include <simt/vector_types.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <utility>

namespace lens_test {
namespace {

using pair = std::pair<int, int>;

class races : public lens {
 protected:
  simt::race_detector detector;

  /// The racing pairs of lines.
  std::set<pair> found(const std::string& name, const launch& how, unsigned n = 0) {
    detector.clear();
    simt::current_options().watch = &detector;
    runs(name, how, n);
    simt::current_options().watch = nullptr;
    std::set<pair> lines;
    for (const simt::race& r : detector.races()) {
      EXPECT_NE(r.kernel, "");
      EXPECT_EQ(r.a.where.file.substr(0, 16), "tests/simt_lens/") << to_string(r);
      lines.insert({r.a.where.line, r.b.where.line});
    }
    return lines;
  }
  pair lines(const std::string& a, const std::string& b) { return std::minmax(line_of(a), line_of(b)); }
  void clean(const std::string& name, const launch& how, unsigned n = 0) {
    for (auto order : orders)
      for (auto schedule : schedules) {
        simt::current_options().order = order;
        simt::current_options().schedule = schedule;
        EXPECT_EQ(found(name, how, n), std::set<pair>()) << name << ": " << described();
      }
  }
  std::string described() {
    std::string all;
    for (const simt::race& r : detector.races()) all += to_string(r) + "\n";
    return all;
  }
};

TEST_F(races, every_thread_adds_to_one_word) {
  const pair here = lines("racing-add", "racing-add");
  for (auto order : orders) {
    simt::current_options().order = order;
    EXPECT_EQ(found("racing_add", {4, 64}, 256), std::set<pair>({here})) << described();
    std::set<std::pair<simt::access_kind, simt::access_kind>> kinds;
    for (const simt::race& r : detector.races()) {
      kinds.insert({r.a.kind, r.b.kind});
      EXPECT_EQ(r.where, simt::space::global);
      EXPECT_EQ(r.address, reinterpret_cast<std::uintptr_t>(out));
      EXPECT_NE(r.kernel.find("racing_add"), std::string::npos);
    }
    EXPECT_EQ(kinds.size(), 2u) << "read with write, and write with write";
  }
}

TEST_F(races, in_lock_step_the_racing_add_loses_all_of_a_warp_but_one) {
  simt::current_options().schedule = simt::lane_schedule::lock_step;
  simt::current_options().os_threads = 1;  // or blocks race, too, and lose more
  runs("racing_add", {4, 64}, 256);
  EXPECT_EQ(result(1)[0], 8.0f);
}

TEST_F(races, a_missing_barrier_in_a_tree) {
  for (auto order : orders) {
    simt::current_options().order = order;
    EXPECT_EQ(found("tree_without_barrier", {2, 128, 512}, 256), std::set<pair>({lines("tree-store", "tree-add")}))
        << described();
    for (const simt::race& r : detector.races()) EXPECT_EQ(r.where, simt::space::shared);
  }
}

TEST_F(races, between_lanes_of_a_warp) {
  const std::set<pair> pairs{lines("neighbour-store", "neighbour-load")};
  for (auto schedule : schedules) {
    simt::current_options().schedule = schedule;
    EXPECT_EQ(found("neighbours", {1, 64}), pairs) << described();
    EXPECT_EQ(found("neighbours_half", {1, 64}), std::set<pair>({lines("neighbour-store", "neighbour-far")}))
        << described();
  }
}

TEST_F(races, between_warps) {
  EXPECT_EQ(found("between_warps", {1, 64}), std::set<pair>({lines("warps-store", "warps-load")})) << described();
}

TEST_F(races, between_blocks) {
  for (auto order : orders) {
    simt::current_options().order = order;
    EXPECT_EQ(found("clear_in_block_0", {64, 32}), std::set<pair>({lines("clear", "clear-add")})) << described();
    // Right when block 0 comes first, which no machine promises.
    if (order != simt::block_order::shuffled) {
      EXPECT_EQ(result(1)[0], order == simt::block_order::forward ? 64.0f : 1.0f);
    }
  }
}

TEST_F(races, a_vector_load_races_with_the_word_it_holds) {
  if (!SIMT_WIDE_ACCESSES) GTEST_SKIP() << "clang++ 16 and later read instrumented vectors an element at a time, and not those that nobody uses (simt/vector_types.hpp)";
  const auto all = found("vectors_race", {1, 32});
  EXPECT_TRUE(all.count(lines("vector-store", "vector-load"))) << described();
}

TEST_F(races, a_ticket_without_its_fence) {
  EXPECT_EQ(found("last_block_without_fence", {16, 64}, 1024), std::set<pair>({lines("ticket-store", "ticket-load")}))
      << described();
}

TEST_F(races, atomics_of_block_scope_between_blocks) {
  EXPECT_EQ(found("adds_for_all_blocks", {4, 32}), std::set<pair>({lines("block-add", "block-add")})) << described();
  EXPECT_NE(described().find("block-scope atomic update"), std::string::npos) << described();
  EXPECT_EQ(found("adds_by_two_scopes", {2, 32}), std::set<pair>({lines("device-add", "narrow-add")})) << described();
  clean("adds_for_all_blocks", {1, 64});
}

TEST_F(races, a_mailbox_without_acquire) {
  EXPECT_EQ(found("mailbox_relaxed", {4, 32}), std::set<pair>({lines("mail", "mail")})) << described();
}

TEST_F(races, a_grid_without_its_barrier_and_a_cluster_that_clears_too_early) {
  const launch cooperative{4, 32, 0, 1, true}, cluster{4, 32, 0, 2};
  EXPECT_EQ(found("grid_sum_without_sync", cooperative, 64), std::set<pair>({lines("grid-store", "grid-load")}))
      << described();
  EXPECT_EQ(found("cluster_sum_clears_early", cluster, 64).size(), 1u) << described();
}

TEST_F(races, none_in_correct_kernels) {
  clean("tree", {4, 256, 1024}, 1000);
  clean("neighbours_syncwarp", {1, 64});
  clean("neighbours_shuffle", {1, 64});
  clean("shuffle_block", {4, 256}, size);
  clean("last_block", {16, 64}, 1024);
  clean("adds_for_its_block", {8, 64});
  clean("halves", {1, 64});
  clean("vectors", {1, 64});
  clean("unrolled_sync", {4, 128, 512 + 128});
  clean("grid_sum", {4, 32, 0, 1, true}, 64);
  clean("cluster_sum", {4, 32, 0, 2}, 64);
  clean("cluster_writes_into_others", {8, 32, 0, 4});
  clean("tiles", {1, 64});
  clean("constants", {1, 64});
}

TEST_F(races, none_in_a_mailbox_with_acquire) {
  for (auto schedule : schedules) {
    simt::current_options().schedule = schedule;
    EXPECT_EQ(found("mailbox", {4, 32}), std::set<pair>()) << described();
  }
}

TEST_F(races, a_million_elements_are_checked_within_seconds) {
#ifdef WARPFOLD_SANITIZED  // as many lines and orders, and fewer blocks
  constexpr unsigned n = 1u << 16;
#else
  constexpr unsigned n = 1u << 20;
#endif
  float* many = nullptr;
  ASSERT_EQ(cudaMalloc(&many, n * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMemset(many, 0, n * sizeof(float)), cudaSuccess);
  std::swap(in, many);
  for (const char* name : {"tree", "shuffle_block", "tree_modulo"}) {
    const launch how{n / 256, 256, 1024};
    const auto timed = [&](const char* what, simt::observer* watch) {
      simt::current_options().watch = watch;
      const auto start = std::chrono::steady_clock::now();
      runs(name, how, n);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      simt::current_options().watch = nullptr;
      std::printf("%s, %s: %.3f s\n", name, what, took.count());
      return took.count();
    };
    std::uint64_t events = 0;
    simt::recorder recorder([&](const simt::block_recording& r) {
      for (const auto& t : r.threads) events += t.size();
    });
    timed("checks only", nullptr);
    timed("recorded", &recorder);
    std::printf("%s: %llu events\n", name, static_cast<unsigned long long>(events));
    EXPECT_LT(timed("races", &detector), 60);
    EXPECT_TRUE(detector.races().empty()) << described();
  }
  std::swap(in, many);
  cudaFree(many);
}

// The famous last warp. In lock-step, as before Volta, it adds up; when each lane runs on to the next
// barrier, lane t reads cells whose lanes have not added anything yet.
class unrolled : public races {
 protected:
  const launch how{2, 128, 512 + 128};
  const std::vector<const char*> after{"unroll-16", "unroll-8", "unroll-4", "unroll-2", "unroll-1"};
};

// Lane t reads all its cells before lane t + d first writes the one it will: five reads, one write.
TEST_F(unrolled, last_warp_is_wrong_when_lanes_run_to_the_barrier) {
  std::set<pair> expected;
  for (const char* reader : after) expected.insert(lines("unroll-32", reader));
  EXPECT_EQ(found("unrolled", how), expected) << described();
  EXPECT_NE(result(1)[0], 128.0f);
  EXPECT_EQ(detector.races_by_site().size(), 5u);
  for (const simt::race& r : detector.races()) {
    EXPECT_TRUE(r.a.is_volatile && r.b.is_volatile);
    EXPECT_EQ(r.where, simt::space::shared);
    EXPECT_EQ(r.a.thread / 32, r.b.thread / 32);
  }
}

// Each line reads what the line before wrote, and what it is about to write.
TEST_F(unrolled, last_warp_is_right_in_lock_step_and_still_a_race) {
  simt::current_options().schedule = simt::lane_schedule::lock_step;
  std::set<pair> expected;
  const char* line_before = "unroll-32";
  for (const char* line : after) {
    expected.insert(lines(line_before, line));
    expected.insert(lines(line, line));
    line_before = line;
  }
  EXPECT_EQ(found("unrolled", how), expected) << described();
  EXPECT_EQ(result(2), std::vector<float>({128, 128}));
}

TEST_F(unrolled, last_warp_with_syncwarp_is_right_and_clean) {
  for (auto schedule : schedules) {
    simt::current_options().schedule = schedule;
    EXPECT_EQ(found("unrolled_sync", how), std::set<pair>()) << described();
    EXPECT_EQ(result(2), std::vector<float>({128, 128}));
  }
}

}  // namespace
}  // namespace lens_test
