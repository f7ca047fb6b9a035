// SPDX-License-Identifier: Apache-2.0
// Allocation, copies and fills.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

bool on_device(const void* pointer, std::size_t size) {
  return find_record(pointer, size).size != 0;
}

// Host memory is taken on trust, but a pointer into the table must have all of `size` there.
bool readable(const void* pointer, std::size_t size) {
  if (pointer == nullptr) return false;
  return !find_allocation(reinterpret_cast<std::uintptr_t>(pointer)) || on_device(pointer, size);
}

struct sides {
  bool to_device, from_device;
};

cudaError_t sides_of(cudaMemcpyKind kind, sides& s) {
  switch (kind) {
    // CUDA looks at the addresses for HostToHost too.
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      s = {false, false};
      return cudaSuccess;
    case cudaMemcpyHostToDevice:
      s = {true, false};
      return cudaSuccess;
    case cudaMemcpyDeviceToHost:
      s = {false, true};
      return cudaSuccess;
    case cudaMemcpyDeviceToDevice:
      s = {true, true};
      return cudaSuccess;
  }
  return cudaErrorInvalidMemcpyDirection;
}

struct block {  // height rows of width bytes
  void* to;
  const void* from;
  std::size_t to_pitch, from_pitch, width, height;
};

cudaError_t copy(const block& b, sides s) {
  const std::size_t to_size = (b.height - 1) * b.to_pitch + b.width;
  const std::size_t from_size = (b.height - 1) * b.from_pitch + b.width;
  const bool to_good = s.to_device ? on_device(b.to, to_size) : readable(b.to, to_size);
  const bool from_good = s.from_device ? on_device(b.from, from_size) : readable(b.from, from_size);
  if (!to_good || !from_good) return cudaErrorInvalidValue;
  for (std::size_t row = 0; row < b.height; ++row) {
    std::memmove(static_cast<char*>(b.to) + row * b.to_pitch,
                 static_cast<const char*>(b.from) + row * b.from_pitch, b.width);
  }
  return cudaSuccess;
}

// Synchronous copies are work of the stream too; nothing is left to wait for when they return.
cudaError_t copy_on(cudaStream_t stream, const block& b, cudaMemcpyKind kind) {
  sides s;
  if (const cudaError_t e = sides_of(kind, s)) return report(e);
  if (b.width > b.to_pitch || b.width > b.from_pitch) return report(cudaErrorInvalidPitchValue);
  if (b.width == 0 || b.height == 0) return report(enter());
  return report(submit(stream, [=] { return copy(b, s); }));
}

cudaError_t fill_on(cudaStream_t stream, void* to, int byte, std::size_t pitch, std::size_t width, std::size_t height) {
  if (width > pitch) return report(cudaErrorInvalidValue);
  if (width == 0 || height == 0) return report(enter());
  return report(submit(stream, [=] {
    if (!on_device(to, (height - 1) * pitch + width)) return cudaErrorInvalidValue;
    for (std::size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(to) + row * pitch, byte, width);
    return cudaSuccess;
  }));
}

cudaError_t free_memory(void* pointer, memory_kind kind) {
  if (pointer == nullptr) return cudaSuccess;
  const allocation_record record = remove_allocation(pointer, kind);
  if (record.size == 0) return cudaErrorInvalidValue;
  release(record);
  return cudaSuccess;
}

}  // namespace

cudaError_t allocate(void** pointer, std::size_t size, memory_kind kind,
                     std::shared_ptr<CUmemPoolHandle_st> pool) {
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  // Looking costs tens of microseconds, so the small ones are left to malloc.
  std::size_t free_bytes = 0, total_bytes = 0;
  if (size > std::size_t{16} << 20 && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess &&
      size > free_bytes)
    return cudaErrorMemoryAllocation;
  if (pool) {
    const std::lock_guard lock(pool->mutex);
    if (pool->max_size != 0 && size > pool->max_size - pool->used) return cudaErrorMemoryAllocation;
    pool->used += size;
    pool->used_high = std::max(pool->used_high, pool->used);
  }
  allocation_record record{size, kind, true, new_storage(size), std::move(pool)};
  if (!record.storage) {
    release(record);
    return cudaErrorMemoryAllocation;
  }
  void* const memory = record.storage.get();
  add_allocation(memory, std::move(record));
  *pointer = memory;
  return cudaSuccess;
}

void release(const allocation_record& record) {
  if (!record.pool) return;
  const std::lock_guard lock(record.pool->mutex);
  record.pool->used -= record.size;
}

cudaError_t symbol_address(void** pointer, const void* symbol, std::size_t size) {
  if (pointer == nullptr || symbol == nullptr) return report(cudaErrorInvalidValue);
  void* const address = const_cast<void*>(symbol);
  add_allocation(address,
                 {size, memory_kind::symbol, false, {}, {}});  // a second time changes nothing
  *pointer = address;
  return report(enter());
}

cudaError_t copy_symbol(void* symbol, std::size_t symbol_size, void* host_to, const void* host_from,
                        std::size_t size, std::size_t offset, cudaMemcpyKind kind,
                        cudaStream_t stream, bool) {
  if (offset > symbol_size || size > symbol_size - offset) return report(cudaErrorInvalidValue);
  const bool to_symbol = host_to == nullptr;
  if (kind == (to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice) ||
      kind == cudaMemcpyHostToHost)
    return report(cudaErrorInvalidMemcpyDirection);
  if (size == 0) return report(enter());
  void* ignored = nullptr;
  symbol_address(&ignored, symbol, symbol_size);
  char* const at = static_cast<char*>(symbol) + offset;
  return to_symbol ? copy_on(stream, {at, host_from, size, size, size, 1}, kind)
                   : copy_on(stream, {host_to, at, size, size, size, 1}, kind);
}

}  // namespace detail

using namespace detail;

cudaError_t cudaMalloc(void** pointer, std::size_t size) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  if (const cudaError_t e = check_unsafe_locked()) return report(e);
  return report(allocate(pointer, size, memory_kind::device, nullptr));
}

// Freeing goes on after a fault, so that owners of memory leave no leak; the fault is still what it
// gives.
cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t e = check_unsafe_locked()) return report(e);
  const cudaError_t freed = free_memory(pointer, memory_kind::device);
  const cudaError_t e = enter();
  return report(e != cudaSuccess ? e : freed);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t size, unsigned int flags) {
  return cudaHostAlloc(pointer, size, flags);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned int flags) {
  constexpr unsigned int known =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (pointer == nullptr || (flags & ~known) != 0) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  if (const cudaError_t e = check_unsafe_locked()) return report(e);
  return report(allocate(pointer, size, memory_kind::pinned, nullptr));
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t e = check_unsafe_locked()) return report(e);
  const cudaError_t freed = free_memory(pointer, memory_kind::pinned);
  const cudaError_t e = enter();
  return report(e != cudaSuccess ? e : freed);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return copy_on(nullptr, {to, from, size, size, size, 1}, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_on(stream, {to, from, size, size, size, 1}, kind);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy_on(nullptr, {to, from, to_pitch, from_pitch, width, height}, kind);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(stream, {to, from, to_pitch, from_pitch, width, height}, kind);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t size) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, size, nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t size, cudaStream_t stream) {
  if (to_device != 0 || from_device != 0) return report(cudaErrorInvalidDevice);
  return copy_on(stream, {to, from, size, size, size, 1}, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemset(void* to, int byte, std::size_t size) {
  return fill_on(nullptr, to, byte, size, size, 1);
}

cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t size, cudaStream_t stream) {
  return fill_on(stream, to, byte, size, size, 1);
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return report(cudaErrorInvalidValue);
  constexpr std::size_t apart = 512;
  if (width > SIZE_MAX - apart) return report(cudaErrorMemoryAllocation);
  *pitch = (width + apart - 1) / apart * apart;
  if (height != 0 && *pitch > SIZE_MAX / height) return report(cudaErrorMemoryAllocation);
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int byte, std::size_t width, std::size_t height) {
  return fill_on(nullptr, to, byte, pitch, width, height);
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int byte, std::size_t width, std::size_t height, cudaStream_t stream) {
  return fill_on(stream, to, byte, pitch, width, height);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  void* const p = const_cast<void*>(pointer);
  const allocation_record record = find_record(pointer, 1);
  *attributes = {};
  if (record.size == 0) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -2;
    attributes->hostPointer = p;
  } else {
    attributes->type =
        record.kind == memory_kind::pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->devicePointer = p;
    attributes->hostPointer = record.kind == memory_kind::pinned ? p : nullptr;
  }
  return cudaSuccess;
}

}  // namespace simt
