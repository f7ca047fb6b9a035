// SPDX-License-Identifier: Apache-2.0
/// \file exact_sum.cuh
/// The exact sum: the true sum of all elements, rounded once to their type, ties to even; the bits of
/// wf::exact::sum_state on the host, whatever the launch. NaN, infinities, signed zeros, subnormals
/// and sums that overflow on their way included.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_bf16.cuh>
#include <warpfold/detail/gpu/accumulate/exact_thread.cuh>
#include <warpfold/detail/gpu/accumulate/thread_sum.cuh>
#include <warpfold/detail/gpu/domain/domain.cuh>
#include <warpfold/detail/gpu/kernels/exact_doubles.cuh>
#include <warpfold/detail/gpu/kernels/exact_small.cuh>
#include <warpfold/detail/gpu/kernels/fast_sum.cuh>
#include <warpfold/detail/gpu/kernels/many_blocks.cuh>
#include <warpfold/detail/gpu/merge/exact_message.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// All threads of each block call it, with what they have added.
template <int Threads, class To, thread_sum Accumulator>
__device__ __forceinline__ void answer_of_accumulators(Accumulator& a, typename Accumulator::room& room,
                                                       std::uint32_t (&kinds_of_warp)[Threads / 32], bool empty, const To& out,
                                                       std::uint64_t* rows) {
  a.finish();
  std::uint32_t kinds = warp_or(a.kinds());
  if (lane_index() == 0) kinds_of_warp[warp_index()] = kinds;
  std::int64_t v[1];
  a.sum_over_block(room, v);
  if (warp_index() != 0) return;
  kinds = warp_or(lane_index() < Threads / 32 ? kinds_of_warp[lane_index()] : 0u);
  if (empty) kinds = special::ordinary;  // the empty sum is +0
  answer_of_blocks<Accumulator::unit>(v, kinds, out, rows);
}

/// Collects: the last block may be one that adds nothing. Other kernels have no code for that, with which 2^22 elements of f16 took 1.04 of the time.
template <class T, thread_sum Accumulator, pack_domain<T> Domain, int MinBlocks, bool Collects, class To>
__global__ void WF_MANY_BLOCKS(Domain::threads, MinBlocks) exact_sum_kernel(aligned_part<T> part, To out, std::uint64_t* rows) {
  if constexpr (!is_built<Domain>) return;
  await_stream();
  if (is_answered(out)) return;
  if constexpr (Collects && std::is_pointer_v<To> && digits_a_lane<T> == 1) {
    if (is_last_block() && blockIdx.x * Domain::threads >= part.threads) {
      answer_by_collector<Accumulator::unit>(out, rows);
      return;
    }
  }
  __shared__ struct {
    typename Accumulator::room room;
    std::uint32_t kinds_of_warp[Domain::threads / 32];
  } shared;
  Accumulator a;
  Domain::walk(
      part, wf_dynamic_shared + Accumulator::shared_bytes, [&] { a.start(); }, [&](const pack& p) { a.add(p); }, [&](int packs) { a.after_batch(packs); });
  answer_of_accumulators<Domain::threads>(a, shared.room, shared.kinds_of_warp, part.empty(), out, rows);
}

/// So much shared memory per block, and at least `least`, that a multiprocessor holds no more than `each` blocks. Otherwise blocks of the next kernel come while this
/// one's last block is at work, and a multiprocessor that has one too many takes longest: 2^23 floats in L2 took 1.1 times as long.
inline std::size_t shared_for_blocks(const workspace& scratch, std::uint32_t each, std::size_t least) {
  const std::size_t share = (scratch.block_shared_bytes() + 1024) / (each + 1) - 1023;
  return least < share ? share : least;
}

/// The sum with a launch of one's own choosing, for tuning: `workers` blocks, and if `collector` one more
/// that only collects; fewer than workspace::most_blocks blocks. `kept` is array_part's.
template <class T, thread_sum Accumulator, int Threads, class Walk, int MinBlocks, bool Collects = true, class To>
cudaError_t exact_sum_shaped(const T* x, std::uint64_t n, To out, workspace& scratch,
                             cudaStream_t stream, std::uint32_t workers, bool collector = false,
                             float kept = 1) {
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto part = cut_aligned(x, n, workers * Threads, kept);
  const auto kernel = exact_sum_kernel<T, Accumulator, by_loads<Threads, Walk, true>, MinBlocks, Collects, To>;
  std::size_t shared = Accumulator::shared_bytes;
  const std::uint32_t sm = scratch.multiprocessors(), blocks = workers + (collector ? 1u : 0u), each = blocks / sm;
  if (scratch.overlaps() && each > 1 && blocks == each * sm && n * sizeof(T) < scratch.l2_bytes()) {
    shared = shared_for_blocks(scratch, each, shared);
  }
  return launch(kernel, {blocks, Threads, shared, stream, scratch.overlaps()}, part, out, scratch.tally());
}

/// The sum of f32 in L2 with a launch of one's own choosing: at most `workers` blocks whose packs lie side by side, and one that collects. More blocks, if a thread
/// would have so many elements that its buckets made carries.
template <int Threads, int Loads, int MinBlocks>
cudaError_t exact_sum_near(const float* x, std::uint64_t n, float* out, workspace& scratch, cudaStream_t stream, std::uint32_t workers) {
  using accumulator = float_buckets<Threads, true>;
  const std::uint64_t packs = n / pack_items<float>;
  const std::uint32_t rows = packs == 0 ? 1 : divide_up(packs, Threads);
  // A thread also has up to three elements before the packs, and up to three behind them.
  const std::uint32_t each = at_most(divide_up(rows, workers), (accumulator::most_adds - pack_items<float>) / pack_items<float>);
  const std::uint32_t blocks = divide_up(rows, each) + 1;
  if (blocks > workspace::most_blocks) return cudaErrorInvalidValue;
  std::size_t shared = accumulator::shared_bytes;
  const std::uint32_t sm = scratch.multiprocessors();
  if (scratch.overlaps() && blocks > sm) shared = shared_for_blocks(scratch, divide_up(blocks, sm), shared);
  const auto kernel = exact_sum_kernel<float, accumulator, side_by_side<Threads, Loads>, MinBlocks, true, float*>;
  return launch(kernel, {blocks, Threads, shared, stream, scratch.overlaps()}, cut_aligned(x, n, (blocks - 1) * Threads), out, scratch.tally());
}

/// The same by way of shared memory.
template <class T, thread_sum Accumulator, int Threads, int Each, int Stages, int MinBlocks, class To>
cudaError_t exact_sum_bulk(const T* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream,
                           std::uint32_t workers, float kept) {
  if (!scratch.bulk_copies()) return cudaErrorNotSupported;
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto kernel = exact_sum_kernel<T, Accumulator, by_copies<Threads, Each, Stages, true>, MinBlocks, false, To>;
  constexpr std::size_t shared = Accumulator::shared_bytes + by_copies<Threads, Each, Stages, true>::shared_bytes;
  return launch(kernel, {workers, Threads, shared, stream, scratch.overlaps()}, cut_aligned(x, n, workers * Threads, kept),
                out, scratch.tally());
}

/// Packs that one block takes in one batch.
inline constexpr std::uint64_t most_small_parts = 2048;

/// The type of an exact sum of T: T, and 64 bits for int (modulo 2^64).
template <class T>
using exact_t = std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>;

/// The exact sum of more than one block's batch, or its state: `out` is a T* or a sum_to<T>.
template <class T, class To>
cudaError_t exact_sum_of_blocks(const T* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream) {
  const std::uint64_t bytes = n * sizeof(T);
  [[maybe_unused]] const std::uint64_t packs = bytes / 16;
  const std::uint32_t sm = scratch.multiprocessors();
  const std::uint64_t l2 = scratch.l2_bytes();
  using near = walk<4, false, cache::keep>;
  constexpr bool buckets = !std::is_same_v<T, __half>;
  using accumulator = std::conditional_t<std::is_same_v<T, float>, float_buckets<256>,
                                         std::conditional_t<buckets, bf16_buckets<256>, half_registers<256>>>;
  if constexpr (std::is_same_v<To, float*>) {
    if (bytes <= l2 / 4 * 3) {
      // Few loads at once where a thread has few packs: otherwise the way from the last load to the answer is longer.
      const std::uint32_t one = sm > 1 ? sm - 1 : 1, two = 2 * sm - 1;
      if (packs <= 65536) return exact_sum_near<256, 2, 4>(x, n, out, scratch, stream, one);
      if (packs <= std::uint64_t{7} * 256 * two) return exact_sum_near<256, 4, 4>(x, n, out, scratch, stream, packs <= 131072 ? one : two);
      return exact_sum_near<256, 8, 4>(x, n, out, scratch, stream, two);
    }
  } else if constexpr (std::is_pointer_v<To>) {  // in L2; states go by what is for larger arrays, so that fewer kernels are compiled
    if constexpr (buckets) {
      if (packs <= 1 << 18) {
        const exact_shape s = exact_shape_for(bytes, 256, 2, 2, sm, l2);
        return exact_sum_shaped<T, accumulator, 256, walk<2, false, cache::keep>, 6>(
            x, n, out, scratch, stream, at_most(s.workers, 256), true);
      }
    } else if (packs <= 32768) {
      // Small blocks: their way from the last load to the answer is shorter.
      const exact_shape s = exact_shape_for(bytes, 128, 1, 8, sm, l2);
      return exact_sum_shaped<T, half_registers<128>, 128, near, 8>(x, n, out, scratch, stream,
                                                                    s.workers, true);
    }
    if (bytes <= l2 / 4 * 3) {
      const exact_shape s = exact_shape_for(bytes, 256, buckets ? 2 : 1, 4, sm, l2);
      return exact_sum_shaped<T, accumulator, 256, near, 4, false>(x, n, out, scratch, stream, s.workers);
    }
  }
  // Beyond it the same kernels answer and give states.
  const sum_to<T> to = [&] {
    if constexpr (std::is_pointer_v<To>) return sum_to<T>{out};
    else return out;
  }();
  if constexpr (std::is_same_v<T, float>) {
    // 768 threads, one block per multiprocessor, 147 KiB on their way: 0.99 of CUB's time of 2^30, six blocks with loads 1.01.
    constexpr int each = 4, stages = 3;
    if (bytes > 16 * l2 && scratch.bulk_copies() && scratch.block_shared_bytes() >= 227 * 1024) {
      return exact_sum_bulk<T, float_buckets<768>, 768, each, stages, 1>(x, n, to, scratch, stream, sm, bulk_kept(bytes, l2));
    }
  }
  constexpr int resident = std::is_same_v<T, float> ? 6 : 4;
  const exact_shape s = exact_shape_for(bytes, 256, 1, resident, sm, l2);
  // bf16, of twice the elements a byte, adds for longer: the next loads are on their way by then.
  constexpr bool ahead = std::is_same_v<T, __nv_bfloat16>;
  if (s.kept > 0) {
    return exact_sum_shaped<T, accumulator, 256, walk<4, ahead, cache::share>, resident, false>(x, n, to, scratch, stream,
                                                                                         s.workers, false, s.kept);
  }
  return exact_sum_shaped<T, accumulator, 256, walk<4, ahead>, resident, false>(x, n, to, scratch, stream, s.workers);
}

/// *out = the exact sum of x[0 … n), rounded once. Memory, addresses, stream and errors as fast_sum.
template <class T>
cudaError_t exact_sum(const T* x, std::uint64_t n, exact_t<T>* out, workspace& scratch,
                      cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  if constexpr (std::is_same_v<T, int>) {
    return fast_sum(x, n, out, scratch, stream);
  } else if constexpr (std::is_same_v<T, double>) {
    return exact_sum_of_doubles(x, n, out, scratch, stream);
  } else {
    const aligned_part<T> cut = cut_aligned(x, n, 32);
    const std::uint64_t parts = cut.last + (cut.tail() != 0 ? 1 : 0) + (cut.head() != 0 ? 1 : 0);  // packs, and what is no whole pack
    if (parts <= 32) return exact_sum_small<T, 32, 1>(x, n, out, scratch, stream);
    if (parts <= 64) return exact_sum_small<T, 32, 2>(x, n, out, scratch, stream);
    if (parts <= 128) return exact_sum_small<T, 128, 1>(x, n, out, scratch, stream);
    if (parts <= 256) return exact_sum_small<T, 256, 1>(x, n, out, scratch, stream);
    if (parts <= 512) return exact_sum_small<T, 256, 2>(x, n, out, scratch, stream);
    if (parts <= 1024) return exact_sum_small<T, 256, 4>(x, n, out, scratch, stream);
    if (parts <= most_small_parts) return exact_sum_small<T, 512, 4>(x, n, out, scratch, stream);
    return exact_sum_of_blocks(x, n, out, scratch, stream);
  }
}

}  // namespace wf::device::inline WF_BUILD
