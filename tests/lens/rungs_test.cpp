// SPDX-License-Identifier: Apache-2.0
// Counters of the ladder: the figures derived by hand, and what must hold for every rung.
#include <ladder/data.hpp>
#include <ladder/ladder.hpp>
#include <lens/counting.hpp>
#include <lens/operations.hpp>

#include <gtest/gtest.h>

#include "../support/effort.hpp"

#include <ctime>

namespace {

using lens::counters;
using wf::dtype;

class rungs : public testing::Test {
 protected:
  std::vector<lens::kernel_counts> of(std::string_view name, std::uint64_t n, unsigned block = 256,
                                      dtype type = dtype::f32) {
    if (n != loaded_ || type != type_) {
      data_ = std::make_unique<ladder::array>(ladder::make_data(type, ladder::distribution::ones, n, 1));
      lens_->load(type, data_->data(), n);
      loaded_ = n;
      type_ = type;
    }
    const auto all = lens_->rungs(type);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (full_name(all[k]) == name)
        return lens::count([&] { EXPECT_EQ(lens_->run(k, {block, 0}).refused, "") << name; });
    ADD_FAILURE() << "no rung " << name;
    return {};
  }
  std::unique_ptr<ladder::place> lens_ = ladder::open_lens();
  std::unique_ptr<ladder::array> data_;
  std::uint64_t loaded_ = ~std::uint64_t{0};
  dtype type_ = dtype::f32;
};

// 65,536 floats in blocks of 256. A block of the sequential tree: steps of 128, 64, 32 … 1 keep
// 4 + 2 + 1·6 = 12 warps busy, with two loads and a store each; one load after. Lanes part in the
// steps of 16 … 1 and at the last line. The modulo tree keeps all 8 warps busy for the steps 1 … 16,
// then 4, 2 and 1, and lanes part in each; the strided one has its conflicts in all but the last
// steps: 2, 4, 8 … ways.
TEST_F(rungs, the_three_trees_are_as_derived_by_hand) {
  struct row {
    const char* name;
    std::uint64_t loads, load_conflicts, store_conflicts, divergent;
  };
  for (const row& r : {row{"tree_modulo", 24320, 0, 0, 12288},
                       {"tree_strided", 6400, 17920, 8960, 1536},
                       {"tree_sequential", 6400, 0, 0, 1536}}) {
    const auto all = of(r.name, 65536);
    ASSERT_EQ(all.size(), 1u);
    const counters& c = all[0].total;
    EXPECT_EQ(c.shared_load.requests, r.loads) << r.name;
    EXPECT_EQ(c.shared_load.conflicts(), r.load_conflicts) << r.name;
    EXPECT_EQ(c.shared_store.conflicts(), r.store_conflicts) << r.name;
    EXPECT_EQ(c.divergent, r.divergent) << r.name;
    EXPECT_EQ(c.shared_store.requests, 2048 + (r.loads - 256) / 2) << r.name;
    // 255 additions a block, and its atomic one: an H100 counts 255 a block too, of 2^24 floats 16,711,680
    // (docs/profile.md), the atomics' being made in the L2.
    if (lens::reads_operations()) {
      EXPECT_EQ(c.flops, 65536u) << r.name;
    }
    EXPECT_EQ(c.global_load.requests, 2048u) << r.name;
    EXPECT_EQ(c.global_load.sectors, 8192u) << r.name;
    EXPECT_EQ(c.global_load.useful_bytes, 65536u * 4) << r.name;
    EXPECT_EQ(c.global_atomic.requests, 256u) << r.name;
    EXPECT_EQ(c.barriers, 256u * 8 * 9) << r.name;
    EXPECT_EQ(all[0].atomic_words, 1u);
    EXPECT_EQ(all[0].longest_queue, 256u);
  }
}

TEST_F(rungs, the_queue_is_as_long_as_the_lesson_says) {
  EXPECT_EQ(of("atomic", 65536)[0].longest_queue, 65536u);
  EXPECT_EQ(of("atomic", 65536)[0].total.global_atomic.turns, 65536u);
  EXPECT_EQ(of("warp_leader/nested", 65536)[0].longest_queue, 2048u);
  EXPECT_EQ(of("block_leader", 65536)[0].longest_queue, 256u);
  EXPECT_EQ(of("shared_atomic", 65536)[0].total.shared_atomic.turns, 65536u);
}

TEST_F(rungs, shuffles_replace_shared_memory) {
  const auto k = of("shuffle", 65536)[0];
  const std::uint64_t warps = std::uint64_t{k.grid[0]} * k.block[0] / 32;
  EXPECT_EQ(k.total.shuffles, warps * 5);
  EXPECT_EQ(k.total.shared_load.requests + k.total.shared_store.requests, 0u);
  EXPECT_EQ(k.total.barriers, 0u);
}

TEST_F(rungs, a_block_shuffles_by_its_warps_and_then_by_one) {
  const auto k = of("shuffle_block", 65536)[0];
  const std::uint64_t blocks = k.grid[0], warps = blocks * 8;
  EXPECT_EQ(k.total.shuffles, (warps + blocks) * 5);
  EXPECT_EQ(k.total.barriers, warps);
  EXPECT_EQ(k.total.shared_store.requests, warps);
  EXPECT_EQ(k.total.shared_load.requests, blocks);
  // Lane 0 of each warp stores, 8 lanes of the first load, and thread 0 adds.
  EXPECT_EQ(k.total.divergent, warps + blocks + blocks);
}

TEST_F(rungs, vector_loads_are_a_quarter_of_the_requests) {
  EXPECT_EQ(of("vector_load", 65536)[0].total.global_load.requests, 512u);
  EXPECT_EQ(of("vector_load", 65536)[0].total.global_load.sectors, 8192u);
  EXPECT_EQ(of("grid_stride", 65536)[0].total.global_load.requests, 2048u);
}

// 128 x 128 floats: 512 warps' rows are read and written once, 4 lines of a tile a warp.
TEST_F(rungs, the_transposes_are_32_way_padded_and_swizzled_exactly) {
  const auto all = lens::count([&] { lens_->transposes(128); });
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].total.global_store.sectors, 512u * 32) << "naive: a sector for every element";
  for (std::size_t k = 0; k < 4; ++k) {
    const counters& c = all[k].total;
    EXPECT_EQ(c.global_load.requests, 512u) << all[k].name;
    EXPECT_EQ(c.global_load.sectors, 2048u) << all[k].name;
    EXPECT_EQ(c.global_store.requests, 512u) << all[k].name;
    if (k == 0) continue;
    EXPECT_EQ(c.global_store.sectors, 2048u) << all[k].name;
    EXPECT_EQ(c.shared_store.requests, 512u) << all[k].name;
    EXPECT_EQ(c.shared_store.conflicts(), 0u) << all[k].name;
    EXPECT_EQ(c.shared_load.requests, 512u) << all[k].name;
    EXPECT_EQ(c.shared_load.wavefronts, k == 1 ? 512u * 32 : 512u) << all[k].name;
    EXPECT_EQ(c.shared_load.ways, k == 1 ? 32u : 1u) << all[k].name;
  }
}

// Every rung, type and size loads each element once and nothing twice (but what the rung itself leaves).
TEST_F(rungs, every_element_is_loaded_once) {
  wf::test::some_of_all chosen;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i32, dtype::f16})
    for (const std::uint64_t n : {0, 1, 1000, 5000}) {
      for (const ladder::rung_info& r : lens_->rungs(type)) {
        if (r.on_host || r.name == "two_pass" || r.name == "last_block" || r.name == "grid_sync" ||
            r.name == "record" || r.name == "exact" || r.name == "race")
          continue;
        if (!chosen()) continue;
        const auto all = of(full_name(r), n, 256, type);
        ASSERT_EQ(all.size(), 1u) << full_name(r);
        EXPECT_EQ(all[0].total.global_load.bytes, n * wf::info(type).size)
            << full_name(r) << ", " << wf::info(type).name << ", n = " << n;
      }
    }
}

bool only_blocks(const counters& c) {
  counters blocks;
  blocks.blocks = c.blocks;
  blocks.block_lanes = c.block_lanes;
  blocks.divergent = c.divergent;
  return c == blocks;
}

// clang++ reaches dynamic shared memory through a function of its own, whose basic blocks are of no source. What it
// makes of the same access in several branches has a file but no line.
#ifdef __clang__
constexpr bool by_clang = true;
#else
constexpr bool by_clang = false;
#endif

TEST_F(rungs, nothing_is_counted_on_lines_that_are_not_the_projects) {
  for (const dtype type : {dtype::f32, dtype::f16})
    for (const ladder::rung_info& r : lens_->rungs(type)) {
      if (r.on_host) continue;
      for (const auto& k : of(full_name(r), 3000, 128, type))
        for (const auto& l : k.lines) {
          if (by_clang && l.where == lens::source_place{} && only_blocks(l.counted)) continue;
          EXPECT_TRUE(l.where.file.starts_with("ladder/") || l.where.file.starts_with("include/warpfold/"))
              << full_name(r) << ": " << l.where.file << ':' << l.where.line;
          EXPECT_TRUE(l.where.line > 0 || (by_clang && l.counted.blocks == 0)) << full_name(r) << ": " << l.where.file;
        }
    }
}

/// This process alone: other work on the machine does not count.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Prints the table of docs/lens.md: all of a counted run, and what counting adds to the same run unwatched.
// Times are for reading: a busy machine would fail any bound.
TEST_F(rungs, a_million_elements_are_counted) {
#ifdef WARPFOLD_SANITIZED  // the table would tell of the sanitizers
  constexpr std::uint64_t n = std::uint64_t{1} << 16;
#else
  constexpr std::uint64_t n = std::uint64_t{1} << 20;
#endif
  const auto all_rungs = lens_->rungs(dtype::f32);
  for (const ladder::rung_info& rung : all_rungs)
    if (!rung.on_host) of(full_name(rung), 4096);  // looks its source lines up, which is done once a program
  of("shuffle", n);  // loads the data
  for (std::size_t k = 0; k < all_rungs.size(); ++k) {
    if (all_rungs[k].on_host) continue;
    const std::string name = full_name(all_rungs[k]);
    double counted = processor_seconds();
    const auto kernels = of(name, n);
    counted = processor_seconds() - counted;
    double bare = processor_seconds();
    lens_->run(k, {256, 0});
    bare = processor_seconds() - bare;
    std::uint64_t events = 0;
    for (const auto& one : kernels) events += one.events;
    const double billionth = 1e-9 * static_cast<double>(events);
    std::printf("%-18s %9llu events %6.2f s %6.1f ns an event, %5.1f of them for counting\n", name.c_str(),
                static_cast<unsigned long long>(events), counted, counted / billionth, (counted - bare) / billionth);
    EXPECT_GT(events, n / 8) << name;  // 16-byte loads of halves, at least
  }
}

}  // namespace
