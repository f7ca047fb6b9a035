// SPDX-License-Identifier: Apache-2.0
// Device memory on simt: the table, the checks of copies, pools, device variables.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <simt/runtime_api.hpp>

#include "../../simt/src/memory.hpp"

namespace {

using namespace simt;

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(Memory, IsPoisonedAlignedAndCounted) {
  const live_objects before = live();
  unsigned char* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 1001), cudaSuccess);
  EXPECT_EQ(number(p) % 256, 0u);
  EXPECT_EQ(std::count(p, p + 1001, 0xFF), 1001);
  EXPECT_EQ(live().allocations, before.allocations + 1);
  EXPECT_EQ(live().bytes, before.bytes + 1001);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(live().allocations, before.allocations);
  EXPECT_EQ(live().bytes, before.bytes);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Memory, FindsAllocationsByAnyAddressInThem) {
  char* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 1000), cudaSuccess);
  for (const std::size_t offset : {0, 1, 255, 256, 999}) {
    const detail::allocation a = detail::find_allocation(number(p) + offset);
    EXPECT_EQ(a.begin, number(p));
    EXPECT_EQ(a.end, number(p) + 1000);
  }
  EXPECT_FALSE(detail::find_allocation(number(p) + 1000));
  EXPECT_FALSE(detail::find_allocation(number(p) - 1));
  EXPECT_FALSE(detail::find_allocation(0));
  EXPECT_FALSE(detail::find_allocation(~std::uintptr_t{0}));
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_FALSE(detail::find_allocation(number(p)));
}

TEST(Memory, TableAgreesWithAMapWhileItChanges) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::map<std::uintptr_t, std::size_t> model;
  for (int step = 0; step < 3000; ++step) {
    if (model.size() < 20 || (model.size() < 300 && random() % 5 < 3)) {
      void* p = nullptr;
      const std::size_t size = 1 + random() % 3000;
      ASSERT_EQ(cudaMalloc(&p, size), cudaSuccess);
      model[number(p)] = size;
    } else {
      const auto victim =
          std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      ASSERT_EQ(cudaFree(reinterpret_cast<void*>(victim->first)), cudaSuccess);
      model.erase(victim);
    }
    const auto some =
        std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
    for (const std::uintptr_t address :
         {some->first, some->first + some->second - 1, some->first + random() % 5000}) {
      auto holder = model.upper_bound(address);
      ASSERT_NE(holder, model.begin());
      --holder;
      const bool inside = address < holder->first + holder->second;
      const detail::allocation found = detail::find_allocation(address);
      ASSERT_EQ(bool(found), inside);
      if (inside) {
        ASSERT_EQ(found.begin, holder->first);
      }
    }
  }
  for (const auto& [p, size] : model) ASSERT_EQ(cudaFree(reinterpret_cast<void*>(p)), cudaSuccess);
}

TEST(Memory, TableIsReadWhileOthersAllocate) {
  char* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 4096), cudaSuccess);
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, reads{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        for (std::size_t i = 0; i < 4096; i += 64)
          wrong += detail::find_allocation(number(p) + i).begin != number(p);
        ++reads;
      }
    });
  }
  while (reads < 2) std::this_thread::yield();
  for (int round = 0; round < 300; ++round) {
    std::vector<void*> others(20);
    for (void*& q : others) cudaMalloc(&q, 100);
    for (void* q : others) cudaFree(q);
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
}

TEST(Memory, CopiesAreCheckedToTheByte) {
  char* p = nullptr;
  std::vector<char> host(64);
  ASSERT_EQ(cudaMalloc(&p, 64), cudaSuccess);
  for (std::size_t i = 0; i < 64; ++i) host[i] = static_cast<char>(i);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 64, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(p + 1, host.data(), 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), p + 1, 64, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(p + 32, 1, 33), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(p + 32, 1, 32), cudaSuccess);
  std::vector<char> back(64);
  EXPECT_EQ(cudaMemcpy(back.data(), p, 64, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back[31], 31);
  EXPECT_EQ(back[32], 1);
  // Two dimensions: the last row needs only its width.
  EXPECT_EQ(cudaMemcpy2D(p, 32, host.data(), 8, 8, 2, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(p[32], 8);
  EXPECT_EQ(cudaMemcpy2D(p + 25, 32, host.data(), 8, 8, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(p + 24, 32, host.data(), 8, 8, 2, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Memory, MoreThanThereIsIsAnErrorNotACrash) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_GT(free_bytes, 0u);
  EXPECT_LE(free_bytes, total);
  void* p = &free_bytes;
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cudaMallocAsync(&p, ~std::size_t{0} - 4096, nullptr), cudaErrorMemoryAllocation);
  cudaGetLastError();
}

TEST(Memory, PoolsCountAndLimit) {
  const live_objects before = live();
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  properties.maxSize = 1000;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  std::uint64_t threshold = UINT64_MAX, value = 0;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value), cudaSuccess);
  EXPECT_EQ(value, threshold);
  char *a = nullptr, *b = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&a, 600, pool, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&b, 600, pool, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocAsync(&b, 400, pool, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(a, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value), cudaSuccess);
  EXPECT_EQ(value, 400u);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value), cudaSuccess);
  EXPECT_EQ(value, 1000u);
  EXPECT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&a, 500, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(a, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(b, 0, 400), cudaSuccess);  // it outlives its pool
  EXPECT_EQ(cudaFree(b), cudaSuccess);
  cudaMemPool_t current = nullptr, standard = nullptr;
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&standard, 0), cudaSuccess);
  EXPECT_EQ(current, standard);
  EXPECT_EQ(live().pools, before.pools);
  EXPECT_EQ(live().allocations, before.allocations);
  cudaGetLastError();
}

int device_variable[4];

TEST(Memory, DeviceVariablesCanBeCopied) {
  const int values[4] = {1, 2, 3, 4};
  EXPECT_EQ(cudaMemcpyToSymbol(device_variable, values, sizeof values), cudaSuccess);
  EXPECT_EQ(device_variable[3], 4);
  int two = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&two, device_variable, sizeof two, sizeof two), cudaSuccess);
  EXPECT_EQ(two, 2);
  EXPECT_EQ(cudaMemcpyToSymbol(device_variable, values, sizeof values, 4), cudaErrorInvalidValue);
  void* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress(&address, device_variable), cudaSuccess);
  EXPECT_EQ(cudaMemset(address, 0, sizeof device_variable), cudaSuccess);
  EXPECT_EQ(device_variable[0], 0);
  EXPECT_EQ(cudaMemset(address, 0, sizeof device_variable + 1), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Memory, PinnedMemoryIsOnBothSides) {
  int* p = nullptr;
  ASSERT_EQ(cudaMallocHost(&p, 64), cudaSuccess);
  cudaPointerAttributes a{};
  EXPECT_EQ(cudaPointerGetAttributes(&a, p), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeHost);
  EXPECT_TRUE(detail::find_allocation(number(p)));
  EXPECT_EQ(live().pinned, 1u);
  EXPECT_EQ(cudaFreeHost(p), cudaSuccess);
  EXPECT_EQ(live().pinned, 0u);
}

}  // namespace
