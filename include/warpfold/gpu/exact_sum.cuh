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
#include <warpfold/gpu/exact_anchored.cuh>
#include <warpfold/gpu/exact_bf16.cuh>
#include <warpfold/gpu/exact_round.cuh>
#include <warpfold/gpu/exact_small.cuh>
#include <warpfold/gpu/exact_thread.cuh>
#include <warpfold/gpu/fast_sum.cuh>
#include <warpfold/gpu/grid.cuh>
#include <warpfold/gpu/launch.cuh>
#include <warpfold/gpu/thread.cuh>
#include <warpfold/gpu/warp.cuh>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// How the digits of a sum of T lie on a warp.
template <class Accumulator>
inline constexpr int digits_a_lane = Accumulator::digits > 32 ? 3 : 1;
template <class Accumulator>
inline constexpr int digit_lanes =
    (Accumulator::digits + digits_a_lane<Accumulator> - 1) / digits_a_lane<Accumulator>;

/// Four rows: at a thousand blocks each word takes 250 additions, and the reader loads four words.
template <class Accumulator>
using digit_tally = tally<digit_lanes<Accumulator> * digits_a_lane<Accumulator> + 1, 4>;

/// Blocks that saw each kind of special value, in fields of 12 bits: at most 4095 blocks.
__device__ __forceinline__ std::int64_t spread_kinds(std::uint32_t kinds) {
  std::int64_t fields = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) fields |= std::int64_t{kinds >> i & 1} << (12 * i);
  return fields;
}
__device__ __forceinline__ std::uint32_t gather_kinds(std::int64_t fields) {
  std::uint32_t kinds = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kinds |= (fields >> (12 * i) & 0xfff) != 0 ? 1u << i : 0u;
  return kinds;
}

template <class T, class Accumulator, int Threads, class Walk, bool Aligned, int MinBlocks>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    exact_sum_kernel(array_part<T> part, T* out, std::uint64_t* rows) {
  await_stream();
  constexpr int per_lane = digits_a_lane<Accumulator>;
  constexpr int lanes = digit_lanes<Accumulator>;
  using message = digit_tally<Accumulator>;
  __shared__ struct {
    typename Accumulator::room room;
    std::uint32_t kinds_of_warp[Threads / 32];
  } shared;
  auto& room = shared.room;
  auto& kinds_of_warp = shared.kinds_of_warp;
  Accumulator a;
  const auto add = [&](const pack& p) { a.add(p); };
  const auto after = [&] { a.after_batch(Walk::loads); };
  const std::uint32_t thread = blockIdx.x * Threads + threadIdx.x;
  if constexpr (requires { Accumulator::looks_ahead; }) {
    for_each_pack<Walk, Aligned>(
        part, thread, [&](const pack(&p)[Walk::loads], int count) { a.start(room, p, count); }, add, after);
  } else {
    for_each_pack<Walk, Aligned>(part, thread, [&] { a.start(); }, add, after);
  }
  a.finish();
  std::uint32_t kinds = warp_or(a.kinds());
  if (lane_index() == 0) kinds_of_warp[warp_index()] = kinds;
  std::int64_t v[per_lane];
  a.sum_over_block(room, v);
  if (warp_index() != 0) return;
  kinds = warp_or(lane_index() < Threads / 32 ? kinds_of_warp[lane_index()] : 0u);
  if (part.last == 0 && part.rest == 0) kinds = special::ordinary;  // the empty sum is +0
  if (gridDim.x > 1) {
    const int first = lane_index() * per_lane;
    if (!is_last_block()) {
      settle(v);
      if (lane_index() < lanes) {
#pragma unroll
        for (int j = 0; j < per_lane; ++j) message::post(rows, first + j, v[j]);
      } else if (lane_index() == lanes) {
        message::post(rows, first, spread_kinds(kinds));
      }
      return;
    }
    std::int64_t others[per_lane];
    message::template collect<per_lane>(rows, first, gridDim.x - 1, others);
    kinds |= gather_kinds(__shfl_sync(all_lanes, others[0], lanes));
    if (lane_index() < lanes) {
#pragma unroll
      for (int j = 0; j < per_lane; ++j) v[j] += others[j];
    }
  }
  const T answer = round_by_warp<T>(v, kinds, Accumulator::unit);
  if (lane_index() == 0) *out = answer;
}

/// With a launch of one's own choosing, for tuning: `workers` blocks, and if `collector` one more that
/// only collects; fewer than workspace::most_blocks blocks. `kept` is array_part's.
template <class T, class Accumulator, int Threads, class Walk, int MinBlocks>
cudaError_t exact_sum_shaped(const T* x, std::uint64_t n, T* out, workspace& scratch,
                             cudaStream_t stream, std::uint32_t workers, bool collector = false,
                             float kept = 1) {
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto part = cut_array(x, n, workers * Threads, kept);
  const auto kernel =
      reinterpret_cast<std::uintptr_t>(x) % 16 == 0
          ? exact_sum_kernel<T, Accumulator, Threads, Walk, true, MinBlocks>
          : exact_sum_kernel<T, Accumulator, Threads, Walk, false, MinBlocks>;
  std::size_t shared = Accumulator::shared_bytes;
  const std::uint32_t sm = scratch.multiprocessors(), each = workers / sm;
  if (scratch.overlaps() && each > 1 && workers == each * sm && n * sizeof(T) < scratch.l2_bytes()) {
    // No more blocks a multiprocessor than it is to have: the next kernel's would fill the others' room while the last
    // block is at work, and those with one too many take longest: 2^23 floats in L2 took 1.1 times as long.
    const std::size_t least = (scratch.block_shared_bytes() + 1024) / (each + 1) - 1023;
    shared = shared < least ? least : shared;
  }
  return launch(kernel, {workers + (collector ? 1u : 0u), Threads, shared, stream, scratch.overlaps()},
                part, out, scratch.tally());
}

/// Few blocks and a collector as long as the answer's latency counts, then as many columns as a
/// multiprocessor has room for: 704 on CC 9.0, 256 where a block may have 99 KiB, else 128.
inline cudaError_t exact_sum_of_doubles(const double* x, std::uint64_t n, double* out,
                                        workspace& scratch, cudaStream_t stream) {
  const std::uint64_t bytes = n * sizeof(double);
  const std::uint64_t packs = bytes / 16;
  const std::uint32_t sm = scratch.multiprocessors();
  const std::uint64_t l2 = scratch.l2_bytes();
  using near = walk<4, false, cache::keep>;
  using near2 = walk<2, false, cache::keep>;
  using far = walk<4, false, cache::share>;
  using ahead = walk<4, true>;
  constexpr std::size_t other = sizeof(anchored_doubles<704>::room) + 2048;
  const auto resident = [&](std::size_t columns) {
    return static_cast<std::uint32_t>((scratch.block_shared_bytes() - other) / columns);
  };
  const auto sum = [&]<int Threads, class Walk, int MinBlocks>(std::uint32_t workers, bool collector,
                                                               float kept) {
    return exact_sum_shaped<double, anchored_doubles<Threads>, Threads, Walk, MinBlocks>(
        x, n, out, scratch, stream, workers, collector, kept);
  };
  if (packs <= 512) return sum.template operator()<128, near, 1>(1, false, 1);
  if (packs <= 8192) return sum.template operator()<128, near, 1>(divide_up(packs, 256), true, 1);
  if (resident(double_column<704>::shared_bytes) > 0) {
    if (packs <= 32768) return sum.template operator()<256, near2, 1>(divide_up(packs, 512), true, 1);
    if (bytes <= std::uint64_t{10} << 20) {
      return sum.template operator()<352, ahead, 2>(at_most(divide_up(packs, 704), sm - sm / 8), true, 1);
    }
    if (bytes <= std::uint64_t{24} << 20) return sum.template operator()<352, ahead, 2>(sm, false, 1);
    const int kept = bytes > l2 / 4 * 3 ? kept_sixteenths(bytes, l2) : 0;
    if (kept > 0) return sum.template operator()<704, far, 1>(sm, false, static_cast<float>(kept) / 16);
    return sum.template operator()<704, ahead, 1>(sm, false, 1);
  }
  if (const auto r = resident(double_column<256>::shared_bytes); r > 0) {
    return sum.template operator()<256, near2, 1>(exact_shape_for(bytes, 256, 4, r, sm, l2).workers, false, 1);
  }
  const auto r = resident(double_column<128>::shared_bytes);
  return sum.template operator()<128, near, 1>(exact_shape_for(bytes, 128, 8, r, sm, l2).workers, false, 1);
}

/// What an exact sum of T is answered as: T, and 64 bits for int (modulo 2^64).
template <class T>
using exact_t = std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>;

/// *out = the exact sum of x[0 … n), rounded once. Memory, addresses, stream and errors as fast_sum.
template <class T>
cudaError_t exact_sum(const T* x, std::uint64_t n, exact_t<T>* out, workspace& scratch,
                      cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const std::uint64_t bytes = n * sizeof(T);
  const std::uint64_t packs = bytes / 16;
  const std::uint32_t sm = scratch.multiprocessors();
  const std::uint64_t l2 = scratch.l2_bytes();
  using near = walk<4, false, cache::keep>;
  if constexpr (std::is_same_v<T, int>) {
    return fast_sum(x, n, out, scratch, stream);
  } else if constexpr (std::is_same_v<T, double>) {
    return exact_sum_of_doubles(x, n, out, scratch, stream);
  } else {
    const std::uint64_t parts = packs + (bytes % 16 != 0 ? 1 : 0);  // and what is no whole pack
    if (parts <= 32) return exact_sum_small<T, 32, 1>(x, n, out, scratch, stream);
    if (parts <= 64) return exact_sum_small<T, 32, 2>(x, n, out, scratch, stream);
    if (parts <= 128) return exact_sum_small<T, 128, 1>(x, n, out, scratch, stream);
    if (parts <= 256) return exact_sum_small<T, 256, 1>(x, n, out, scratch, stream);
    if (parts <= 512) return exact_sum_small<T, 256, 2>(x, n, out, scratch, stream);
    if (parts <= 1024) return exact_sum_small<T, 256, 4>(x, n, out, scratch, stream);
    if (parts <= 2048) return exact_sum_small<T, 512, 4>(x, n, out, scratch, stream);
    constexpr bool columns = !std::is_same_v<T, __half>;
    using accumulator = std::conditional_t<std::is_same_v<T, float>, float_column<256>,
                                           std::conditional_t<columns, bf16_column<256>, half_registers<256>>>;
    if constexpr (columns) {
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
      const exact_shape s = exact_shape_for(bytes, 256, columns ? 2 : 1, 4, sm, l2);
      return exact_sum_shaped<T, accumulator, 256, near, 4>(x, n, out, scratch, stream, s.workers);
    }
    constexpr int resident = std::is_same_v<T, float> ? 6 : 4;
    const exact_shape s = exact_shape_for(bytes, 256, 1, resident, sm, l2);
    // bf16, of twice the elements a byte, adds for longer: the next loads are on their way by then.
    constexpr bool ahead = std::is_same_v<T, __nv_bfloat16>;
    if (s.kept > 0) {
      return exact_sum_shaped<T, accumulator, 256, walk<4, ahead, cache::share>, resident>(x, n, out, scratch, stream,
                                                                                           s.workers, false, s.kept);
    }
    return exact_sum_shaped<T, accumulator, 256, walk<4, ahead>, resident>(x, n, out, scratch, stream, s.workers);
  }
}

}  // namespace wf::device::inline WF_BUILD
