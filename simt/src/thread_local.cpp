// SPDX-License-Identifier: Apache-2.0
// Shared memory is thread-local memory: where it lies, and how one block finds another's.
#include "grid.hpp"

#include <simt/dynamic_shared.hpp>

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <mutex>

namespace simt::detail {

namespace {

/// A thread's stack holds its thread-local memory. The __shared__ variables of a program of many kernels
/// (32 KiB apart under the lens) can take more than the usual 8 MiB, and then no thread would start.
const bool threads_have_room = [] {
  std::size_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* sum) {
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS) *static_cast<std::size_t*>(sum) += info->dlpi_phdr[i].p_memsz;
        return 0;
      },
      &bytes);
  pthread_attr_t usual;
  if (bytes < (std::size_t{1} << 20) || pthread_getattr_default_np(&usual) != 0) return true;
  std::size_t stack = 0;
  pthread_attr_getstacksize(&usual, &stack);
  pthread_attr_setstacksize(&usual, stack + bytes);
  pthread_setattr_default_np(&usual);
  pthread_attr_destroy(&usual);
  return true;
}();

struct dynamic_array {
  void* (*address)();
  std::size_t bytes;
};
struct registry {
  std::mutex mutex;
  std::vector<dynamic_array> arrays;
};
registry& registered() {
  static auto* the = new registry;  // used by static constructors, and until the end
  return *the;
}

struct found {
  std::vector<byte_range> ranges;
  unsigned long long loads = 0, unloads = 0;
  bool changed = false;
};
thread_local found known;

int visit(dl_phdr_info* info, std::size_t, void* argument) {
  auto& f = *static_cast<found*>(argument);
  if (!f.changed) {  // the first object tells whether any came or went
    if (!f.ranges.empty() && f.loads == info->dlpi_adds && f.unloads == info->dlpi_subs) return 1;
    f.loads = info->dlpi_adds;
    f.unloads = info->dlpi_subs;
    f.changed = true;
    f.ranges.clear();
  }
  byte_range range;
  if (info->dlpi_tls_data) {
    range.begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
    for (int i = 0; i < info->dlpi_phnum; ++i)
      if (info->dlpi_phdr[i].p_type == PT_TLS) range.end = range.begin + info->dlpi_phdr[i].p_memsz;
  }
  f.ranges.push_back(range);  // empty ones too: the n-th object is the n-th in every OS thread
  return 0;
}

}  // namespace

const std::vector<byte_range>& thread_local_ranges() {
  for (const byte_range& r : dynamic_shared_arrays()) static_cast<void>(r);  // an object's are made on first use
  known.changed = false;
  dl_iterate_phdr(visit, &known);
  return known.ranges;
}

bool register_dynamic_shared(void* (*address)(), std::size_t bytes) {
  auto& r = registered();
  const std::lock_guard lock(r.mutex);
  r.arrays.push_back({address, bytes});
  return true;
}

std::vector<byte_range> dynamic_shared_ranges(std::uint64_t shared_bytes) {
  std::vector<byte_range> ranges;
  if (shared_bytes == 0) return ranges;
  for (byte_range r : dynamic_shared_arrays()) {
    r.end = std::min<std::uintptr_t>(r.end, r.begin + shared_bytes);
    ranges.push_back(r);
  }
  return ranges;
}

std::vector<byte_range> dynamic_shared_arrays() {
  auto& r = registered();
  const std::lock_guard lock(r.mutex);
  std::vector<byte_range> ranges;
  for (const dynamic_array& a : r.arrays) {
    const auto begin = reinterpret_cast<std::uintptr_t>(a.address());
    ranges.push_back({begin, begin + a.bytes});
  }
  return ranges;
}

std::uint64_t shared_bytes_of(const block& b) { return b.grid->shape.shared_bytes; }

void* cluster_map(const void* shared, unsigned rank) {
  block& b = *this_thread->in;
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  const std::uintptr_t site = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
  if (rank == b.rank) return const_cast<void*>(shared);
  const grid& g = *b.grid;
  if (rank >= g.cluster_size)
    fail_with(fault::out_of_bounds, address, site,
              "rank " + std::to_string(rank) + " of a cluster of " + std::to_string(g.cluster_size) + " blocks");
  cluster_state& cluster = *g.cluster_of[b.cluster];
  worker* owner = nullptr;
  // The hardware starts a cluster's blocks together.
  while ((owner = cluster.owners[rank].load(std::memory_order_acquire)) == nullptr) spin_at(site);
  if (cluster.ended[rank].load(std::memory_order_acquire))
    fail_with(fault::out_of_bounds, address, site,
              "the shared memory of block " + std::to_string(rank) + " of the cluster, which has ended");
  const auto& mine = b.on->thread_locals;
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (address >= mine[i].begin && address < mine[i].end)
      return reinterpret_cast<void*>(owner->thread_locals.at(i).begin + (address - mine[i].begin));
  fail_with(fault::out_of_bounds, address, site, "not an address of shared memory");
}

unsigned cluster_rank_of(const void* shared) {
  const block& b = *this_thread->in;
  const grid& g = *b.grid;
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  const auto holds = [address](const byte_range& r) { return address >= r.begin && address < r.end; };
  const auto& own = thread_local_ranges();
  if (std::any_of(own.begin(), own.end(), holds)) return b.rank;
  for (unsigned rank = 0; g.cluster_size > 1 && rank < g.cluster_size; ++rank) {
    const worker* owner = g.cluster_of[b.cluster]->owners[rank].load(std::memory_order_acquire);
    if (owner && std::any_of(owner->thread_locals.begin(), owner->thread_locals.end(), holds)) return rank;
  }
  fail_with(fault::out_of_bounds, address, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1,
            "not an address of shared memory");
}

}  // namespace simt::detail
