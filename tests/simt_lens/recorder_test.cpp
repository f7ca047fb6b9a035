// SPDX-License-Identifier: Apache-2.0
// A recording holds what the counters will need: here they are counted from it in the plainest way, and
// held against numbers derived by hand.
#include "../support/effort.hpp"
#include "fixture.hpp"

#include <simt/composite_observer.hpp>
#include <simt/recorder.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace lens_test {
namespace {

/// One instruction of a warp: what its lanes accessed at one site, at the same visit since the last barrier.
struct request {
  simt::space where{};
  bool writes = false;
  std::vector<std::uint64_t> addresses;
};

std::vector<request> requests_of(const simt::block_recording& r, std::uint32_t warp) {
  std::map<std::tuple<unsigned, std::uint32_t, unsigned, unsigned>, request> all;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    unsigned barriers = 0;
    std::map<std::pair<std::uint32_t, unsigned>, unsigned> visits;
    for (const simt::event& e : r.lane(warp, lane)) {
      if (e.what() == simt::event_kind::block_barrier) {
        ++barriers;
        visits.clear();
      }
      if (e.what() != simt::event_kind::read && e.what() != simt::event_kind::write) continue;
      const auto kind = static_cast<unsigned>(e.kind);
      request& q = all[{barriers, e.site, kind, visits[{e.site, kind}]++}];
      q.where = e.region();
      q.writes = e.what() == simt::event_kind::write;
      q.addresses.push_back(e.address);
    }
  }
  std::vector<request> list;
  for (auto& [key, q] : all) list.push_back(std::move(q));
  return list;
}

/// For 4-byte accesses, the most different words in one bank.
unsigned wavefronts(const request& q) {
  std::map<std::uint64_t, std::set<std::uint64_t>> words;
  for (std::uint64_t a : q.addresses) words[a / 4 % 32].insert(a / 4);
  std::size_t most = 0;
  for (const auto& [bank, in_it] : words) most = std::max(most, in_it.size());
  return static_cast<unsigned>(most);
}

struct counts {
  std::uint64_t blocks = 0, loads = 0, load_conflicts = 0, stores = 0, store_conflicts = 0;
  std::uint64_t global_loads = 0, sectors = 0, atomics = 0, barriers = 0, ends = 0, entered = 0;
  bool operator==(const counts&) const = default;
};

class recorded : public lens {
 protected:
  counts record(const std::string& name, const launch& how, unsigned n) {
    counts c;
    simt::recorder recorder([&](const simt::block_recording& r) {
      ++c.blocks;
      EXPECT_EQ(r.threads.size(), how.threads);
      EXPECT_NE(r.launch->kernel, "");
      for (std::uint32_t w = 0; w < r.warps(); ++w)
        for (const request& q : requests_of(r, w)) {
          if (q.where == simt::space::shared) {
            (q.writes ? c.stores : c.loads) += 1;
            (q.writes ? c.store_conflicts : c.load_conflicts) += wavefronts(q) - 1;
          } else if (q.where == simt::space::global && !q.writes) {
            ++c.global_loads;
            std::set<std::uint64_t> sectors;
            for (std::uint64_t a : q.addresses) sectors.insert(a / 32);
            c.sectors += sectors.size();
          }
        }
      for (const auto& t : r.threads)
        for (const simt::event& e : t) {
          c.atomics += e.what() == simt::event_kind::atomic_update;
          c.entered += e.what() == simt::event_kind::basic_block;
          c.ends += e.what() == simt::event_kind::end;
          if (&t == &r.threads[0]) c.barriers += e.what() == simt::event_kind::block_barrier;
        }
    });
    simt::current_options().watch = &recorder;
    runs(name, how, n);
    simt::current_options().watch = nullptr;
    return c;
  }
};

// 65,536 floats in 256 blocks of 256. A block of the sequential tree: steps of 128, 64, 32 … 1 keep
// 4 + 2 + 1·6 = 12 warps busy, with two loads and a store each, 8 stores before, one load after.
TEST_F(recorded, the_three_trees_make_the_requests_derived_by_hand) {
  const launch how{256, 256, 1024};
  wf::test::some_of_all chosen;
  for (auto order : orders) {
    if (!chosen()) continue;
    simt::current_options().order = order;
    const counts sequential = record("tree", how, size);
    EXPECT_EQ(sequential.blocks, 256u);
    EXPECT_EQ(sequential.loads, 6400u);
    EXPECT_EQ(sequential.load_conflicts, 0u);
    EXPECT_EQ(sequential.stores, 256u * 20);
    EXPECT_EQ(sequential.store_conflicts, 0u);
    EXPECT_EQ(sequential.global_loads, 2048u);
    EXPECT_EQ(sequential.sectors, 8192u);
    EXPECT_EQ(sequential.atomics, 256u);
    EXPECT_EQ(sequential.barriers, 256u * 9);
    EXPECT_EQ(sequential.ends, 65536u);
    EXPECT_GT(sequential.entered, 65536u * 9);
  }
  const counts modulo = record("tree_modulo", how, size);
  EXPECT_EQ(modulo.loads, 24320u);
  EXPECT_EQ(modulo.load_conflicts, 0u);
  const counts strided = record("tree_strided", how, size);
  EXPECT_EQ(strided.loads, 6400u);
  EXPECT_EQ(strided.load_conflicts, 17920u);
  EXPECT_EQ(strided.store_conflicts, 8960u);
}

TEST_F(recorded, is_the_same_in_both_schedules) {
  const launch how{8, 256, 1024};
  const counts to_barrier = record("tree", how, 2048);
  simt::current_options().schedule = simt::lane_schedule::lock_step;
  EXPECT_EQ(record("tree", how, 2048), to_barrier);
}

TEST_F(recorded, warp_syncs_and_fences_are_in_their_lanes_lists) {
  std::uint64_t syncs = 0, fences = 0;
  simt::recorder recorder([&](const simt::block_recording& r) {
    for (const auto& t : r.threads)
      for (const simt::event& e : t) {
        syncs += e.what() == simt::event_kind::warp_sync && e.extra == ~0u;
        fences += e.what() == simt::event_kind::fence && e.extra == static_cast<unsigned>(simt::scope::device);
      }
  });
  simt::current_options().watch = &recorder;
  runs("shuffle_block", {2, 64}, 128);  // 5 shuffles by each warp, and 5 more by the first
  EXPECT_EQ(syncs, 2u * (64 + 32) * 5);
  runs("last_block", {4, 32}, 64);
  EXPECT_EQ(fences, 4u);
}

TEST_F(recorded, vector_loads_stay_whole_or_split_into_their_words) {
  std::uint64_t bytes = 0, odd = 0;
  simt::recorder recorder([&](const simt::block_recording& r) {
    for (const auto& t : r.threads)
      for (const simt::event& e : t)
        if (e.what() == simt::event_kind::read) {
          bytes += e.size;
          odd += e.size != 16;
        }
  });
  simt::current_options().watch = &recorder;
  runs("vectors", {1, 64});
  EXPECT_EQ(bytes, 64u * 16);
  EXPECT_EQ(odd, 0u) << "a float4 is one request, as on the hardware";
}

TEST_F(recorded, several_observers_see_the_same_launch) {
  std::uint64_t blocks = 0;
  simt::recorder recorder([&](const simt::block_recording&) { ++blocks; });
  simt::race_detector detector;
  simt::composite_observer both{&recorder, &detector};
  simt::current_options().watch = &both;
  runs("racing_add", {4, 64}, 256);
  EXPECT_EQ(blocks, 4u);
  EXPECT_FALSE(detector.races().empty());
}

TEST_F(recorded, more_events_than_it_can_hold_fail_the_launch) {
  std::uint64_t blocks = 0;
  simt::recorder recorder([&](const simt::block_recording&) { ++blocks; }, true, 50000);
  simt::race_detector detector;
  simt::composite_observer both{&detector, &recorder};
  simt::current_options().watch = &both;
  for (const char* name : {"counts_for_ever", "waits_for_nobody"}) {
    EXPECT_EQ(run(name, {2, 64}, in, out, 0), cudaErrorLaunchFailure);
    const simt::fault_report r = simt::last_fault();
    EXPECT_EQ(r.what, simt::fault::too_long) << r.text;
    EXPECT_NE(r.where.line, 0) << r.text;
    EXPECT_NE(r.text.find("more than 50000 events"), std::string::npos) << r.text;
    simt::clear_fault();
  }
  EXPECT_EQ(blocks, 0u) << "a part of a block is not handed over";
  runs("tree", {64, 256, 1024}, 64 * 256);  // block after block makes more than that
  EXPECT_EQ(blocks, 64u);
}

}  // namespace
}  // namespace lens_test
