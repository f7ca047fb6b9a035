// SPDX-License-Identifier: Apache-2.0
/// \file program_api.hpp
/// Calls of whole programs that ask for what is so here in any case: memory of both sides, caches, limits, flags.
#pragma once

#include <simt/runtime_api.hpp>

#define CUDART_CB

namespace simt {

enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
inline constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4,
                          cudaDeviceMapHost = 8;

inline namespace SIMT_BUILD {

/// Memory of cudaHostAlloc() has one address on both sides.
inline cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned /*flags*/ = 0) {
  cudaPointerAttributes attributes;
  if (pointer == nullptr || cudaPointerGetAttributes(&attributes, host) != cudaSuccess || attributes.type != cudaMemoryTypeHost)
    return detail::set_last_error(cudaErrorInvalidValue);
  *pointer = host;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** pointer, void* host, unsigned flags = 0) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(pointer), host, flags);
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int /*device*/) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

}  // inline namespace SIMT_BUILD
}  // namespace simt
