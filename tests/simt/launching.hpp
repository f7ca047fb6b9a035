// SPDX-License-Identifier: Apache-2.0
// What the tests of the machine share: a launch in one line, and options that end with their scope.
#pragma once

#include <cuda_runtime.h>
#include <simt/machine.hpp>

#include <gtest/gtest.h>

#include <utility>

template <class... Parameters, class... Arguments>
cudaError_t run(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

template <class... Parameters, class... Arguments>
cudaError_t run_cooperative(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  cudaLaunchAttribute whole{};
  whole.id = cudaLaunchAttributeCooperative;
  whole.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &whole;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

template <class... Parameters, class... Arguments>
cudaError_t run_clusters(void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 cluster, Arguments&&... arguments) {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &size;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

/// The options of before come back at the end of the scope.
struct options_for {
  simt::options before = simt::current_options();
  explicit options_for(simt::block_order order, unsigned os_threads = 0, std::uint64_t seed = 1) {
    simt::current_options().order = order;
    simt::current_options().os_threads = os_threads;
    simt::current_options().seed = seed;
  }
  ~options_for() { simt::current_options() = before; }
  options_for(const options_for&) = delete;
  options_for& operator=(const options_for&) = delete;
};

inline constexpr simt::block_order every_order[] = {simt::block_order::forward, simt::block_order::reversed,
                                                    simt::block_order::shuffled};
