// SPDX-License-Identifier: Apache-2.0
/// \file runtime_api.hpp
/// The host functions of CUDA's runtime API on simt, with the signatures of CUDA 13.
///
/// A stream does its work at once, in the thread that asks for it: one of the orders CUDA allows.
/// While a stream captures, the work is recorded instead. Device memory is the host's own, 256-byte
/// aligned and filled with 0xFF when allocated, so that what is read before it is written is a NaN
/// or −1.
///
/// They are C++ functions in `simt`, so a program can also link the CUDA runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

#include <simt/runtime_types.hpp>

namespace simt {

// Memory. Sizes in bytes. A pointer that must be on the device has to lie in a live allocation of
// simt with all the bytes asked for, else the call gives cudaErrorInvalidValue.
cudaError_t cudaMalloc(void** pointer, std::size_t size);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t stream);
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaMemPool_t pool,
                            cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMallocHost(void** pointer, std::size_t size,
                           unsigned int flags = cudaHostAllocDefault);
cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t size);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* to, int byte, std::size_t size);
/// Rows begin 512 bytes or a multiple apart, as on GPUs.
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int byte, std::size_t width, std::size_t height);
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int byte, std::size_t width, std::size_t height,
                              cudaStream_t stream = nullptr);
/// Memory of both sides: the device's is the host's own here.
inline cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned int = cudaMemAttachGlobal) {
  return cudaMalloc(pointer, size);
}
/// It is there already.
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int /*device*/, cudaStream_t = nullptr) { return cudaSuccess; }
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

// Device variables: `__device__` and `__constant__` ones are variables of the host.
namespace detail {
cudaError_t symbol_address(void** pointer, const void* symbol, std::size_t size);
cudaError_t copy_symbol(void* symbol, std::size_t symbol_size, void* host_to, const void* host_from,
                        std::size_t size, std::size_t offset, cudaMemcpyKind kind,
                        cudaStream_t stream, bool wait);
}  // namespace detail

// Pools.
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);

// Streams and events.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void* user_data, unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                     unsigned int flags = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

// Capture and graphs.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id = nullptr, cudaGraph_t* graph = nullptr,
                                     const cudaGraphNode_t** dependencies = nullptr,
                                     const cudaGraphEdgeData** edges = nullptr,
                                     std::size_t* dependency_count = nullptr);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

// The device: one, named "simt".
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceSynchronize();
/// Frees all device memory and pools, and forgets a sticky error.
cudaError_t cudaDeviceReset();
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);

// Errors. A fault in a kernel stays: every later call of the host thread gives it until
// cudaDeviceReset() or simt::clear_fault(). The others are forgotten by cudaGetLastError().
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// Kernels, by their address.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size,
                                                          std::size_t dynamic_shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int block_size,
                                                                   std::size_t dynamic_shared,
                                                                   unsigned int flags);
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                           const cudaLaunchConfig_t* config);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* kernel,
                                                 const cudaLaunchConfig_t* config);

/// What is alive in the process, for leak tests.
struct live_objects {
  std::size_t allocations = 0,
              bytes = 0;   ///< device memory, pools included; what graphs own is not counted
  std::size_t pinned = 0;  ///< allocations of pinned host memory
  std::size_t pools = 0, streams = 0, events = 0, graphs = 0, executables = 0;
};
live_objects live();

namespace detail {
/// For the launch: runs `work` now, or records it where `stream` captures. The work's own error is
/// given back, and kept as the thread's last error.
cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work);
/// Keeps `error` as the last one of the calling host thread, for cudaGetLastError(); gives it back.
/// Faults of kernels (cudaErrorIllegalAddress, cudaErrorLaunchFailure and their like) become
/// sticky: cudaGetLastError() forgets them as any other, and each further call keeps them anew.
cudaError_t set_last_error(cudaError_t error);
/// The sticky error of the calling host thread, or cudaSuccess. clear_sticky_error() is half of
/// clear_fault().
cudaError_t sticky_error();
void clear_sticky_error();
/// The dynamic shared memory that a launch of `kernel` may ask for, in bytes: 48 KiB until
/// cudaFuncSetAttribute() allows more.
std::size_t max_dynamic_shared(const void* kernel);
/// Whether clusters of more than 8 blocks are allowed for `kernel`.
bool nonportable_clusters(const void* kernel);
}  // namespace detail

// The typed forms that cuda_runtime.h adds.
template <class T>
SIMT_INLINE cudaError_t cudaMalloc(T** pointer, std::size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), size);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocManaged(T** pointer, std::size_t size, unsigned int = cudaMemAttachGlobal) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), size);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocAsync(T** pointer, std::size_t size, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), size, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocAsync(T** pointer, std::size_t size, cudaMemPool_t pool,
                                        cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(pointer), size, pool, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocFromPoolAsync(T** pointer, std::size_t size, cudaMemPool_t pool,
                                                cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(pointer), size, pool, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocHost(T** pointer, std::size_t size, unsigned int flags = 0) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), size, flags);
}
template <class T>
SIMT_INLINE cudaError_t cudaHostAlloc(T** pointer, std::size_t size, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), size, flags);
}

template <class T>
SIMT_INLINE cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return detail::symbol_address(pointer, &symbol, sizeof(T));
}
template <class T>
SIMT_INLINE cudaError_t cudaGetSymbolSize(std::size_t* size, const T&) {
  *size = sizeof(T);
  return cudaSuccess;
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t size,
                                           std::size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return detail::copy_symbol(const_cast<T*>(&symbol), sizeof(T), nullptr, from, size, offset, kind,
                             nullptr, true);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t size,
                                                std::size_t offset, cudaMemcpyKind kind,
                                                cudaStream_t stream = nullptr) {
  return detail::copy_symbol(const_cast<T*>(&symbol), sizeof(T), nullptr, from, size, offset, kind,
                             stream, false);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t size,
                                             std::size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return detail::copy_symbol(const_cast<T*>(&symbol), sizeof(T), to, nullptr, size, offset, kind,
                             nullptr, true);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t size,
                                                  std::size_t offset, cudaMemcpyKind kind,
                                                  cudaStream_t stream = nullptr) {
  return detail::copy_symbol(const_cast<T*>(&symbol), sizeof(T), to, nullptr, size, offset, kind,
                             stream, false);
}

template <class T>
concept kernel_function = std::is_function_v<T>;

template <kernel_function T>
SIMT_INLINE cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T* kernel,
                                                                      int block_size,
                                                                      std::size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), block_size, dynamic_shared);
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, T* kernel, int block_size, std::size_t dynamic_shared, unsigned int flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, reinterpret_cast<const void*>(kernel), block_size, dynamic_shared, flags);
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel,
                                                       const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(kernel), config);
}
template <kernel_function T>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, T* kernel,
                                                             const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxPotentialClusterSize(size, reinterpret_cast<const void*>(kernel), config);
}
// Inline functions of a body worth calling: one for each build.
inline namespace SIMT_BUILD {

/// `shared_of(block_size)` gives the dynamic shared memory of a block. The smallest grid that fills
/// the device with the block size of greatest occupancy, the largest such.
template <class SharedOf>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid_size,
                                                                  int* block_size, const void* kernel,
                                                                  SharedOf shared_of,
                                                                  int block_size_limit = 0) {
  if (min_grid_size == nullptr || block_size == nullptr)
    return detail::set_last_error(cudaErrorInvalidValue);
  int processors = 0;
  if (cudaError_t e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0))
    return e;
  int best_threads = 0;
  *min_grid_size = *block_size = 0;
  const int limit = block_size_limit > 0 && block_size_limit < 1024 ? block_size_limit : 1024;
  for (int upper = (limit + 31) / 32 * 32; upper > 0; upper -= 32) {
    const int size = upper < limit ? upper : limit;
    int blocks = 0;
    if (cudaError_t e =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size, shared_of(size)))
      return e;
    if (blocks * size > best_threads) {
      best_threads = blocks * size;
      *block_size = size;
      *min_grid_size = blocks * processors;
    }
  }
  return cudaSuccess;
}
template <kernel_function T, class SharedOf>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid_size, int* block_size, T* kernel, SharedOf shared_of,
                                                                  int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(min_grid_size, block_size, reinterpret_cast<const void*>(kernel), shared_of,
                                                        block_size_limit);
}
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, const void* kernel,
                                                      std::size_t dynamic_shared = 0, int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      min_grid_size, block_size, kernel, [=](int) { return dynamic_shared; }, block_size_limit);
}
template <kernel_function T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, T* kernel, std::size_t dynamic_shared = 0,
                                                      int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSize(min_grid_size, block_size, reinterpret_cast<const void*>(kernel), dynamic_shared,
                                            block_size_limit);
}

}  // namespace SIMT_BUILD

}  // namespace simt
