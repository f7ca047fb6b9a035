// SPDX-License-Identifier: Apache-2.0
// The table of what a kernel may touch: device memory, pinned host memory and device variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace simt {
struct CUmemPoolHandle_st;
}

namespace simt::detail {

struct allocation {
  std::uintptr_t begin = 0, end = 0;
  explicit operator bool() const { return begin != end; }
};

/// The live allocation that holds `address`, or an empty one. Any thread, at any time; a few
/// nanoseconds when the thread's last two hits are asked for again, a binary search otherwise. A
/// thread that races with the free of the allocation that it asks about may get either answer.
allocation find_allocation(std::uintptr_t address);

enum class memory_kind : std::uint8_t { device, pinned, symbol };

struct allocation_record {
  std::size_t size = 0;
  memory_kind kind = memory_kind::device;
  bool counted = true;                       // by live(): what belongs to a graph is not
  std::shared_ptr<void> storage;             // freed with the last owner: the table, or a graph
  std::shared_ptr<CUmemPoolHandle_st> pool;  // null for cudaMalloc
};

/// 256-byte aligned memory filled with 0xFF, exactly `size` bytes (so that the address sanitizer
/// sees the end of it), or null when there is none. Does not enter it into the table.
std::shared_ptr<void> new_storage(std::size_t size);

/// Enters memory into the table. False where it overlaps what is there.
bool add_allocation(void* begin, allocation_record record);

/// Takes the allocation that begins at `begin` out of the table, if its kind is `kind`; the memory
/// goes with the returned record. An empty record (size 0) if there is none.
allocation_record remove_allocation(void* begin, memory_kind kind);

/// The record of the allocation that holds [pointer, pointer + size); size 0 in it where there is
/// none.
allocation_record find_record(const void* pointer, std::size_t size);

/// Takes all device memory out, for cudaDeviceReset().
void remove_device_allocations();

struct allocation_counts {
  std::size_t device = 0, device_bytes = 0, pinned = 0;
};
allocation_counts count_allocations();

}  // namespace simt::detail
