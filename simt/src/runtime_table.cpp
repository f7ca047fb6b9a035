// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "memory.hpp"

namespace simt::detail {
namespace {

// Readers are every access of every checked kernel, writers are cudaMalloc and cudaFree: a sorted
// array under a sequence lock. Arrays that were outgrown stay, as a reader may still be in one;
// their sizes double, so they cost as much as the last one.
class address_index {
 public:
  allocation find(std::uintptr_t address) const {
    struct hit {
      std::uint64_t sequence = ~std::uint64_t{0};
      allocation found;
    };
    thread_local hit last[2];
    thread_local unsigned oldest = 0;
    for (;;) {
      const std::uint64_t before = sequence_.load(std::memory_order_acquire);
      if (before % 2 != 0) {
        std::this_thread::yield();
        continue;
      }
      for (const hit& h : last) {
        if (h.sequence == before && address - h.found.begin < h.found.end - h.found.begin)
          return h.found;
      }
      const allocation found = search(address);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (sequence_.load(std::memory_order_relaxed) != before) continue;
      if (found) last[oldest ^= 1] = {before, found};
      return found;
    }
  }

  template <class Records>
  void rebuild(const Records& records) {  // the writers' mutex is held
    bounds* b = current_.load(std::memory_order_relaxed);
    if (b == nullptr || records.size() > b->capacity) {
      arrays_.push_back(std::make_unique<bounds>(std::max<std::size_t>(64, 2 * records.size())));
      b = arrays_.back().get();
    }
    sequence_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    std::size_t i = 0;
    for (const auto& [begin, record] : records) {
      b->at[i].begin.store(begin, std::memory_order_relaxed);
      b->at[i].end.store(begin + record.size, std::memory_order_relaxed);
      ++i;
    }
    b->size.store(i, std::memory_order_relaxed);
    current_.store(b, std::memory_order_release);
    sequence_.fetch_add(1, std::memory_order_release);
  }

 private:
  struct bound {
    std::atomic<std::uintptr_t> begin{0}, end{0};
  };
  struct bounds {
    explicit bounds(std::size_t n) : capacity(n), at(std::make_unique<bound[]>(n)) {}
    const std::size_t capacity;
    std::atomic<std::size_t> size{0};  // never above capacity, whatever a reader catches
    const std::unique_ptr<bound[]> at;
  };

  allocation search(std::uintptr_t address) const {
    const bounds* const b = current_.load(std::memory_order_acquire);
    if (b == nullptr) return {};
    std::size_t low = 0, high = b->size.load(std::memory_order_relaxed);
    while (low < high) {  // the first that begins beyond the address
      const std::size_t middle = low + (high - low) / 2;
      if (b->at[middle].begin.load(std::memory_order_relaxed) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) return {};
    const std::uintptr_t begin = b->at[low - 1].begin.load(std::memory_order_relaxed);
    const std::uintptr_t end = b->at[low - 1].end.load(std::memory_order_relaxed);
    return address < end ? allocation{begin, end} : allocation{};
  }

  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bounds*> current_{nullptr};
  std::vector<std::unique_ptr<bounds>> arrays_;
};

struct table {
  std::mutex writers;
  std::map<std::uintptr_t, allocation_record> records;
  address_index index;
};

// Never destroyed: destructors of static objects may free device memory.
table& the_table() {
  static table* const t = new table;
  return *t;
}

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

allocation find_allocation(std::uintptr_t address) { return the_table().index.find(address); }

std::shared_ptr<void> new_storage(std::size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, size) != 0) return nullptr;
  std::memset(memory, 0xFF, size);
  return {memory, std::free};
}

bool add_allocation(void* begin, allocation_record record) {
  table& t = the_table();
  const std::lock_guard lock(t.writers);
  const auto next = t.records.lower_bound(number(begin));
  if (next != t.records.end() && next->first < number(begin) + record.size) return false;
  if (next != t.records.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.size > number(begin)) return false;
  }
  t.records.emplace(number(begin), std::move(record));
  t.index.rebuild(t.records);
  return true;
}

allocation_record remove_allocation(void* begin, memory_kind kind) {
  table& t = the_table();
  const std::lock_guard lock(t.writers);
  const auto found = t.records.find(number(begin));
  if (found == t.records.end() || found->second.kind != kind) return {};
  allocation_record record = std::move(found->second);
  t.records.erase(found);
  t.index.rebuild(t.records);
  return record;
}

allocation_record find_record(const void* pointer, std::size_t size) {
  table& t = the_table();
  const std::lock_guard lock(t.writers);
  auto found = t.records.upper_bound(number(pointer));
  if (found == t.records.begin()) return {};
  --found;
  const std::uintptr_t offset = number(pointer) - found->first;
  if (offset >= found->second.size || size > found->second.size - offset) return {};
  return found->second;
}

void remove_device_allocations() {
  table& t = the_table();
  const std::lock_guard lock(t.writers);
  std::erase_if(t.records, [](const auto& r) { return r.second.kind != memory_kind::symbol; });
  t.index.rebuild(t.records);
}

allocation_counts count_allocations() {
  table& t = the_table();
  const std::lock_guard lock(t.writers);
  allocation_counts counts;
  for (const auto& [begin, record] : t.records) {
    if (!record.counted) continue;
    if (record.kind == memory_kind::pinned) ++counts.pinned;
    if (record.kind != memory_kind::device) continue;
    ++counts.device;
    counts.device_bytes += record.size;
  }
  return counts;
}

}  // namespace simt::detail
