// SPDX-License-Identifier: Apache-2.0
/// \file launch.cuh
/// A launch, the same under nvcc and simt.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <warpfold/config.hpp>

namespace wf::device::inline WF_BUILD {

/// Blocks of `threads` that a multiprocessor can hold, at most `wanted`: what __launch_bounds__ may ask
/// of the architecture that is compiled for.
constexpr int resident_blocks(int threads, int wanted) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  constexpr int most = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
  constexpr int most = 1536;
#else
  constexpr int most = 2048;
#endif
  return wanted * threads <= most ? wanted : most / threads;
}

/// Blocks, threads a block, bytes of dynamic shared memory a block, stream.
struct launch_config {
  unsigned blocks = 1;
  unsigned threads = 256;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

/// Enqueues kernel(args…). The kernel's parameters must be of the very types of the arguments after
/// conversion, as with cudaLaunchKernelEx, which this covers. Near 48 KiB of shared memory the
/// kernel's limit is raised first (a call of about 1 µs, paid by such kernels only).
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const launch_config& c, Arguments... args) {
  if (c.shared_bytes > 40 * 1024) {  // what is static counts too
    const cudaError_t e = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(c.shared_bytes));
    if (e != cudaSuccess) return e;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(c.blocks);
  config.blockDim = dim3(c.threads);
  config.dynamicSmemBytes = c.shared_bytes;
  config.stream = c.stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(args)...);
}

}  // namespace wf::device::inline WF_BUILD
