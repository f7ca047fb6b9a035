// SPDX-License-Identifier: Apache-2.0
// The order that the race detector keeps, event by event: no kernel runs here.
#include <simt/race.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace {

using simt::access_kind;
using simt::memory_order;
using simt::space;

constexpr std::uintptr_t shared_base = 0x10000, global_base = 0x1000000;

// Sites are small numbers, which no debug information knows: each is a line of its own.
class detector : public ::testing::Test {
 protected:
  simt::race_detector races{[this](std::uintptr_t a) {
    return a < global_base ? simt::region{space::shared, shared_base, global_base, current}
                           : simt::region{space::global, global_base, global_base * 2, 0};
  }};
  std::uint64_t current = 0;

  void launch(std::uint32_t blocks, std::uint32_t threads, std::uint32_t cluster = 1) {
    simt::launch_info info{"kernel", {blocks, 1, 1}, {threads, 1, 1}, {cluster, 1, 1}, 0};
    races.launch_begin(info);
  }
  void block(std::uint64_t b) {
    current = b;
    races.block_begin(b);
  }
  void does(std::uint64_t b, std::uint32_t t, access_kind kind, std::uintptr_t address, std::uint32_t size,
            std::uintptr_t site, memory_order order = memory_order::relaxed, bool is_volatile = false) {
    races.access(b, t, {address, size, kind, is_volatile, order, site});
  }
  void read(std::uint32_t t, std::uintptr_t a, std::uintptr_t site, std::uint32_t size = 4) {
    does(current, t, access_kind::read, a, size, site);
  }
  void write(std::uint32_t t, std::uintptr_t a, std::uintptr_t site, std::uint32_t size = 4) {
    does(current, t, access_kind::write, a, size, site);
  }
  std::size_t found() { return races.races().size(); }
};

TEST_F(detector, write_then_read_without_barrier_is_a_race_and_is_described) {
  launch(1, 64);
  block(0);
  write(3, shared_base + 8, 101);
  read(40, shared_base + 8, 102);
  const auto all = races.races();
  ASSERT_EQ(all.size(), 1u);
  const simt::race& r = all[0];
  EXPECT_EQ(r.kernel, "kernel");
  EXPECT_EQ(r.where, space::shared);
  EXPECT_EQ(r.address, shared_base + 8);
  EXPECT_EQ(r.count, 1u);
  EXPECT_EQ(r.a.site, 101u);
  EXPECT_EQ(r.a.kind, access_kind::write);
  EXPECT_EQ(r.a.thread, 3u);
  EXPECT_EQ(r.b.site, 102u);
  EXPECT_EQ(r.b.kind, access_kind::read);
  EXPECT_EQ(r.b.thread, 40u);
}

TEST_F(detector, a_barrier_orders_the_block) {
  launch(1, 64);
  block(0);
  for (std::uint32_t t = 0; t < 64; ++t) write(t, shared_base + 4 * t, 1);
  races.block_barrier(0);
  for (std::uint32_t t = 0; t < 64; ++t) read(t, shared_base + 4 * (63 - t), 2);
  races.block_barrier(0);
  for (std::uint32_t t = 0; t < 64; ++t) write(t, shared_base + 4 * (63 - t), 3);
  EXPECT_EQ(found(), 0u);
}

TEST_F(detector, reads_do_not_race_but_a_later_write_races_with_each_of_them) {
  launch(1, 128);
  block(0);
  for (std::uint32_t t = 0; t < 4; ++t) read(t * 32, shared_base, 10 + t);
  EXPECT_EQ(found(), 0u);
  write(1, shared_base, 20);
  EXPECT_EQ(found(), 4u);
}

TEST_F(detector, equal_values_written_twice_race) {
  launch(1, 32);
  block(0);
  write(0, shared_base, 1);
  write(1, shared_base, 1);
  ASSERT_EQ(found(), 1u);
  EXPECT_EQ(races.races()[0].a.site, races.races()[0].b.site);
}

TEST_F(detector, volatile_orders_nothing) {
  launch(1, 32);
  block(0);
  does(0, 16, access_kind::write, shared_base, 4, 1, memory_order::relaxed, true);
  does(0, 0, access_kind::read, shared_base, 4, 2, memory_order::relaxed, true);
  ASSERT_EQ(found(), 1u);
  EXPECT_TRUE(races.races()[0].a.is_volatile);
}

TEST_F(detector, half_words_side_by_side_do_not_race) {
  launch(1, 32);
  block(0);
  for (std::uint32_t t = 0; t < 32; ++t) write(t, shared_base + 2 * t, 1, 2);
  for (std::uint32_t t = 0; t < 32; ++t) read(t, shared_base + 2 * t, 2, 2);
  EXPECT_EQ(found(), 0u);
  read(0, shared_base, 3, 4);  // its neighbour's half too
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_sixteen_byte_load_overlaps_four_words) {
  launch(1, 64);
  block(0);
  write(40, shared_base + 12, 1);
  read(0, shared_base, 2, 16);
  ASSERT_EQ(found(), 1u);
  EXPECT_EQ(races.races()[0].address, shared_base + 12);
}

TEST_F(detector, unaligned_accesses_are_byte_exact) {
  launch(1, 64);
  block(0);
  write(0, shared_base + 1, 1, 4);
  read(40, shared_base, 2, 1);
  read(40, shared_base + 5, 3, 1);
  EXPECT_EQ(found(), 0u);
  read(40, shared_base + 4, 4, 1);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, bytes_of_one_word_keep_their_own_last_write) {
  launch(1, 64);
  block(0);
  for (std::uint32_t i = 0; i < 4; ++i) write(i, shared_base + i, 1 + i, 1);
  races.block_barrier(0);
  write(9, shared_base + 2, 10, 1);
  read(40, shared_base, 20, 2);
  EXPECT_EQ(found(), 0u);
  read(40, shared_base, 21, 4);
  ASSERT_EQ(found(), 1u);
  EXPECT_EQ(races.races()[0].a.site, 10u);
}

TEST_F(detector, a_warp_sync_orders_its_lanes_and_no_others) {
  launch(1, 64);
  block(0);
  for (std::uint32_t t = 0; t < 64; ++t) write(t, shared_base + 4 * t, 1);
  races.warp_sync(0, 0, ~0u);
  read(5, shared_base + 4 * 9, 2);
  EXPECT_EQ(found(), 0u);
  read(5, shared_base + 4 * 40, 3);  // the other warp's
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_masked_warp_sync_orders_the_mask_only) {
  launch(1, 32);
  block(0);
  for (std::uint32_t t = 0; t < 32; ++t) write(t, shared_base + 4 * t, 1);
  races.warp_sync(0, 0, 0x0000FFFF);
  read(0, shared_base + 4 * 15, 2);
  EXPECT_EQ(found(), 0u);
  read(0, shared_base + 4 * 16, 3);
  EXPECT_EQ(found(), 1u);
  races.clear();
  races.warp_sync(0, 0, 0x00018000);  // 15 and 16: what 15 knows goes on
  read(16, shared_base + 4 * 3, 4);
  read(0, shared_base + 4 * 17, 5);
  ASSERT_EQ(found(), 1u);
  EXPECT_EQ(races.races()[0].b.site, 5u);
}

TEST_F(detector, a_partial_last_warp_is_whole_with_the_lanes_it_has) {
  launch(1, 40);
  block(0);
  write(33, shared_base, 1);
  races.warp_sync(0, 1, 0xFF);
  read(39, shared_base, 2);
  EXPECT_EQ(found(), 0u);
}

TEST_F(detector, blocks_share_global_memory_unordered_and_shared_memory_not_at_all) {
  launch(2, 32);
  block(0);
  write(0, shared_base, 1);
  write(0, global_base, 2);
  races.block_barrier(0);
  races.block_end(0);
  block(1);
  read(0, shared_base, 3);
  EXPECT_EQ(found(), 0u);
  read(0, global_base, 4);
  ASSERT_EQ(found(), 1u);
  EXPECT_EQ(races.races()[0].a.block, 0u);
  EXPECT_EQ(races.races()[0].b.block, 1u);
}

TEST_F(detector, the_next_launch_comes_after_this_one) {
  launch(1, 32);
  block(0);
  write(0, global_base, 1);
  races.block_end(0);
  races.launch_end();
  launch(1, 32);
  block(0);
  read(1, global_base, 2);
  EXPECT_EQ(found(), 0u);
}

TEST_F(detector, atomics_race_with_plain_accesses_only) {
  launch(2, 32);
  block(0);
  does(0, 0, access_kind::atomic_update, global_base, 4, 1);
  does(0, 1, access_kind::atomic_update, global_base, 4, 1);
  does(0, 2, access_kind::atomic_load, global_base, 4, 2);
  does(0, 3, access_kind::atomic_store, global_base, 4, 3);
  EXPECT_EQ(found(), 0u);
  read(4, global_base, 4);  // with the updates and the store, not with the load
  EXPECT_EQ(found(), 2u);
  races.block_end(0);
  block(1);
  write(0, global_base + 8, 5);
  does(1, 1, access_kind::atomic_update, global_base + 8, 4, 6);
  EXPECT_EQ(found(), 3u);
}

TEST_F(detector, atomics_of_block_scope_are_atomic_to_their_block_alone) {
  const auto narrow = [&](std::uint64_t b, std::uint32_t t, access_kind kind, std::uintptr_t address, std::uintptr_t site) {
    races.access(b, t, {address, 4, kind, false, memory_order::relaxed, site, simt::scope::block});
  };
  launch(3, 32);
  block(0);
  narrow(0, 0, access_kind::atomic_update, global_base, 1);
  narrow(0, 1, access_kind::atomic_update, global_base, 1);
  does(0, 2, access_kind::atomic_update, global_base, 4, 2);
  narrow(0, 0, access_kind::atomic_load, global_base + 4, 3);
  EXPECT_EQ(found(), 0u);
  block(1);
  does(1, 0, access_kind::atomic_update, global_base, 4, 4);  // with the narrow one of site 1, not with site 2
  EXPECT_EQ(found(), 1u);
  EXPECT_TRUE(races.races()[0].a.block_scope);
  EXPECT_FALSE(races.races()[0].b.block_scope);
  narrow(1, 0, access_kind::atomic_load, global_base + 4, 5);  // two loads
  EXPECT_EQ(found(), 1u);
  narrow(1, 1, access_kind::atomic_update, global_base, 6);  // with site 1 and the wide one, 2, of block 0
  EXPECT_EQ(found(), 3u);
  races.blocks_barrier(0, 3);
  narrow(2, 0, access_kind::atomic_update, global_base, 7);
  EXPECT_EQ(found(), 3u);
}

// The last block reads what the others wrote. What is left out decides.
struct ticket {
  bool fence = true;
  simt::scope reach = simt::scope::device;
  bool fence_before_barrier = false;
};

class ticket_test : public detector {
 protected:
  std::size_t run(const ticket& how, std::uint64_t blocks = 5) {
    launch(static_cast<std::uint32_t>(blocks), 64);
    for (std::uint64_t b = 0; b < blocks; ++b) {
      block(b);
      if (how.fence_before_barrier) {
        for (std::uint32_t t = 0; t < 64; ++t) {
          write(t, global_base + 4096 + 256 * b + 4 * t, 1);
          races.fence(b, t, how.reach);
        }
        races.block_barrier(b);
      } else {
        write(0, global_base + 4096 + 256 * b, 1);
        if (how.fence) races.fence(b, 0, how.reach);
      }
      does(b, 0, access_kind::atomic_update, global_base, 4, 2);
      write(0, shared_base, 3);
      races.block_barrier(b);
      for (std::uint32_t t = 0; t < 64; ++t) read(t, shared_base, 4);
      if (b + 1 == blocks) {
        for (std::uint32_t t = 0; t < blocks; ++t) read(t, global_base + 4096 + 256 * t, 5);
        races.block_barrier(b);
        if (how.fence_before_barrier)
          for (std::uint32_t t = 0; t < 64; ++t) read(t, global_base + 4096 + 4 * (63 - t), 5);
        write(0, global_base, 6);  // the ticket for the next launch
      }
      races.block_end(b);
    }
    return found();
  }
};

TEST_F(ticket_test, with_its_fence_is_clean) { EXPECT_EQ(run({}), 0u); }
TEST_F(ticket_test, without_a_fence_is_a_race) { EXPECT_GE(run({false}), 1u); }
TEST_F(ticket_test, with_a_fence_for_the_block_is_a_race) { EXPECT_GE(run({true, simt::scope::block}), 1u); }
TEST_F(ticket_test, a_fence_by_each_thread_then_a_barrier_is_clean) {
  EXPECT_EQ(run({true, simt::scope::device, true}), 0u);
}

TEST_F(detector, a_mailbox_is_ordered_by_release_and_acquire) {
  for (auto [store, load, clean] : {std::tuple(memory_order::release, memory_order::acquire, true),
                                    std::tuple(memory_order::relaxed, memory_order::acquire, false),
                                    std::tuple(memory_order::release, memory_order::relaxed, false)}) {
    races.clear();
    launch(2, 32);
    block(0);
    block(1);
    write(0, global_base + 64, 1);  // block 1
    does(1, 0, access_kind::atomic_store, global_base, 4, 2, store);
    does(0, 7, access_kind::atomic_load, global_base, 4, 3, load);
    does(0, 7, access_kind::read, global_base + 64, 4, 4);
    EXPECT_EQ(found(), clean ? 0u : 1u);
  }
}

TEST_F(detector, an_acquire_does_not_know_what_came_after_the_release) {
  launch(2, 32);
  block(0);
  block(1);
  does(1, 0, access_kind::atomic_store, global_base, 4, 1, memory_order::release);
  does(1, 0, access_kind::write, global_base + 64, 4, 2);
  does(0, 0, access_kind::atomic_load, global_base, 4, 3, memory_order::acquire);
  does(0, 0, access_kind::read, global_base + 64, 4, 4);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_plain_or_relaxed_store_ends_a_release_sequence_and_an_update_continues_it) {
  for (auto [kind, clean] :
       {std::pair(access_kind::atomic_update, true), std::pair(access_kind::atomic_store, false)}) {
    races.clear();
    launch(3, 32);
    for (std::uint64_t b = 0; b < 3; ++b) block(b);
    does(0, 0, access_kind::write, global_base + 64, 4, 1);
    does(0, 0, access_kind::atomic_store, global_base, 4, 2, memory_order::release);
    does(1, 0, kind, global_base, 4, 3);
    does(2, 0, access_kind::atomic_load, global_base, 4, 4, memory_order::acquire);
    does(2, 0, access_kind::read, global_base + 64, 4, 5);
    EXPECT_EQ(found(), clean ? 0u : 1u);
  }
}

TEST_F(detector, knowledge_travels_through_barriers_and_other_flags) {
  launch(3, 64);
  for (std::uint64_t b = 0; b < 3; ++b) block(b);
  does(0, 50, access_kind::write, global_base + 64, 4, 1);
  races.block_barrier(0);
  does(0, 0, access_kind::atomic_store, global_base, 4, 2, memory_order::release);
  does(1, 3, access_kind::atomic_load, global_base, 4, 3, memory_order::acquire);
  races.block_barrier(1);
  does(1, 60, access_kind::atomic_store, global_base + 4, 4, 4, memory_order::release);
  does(2, 9, access_kind::atomic_load, global_base + 4, 4, 5, memory_order::acquire);
  races.warp_sync(2, 0, ~0u);
  does(2, 20, access_kind::read, global_base + 64, 4, 6);
  EXPECT_EQ(found(), 0u);
  does(2, 40, access_kind::read, global_base + 64, 4, 7);  // the other warp knows nothing
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, warps_of_a_block_can_order_themselves_by_a_flag_in_shared_memory) {
  launch(1, 64);
  block(0);
  write(0, shared_base + 64, 1);
  does(0, 0, access_kind::atomic_store, shared_base, 4, 2, memory_order::release);
  does(0, 40, access_kind::atomic_load, shared_base, 4, 3, memory_order::acquire);
  read(40, shared_base + 64, 4);
  EXPECT_EQ(found(), 0u);
  read(41, shared_base + 64, 5);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_lock_orders_its_sections) {
  launch(4, 32);
  for (std::uint64_t b = 0; b < 4; ++b) {
    block(b);
    does(b, 0, access_kind::atomic_update, global_base, 4, 1, memory_order::acquire);
    does(b, 0, access_kind::read, global_base + 64, 4, 2);
    does(b, 0, access_kind::write, global_base + 64, 4, 3);
    does(b, 0, access_kind::atomic_store, global_base, 4, 4, memory_order::release);
    races.block_end(b);
  }
  EXPECT_EQ(found(), 0u);
}

TEST_F(detector, a_grid_barrier_orders_everything) {
  launch(3, 32);
  for (std::uint64_t b = 0; b < 3; ++b) block(b);
  for (std::uint64_t b = 0; b < 3; ++b) does(b, 5, access_kind::write, global_base + 4 * b, 4, 1);
  races.blocks_barrier(0, 3);
  for (std::uint64_t b = 0; b < 3; ++b) does(b, 9, access_kind::read, global_base + 4 * (2 - b), 4, 2);
  EXPECT_EQ(found(), 0u);
  does(0, 0, access_kind::write, global_base + 8, 4, 3);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_cluster_barrier_orders_its_blocks_only) {
  launch(4, 32, 2);
  for (std::uint64_t b = 0; b < 4; ++b) block(b);
  for (std::uint64_t b = 0; b < 4; ++b) does(b, 5, access_kind::write, global_base + 4 * b, 4, 1);
  races.blocks_barrier(0, 2);
  does(0, 9, access_kind::read, global_base + 4, 4, 2);
  EXPECT_EQ(found(), 0u);
  does(0, 9, access_kind::read, global_base + 8, 4, 3);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_release_passes_on_what_the_cluster_barrier_told) {
  launch(4, 32, 2);
  for (std::uint64_t b = 0; b < 4; ++b) block(b);
  does(1, 5, access_kind::write, global_base + 64, 4, 1);
  races.blocks_barrier(0, 2);
  does(0, 0, access_kind::atomic_store, global_base, 4, 2, memory_order::release);
  does(3, 0, access_kind::atomic_load, global_base, 4, 3, memory_order::acquire);
  does(3, 0, access_kind::read, global_base + 64, 4, 4);
  EXPECT_EQ(found(), 0u);
}

TEST_F(detector, a_word_read_by_many_blocks_is_still_raced_by_a_late_write) {
  constexpr std::uint32_t blocks = 3000, threads = 96;
  launch(blocks, threads);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    block(b);
    for (std::uint32_t t = 0; t < threads; ++t) read(t, global_base, 1);
    races.block_end(b);
  }
  EXPECT_EQ(found(), 0u);
  block(0);
  write(0, global_base, 2);
  EXPECT_EQ(found(), 1u);
}

TEST_F(detector, a_ticket_orders_all_readers_of_a_word_before_the_last_block_writes_it) {
  constexpr std::uint32_t blocks = 2000, threads = 256;
  launch(blocks, threads);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    block(b);
    for (std::uint32_t t = 0; t < threads; ++t) read(t, global_base + 64, 1);
    races.block_barrier(b);
    races.fence(b, 0, simt::scope::device);
    does(b, 0, access_kind::atomic_update, global_base, 4, 2);
    races.fence(b, 0, simt::scope::device);
    if (b + 1 == blocks) write(0, global_base + 64, 3);
    races.block_end(b);
  }
  EXPECT_EQ(found(), 0u);
}

// Another warp's steps lie between a lane's additions: hundreds of them cannot be told as one.
TEST_F(detector, a_warp_sync_orders_many_atomics_of_its_lanes) {
  launch(1, 64);
  block(0);
  const auto add_often = [&] {
    for (int k = 0; k < 20; ++k) {
      for (std::uint32_t t = 0; t < 32; ++t) {
        does(0, t, access_kind::atomic_update, shared_base, 4, 1);
        races.warp_sync(0, 1, ~0u);
      }
    }
  };
  add_often();
  races.warp_sync(0, 0, ~0u);
  read(5, shared_base, 2);
  write(5, shared_base, 3);
  EXPECT_EQ(found(), 0u);
  races.warp_sync(0, 0, ~0u);
  add_often();
  races.warp_sync(0, 0, ~(1u << 7));
  write(5, shared_base, 4);  // lane 7 was not there
  EXPECT_EQ(found(), 1u);
  races.clear();
  races.warp_sync(0, 0, ~0u);
  add_often();
  races.warp_sync(0, 0, ~0u);
  read(40, shared_base, 5);  // another warp: it is behind neither the atomics nor the write
  EXPECT_EQ(found(), 2u);
}

// 2^20 elements in 4,096 blocks, a barrier a step: what a correct tree costs to check.
TEST_F(detector, a_large_tree_takes_seconds_and_is_clean) {
  constexpr std::uint32_t blocks = 4096, threads = 256;
  std::uint64_t accesses = 0;
  const auto start = std::chrono::steady_clock::now();
  launch(blocks, threads);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    block(b);
    for (std::uint32_t t = 0; t < threads; ++t) {
      read(t, global_base + 4 * (b * threads + t), 1);
      write(t, shared_base + 4 * t, 2);
      accesses += 2;
    }
    races.block_barrier(b);
    for (std::uint32_t s = threads / 2; s > 0; s /= 2) {
      for (std::uint32_t t = 0; t < s; ++t) {
        read(t, shared_base + 4 * (t + s), 3);
        read(t, shared_base + 4 * t, 4);
        write(t, shared_base + 4 * t, 5);
        accesses += 3;
      }
      races.block_barrier(b);
    }
    does(b, 0, access_kind::atomic_update, global_base - 4 + global_base, 4, 6);
    races.block_end(b);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(found(), 0u);
  RecordProperty("ns_an_access", std::to_string(took.count() * 1e9 / static_cast<double>(accesses)));
  std::printf("%.1f ns an access\n", took.count() * 1e9 / static_cast<double>(accesses));
  EXPECT_LT(took.count(), 20.0) << "seconds";
}

}  // namespace
