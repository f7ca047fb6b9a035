// SPDX-License-Identifier: Apache-2.0
/// \file bulk.cuh
/// Large arrays by way of shared memory: one thread of a block asks for 32 KiB at a time, which the copy engine of the
/// multiprocessor brings (cp.async.bulk, CC 9.0 on) while the block adds the bytes before. DRAM is fastest where long stretches
/// are read at once: an H100 gives 3166 GB/s in this way, and 3103 to loads of 16 bytes per thread.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/device/thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Whether code for this architecture has bulk copies. Where it has none, kernels that use them are empty: they are not launched there
/// (workspace::bulk_copies()), and compiling them took a tenth of the default set.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool has_bulk_copies = false;
#else
inline constexpr bool has_bulk_copies = true;
#endif

/// Stages buffers of Chunk bytes, filled in turn. They begin at multiples of 128 (else a copy takes 1.05 times as long), and
/// have 16 bytes more for the chunks of an array that begins between multiples of 16.
template <int Chunk, int Stages>
struct bulk_ring {
  static_assert(Chunk % 128 == 0 && Stages >= 2);
  static constexpr int room = Chunk + 128;
  static constexpr std::size_t shared_bytes = std::size_t{Stages} * room + 112;  // in memory aligned to 16
  using barriers = std::uint64_t[Stages];

  unsigned char* buffer;
  std::uint64_t* barrier;

  __device__ __forceinline__ bulk_ring(unsigned char* shared, barriers& b) : buffer(shared), barrier(b) {
    buffer += (0 - reinterpret_cast<std::uintptr_t>(buffer)) % 128;
  }
  /// One thread calls it, before it asks for anything.
  __device__ __forceinline__ void start() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#pragma unroll
    for (int i = 0; i < Stages; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier + i)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  /// Asks for `bytes` from `from`, both multiples of 16. One thread calls it, once the buffer of round i has been read.
  template <class Round>
  __device__ __forceinline__ void ask(Round i, const unsigned char* from, std::uint32_t bytes, std::uint64_t policy) const {
    const auto stage = static_cast<int>(i % Stages);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier + stage)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
        ::"r"(address(buffer + stage * room)), "l"(from), "r"(bytes), "r"(address(barrier + stage)), "l"(policy) : "memory");
#else
    // Between this and await() of the same round the block synchronises, since there are two stages or more.
    (void)policy;
    for (std::uint32_t b = 0; b < bytes; b += 16) {
      *reinterpret_cast<uint4*>(buffer + stage * room + b) = *reinterpret_cast<const uint4*>(from + b);
    }
#endif
  }
  /// Waits for the bytes of round i, and returns where they are.
  template <class Round>
  __device__ __forceinline__ const unsigned char* await(Round i) const {
    const auto stage = static_cast<int>(i % Stages);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto parity = static_cast<std::uint32_t>(i / Stages % 2);
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                   : "=r"(done) : "r"(address(barrier + stage)), "r"(parity) : "memory");
    }
#endif
    return buffer + stage * room;
  }

 private:
#if defined(__CUDA_ARCH__)
  static __device__ __forceinline__ std::uint32_t address(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
  }
#endif
};

/// Orders what threads wrote to shared memory before the copies that one of them asks for next.
__device__ __forceinline__ void written_before_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncwarp();
}

/// Bytes of a chunk of so many packs per thread.
template <int Threads, int Each>
inline constexpr int bulk_chunk = 16 * Threads * Each;

/// Feeds this thread's packs to add(packs, count), of which the first `count` are there. The blocks 0 … workers - 1 call it: chunk c belongs to block
/// c mod workers, and pack t + k·Threads of it to thread t, whatever the array's address. All threads of a block call
/// start(), and add() as often, once at least. Chunks that reach over an end of an array that is not aligned, and what is
/// no whole chunk, are loaded by the threads. Chunks are counted by Round: 32 bits are enough for 128 TiB, and take fewer registers and no call to divide.
template <int Threads, int Each, int Stages, bool Aligned, class Round = std::uint64_t, class Part, class Start, class Add>
__device__ __forceinline__ void for_each_pack_bulk(const Part& part,
                                                   const bulk_ring<bulk_chunk<Threads, Each>, Stages>& ring, Start start,
                                                   Add add, std::uint32_t workers = gridDim.x) {
  using T = typename Part::element;
  constexpr int chunk = bulk_chunk<Threads, Each>, chunk_packs = Threads * Each;
  const auto whole = static_cast<Round>(part.last / chunk_packs);
  const Round end = Aligned ? whole : whole - (whole > 0 ? 1 : 0);
  Round c = blockIdx.x;
  const bool at_begin = !Aligned && c == 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(part.x);
  const std::uint32_t skip = Aligned ? 0 : static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(bytes) % 16);
  pack p[Each];
  const auto by_threads = [&] {
    const loader<cache::stream> load(1);
    int count = 0;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      const std::uint64_t v = std::uint64_t{c} * chunk_packs + threadIdx.x + k * Threads;
      if (v < part.last) {
        p[k] = load_pack<Aligned>(part, v, load);
        count = k + 1;
      }
    }
    add(p, count);
    c += workers;
  };
  const bool asks = threadIdx.x == 0;
  const Round first = at_begin ? c + workers : c;
  const Round rounds = first < end ? (end - first - 1) / workers + 1 : 0;
  const loader<cache::share> hint(part.kept);
  const auto ask = [&](Round i) {
    ring.ask(i, bytes - skip + std::uint64_t{first + i * workers} * chunk, chunk + (Aligned ? 0 : 16), hint.policy);
  };
  if (asks) {
    ring.start();
    for (Round i = 0; i < rounds && i < Stages; ++i) ask(i);
  }
  start();
  if (at_begin) by_threads();
  __syncthreads();
#pragma unroll 1
  for (Round i = 0; i < rounds; ++i) {
    const unsigned char* from = ring.await(i);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      const unsigned char* at = from + 16 * (threadIdx.x + k * Threads);
      p[k] = Aligned ? loader<cache::keep>(1)(at) : load_shifted(reinterpret_cast<const T*>(at + skip));
    }
    add(p, Each);
    __syncthreads();
    if (asks && i + Stages < rounds) ask(i + Stages);
  }
  c = first + rounds * workers;
  while (std::uint64_t{c} * chunk_packs < part.last) by_threads();
  const bool has_head = part.head() != 0 && threadIdx.x == 1, has_rest = has_head || (part.tail() != 0 && threadIdx.x == 0);
  if (has_rest) p[0] = load_part(has_head ? part.x - part.head() : part.x + part.last * pack_items<T>, static_cast<int>(has_head ? part.head() : part.tail()));
  if (blockIdx.x == 0 || blockIdx.x * chunk_packs >= part.last) add(p, has_rest && blockIdx.x == 0 ? 1 : 0);
}

}  // namespace wf::device::inline WF_BUILD
