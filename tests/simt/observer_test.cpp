// SPDX-License-Identifier: Apache-2.0
// What an observer is told: the machine's own events, and the atomics of an instrumented kernel.
#include "launching.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

cudaError_t launch_observed(int* out, void* pair);
cudaError_t launch_in_step(int* cells);
cudaError_t launch_half_used(int which, float* out);

namespace {

struct notes : simt::observer {
  std::map<std::string, int> count;
  std::vector<std::uint32_t> masks;
  std::vector<simt::memory_access> accesses;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> who;
  simt::launch_info info;
  void launch_begin(const simt::launch_info& i) override { info = i, ++count["launch"]; }
  void launch_end() override { ++count["launch_end"]; }
  void block_begin(std::uint64_t) override { ++count["block"]; }
  void block_end(std::uint64_t) override { ++count["block_end"]; }
  void thread_end(std::uint64_t, std::uint32_t) override { ++count["thread_end"]; }
  void block_barrier(std::uint64_t) override { ++count["barrier"]; }
  void warp_sync(std::uint64_t, std::uint32_t, std::uint32_t mask) override { masks.push_back(mask); }
  void blocks_barrier(std::uint64_t first, std::uint64_t blocks) override { count["blocks"] += static_cast<int>(first * 100 + blocks); }
  void fence(std::uint64_t, std::uint32_t, simt::scope s) override { count["fence"] += s == simt::scope::device; }
  void access(std::uint64_t block, std::uint32_t thread, const simt::memory_access& a) override {
    accesses.push_back(a);
    who.emplace_back(block, thread);
  }
};

struct device_memory {
  void* at = nullptr;
  explicit device_memory(std::size_t bytes) {
    EXPECT_EQ(cudaMalloc(&at, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemset(at, 0, bytes), cudaSuccess);
  }
  ~device_memory() { cudaFree(at); }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
};

TEST(observer, is_told_of_all_that_synchronises_and_of_atomics_with_their_lines) {
  const options_for scope(simt::block_order::forward);
  notes seen;
  simt::current_options().watch = &seen;
  device_memory memory(64);
  int* out = static_cast<int*>(memory.at);
  ASSERT_EQ(launch_observed(out, out + 4), cudaSuccess) << simt::last_fault().text;
  EXPECT_EQ(seen.count["launch"], 1);
  EXPECT_EQ(seen.count["launch_end"], 1);
  EXPECT_EQ(seen.count["block"], 2);
  EXPECT_EQ(seen.count["block_end"], 2);
  EXPECT_EQ(seen.count["thread_end"], 80);
  EXPECT_EQ(seen.count["barrier"], 2);
  EXPECT_EQ(seen.count["blocks"], 2);
  EXPECT_EQ(seen.count["fence"], 2);
  std::sort(seen.masks.begin(), seen.masks.end());
  EXPECT_EQ(seen.masks, (std::vector<std::uint32_t>{0xffu, 0xffu, ~0u, ~0u}));
  EXPECT_NE(seen.info.kernel.find("observed"), std::string::npos);
  EXPECT_EQ(seen.info.block[0], 40u);

  using simt::access_kind;
  std::vector<simt::memory_access> atomics;
  for (std::size_t i = 0; i < seen.accesses.size(); ++i)
    if (seen.accesses[i].kind != access_kind::read && seen.accesses[i].kind != access_kind::write) {
      EXPECT_EQ(seen.who[i].second, 1u);
      if (seen.who[i].first == 0) atomics.push_back(seen.accesses[i]);
    }
  ASSERT_EQ(atomics.size(), 5u);
  const access_kind kinds[] = {access_kind::atomic_update, access_kind::atomic_load, access_kind::atomic_update,
                               access_kind::atomic_store, access_kind::atomic_update};
  for (int i = 0; i < 5; ++i) {
    const auto& a = atomics[static_cast<std::size_t>(i)];
    EXPECT_EQ(a.kind, kinds[i]) << i;
    EXPECT_EQ(a.size, 4u);
    EXPECT_EQ(a.address, reinterpret_cast<std::uintptr_t>(i < 4 ? out : out + 4));
    const auto where = simt::locate(a.site);
    EXPECT_NE(where.file.find("observer_kernels.cpp"), std::string::npos) << where.file;
    EXPECT_EQ(where.line, 11 + i);
  }
  EXPECT_EQ(atomics[1].order, simt::memory_order::acquire);
  EXPECT_EQ(atomics[3].order, simt::memory_order::release);
  EXPECT_EQ(*out, 7);
}

TEST(observer, lock_step_takes_an_access_of_each_lane_in_turn) {
  device_memory memory(128);
  int* cells = static_cast<int*>(memory.at);
  for (auto schedule : {simt::lane_schedule::lock_step, simt::lane_schedule::to_barrier}) {
    const options_for scope(simt::block_order::forward);
    simt::current_options().schedule = schedule;
    for (int i = 0; i < 32; ++i) cells[i] = i;
    ASSERT_EQ(launch_in_step(cells), cudaSuccess) << simt::last_fault().text;
    // To the barrier, the last lane reads what lane 0 wrote.
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(cells[i], i < 31 ? i + 1 : schedule == simt::lane_schedule::lock_step ? 0 : 1) << i;
  }
}

TEST(observer, shared_variables_that_are_only_read_or_only_written_are_checked) {
  device_memory memory(64 * sizeof(float));
  for (int which : {0, 1, 2}) {
    EXPECT_NE(launch_half_used(which, static_cast<float*>(memory.at)), cudaSuccess) << which;
    const simt::fault_report r = simt::last_fault();
    EXPECT_EQ(r.what, which == 0 ? simt::fault::uninitialised_read : simt::fault::out_of_bounds) << r.text;
    EXPECT_EQ(r.thread, which == 0 ? 0u : 63u) << r.text;
    simt::clear_fault();
  }
}

}  // namespace
