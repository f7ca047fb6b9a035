// SPDX-License-Identifier: Apache-2.0
/// \file thread.cuh
/// The level of one thread: which elements of an array are its own, and how they are loaded.
///
/// An array is cut into packs of 16 bytes counted from its first element, whatever its address. Pack v
/// belongs to thread v mod threads of the grid. So the assignment, and with it every bit of a sum in
/// floating point, depends on n and the launch alone. Only the way a pack is loaded depends on the
/// address: by one load of 16 bytes where it is aligned, else by two aligned loads and a shift. (The
/// second of these hits in L1, since it is the first of the neighbour's.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>

namespace wf::device::inline WF_BUILD {

/// Sixteen bytes of elements as they lie in memory.
struct pack {
#if defined(__SIMT__)
  std::uint32_t word[4] = {};  // g++ cannot see that a pack is folded only where it was loaded
#else
  std::uint32_t word[4];
#endif
};

template <class T>
inline constexpr int pack_items = 16 / static_cast<int>(sizeof(T));

/// What a pack holds where there is no element: -0, which no sum of floats feels; 0 for integers.
template <class T>
WF_HD std::uint32_t absent_word(int) {
  return 0;
}
template <>
WF_HD std::uint32_t absent_word<float>(int) {
  return 0x80000000u;
}
template <>
WF_HD std::uint32_t absent_word<double>(int word) {
  return word % 2 == 1 ? 0x80000000u : 0u;
}
template <>
WF_HD std::uint32_t absent_word<__half>(int) {
  return 0x80008000u;
}
template <>
WF_HD std::uint32_t absent_word<__nv_bfloat16>(int) {
  return 0x80008000u;
}

/// An array cut for `threads` threads of a grid; made by the host, passed by value. Thread f < threads
/// owns packs f, f + threads, …: `rounds` of them and one more if f < whole_rest; thread whole_rest owns
/// the last pack of `rest` < pack_items elements too. Threads of a higher number own nothing.
template <class T>
struct array_part {
  const T* x;
  std::uint64_t rounds;
  std::uint64_t last;        ///< the number of whole packs
  std::uint32_t threads;
  std::uint32_t whole_rest;  ///< < threads
  std::uint32_t rest;
  float kept;                ///< the share of the array that is to stay in L2, in (0, 1]

  using element = T;
  __host__ __device__ constexpr bool empty() const { return last == 0 && rest == 0; }
  /// Elements behind the packs, and before them.
  __host__ __device__ constexpr std::uint32_t tail() const { return rest; }
  __host__ __device__ constexpr std::uint32_t head() const { return 0; }
};

/// The same with a head: elements before x, fewer than a pack's, in the upper half of `rest`. (Kernels of few elements take 0.05 to 0.1 µs longer
/// where their parameters have more than 48 bytes.)
template <class T>
struct aligned_part : array_part<T> {
  __host__ __device__ constexpr std::uint32_t tail() const { return this->rest & 0xffffu; }
  __host__ __device__ constexpr std::uint32_t head() const { return this->rest >> 16; }
};

template <class T>
array_part<T> cut_array(const T* x, std::uint64_t n, std::uint32_t threads, float kept = 1) {
  const std::uint64_t packs = n / pack_items<T>;
  return {x, packs / threads, packs, threads, static_cast<std::uint32_t>(packs % threads),
          static_cast<std::uint32_t>(n % pack_items<T>), kept};
}

/// For reductions in any order: x becomes the array's first multiple of 16 bytes, and what is before it the head. More than one thread.
template <class T>
aligned_part<T> cut_aligned(const T* x, std::uint64_t n, std::uint32_t threads, float kept = 1) {
  const std::uint64_t before = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(T), head = before < n ? before : n;
  aligned_part<T> part{cut_array(x + head, n - head, threads, kept)};
  part.rest |= static_cast<std::uint32_t>(head) << 16;
  return part;
}

/// Elements [first, first + count) of a pack, one by one.
template <class T>
__device__ __forceinline__ pack load_part(const T* x, int count) {
  pack p;
  for (int j = 0; j < 4; ++j) p.word[j] = absent_word<T>(j);
  if constexpr (sizeof(T) == 2) {
    const auto* h = reinterpret_cast<const unsigned short*>(x);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) {
        const std::uint32_t v = h[i];
        const int shift = 16 * (i % 2);
        p.word[i / 2] = (p.word[i / 2] & ~(0xffffu << shift)) | v << shift;
      }
    }
  } else {
    constexpr int words = sizeof(T) / 4;
    const auto* w = reinterpret_cast<const std::uint32_t*>(x);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (j / words < count) p.word[j] = w[j];
    }
  }
  return p;
}

/// What a load leaves in L2: everything, nothing (first to go), or a share of the lines and nothing of
/// the others. An array larger than L2 that is read again and again finds the share, where it would
/// find nothing if everything were kept.
enum class cache { keep, stream, share };

/// How this thread loads; made once. Never by ld.global.nc: what is read may be written while the kernel is there, by
/// the one before it, which await_stream() waits for.
template <cache Mode>
struct loader {
  std::uint64_t policy = 0;

  explicit __device__ __forceinline__ loader(float kept) {
    if constexpr (Mode == cache::share) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
      asm("createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %0, %1;"
          : "=l"(policy) : "f"(kept));
#else
      policy = kept < 1 ? static_cast<std::uint32_t>(kept * 0x1p32f) : 0xffffffffu;
#endif
    } else {
      (void)kept;
    }
  }

  __device__ __forceinline__ pack operator()(const void* p) const {
    const auto* q = static_cast<const uint4*>(p);
    uint4 v;
    if constexpr (Mode == cache::keep) {
      v = *q;
    } else if constexpr (Mode == cache::stream) {
      v = __ldcs(q);
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
      asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
          : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(q), "l"(policy));
#else
      if (is_kept(q)) v = *q;
      else v = __ldcs(q);
#endif
    }
    return {{v.x, v.y, v.z, v.w}};
  }

 private:
  /// Where loads take no policy (7.5, and 8.0 by its code): whether the 512 bytes of an address, which a warp loads at once, belong to the share; they are mixed by the golden ratio.
  __device__ __forceinline__ bool is_kept(const void* p) const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p) >> 9) * 0x9e3779b1u <= static_cast<std::uint32_t>(policy);
  }
};

/// The pack at an address that is a multiple of sizeof(T), but not of 16. Reads the two aligned
/// 16 bytes around it: for packs with a neighbour on both sides only.
template <class T>
__device__ __forceinline__ pack load_shifted(const T* x) {
  const auto address = reinterpret_cast<std::uintptr_t>(x);
  const auto* base = reinterpret_cast<const uint4*>(address & ~std::uintptr_t{15});
  const uint4 a = *base;  // not __ldcs: the neighbour thread wants the line too
  const uint4 b = base[1];
  std::uint32_t w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  if ((address & 8) != 0) {
    for (int j = 0; j < 6; ++j) w[j] = w[j + 2];
  }
  if constexpr (sizeof(T) < 8) {
    if ((address & 4) != 0) {
      for (int j = 0; j < 5; ++j) w[j] = w[j + 1];
    }
  }
  if constexpr (sizeof(T) < 4) {
    if ((address & 2) != 0) {
      for (int j = 0; j < 4; ++j) w[j] = __funnelshift_r(w[j], w[j + 1], 16);
    }
  }
  return {{w[0], w[1], w[2], w[3]}};
}

template <bool Aligned, class T, cache Mode>
__device__ __forceinline__ pack load_pack(const array_part<T>& part, std::uint64_t v,
                                          const loader<Mode>& load) {
  const T* x = part.x + v * pack_items<T>;
  if constexpr (Aligned) {
    return load(x);
  } else {
    // The loads around the first and the last pack could leave the array.
    if (v == 0 || v + 1 == part.last) return load_part(x, pack_items<T>);
    return load_shifted(x);
  }
}

/// How a kernel walks: loads in flight (a power of two), whether the next batch is loaded before the
/// last one is folded, and what stays in L2.
template <int Loads, bool Ahead = false, cache Mode = cache::stream>
struct walk {
  static constexpr int loads = Loads;
  static constexpr bool ahead = Ahead;
  static constexpr cache mode = Mode;
  static_assert((Loads & (Loads - 1)) == 0);
};

/// Feeds the packs of thread `first` of the grid to fold(pack), in batches: the odd batch first, so
/// that for small arrays its loads are on their way while start() prepares the fold; a start that
/// takes (packs, count) is shown it. All threads call start(). after_batch() follows each batch. The
/// order of the packs depends on n and the cut alone.
template <class Walk, bool Aligned, class Part, class Start, class Fold, class AfterBatch>
__device__ __forceinline__ void for_each_pack(const Part& part, std::uint32_t first,
                                              Start start, Fold fold, AfterBatch after_batch) {
  using T = typename Part::element;
  constexpr int loads = Walk::loads;
  const std::uint32_t threads = part.threads;
  const loader<Walk::mode> load(part.kept);
  const std::uint64_t count =
      first < threads ? part.rounds + (first < part.whole_rest ? 1 : 0) : 0;
  const int odd = count == 0 ? 0 : static_cast<int>((count - 1) % loads) + 1;
  std::uint64_t batches = (count - odd) / loads;
  std::uint64_t v = first;
  pack p[loads], next[loads];
  const auto load_batch = [&](pack(&to)[loads]) {
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      to[u] = load_pack<Aligned>(part, v + std::uint64_t{threads} * u, load);
    }
    v += std::uint64_t{threads} * loads;
  };
#pragma unroll
  for (int u = 0; u < loads; ++u) {
    if (u < odd) p[u] = load_pack<Aligned>(part, v + std::uint64_t{threads} * u, load);
  }
  v += std::uint64_t{threads} * odd;
  pack tail;
  // A head is another thread's than a tail.
  const bool has_head = part.head() != 0 && first == (part.whole_rest + 1 < threads ? part.whole_rest + 1 : 0);
  const bool has_tail = has_head || (part.tail() != 0 && first == part.whole_rest);
  if (has_tail) tail = load_part(has_head ? part.x - part.head() : part.x + part.last * pack_items<T>, static_cast<int>(has_head ? part.head() : part.tail()));
  if (Walk::ahead && batches != 0) load_batch(next);
  if constexpr (std::is_invocable_v<Start, const pack(&)[loads], int>) {
    start(p, odd);
  } else {
    start();
  }
#pragma unroll
  for (int u = 0; u < loads; ++u) {
    if (u < odd) fold(p[u]);
  }
  if (has_tail) fold(tail);
  after_batch();
  for (; batches != 0; --batches) {
    if constexpr (Walk::ahead) {
#pragma unroll
      for (int u = 0; u < loads; ++u) p[u] = next[u];
      if (batches > 1) load_batch(next);
    } else {
      load_batch(p);
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) fold(p[u]);
    after_batch();
  }
}

/// An array that one block sums in one batch, Loads packs per thread: 32-bit indexes, and nothing that a
/// larger one needs, since at these sizes each instruction before the load is seen.
template <int Loads, bool Aligned, class T, class Fold>
__device__ __forceinline__ void for_each_pack_small(const array_part<T>& part, Fold fold) {
  const auto packs = static_cast<std::uint32_t>(part.last);
  const loader<cache::keep> load(1);
  pack p[Loads], tail;
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    const std::uint32_t v = threadIdx.x + u * blockDim.x;
    if (v < packs) p[u] = load_pack<Aligned>(part, v, load);
  }
  const bool has_tail = threadIdx.x < part.rest;  // an element each, in one load
  if (has_tail) tail = load_part(part.x + packs * pack_items<T> + threadIdx.x, 1);
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    if (threadIdx.x + u * blockDim.x < packs) fold(p[u]);
  }
  if (has_tail) fold(tail);
}

}  // namespace wf::device::inline WF_BUILD
