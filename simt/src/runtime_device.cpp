// SPDX-License-Identifier: Apache-2.0
// The one device and what it says of itself: the limits that the machine keeps, the host's memory
// and cache.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include <simt/entry.hpp>

#include "limits.hpp"
#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

constexpr auto limits = device_limits;
constexpr int cuda_version = 13000;   // whose signatures these are
constexpr int clock_khz = 1'000'000;  // clock64() counts nanoseconds

std::uint64_t read_number(const char* path) {
  std::uint64_t value = ~std::uint64_t{0};
  std::ifstream(path) >> value;  // "max" leaves 0
  return value == 0 ? ~std::uint64_t{0} : value;
}

// The number after a word, 0 if it is not there.
std::uint64_t read_key(const char* path, const char* key) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  for (std::string word; file >> word;) {
    if (word == key && file >> value) return value;
  }
  return 0;
}

std::uint64_t page_count(int name) {
  const long pages = sysconf(name);
  return pages > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))
             : 0;
}

// What the machine, or the container that this runs in, has.
std::uint64_t total_memory() {
  static const std::uint64_t total =
      std::min(page_count(_SC_PHYS_PAGES), read_number("/sys/fs/cgroup/memory.max"));
  return total;
}

std::uint64_t available_memory() {
  std::uint64_t available = read_key("/proc/meminfo", "MemAvailable:");
  available = available != 0 ? available * 1024 : page_count(_SC_AVPHYS_PAGES);
  const std::uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
  if (limit != ~std::uint64_t{0}) {
    const std::uint64_t used = read_number("/sys/fs/cgroup/memory.current");
    const std::uint64_t cache =
        read_key("/sys/fs/cgroup/memory.stat", "inactive_file");  // given up on demand
    available = std::min(available, limit - std::min(limit, used - std::min(used, cache)));
  }
  return std::min(available, total_memory());
}

int l2_bytes() {
  if (const unsigned chosen = current_options().l2_bytes; chosen != 0) return static_cast<int>(chosen);
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long size = sysconf(name);
    if (size > 0) return static_cast<int>(std::min<long>(size, 1 << 30));
  }
  return 1 << 20;
}

cudaError_t attribute_value(cudaDeviceAttr attribute, int& value) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      value = limits.threads_per_block;
      break;
    case cudaDevAttrMaxBlockDimX:
      value = static_cast<int>(limits.max_block[0]);
      break;
    case cudaDevAttrMaxBlockDimY:
      value = static_cast<int>(limits.max_block[1]);
      break;
    case cudaDevAttrMaxBlockDimZ:
      value = static_cast<int>(limits.max_block[2]);
      break;
    case cudaDevAttrMaxGridDimX:
      value = static_cast<int>(limits.max_grid[0]);
      break;
    case cudaDevAttrMaxGridDimY:
      value = static_cast<int>(limits.max_grid[1]);
      break;
    case cudaDevAttrMaxGridDimZ:
      value = static_cast<int>(limits.max_grid[2]);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      value = static_cast<int>(limits.shared_per_block);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = static_cast<int>(shared_opt_in(current_options()));
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = static_cast<int>(limits.shared_per_multiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      value = static_cast<int>(limits.shared_reserved);
      break;
    case cudaDevAttrTotalConstantMemory:
      value = 64 * 1024;
      break;
    case cudaDevAttrWarpSize:
      value = limits.warp;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      value = 64 * 1024;
      break;  // a GPU's; nothing counts them
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      value = clock_khz;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      value = 64;
      break;
    case cudaDevAttrMultiProcessorCount:
      value = multiprocessors(current_options());
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      value = limits.threads_per_multiprocessor;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      value = limits.blocks_per_multiprocessor;
      break;
    case cudaDevAttrL2CacheSize:
      value = l2_bytes();
      break;
    case cudaDevAttrComputeCapabilityMajor:
      value = limits.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      value = limits.minor;
      break;
    case cudaDevAttrIntegrated:  // the memory is the host's
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrManagedMemory:  // ends with each launch, so the host may go on with it
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrConcurrentKernels:  // streams are there; programs that ask first would else do nothing
    case cudaDevAttrAsyncEngineCount:
      value = 1;
      break;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrHostRegisterSupported:
      value = 0;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

int attribute_or_zero(cudaDeviceAttr attribute) {
  int value = 0;
  attribute_value(attribute, value);
  return value;
}

cudaError_t check_device(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

// A device-wide wait would wait for every capture too.
cudaError_t synchronize_device() {
  if (const cudaError_t e = enter()) return e;
  const std::lock_guard lock(state_mutex());
  for (const auto& c : captures()) c->invalidated = true;
  return captures().empty() ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

}  // namespace
}  // namespace detail

using namespace detail;

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return report(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t e = check_device(device)) return report(e);
  return report(enter());
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return report(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = check_device(device)) return report(e);
  const auto get = attribute_or_zero;
  cudaDeviceProp p{};
  std::strcpy(p.name, "simt");
  p.totalGlobalMem = total_memory();
  p.sharedMemPerBlock = limits.shared_per_block;
  p.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = limits.warp;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = limits.threads_per_block;
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = static_cast<int>(limits.max_block[i]);
    p.maxGridSize[i] = static_cast<int>(limits.max_grid[i]);
  }
  p.totalConstMem = static_cast<std::size_t>(get(cudaDevAttrTotalConstantMemory));
  p.major = limits.major;
  p.minor = limits.minor;
  p.multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = 1;
  p.cooperativeLaunch = p.clusterLaunch = p.memoryPoolsSupported = 1;
  p.managedMemory = get(cudaDevAttrManagedMemory);
  p.concurrentManagedAccess = get(cudaDevAttrConcurrentManagedAccess);
  p.concurrentKernels = get(cudaDevAttrConcurrentKernels);
  p.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  p.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = get(cudaDevAttrL2CacheSize);
  p.maxThreadsPerMultiProcessor = limits.threads_per_multiprocessor;
  p.sharedMemPerMultiprocessor = limits.shared_per_multiprocessor;
  p.regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.sharedMemPerBlockOptin = shared_opt_in(current_options());
  p.maxBlocksPerMultiProcessor = limits.blocks_per_multiprocessor;
  p.reservedSharedMemPerBlock = limits.shared_reserved;
  *properties = p;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = check_device(device)) return report(e);
  return report(attribute_value(attribute, *value));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return report(enter());
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = check_device(device)) return report(e);
  if (const cudaError_t e = check_device(peer)) return report(e);
  *can = 0;  // no device is its own peer
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return report(synchronize_device()); }

cudaError_t cudaDeviceReset() {
  remove_device_allocations();
  reset_pools();
  forget_kernel_settings();
  clear_sticky_error();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return report(cudaErrorInvalidValue);
  *version = cuda_version;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (free_bytes == nullptr || total_bytes == nullptr) return report(cudaErrorInvalidValue);
  *total_bytes = total_memory();
  *free_bytes = available_memory();
  return report(enter());
}

live_objects live() {
  const allocation_counts counts = count_allocations();
  const std::lock_guard lock(state_mutex());
  return {counts.device,   counts.device_bytes, counts.pinned,  count_pools(),
          count_streams(), count_events(),      count_graphs(), count_executables()};
}

}  // namespace simt
