// SPDX-License-Identifier: Apache-2.0
// What is known of a kernel by its address, and how many of its blocks fit.
#include <map>
#include <mutex>

#include <simt/entry.hpp>
#include <simt/launch.hpp>

#include "limits.hpp"
#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

struct kernel_settings {
  int max_dynamic = static_cast<int>(device_limits.shared_per_block);
  int carveout = -1;
  bool nonportable_clusters = false;
};

std::mutex& settings_mutex() {
  static std::mutex m;
  return m;
}

std::map<const void*, kernel_settings>& all_settings() {
  static std::map<const void*, kernel_settings> m;
  return m;
}

kernel_settings settings_of(const void* kernel) {
  const std::lock_guard lock(settings_mutex());
  const auto found = all_settings().find(kernel);
  return found != all_settings().end() ? found->second : kernel_settings{};
}

std::uint64_t volume(dim3 d) { return std::uint64_t{d.x} * d.y * d.z; }

std::uint64_t cluster_size(const cudaLaunchConfig_t& config) {
  for (unsigned int i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    const auto& d = config.attrs[i].val.clusterDim;
    return std::uint64_t{d.x} * d.y * d.z;
  }
  return 1;
}

}  // namespace

std::size_t max_dynamic_shared(const void* kernel) {
  return static_cast<std::size_t>(settings_of(kernel).max_dynamic);
}

void forget_kernel_settings() {
  const std::lock_guard lock(settings_mutex());
  all_settings().clear();
}

bool nonportable_clusters(const void* kernel) { return settings_of(kernel).nonportable_clusters; }

}  // namespace detail

using namespace detail;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  if (const cudaError_t e = enter()) return report(e);
  const std::lock_guard lock(settings_mutex());
  kernel_settings& settings = all_settings()[kernel];
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || value > static_cast<int>(shared_opt_in(current_options()))) break;
      settings.max_dynamic = value;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) break;
      settings.carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      settings.nonportable_clusters = value != 0;
      return cudaSuccess;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr) return report(cudaErrorInvalidValue);
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  const kernel_settings settings = settings_of(kernel);
  *attributes = {};
  attributes->maxThreadsPerBlock = device_limits.threads_per_block;
  attributes->maxDynamicSharedSizeBytes = settings.max_dynamic;
  attributes->preferredShmemCarveout = settings.carveout;
  attributes->nonPortableClusterSizeAllowed = settings.nonportable_clusters;
  return report(enter());
}

cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) {
  return report(kernel != nullptr ? enter() : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size,
                                                          std::size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, kernel, block_size, dynamic_shared, cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int block_size,
                                                                   std::size_t dynamic_shared,
                                                                   unsigned int flags) {
  if (blocks == nullptr || block_size <= 0 || (flags & ~cudaOccupancyDisableCachingOverride) != 0)
    return report(cudaErrorInvalidValue);
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  *blocks = dynamic_shared > max_dynamic_shared(kernel)
                ? 0
                : resident_blocks(static_cast<std::uint64_t>(block_size), dynamic_shared);
  return report(enter());
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                           const cudaLaunchConfig_t* config) {
  if (clusters == nullptr || config == nullptr) return report(cudaErrorInvalidValue);
  const std::uint64_t size = cluster_size(*config);
  const std::uint64_t largest = nonportable_clusters(kernel)
                                    ? 16
                                    : static_cast<std::uint64_t>(device_limits.blocks_per_cluster);
  if (size == 0 || size > largest) return report(cudaErrorInvalidClusterSize);
  int blocks = 0;
  if (const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel, static_cast<int>(volume(config->blockDim)), config->dynamicSmemBytes))
    return e;
  const auto on_device = static_cast<std::uint64_t>(blocks) *
                         static_cast<std::uint64_t>(multiprocessors(current_options()));
  *clusters = static_cast<int>(on_device / size);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* kernel,
                                                 const cudaLaunchConfig_t* config) {
  if (size == nullptr || config == nullptr) return report(cudaErrorInvalidValue);
  int blocks = 0;
  if (const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel, static_cast<int>(volume(config->blockDim)), config->dynamicSmemBytes))
    return e;
  const int largest = nonportable_clusters(kernel) ? 16 : device_limits.blocks_per_cluster;
  *size = 1;
  const int there = blocks * multiprocessors(current_options());
  while (*size * 2 <= largest && *size * 2 <= there) *size *= 2;
  return cudaSuccess;
}

}  // namespace simt
