// SPDX-License-Identifier: Apache-2.0
/// \file grid.cuh
/// The level of the grid: how the blocks of one launch become one answer without a second launch, a
/// ticket or a fence.
///
/// Every block but the last (the one of the highest index) leaves a message and ends. The last block
/// does its share of the work, then waits for the messages, erases them and answers. A message carries
/// its own proof of arrival in the same 64-bit word, so that nothing but the word itself must be
/// ordered, and relaxed loads and stores are enough.
///
/// Why the waiting ends: one block of a grid waits, and the others wait for nothing. Blocks start in
/// the order of their index, so when the last one runs, the others have all run or are running. That
/// holds however many streams are busy, since a waiting block is never in the way of one it waits
/// for. (Were it block 0 that waits, as many grids at once as there are places for blocks could each
/// hold a place and none get a second one.) No limit on the grid follows from it. The order of block
/// starts is what GPUs do and CUDA does not promise; without it, the waiting still ends wherever the
/// grid fits on the device beside what else waits there, and the answer is right in any order.
#pragma once

#include <cuda_runtime.h>

#if defined(__SIMT__)
#include <cuda/atomic>
#endif

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

__device__ __forceinline__ bool is_last_block() { return blockIdx.x + 1 == gridDim.x; }

// What <cuda/atomic> makes of these, without its headers: nvcc reads them in three seconds of a processor a file. simt's has the race detector.

/// Relaxed, at the scope of the device; p is no shared memory.
__device__ __forceinline__ std::uint64_t load_word(std::uint64_t* p) {
#if defined(__SIMT__)
  return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*p).load(cuda::memory_order_relaxed);
#else
  std::uint64_t v;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
#endif
}
__device__ __forceinline__ void store_word(std::uint64_t* p, std::uint64_t v) {
#if defined(__SIMT__)
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_relaxed);
#else
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
#endif
}
__device__ __forceinline__ void add_word(std::uint64_t* p, std::uint64_t v) {
#if defined(__SIMT__)
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*p).fetch_add(v, cuda::memory_order_relaxed);
#else
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
#endif
}
/// Fences of this thread, at the scope of the device.
__device__ __forceinline__ void release_fence() {
#if defined(__SIMT__)
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}
__device__ __forceinline__ void acquire_fence() {
#if defined(__SIMT__)
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/// A box a block for one value V of 4 or 8 bytes: 32 bits of it and a mark in each word. The sum over
/// the boxes has a fixed order, so floating-point values may be sent.
template <class V>
struct mailbox {
  static constexpr int words = sizeof(V) / 4;
  static_assert(words == 1 || words == 2);
  static constexpr std::uint64_t full = std::uint64_t{1} << 32;

  /// One thread of the block calls it.
  static __device__ __forceinline__ void post(std::uint64_t* boxes, V value) {
    std::uint64_t* box = boxes + std::uint64_t{blockIdx.x} * words;
    std::uint32_t part[words];
    __builtin_memcpy(part, &value, sizeof value);
#pragma unroll
    for (int j = 0; j < words; ++j) store_word(box + j, full | part[j]);
  }

  /// Threads 0 … readers - 1 of the last block all call it: the sum of boxes reader,
  /// reader + readers, … below `count`, which are left empty. Batch boxes are polled at once, since a
  /// look at one takes 0.5 µs.
  template <int Batch>
  static __device__ __forceinline__ V collect(std::uint64_t* boxes, std::uint32_t count,
                                              std::uint32_t reader, std::uint32_t readers,
                                              V sum) {
    for (std::uint32_t first = reader; first < count; first += readers * Batch) {
      std::uint64_t seen[Batch][words];
      for (bool wait = true; wait;) {
        std::uint64_t marks = full;
#pragma unroll
        for (int i = 0; i < Batch; ++i) {
          const std::uint32_t b = first + i * readers;
#pragma unroll
          for (int j = 0; j < words; ++j) {
            seen[i][j] = b < count ? load_word(boxes + std::uint64_t{b} * words + j) : full;
          }
        }
#pragma unroll
        for (int i = 0; i < Batch; ++i) {
#pragma unroll
          for (int j = 0; j < words; ++j) marks &= seen[i][j];
        }
        wait = marks == 0;
        if (wait) __nanosleep(20);
      }
#pragma unroll
      for (int i = 0; i < Batch; ++i) {
        const std::uint32_t b = first + i * readers;
        if (b < count) {
          std::uint32_t part[words];
#pragma unroll
          for (int j = 0; j < words; ++j) {
            part[j] = static_cast<std::uint32_t>(seen[i][j]);
            store_word(boxes + std::uint64_t{b} * words + j, 0);
          }
          V value;
          __builtin_memcpy(&value, part, sizeof value);
          sum += value;
        }
      }
    }
    return sum;
  }
};

/// For whole numbers, where order does not matter: a few rows of words that the blocks add to. A word
/// counts its additions in its upper 16 bits and sums signed values in its lower 48, so its reader
/// knows when it is complete. One warp posts a row, one warp reads all of them: the reader's cost does
/// not grow with the grid. At most 4095 blocks, values within ±2^34.
template <int Words, int Rows>
struct tally {
  static constexpr int stride = (Words + 15) / 16 * 16;  // rows start lines of 128 bytes
  static_assert(Rows * stride <= 8 * 80);

  static __device__ __forceinline__ void post(std::uint64_t* rows, int word, std::int64_t value) {
    add_word(rows + blockIdx.x % Rows * stride + word,
             (std::uint64_t{1} << 48) + static_cast<std::uint64_t>(value));
  }

  /// Whether a word has come from all of `posts` blocks, and then its sum. Words beyond the last have.
  static __device__ __forceinline__ bool look(std::uint64_t* rows, int word, std::uint32_t posts, std::int64_t& sum) {
    std::uint64_t seen[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) seen[r] = word < Words ? load_word(rows + r * stride + word) : 0;
    bool full = true;
    sum = 0;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      full &= word >= Words || count_of(seen[r]) == (posts + Rows - 1 - r) / Rows;
      sum += value_of(seen[r]);
    }
    return full;
  }
  static __device__ __forceinline__ void erase(std::uint64_t* rows, int word) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (word < Words) store_word(rows + r * stride + word, 0);
    }
  }

  /// The sums of words first … first + Count - 1 (those below Words) over the `posts` blocks 0, 1, …
  template <int Count>
  static __device__ __forceinline__ void collect(std::uint64_t* rows, int first,
                                                 std::uint32_t posts,
                                                 std::int64_t (&sum)[Count]) {
    std::uint64_t seen[Count][Rows];
    for (bool wait = true; wait;) {
#pragma unroll
      for (int j = 0; j < Count; ++j) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          seen[j][r] = first + j < Words ? load_word(rows + r * stride + first + j) : 0;
        }
      }
      wait = false;
#pragma unroll
      for (int j = 0; j < Count; ++j) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const std::uint32_t due = (posts + Rows - 1 - r) / Rows;
          wait = wait || (first + j < Words && count_of(seen[j][r]) != due);
        }
      }
      if (wait) __nanosleep(20);
    }
#pragma unroll
    for (int j = 0; j < Count; ++j) {
      sum[j] = 0;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        sum[j] += value_of(seen[j][r]);
        if (first + j < Words) store_word(rows + r * stride + first + j, 0);
      }
    }
  }

 private:
  static __device__ __forceinline__ std::int64_t value_of(std::uint64_t w) {
    return static_cast<std::int64_t>(w << 16) >> 16;
  }
  static __device__ __forceinline__ std::uint32_t count_of(std::uint64_t w) {
    return static_cast<std::uint32_t>((w - static_cast<std::uint64_t>(value_of(w))) >> 48);
  }
};

}  // namespace wf::device::inline WF_BUILD
