// SPDX-License-Identifier: Apache-2.0
// Pools, and allocation in stream order. A pool keeps nothing back: its reserved memory is its used
// memory.
#include <algorithm>

#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

using pool_pointer = std::shared_ptr<CUmemPoolHandle_st>;

struct pool_list {
  std::mutex mutex;
  pool_pointer default_pool = std::make_shared<CUmemPoolHandle_st>();
  pool_pointer current = default_pool;
  std::vector<pool_pointer> created;
};

pool_list& pools() {
  static pool_list* const p = new pool_list;  // never destroyed, like the table of allocations
  return *p;
}

// Freed by its own graph, by another stream's cudaFreeAsync(), or never.
cudaError_t allocate_in_graph(CUstream_st& stream, void** pointer, std::size_t size) {
  auto memory = std::make_shared<graph_memory>(graph_memory{new_storage(size), size});
  if (!memory->storage) return cudaErrorMemoryAllocation;
  void* const at = memory->storage.get();
  // A node holds what it works on weakly: the graph and what is allocated own it.
  const cudaError_t e = add_node(stream, [memory] {
    void* const begin = memory->storage.get();
    if (!add_allocation(begin, {memory->size, memory_kind::device, false, memory->storage, {}}))
      return cudaErrorInvalidValue;  // still allocated by the launch before
    std::fill_n(static_cast<unsigned char*>(begin), memory->size, static_cast<unsigned char>(0xFF));
    return cudaSuccess;
  });
  if (e != cudaSuccess) return e;
  stream.capture->graph->memory.push_back(std::move(memory));
  *pointer = at;
  return cudaSuccess;
}

cudaError_t free_in_graph(CUstream_st& stream, void* pointer) {
  for (const auto& memory : stream.capture->graph->memory) {
    if (memory->storage.get() != pointer || memory->freed_in_graph) continue;
    memory->freed_in_graph = true;
    return add_node(stream, [pointer] {
      return remove_allocation(pointer, memory_kind::device).size != 0 ? cudaSuccess
                                                                       : cudaErrorInvalidValue;
    });
  }
  return cudaErrorInvalidValue;
}

cudaError_t allocate_async(void** pointer, std::size_t size, pool_pointer pool,
                           cudaStream_t handle) {
  if (pointer == nullptr || !pool) return cudaErrorInvalidValue;
  if (const cudaError_t e = enter()) return e;
  {
    const std::lock_guard lock(state_mutex());
    CUstream_st* const stream = resolve(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *pointer = nullptr;
    if (stream->capture) return size == 0 ? cudaSuccess : allocate_in_graph(*stream, pointer, size);
    if (const cudaError_t e = check_legacy(*stream)) return e;
    if (const cudaError_t e = check_unsafe()) return e;
  }
  return allocate(pointer, size, memory_kind::device, std::move(pool));
}

cudaError_t free_async(void* pointer, cudaStream_t handle) {
  {
    const std::lock_guard lock(state_mutex());
    CUstream_st* const stream = resolve(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture) return pointer == nullptr ? cudaSuccess : free_in_graph(*stream, pointer);
    if (const cudaError_t e = check_legacy(*stream)) return e;
    if (const cudaError_t e = check_unsafe()) return e;
  }
  if (pointer == nullptr) return enter();
  const allocation_record record = remove_allocation(pointer, memory_kind::device);
  release(record);
  const cudaError_t e = enter();
  return e != cudaSuccess ? e : record.size != 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

pool_pointer find_pool(cudaMemPool_t handle) {
  pool_list& p = pools();
  const std::lock_guard lock(p.mutex);
  if (handle == p.default_pool.get()) return p.default_pool;
  for (const pool_pointer& pool : p.created) {
    if (pool.get() == handle) return pool;
  }
  return nullptr;
}

pool_pointer current_pool() {
  pool_list& p = pools();
  const std::lock_guard lock(p.mutex);
  return p.current;
}

std::size_t count_pools() {
  pool_list& p = pools();
  const std::lock_guard lock(p.mutex);
  return p.created.size();
}

void reset_pools() {
  pool_list& p = pools();
  const std::lock_guard lock(p.mutex);
  p.created.clear();
  p.current = p.default_pool = std::make_shared<CUmemPoolHandle_st>();
}

}  // namespace detail

using namespace detail;

cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t stream) {
  return report(allocate_async(pointer, size, current_pool(), stream));
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaMemPool_t pool,
                            cudaStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, size, pool, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return report(allocate_async(pointer, size, find_pool(pool), stream));
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return report(free_async(pointer, stream));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr ||
      properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice || properties->location.id != 0)
    return report(cudaErrorInvalidValue);
  if (properties->handleTypes != cudaMemHandleTypeNone) return report(cudaErrorNotSupported);
  if (const cudaError_t e = enter()) return report(e);
  auto created = std::make_shared<CUmemPoolHandle_st>();
  created->max_size = properties->maxSize;
  *pool = created.get();
  const std::lock_guard lock(pools().mutex);
  pools().created.push_back(std::move(created));
  return cudaSuccess;
}

// What was allocated from it stays valid, and owns the pool from now on.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  pool_list& p = pools();
  const std::lock_guard lock(p.mutex);
  const auto found = std::find_if(p.created.begin(), p.created.end(),
                                  [&](const auto& x) { return x.get() == pool; });
  if (found == p.created.end()) return report(cudaErrorInvalidValue);
  if (p.current == *found) p.current = p.default_pool;
  p.created.erase(found);
  return report(enter());
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return report(find_pool(pool) ? enter() : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const auto pool = find_pool(handle);
  if (!pool || value == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  const std::lock_guard lock(pool->mutex);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      pool->reuse[attribute - 1] = *static_cast<const int*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      pool->release_threshold = *static_cast<const std::uint64_t*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      if (*static_cast<const std::uint64_t*>(value) != 0) break;  // it can only be reset
      pool->used_high = pool->used;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      break;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const auto pool = find_pool(handle);
  if (!pool || value == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  const std::lock_guard lock(pool->mutex);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = pool->reuse[attribute - 1];
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *static_cast<std::uint64_t*>(value) = pool->release_threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      *static_cast<std::uint64_t*>(value) = pool->used;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      *static_cast<std::uint64_t*>(value) = pool->used_high;
      return cudaSuccess;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  if (pool == nullptr) return report(cudaErrorInvalidValue);
  const std::lock_guard lock(pools().mutex);
  *pool = pools().default_pool.get();
  return report(enter());
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  if (pool == nullptr) return report(cudaErrorInvalidValue);
  *pool = current_pool().get();
  return report(enter());
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  const auto pool = find_pool(handle);
  if (!pool) return report(cudaErrorInvalidValue);
  const std::lock_guard lock(pools().mutex);
  pools().current = pool;
  return report(enter());
}

}  // namespace simt
