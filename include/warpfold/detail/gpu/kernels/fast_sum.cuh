// SPDX-License-Identifier: Apache-2.0
/// \file fast_sum.cuh
/// The fast sum: native accumulation in a fixed order, as fast as the array can be read.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/domain.cuh>
#include <warpfold/detail/gpu/kernels/many_blocks.cuh>
#include <warpfold/detail/gpu/launch_table.hpp>
#include <warpfold/detail/gpu/merge/merge.cuh>
#include <warpfold/device/block.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

template <class T>
struct fast_of {
  using type = float;  // for __half and __nv_bfloat16 too
};
template <>
struct fast_of<double> {
  using type = double;
};
template <>
struct fast_of<int> {
  using type = std::int64_t;
};
/// The types in which a fast sum of T is accumulated and answered.
template <class T>
using fast_t = typename fast_of<T>::type;

/// One thread's running sums: a chain for each element of a pack, so that an addition never waits for
/// the one before it.
template <class T>
struct fast_fold {
  using value = fast_t<T>;
  value chain[pack_items<T>];

  __device__ __forceinline__ void start() {
    for (int i = 0; i < pack_items<T>; ++i) {
      chain[i] = std::is_integral_v<value> ? value(0) : value(-0.0);  // -0 changes no sum
    }
  }
  __device__ __forceinline__ void add(const pack& p) {
#pragma unroll
    for (int i = 0; i < pack_items<T>; ++i) chain[i] += item(p, i);
  }
  __device__ __forceinline__ value total() const {
    value t[pack_items<T>];
#pragma unroll
    for (int i = 0; i < pack_items<T>; ++i) t[i] = chain[i];
#pragma unroll
    for (int step = pack_items<T> / 2; step > 0; step /= 2) {
#pragma unroll
      for (int i = 0; i < step; ++i) t[i] += t[i + step];
    }
    return t[0];
  }

  /// Element i of a pack.
  static __device__ __forceinline__ value item(const pack& p, int i) {
    if constexpr (std::is_same_v<T, double>) {
      return __builtin_bit_cast(double, std::uint64_t{p.word[2 * i + 1]} << 32 | p.word[2 * i]);
    } else if constexpr (std::is_same_v<T, __half>) {
      return __half2float(__ushort_as_half(
          static_cast<unsigned short>(p.word[i / 2] >> (16 * (i % 2)))));
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      return __builtin_bit_cast(float, i % 2 == 1 ? p.word[i / 2] & 0xffff0000u
                                                  : p.word[i / 2] << 16);
    } else if constexpr (std::is_same_v<T, int>) {
      return static_cast<int>(p.word[i]);
    } else {
      return __builtin_bit_cast(float, p.word[i]);
    }
  }
};

/// NaNs differ in sign and payload with the order of operands, which compilers choose: one for all.
template <class V>
__device__ __forceinline__ V one_nan(V v) {
  if constexpr (std::is_same_v<V, float>) {
    if (v != v) return __builtin_bit_cast(float, 0x7fc00000u);
  } else if constexpr (std::is_same_v<V, double>) {
    if (v != v) return __builtin_bit_cast(double, std::uint64_t{0x7ff8} << 48);
  }
  return v;
}

/// All threads of each block call it, with its sum in thread 0: the last block writes *out.
template <int Threads, int Readers, class V, value_merge<V> Merge = mailbox<V>>
__device__ __forceinline__ void answer_of_sums(V sum, bool empty, V* out, std::uint64_t* boxes) {
  constexpr V nothing = std::is_integral_v<V> ? V(0) : V(-0.0);
  if (gridDim.x > 1) {
    if (!is_last_block()) {
      if (threadIdx.x == 0) Merge::post(boxes, sum);
      return;
    }
    if (Readers == Threads || threadIdx.x < Readers) {
      if (threadIdx.x != 0) sum = nothing;
      sum = Merge::template collect<Readers == 32 ? 8 : 2>(boxes, gridDim.x - 1, threadIdx.x, Readers, sum);
      if constexpr (Readers == 32) {
        sum = warp_sum(sum);
      } else {
        __shared__ block_room<V, Threads> last_room;
        sum = block_sum<Threads>(sum, last_room);
      }
    }
  }
  if (threadIdx.x == 0) *out = empty ? V(0) : one_nan(sum);
}

/// Blocks of fast_sum_kernel for each multiprocessor: 2048 threads share it, 1280 with more than four loads in flight.
template <class Domain, int Readers>
inline constexpr int fast_sum_blocks = (Domain::loads * (Domain::ahead ? 2 : 1) > 4 ? 1280 : 2048) / Domain::threads / (Readers == 32 ? 2 : 1);

/// Readers: the threads of the last block that look into the mailbox, 32 or all.
template <class T, pack_domain<T> Domain, int Readers>
__global__ void WF_MANY_BLOCKS(Domain::threads, (fast_sum_blocks<Domain, Readers>))
    fast_sum_kernel(array_part<T> part, fast_t<T>* out, std::uint64_t* boxes) {
  if constexpr (!is_built<Domain>) return;
  await_stream();
  using value = fast_t<T>;
  __shared__ block_room<value, Domain::threads> room;
  fast_fold<T> fold;
  Domain::walk(
      part, wf_dynamic_shared, [&] { fold.start(); }, [&](const pack& p) { fold.add(p); }, [](int) {});
  const value sum = block_sum<Domain::threads>(fold.total(), room);
  answer_of_sums<Domain::threads, Readers>(sum, part.last == 0 && part.rest == 0, out, boxes);
}

/// One block, at most Loads packs per thread.
template <class T, int Threads, int Loads, bool Aligned>
__global__ void __launch_bounds__(Threads) fast_sum_small_kernel(array_part<T> part, fast_t<T>* out) {
  await_stream();
  using value = fast_t<T>;
  __shared__ block_room<value, Threads> room;
  fast_fold<T> fold;
  fold.start();
  for_each_pack_small<Loads, Aligned>(part, [&](const pack& p) { fold.add(p); });
  const value sum = block_sum<Threads>(fold.total(), room);
  if (threadIdx.x == 0) *out = part.last == 0 && part.rest == 0 ? value(0) : one_nan(sum);
}

/// The sum with a launch of one's own choosing, for tuning: `workers` blocks, and if `collector` one more
/// that only collects; fewer than workspace::most_blocks. `kept` is array_part's.
template <class T, int Threads, class Walk, int Readers>
cudaError_t fast_sum_shaped(const T* x, std::uint64_t n, fast_t<T>* out, workspace& scratch,
                            cudaStream_t stream, std::uint32_t workers, bool collector = false,
                            float kept = 1) {
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto part = cut_array(x, n, workers * Threads, kept);
  const auto kernel = reinterpret_cast<std::uintptr_t>(x) % 16 == 0
                          ? fast_sum_kernel<T, by_loads<Threads, Walk, true>, Readers>
                          : fast_sum_kernel<T, by_loads<Threads, Walk, false>, Readers>;
  return launch(kernel, {workers + (collector ? 1u : 0u), Threads, 0, stream, scratch.overlaps()}, part, out,
                scratch.mailbox());
}
/// The same by way of shared memory, of any array.
template <class T, int Threads, int Stages>
cudaError_t fast_sum_bulk(const T* x, std::uint64_t n, fast_t<T>* out, workspace& scratch, cudaStream_t stream,
                          std::uint32_t workers, float kept) {
  if (!scratch.bulk_copies()) return cudaErrorNotSupported;
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto kernel = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 ? fast_sum_kernel<T, by_copies<Threads, 4, Stages, true>, 32>
                                                                    : fast_sum_kernel<T, by_copies<Threads, 4, Stages, false>, 32>;
  constexpr std::size_t shared = by_copies<Threads, 4, Stages, true>::shared_bytes;
  return launch(kernel, {workers, Threads, shared, stream, scratch.overlaps()}, cut_array(x, n, workers * Threads, kept),
                out, scratch.mailbox());
}
/// The same by one block without scratch, for n of at most Threads * Loads packs.
template <class T, int Threads, int Loads>
cudaError_t fast_sum_small(const T* x, std::uint64_t n, fast_t<T>* out, const workspace& scratch, cudaStream_t stream) {
  const auto kernel = reinterpret_cast<std::uintptr_t>(x) % 16 == 0
                          ? fast_sum_small_kernel<T, Threads, Loads, true>
                          : fast_sum_small_kernel<T, Threads, Loads, false>;
  return launch(kernel, {1, Threads, 0, stream, scratch.overlaps()}, cut_array(x, n, Threads), out);
}

/// Two blocks per multiprocessor for large arrays: of 1024 threads where the chains of a thread fit 32
/// registers, else of 512.
template <class T>
inline constexpr int large_threads = std::is_same_v<T, float> ? 1024 : 512;
template <class T>
inline constexpr int large_readers = std::is_same_v<T, float> ? 1024 : 32;

/// *out = the sum of x[0 … n), accumulated in fast_t<T>, in an order that n and the device alone decide:
/// the same bits from run to run and for any address. No elements give +0.
///
/// x and out are device memory (or host memory that the device can read and write); x at any multiple
/// of sizeof(T), else cudaErrorInvalidValue. Enqueues one kernel on `stream` and nothing else, once
/// `scratch` is prepared. Errors are CUDA's own.
template <class T>
cudaError_t fast_sum(const T* x, std::uint64_t n, fast_t<T>* out, workspace& scratch,
                     cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const std::uint64_t bytes = n * sizeof(T), l2 = scratch.l2_bytes();
  if (bulk_pays(bytes, l2) && scratch.bulk_copies()) {
    return fast_sum_bulk<T, 512, 3>(x, n, out, scratch, stream, scratch.choices().sum_blocks * scratch.multiprocessors(),
                                    bulk_kept(bytes, l2));
  }
  fast_shape s = fast_shape_for(bytes, scratch.multiprocessors(), l2);
  if (s.kind == fast_kind::stream) s.workers = scratch.choices().sum_blocks * scratch.multiprocessors();
  switch (s.kind) {
    case fast_kind::small_32_1: return fast_sum_small<T, 32, 1>(x, n, out, scratch, stream);
    case fast_kind::small_32_4: return fast_sum_small<T, 32, 4>(x, n, out, scratch, stream);
    case fast_kind::small_128_4: return fast_sum_small<T, 128, 4>(x, n, out, scratch, stream);
    case fast_kind::small_256_4: return fast_sum_small<T, 256, 4>(x, n, out, scratch, stream);
    case fast_kind::small_512_4: return fast_sum_small<T, 512, 4>(x, n, out, scratch, stream);
    case fast_kind::small_1024_4: return fast_sum_small<T, 1024, 4>(x, n, out, scratch, stream);
    // Hints to stream: as fast where the array is in L2 (and it stays there), a tenth faster where not:
    // what others wrote to L2 need not be written back for it.
    case fast_kind::grid_128: return fast_sum_shaped<T, 128, walk<4>, 32>(x, n, out, scratch, stream, s.workers, true);
    case fast_kind::grid_256: return fast_sum_shaped<T, 256, walk<4>, 32>(x, n, out, scratch, stream, s.workers, true);
    case fast_kind::grid_512: return fast_sum_shaped<T, 512, walk<4>, 32>(x, n, out, scratch, stream, s.workers, true);
    case fast_kind::grid_512_keep:
      return fast_sum_shaped<T, 512, walk<4, false, cache::keep>, 32>(x, n, out, scratch, stream,
                                                                      s.workers, true);
    case fast_kind::share:
      // One block per multiprocessor: with two of them, 2^24 floats take 0.81 of CUB's time, not 0.71.
      return fast_sum_shaped<T, 512, walk<4, false, cache::share>, 32>(x, n, out, scratch, stream, s.workers,
                                                                       false, s.kept);
    case fast_kind::stream: break;
  }
  return fast_sum_shaped<T, large_threads<T>, walk<4>, large_readers<T>>(x, n, out, scratch, stream,
                                                                         s.workers);
}

}  // namespace wf::device::inline WF_BUILD
