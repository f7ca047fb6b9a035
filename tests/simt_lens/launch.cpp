// SPDX-License-Identifier: Apache-2.0
// Instrumented like the kernels: a launch tells the runtime how its kernel was built.
#include "kernels.hpp"

#include <cuda_runtime.h>

#include <stdexcept>

#include "registry.hpp"

namespace lens_test {

namespace {

kernel find(const std::string& name) {
  for (const auto& kernels : {plain_kernels(), group_kernels()})
    for (const registered& r : kernels)
      if (name == r.name) return r.entry;
  throw std::invalid_argument("no kernel " + name);
}

}  // namespace

int run(const std::string& name, const launch& how, const float* in, float* out, unsigned n) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(how.blocks);
  config.blockDim = dim3(how.threads);
  config.dynamicSmemBytes = how.shared_bytes;
  config.attrs = attributes;
  if (how.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {how.cluster, 1, 1};
  }
  if (how.cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  const cudaError_t launched = cudaLaunchKernelEx(&config, find(name), in, out, n);
  return launched != cudaSuccess ? launched : cudaDeviceSynchronize();
}

}  // namespace lens_test
