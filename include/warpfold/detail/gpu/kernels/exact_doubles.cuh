// SPDX-License-Identifier: Apache-2.0
/// \file exact_doubles.cuh
/// The exact sum of f64: what lies near an anchor in registers (anchored_doubles.cuh), the rest in buckets or, of small
/// arrays, in bins that a block has together.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_doubles.cuh>
#include <warpfold/detail/gpu/accumulate/double_buckets.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/launch_table.hpp>
#include <warpfold/detail/gpu/merge/exact_message.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// A row set of Σx for blocks of few elements: bin j weighs 2^(16j) units, an element is at most five parts of 16 bits,
/// added by atomics that wait for nothing. Buckets of each thread would have to be cleared and summed, which takes longer
/// than all else that a small array needs.
template <int Threads>
struct bin_rows {
  using f = exact::format<double>;
  static constexpr int inputs = 1, rows = 1, watches = 1, loads = 4;
  static constexpr int item_size = 8;
  static constexpr int digits0 = f::digits, digits1 = 0;
  static constexpr int unit0 = f::min_exponent, unit1 = 0;
  static constexpr int bins = 2 * digits0;
  /// Elements of a block: each, and what is handed down to make room for it, adds at most three times to a bin.
  static constexpr std::uint32_t most_items = 8192;
  static constexpr std::size_t shared_bytes = sizeof(std::int32_t) * bins;
  struct room {};

  special_watch<double> watch;

  static __device__ __forceinline__ void clear() {
    for (int j = static_cast<int>(threadIdx.x); j < bins; j += Threads) bin()[j] = 0;
  }
  __device__ __forceinline__ void start(op) { watch.start(); }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const double x = item_of<double>(p[0], i);
      watch.add(x);
      const decoded<double> d(x);
      add_parts(d.mantissa, d.p, d.negative);
    }
  }
  __device__ __forceinline__ void after_batch() {}
  /// Adds v·2^place, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int, std::int64_t v, int place) {
    add_parts(v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v), place, v < 0);
  }
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  /// Behind a barrier that follows all additions.
  __device__ __forceinline__ void sum_over_block(room&, std::int64_t* to) {
    for (int k = static_cast<int>(threadIdx.x); k < digits0; k += Threads) {
      to[k] = std::int64_t{bin()[2 * k]} + std::int64_t{bin()[2 * k + 1]} * 65536;
    }
  }

 private:
  static __device__ __forceinline__ std::int32_t* bin() { return reinterpret_cast<std::int32_t*>(wf_dynamic_shared); }
  static __device__ __forceinline__ void add_parts(std::uint64_t m, int p, bool negative) {
    const int shift = p & 15;
    const std::uint64_t low = m << shift;
    const auto top = static_cast<std::uint32_t>(m >> 32 >> (32 - shift));
    std::int32_t* to = bin() + (p >> 4);
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      const auto part = static_cast<std::int32_t>(i < 4 ? static_cast<std::uint32_t>(low >> 16 * i) & 0xffffu : top);
      if (part != 0) atomicAdd(to + i, negative ? -part : part);
    }
  }
};

/// All threads of each block call it, with what they have added.
template <int Threads, class Rows, class To>
__device__ __forceinline__ void answer_of_doubles(Rows& a, typename Rows::room& room,
                                                  std::uint32_t (&kinds_of_warp)[Threads / 32], bool empty, const To& out,
                                                  std::uint64_t* tallies) {
  a.finish();
  std::uint32_t kinds = warp_or(a.kinds());
  if (lane_index() == 0) kinds_of_warp[warp_index()] = kinds;
  std::int64_t digits[digits_a_lane<double>];
  a.sum_over_block(room, digits);
  if (warp_index() != 0) return;
  kinds = warp_or(lane_index() < Threads / 32 ? kinds_of_warp[lane_index()] : 0u);
  if (empty) kinds = special::ordinary;  // the empty sum is +0
  answer_of_blocks<Rows::unit0>(digits, kinds, out, tallies);
}

/// An array as packs from an address that is a multiple of 16, and what is no part of one.
struct doubles_part {
  const double* x;
  std::uint64_t packs;
  const double* single[2];
  std::uint32_t singles;
  float kept;  ///< the share that is to stay in L2, in (0, 1]
};

template <rest_rows Rest, int Threads, int Loads, class To>
__global__ void __launch_bounds__(Threads)
    exact_doubles_kernel(doubles_part part, bool doubles, To out, std::uint64_t* tallies) {
  if constexpr (!has_bulk_copies && !std::is_pointer_v<To>) return;  // see exact_sum_of_doubles()
  await_stream();
  if (is_answered(out)) return;
  using rows = anchored_doubles<Rest, Threads, Loads>;
  __shared__ typename rows::room room;
  __shared__ std::uint32_t kinds_of_warp[Threads / 32];
  const std::uint64_t all = part.packs + part.singles, threads = std::uint64_t{gridDim.x} * Threads;
  std::uint64_t v = blockIdx.x * std::uint64_t{Threads} + threadIdx.x;
  const loader<cache::share> load(part.kept);
  pack now[Loads], next[Loads];
  int count = 0;
  const auto load_next = [&] {
    count = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      const std::uint64_t w = v + threads * u;
      if (w < part.packs) next[u] = load(part.x + 2 * w);
      else if (w < all) next[u] = load_part(w == part.packs ? part.single[0] : part.single[1], 1);
      if (w < all) count = u + 1;
    }
    v += threads * Loads;
  };
  rows a{};  // g++ cannot see that the rest is started before it is used
  bool started = false;
  load_next();
  for (bool more = true; more;) {
#pragma unroll
    for (int u = 0; u < Loads; ++u) now[u] = next[u];
    const int present = count;
    if (!started) {
      a.start(doubles, room, now, present);
      started = true;
    }
    more = v < all;
    if (more) load_next();
    a.add(now, present);
  }
  answer_of_doubles<Threads>(a, room, kinds_of_warp, all == 0, out, tallies);
}

/// The same by way of shared memory (bulk.cuh).
template <int Threads, int Stages, class To>
__global__ void __launch_bounds__(Threads)
    exact_doubles_bulk_kernel(aligned_part<double> part, bool doubles, To out, std::uint64_t* tallies) {
  if constexpr (!has_bulk_copies) return;
  await_stream();
  if (is_answered(out)) return;
  using rows = anchored_doubles<doubles_in_buckets<Threads>, Threads, 4>;
  using ring = bulk_ring<bulk_chunk<Threads, rows::loads>, Stages>;
  __shared__ typename ring::barriers barriers;
  __shared__ typename rows::room room;
  __shared__ std::uint32_t kinds_of_warp[Threads / 32];
  rows a{};
  bool started = false;
  for_each_pack_bulk<Threads, rows::loads, Stages, true>(
      part, ring(wf_dynamic_shared + rows::shared_bytes, barriers), [] {}, [&](const pack(&given)[rows::loads], int count) {
        pack p[rows::loads];
#pragma unroll
        for (int u = 0; u < rows::loads; ++u) p[u] = given[u];
        if (!started) a.start(doubles, room, p, count);
        started = true;
        a.add(p, count);
      });
  answer_of_doubles<Threads>(a, room, kinds_of_warp, part.empty(), out, tallies);
}

/// The sum with a launch of one's own choosing, for tuning: `workers` blocks, fewer than workspace::most_blocks. Rest:
/// the row set for what is not anchored.
template <rest_rows Rest, int Threads, int Loads, class To>
cudaError_t exact_doubles_shaped(const double* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream,
                                 std::uint32_t workers) {
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  doubles_part part{x, 0, {x, x}, 0, array_kept(n * sizeof(double), scratch.l2_bytes())};
  if (n > 0 && reinterpret_cast<std::uintptr_t>(x) % 16 != 0) {
    part.single[part.singles++] = x;
    ++part.x;
    --n;
  }
  part.packs = n / 2;
  if (n % 2 != 0) part.single[part.singles++] = part.x + (n - 1);
  if constexpr (bounded_rows<Rest>) {
    const std::uint64_t threads = std::uint64_t{workers} * Threads;
    if ((part.packs + part.singles + threads - 1) / threads * 2 * Threads > Rest::most_items) return cudaErrorInvalidValue;
  }
  return launch(exact_doubles_kernel<Rest, Threads, Loads, To>,
                {workers, Threads, anchored_doubles<Rest, Threads, Loads>::shared_bytes, stream, scratch.overlaps()}, part,
                scratch.fast_doubles(), out, scratch.tally());
}

/// The same by way of shared memory.
template <int Threads, int Stages, class To>
cudaError_t exact_doubles_bulk(const double* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream,
                               std::uint32_t workers, float kept) {
  if (!scratch.bulk_copies()) return cudaErrorNotSupported;
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  using rows = anchored_doubles<doubles_in_buckets<Threads>, Threads, 4>;
  constexpr std::size_t shared = rows::shared_bytes + bulk_ring<bulk_chunk<Threads, rows::loads>, Stages>::shared_bytes;
  return launch(exact_doubles_bulk_kernel<Threads, Stages, To>, {workers, Threads, shared, stream, scratch.overlaps()}, cut_aligned(x, n, workers * Threads, kept),
                scratch.fast_doubles(), out, scratch.tally());
}

/// The sum by buckets. Each multiprocessor has at most `blocks` blocks, of Threads threads each.
template <int Threads, class To>
cudaError_t exact_doubles_by_buckets(const double* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream, std::uint32_t blocks) {
  const std::uint64_t packs = n / 2;
  const std::uint32_t sm = scratch.multiprocessors(), most = packs <= 524288 ? sm : blocks * sm;
  return exact_doubles_shaped<doubles_in_buckets<Threads>, Threads, 4>(x, n, out, scratch, stream, at_most(divide_up(packs, 4 * Threads), most));
}

/// Arrays of more than 65536 packs where a block has 227 KiB of shared memory: two blocks of buckets per multiprocessor, and the largest by way of shared
/// memory, where the buckets of a thread leave room for 384 threads.
template <std::same_as<double> T, class To>
cudaError_t exact_sum_of_many_doubles(const T* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream) {
  const std::uint64_t bytes = n * sizeof(double), l2 = scratch.l2_bytes();
  if (bulk_pays(bytes, l2) && scratch.bulk_copies()) {
    return exact_doubles_bulk<384, 3>(x, n, out, scratch, stream, scratch.multiprocessors(), bulk_kept(bytes, l2));
  }
  return exact_doubles_by_buckets<256>(x, n, out, scratch, stream, 2);
}

/// Takes one block, then blocks that have bins, then as many blocks with buckets as multiprocessors have room for. It is a template, as the one above: a program that does not call it has none of
/// its kernels. `out` is a double* or, of more than 2048 packs on a device with 227 KiB of shared memory per block and bulk copies, a sum_to<double>.
template <std::same_as<double> T, class To>
cudaError_t exact_sum_of_doubles(const T* x, std::uint64_t n, To out, workspace& scratch, cudaStream_t stream) {
  constexpr bool answers = std::is_same_v<To, double*>;
  const std::uint64_t packs = n / 2;
  const auto bins = [&]<int Threads, int Loads>(std::uint32_t workers) {
    return exact_doubles_shaped<bin_rows<Threads>, Threads, Loads>(x, n, out, scratch, stream, workers);
  };
  if constexpr (answers) {
    if (packs <= 128) return bins.template operator()<128, 1>(1);
    if (packs <= 512) return bins.template operator()<256, 2>(1);
    if (packs <= 2048) return bins.template operator()<512, 4>(1);
  }
  if (packs <= 65536) return bins.template operator()<256, 2>(divide_up(packs, packs <= 16384 ? 256 : 512));
  if (scratch.block_shared_bytes() >= 227 * 1024) return exact_sum_of_many_doubles(x, n, out, scratch, stream);
  if constexpr (answers) {
    if (scratch.block_shared_bytes() < 99 * 1024) return exact_doubles_by_buckets<128>(x, n, out, scratch, stream, 1);
  }
  return exact_doubles_by_buckets<256>(x, n, out, scratch, stream, 1);
}

}  // namespace wf::device::inline WF_BUILD
