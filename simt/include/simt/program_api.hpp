// SPDX-License-Identifier: Apache-2.0
/// \file program_api.hpp
/// Calls of whole programs that ask for what is so here in any case: memory of both sides, caches, limits, flags.
#pragma once

#include <simt/runtime_api.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

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
inline constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2, cudaHostRegisterIoMemory = 4,
                          cudaHostRegisterReadOnly = 8;
enum cudaSharedCarveout { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };

struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPos {
  std::size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
/// `srcArray` and `dstArray` are for textures' arrays, which are not there: they stay null.
struct cudaMemcpy3DParms {
  void* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  void* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};

inline namespace SIMT_BUILD {
namespace registered {

inline std::mutex access;
inline std::map<const char*, std::size_t> ranges;

inline bool holds(const void* pointer) {
  const std::lock_guard lock(access);
  const auto after = ranges.upper_bound(static_cast<const char*>(pointer));
  return after != ranges.begin() && static_cast<const char*>(pointer) < std::prev(after)->first + std::prev(after)->second;
}

}  // namespace registered

inline cudaError_t cudaHostRegister(void* host, std::size_t size, unsigned /*flags*/) {
  if (host == nullptr || size == 0) return detail::set_last_error(cudaErrorInvalidValue);
  if (registered::holds(host)) return detail::set_last_error(cudaErrorHostMemoryAlreadyRegistered);
  const std::lock_guard lock(registered::access);
  registered::ranges[static_cast<const char*>(host)] = size;
  return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void* host) {
  const std::lock_guard lock(registered::access);
  return registered::ranges.erase(static_cast<const char*>(host)) != 0 ? cudaSuccess : detail::set_last_error(cudaErrorHostMemoryNotRegistered);
}

/// Memory of cudaHostAlloc() and what was registered has one address on both sides.
inline cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned /*flags*/ = 0) {
  cudaPointerAttributes attributes;
  if (pointer == nullptr || (!registered::holds(host) && (cudaPointerGetAttributes(&attributes, host) != cudaSuccess || attributes.type != cudaMemoryTypeHost)))
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

/// As before CUDA 12, whose headers still take it.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* /*of an error*/, char* log, std::size_t size) {
  if (log != nullptr && size != 0) *log = '\0';
  return cudaGraphInstantiate(executable, graph, 0);
}

constexpr cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) { return {width, height, depth}; }
constexpr cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }
constexpr cudaPitchedPtr make_cudaPitchedPtr(void* pointer, std::size_t pitch, std::size_t width, std::size_t height) { return {pointer, pitch, width, height}; }

inline cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent size) {
  if (pointer == nullptr || (size.depth != 0 && size.height > SIZE_MAX / size.depth)) return detail::set_last_error(cudaErrorInvalidValue);
  *pointer = {nullptr, 0, size.width, size.height};
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, size.width, size.height * size.depth);
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr to, int byte, cudaExtent size) {
  for (std::size_t z = 0; z < size.depth; ++z)
    if (const cudaError_t e = cudaMemset2D(static_cast<char*>(to.ptr) + z * to.ysize * to.pitch, to.pitch, byte, size.width, size.height)) return e;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  if (p == nullptr || p->srcArray != nullptr || p->dstArray != nullptr) return detail::set_last_error(cudaErrorInvalidValue);
  const auto slice = [](const cudaPitchedPtr& a, const cudaPos& at, std::size_t z) {
    return static_cast<char*>(a.ptr) + ((at.z + z) * a.ysize + at.y) * a.pitch + at.x;
  };
  for (std::size_t z = 0; z < p->extent.depth; ++z)
    if (const cudaError_t e = cudaMemcpy2D(slice(p->dstPtr, p->dstPos, z), p->dstPtr.pitch, slice(p->srcPtr, p->srcPos, z), p->srcPtr.pitch,
                                           p->extent.width, p->extent.height, p->kind))
      return e;
  return cudaSuccess;
}

}  // inline namespace SIMT_BUILD
}  // namespace simt
