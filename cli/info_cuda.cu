// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"

#include <cuda_runtime.h>

namespace cli {

cuda_facts query_cuda() {
  cuda_facts facts{CUDART_VERSION, 0, {}, {}};
  cudaDriverGetVersion(&facts.driver_version);
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    facts.failure = cudaGetErrorString(counted);
    return facts;
  }
  if (count == 0) facts.failure = cudaGetErrorString(cudaErrorNoDevice);
  for (int k = 0; k < count; ++k) {
    cudaDeviceProp p;
    if (const cudaError_t asked = cudaGetDeviceProperties(&p, k); asked != cudaSuccess) {
      facts.failure = "device " + std::to_string(k) + ": " + cudaGetErrorString(asked);
      continue;
    }
    facts.devices.push_back({p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem});
  }
  return facts;
}

}  // namespace cli
