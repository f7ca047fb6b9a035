// SPDX-License-Identifier: Apache-2.0
/// \file launch.cuh
/// A launch, the same under nvcc and simt.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>

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

/// First in a kernel whose launch may overlap the one before it: until here it has no right to touch what the
/// stream's earlier work writes or reads. The kernel after it may come to the multiprocessors, where it waits like
/// this one, once all blocks but the last, which does the last step, have left. (If it came sooner, its blocks
/// would gather where there is room first: exact sums of 2^23 floats in L2 took 1.4 times as long.)
__device__ __forceinline__ void await_stream() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (blockIdx.x == gridDim.x - 1) asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// The kernel behind may come to the multiprocessors once all blocks have called it or left: a block calls it that has done its work and only stays in case of more, or where that kernel has
/// something to do before it waits for this one.
__device__ __forceinline__ void let_others_come() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Whether await_stream() is in the code that a device of this compute capability (90 for 9.0) runs, which
/// may have been compiled for an older one: where it is not, a launch must not overlap. Inlined always, as what calls
/// it is: a linker must not take the answer of a file that was compiled for other architectures.
__attribute__((always_inline)) constexpr bool awaits_stream([[maybe_unused]] int capability) {
#if defined(__CUDA_ARCH_LIST__)
  for (const int arch : {__CUDA_ARCH_LIST__}) {
    if (arch >= 900 && arch / 100 == capability / 10 && arch <= 10 * capability) return true;
  }
#endif
  return false;
}

/// Blocks, threads per block, bytes of dynamic shared memory per block, stream.
struct launch_config {
  unsigned blocks = 1;
  unsigned threads = 256;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  /// The kernel begins with await_stream(): its blocks may be launched before the stream's last kernel is done, if
  /// that one allows it (programmatic dependent launch). Saves up to 0.6 µs between kernels that do.
  bool overlaps = false;
  unsigned cluster = 1;  ///< blocks of a cluster (CC 9.0 on); a divisor of `blocks`
};

/// How much dynamic shared memory CUDA has been told to allow a kernel on a device, so that it is told once: being told takes a microsecond. One table a program or library,
/// for all threads; a kernel that finds no room in it is told of at every launch.
struct raised_limits {
  static constexpr unsigned places = 256, tries = 8;
  struct place {
    unsigned long long key;  ///< address of the kernel, and in the upper 16 bits the device plus one; 0: nobody's
    unsigned bytes;
  };
  place all[places];

  /// Where the limit of this kernel on this device is kept; null where there is no room.
  place* of(const void* kernel, int device) {
    const unsigned long long key = reinterpret_cast<unsigned long long>(kernel) ^ static_cast<unsigned long long>(device + 1) << 48;
    const unsigned first = static_cast<unsigned>(key * 0x9e3779b97f4a7c15u >> 56);
    for (unsigned i = 0; i < tries; ++i) {
      place& p = all[(first + i) % places];
      unsigned long long there = __atomic_load_n(&p.key, __ATOMIC_RELAXED);
      if (there == 0 && __atomic_compare_exchange_n(&p.key, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) there = key;
      if (there == key) return &p;
    }
    return nullptr;
  }

  static raised_limits& shared() {
    static constinit raised_limits limits{};
    return limits;
  }
};

/// A launch as CUDA is told of it.
struct prepared_launch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[2] = {};
  bool remembered = false;  ///< CUDA was not asked for shared memory, since it had been once

  /// Not inlined: it is the same for all kernels. `again`: the launch was refused with what is remembered of the kernel.
  __attribute__((noinline)) cudaError_t prepare(const void* kernel, const launch_config& c, bool again) {
    remembered = false;
    if (c.shared_bytes > 40 * 1024) {  // what is static counts too
      const cudaError_t e = allow_shared(kernel, static_cast<unsigned>(c.shared_bytes), again);
      if (e != cudaSuccess) return e;
    }
    config.gridDim = dim3(c.blocks);
    config.blockDim = dim3(c.threads);
    config.dynamicSmemBytes = c.shared_bytes;
    config.stream = c.stream;
    config.attrs = attributes;
    config.numAttrs = 0;
#if defined(__CUDACC__)
    if (c.overlaps) {
      cudaLaunchAttribute& a = attributes[config.numAttrs++];
      a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      a.val.programmaticStreamSerializationAllowed = 1;
    }
#endif
    if (c.cluster > 1) {
      cudaLaunchAttribute& a = attributes[config.numAttrs++];
      a.id = cudaLaunchAttributeClusterDimension;
      a.val.clusterDim.x = c.cluster;
      a.val.clusterDim.y = a.val.clusterDim.z = 1;
    }
    return cudaSuccess;
  }

private:
  cudaError_t allow_shared(const void* kernel, unsigned bytes, bool again) {
    int device = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (e != cudaSuccess) return e;
    raised_limits::place* const place = raised_limits::shared().of(kernel, device);
    if (!again && place != nullptr && __atomic_load_n(&place->bytes, __ATOMIC_RELAXED) >= bytes) {
      remembered = true;
      return cudaSuccess;
    }
    if (again) cudaGetLastError();  // the launch that was refused is mended
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (e == cudaSuccess && place != nullptr) __atomic_store_n(&place->bytes, bytes, __ATOMIC_RELAXED);
    return e;
  }
};

/// Enqueues kernel(args…). The kernel's parameters must be of the very types of the arguments after
/// conversion, as with cudaLaunchKernelEx, which this covers. Near 48 KiB of shared memory the
/// kernel's limit is raised first, once per kernel and device, and once more where CUDA no longer knows of it
/// (cudaDeviceReset, another context).
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const launch_config& c, const Arguments&... args) {
  prepared_launch p;
  for (bool again = false;; again = true) {
    cudaError_t e = p.prepare(reinterpret_cast<const void*>(kernel), c, again);
    if (e == cudaSuccess) e = cudaLaunchKernelEx(&p.config, kernel, static_cast<Parameters>(args)...);
    if (e != cudaErrorInvalidValue || !p.remembered) return e;
  }
}

}  // namespace wf::device::inline WF_BUILD
