// SPDX-License-Identifier: Apache-2.0
/// \file certified_reduce.cuh
/// Exact reductions by certificate: a kernel that adds in doubles and answers if the rounding is certain. Where it is not, the
/// block of a small array adds exactly what it has just read; of a larger one, the kernel of binned_reduce.cuh, enqueued
/// behind and leaving at once otherwise, does.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/kernels/binned_reduce.cuh>
#include <warpfold/detail/gpu/kernels/exact_reduce.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Threads of a block, and what they need of shared memory.
inline constexpr int certified_threads = 256;
template <class T, terms Terms>
using certified_room = typename certified_state<certified_traits<T, Terms>>::template shared_states<certified_threads>;

/// This thread's share of the arrays by loads, then the block's, in thread 0.
template <terms Terms, class T, class... Ts>
__device__ __forceinline__ certified_state<certified_traits<T, Terms>> certified_block(const arrays<1 + sizeof...(Ts)>& a,
                                                                                       const certified_question& q,
                                                                                       certified_room<T, Terms>& room) {
  certified_running<T, Terms> running;
  running.start(q.q.what);
  for_each_share<4, static_cast<int>(sizeof(T)), true>(
      a, [&](const pack(&p)[1 + sizeof...(Ts)], std::uint64_t) { running.add(p); },
      [&](std::uint64_t i) { with_elements<T, Ts...>(a, i, [&](const auto&... x) { running.add_item(x...); }); }, [] {});
  auto s = running.total(q.length);
  s.template merge_shared<certified_threads>(room);
  return s;
}

/// One block.
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads) certified_small_kernel(arrays<1 + sizeof...(Ts)> a, certified_question q, Out* out) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  using bins = binned_rows<T, Terms, 1>;
  __shared__ certified_room<T, Terms> room;
  __shared__ bins rows;
  __shared__ std::int64_t digits[bins::digits + spread_digits<bins>];
  __shared__ int sure;
  const state s = certified_block<Terms, T, Ts...>(a, q, room);
  if (threadIdx.x == 0) sure = certified_answer<T, Terms>(s, q, a.n, out) ? 1 : 0;
  __syncthreads();
  if (sure != 0) return;
  rows.clear();
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
  typename bins::watch watch;
  watch.start();
  __syncthreads();
  for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x) {
    with_elements<T, Ts...>(a, i, [&](const auto&... x) { rows.add(watch, q.q.what == op::norm1, x...); });
  }
  __syncwarp();
  rows.tell(watch);
  __syncthreads();
  rows.flush(digits);
  __syncthreads();
  if (warp_index() == 0) answer_of_rows<bins>(digits, rows.kinds, a.n, {q.q.what, q.q.rounding, q.q.correction}, out);
}

/// The states of blocks, to the last one: words of 32 bits beside a mark, those of a kind side by side.
template <class State>
struct certified_mailbox {
  static constexpr int words = State::words;
  static constexpr std::uint64_t full = std::uint64_t{1} << 32;
  static constexpr std::uint32_t most_blocks = workspace::mailbox_words / words / 64 * 64;

  static __device__ __forceinline__ std::uint64_t* box(std::uint64_t* boxes, std::uint32_t block, int word) {
    return boxes + word * most_blocks + block;
  }
  static __device__ __forceinline__ void post(std::uint64_t* boxes, const State& s) {
    std::uint32_t w[words];
    s.to_words(w);
#pragma unroll
    for (int j = 0; j < words; ++j) store_word(box(boxes, blockIdx.x, j), full | w[j]);
  }
  /// All threads of a block call it, for as many boxes as there are threads at a time: box threadIdx.x,
  /// threadIdx.x + blockDim.x, … below `count`, into s. A warp stays together.
  static __device__ __forceinline__ void collect(std::uint64_t* boxes, std::uint32_t count, State& s) {
    for (std::uint32_t first = 0; first < count; first += blockDim.x) {
      const std::uint32_t b = first + threadIdx.x;
      std::uint64_t seen[words];
      for (bool wait = true; wait;) {
        std::uint64_t marks = full;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          seen[j] = b < count ? load_word(box(boxes, b, j)) : full;
          marks &= seen[j];
        }
        wait = __any_sync(all_lanes, marks == 0) != 0;
        if (wait) __nanosleep(20);
      }
      std::uint32_t w[words];
#pragma unroll
      for (int j = 0; j < words; ++j) {
        w[j] = static_cast<std::uint32_t>(seen[j]);
        if (b < count) store_word(box(boxes, b, j), 0);
      }
      const State other = b < count ? State::from_words(w) : State::nothing();
      s.merge(other);
    }
  }
};

/// All threads of each block call it, with its state in thread 0: *verdict = 1 if *out is the answer, else 0.
template <class T, terms Terms, class Out>
__device__ __forceinline__ void answer_of_certified(certified_state<certified_traits<T, Terms>>& s, certified_room<T, Terms>& room,
                                                    const certified_question& q, std::uint64_t n, Out* out, std::uint64_t* boxes,
                                                    std::uint32_t* verdict) {
  using state = certified_state<certified_traits<T, Terms>>;
  using mailbox_type = certified_mailbox<state>;
  if (!is_last_block()) {
    if (threadIdx.x == 0) mailbox_type::post(boxes, s);
    return;
  }
  if (threadIdx.x != 0) s = state::nothing();
  mailbox_type::collect(boxes, gridDim.x - 1, s);
  __syncthreads();  // the first warp has read the room
  s.template merge_shared<certified_threads>(room);
  if (threadIdx.x == 0) *verdict = certified_answer<T, Terms>(s, q, n, out) ? 1u : 0u;
}

/// Blocks that a multiprocessor is to hold, of arrays beyond L2: more where loads wait for arithmetic of two arrays.
template <class T, terms Terms>
inline constexpr int certified_blocks = certified_traits<T, Terms>::products && !certified_traits<T, Terms>::wide ? 3 : 2;

template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads, resident_blocks(certified_threads, certified_blocks<T, Terms>))
    certified_kernel(arrays<1 + sizeof...(Ts)> a, certified_question q, Out* out, std::uint64_t* boxes, std::uint32_t* verdict) {
  await_stream();
  __shared__ certified_room<T, Terms> room;
  auto s = certified_block<Terms, T, Ts...>(a, q, room);
  answer_of_certified<T, Terms>(s, room, q, a.n, out, boxes, verdict);
}

/// The same by way of shared memory (bulk.cuh) of whole packs at multiples of 16: the copies go on while FP64 works.
inline constexpr int certified_stages = 3;
template <terms Terms, class Out, class T>
__global__ void __launch_bounds__(certified_threads, resident_blocks(certified_threads, 2))
    certified_bulk_kernel(arrays<1> a, array_part<T> part, certified_question q, Out* out, std::uint64_t* boxes, std::uint32_t* verdict) {
  await_stream();
  using ring = bulk_ring<bulk_chunk<certified_threads, 4>, certified_stages>;
  __shared__ typename ring::barriers barriers;
  __shared__ certified_room<T, Terms> room;
  certified_running<T, Terms> running;
  for_each_pack_bulk<certified_threads, 4, certified_stages, true>(
      part, ring(wf_dynamic_shared, barriers), [&] { running.start(q.q.what); },
      [&](const pack(&p)[4], int count) {
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          if (u < count) {
            const pack one[1] = {p[u]};
            running.add(one);
          }
        }
      });
  const std::uint64_t i = part.last * (16 / sizeof(T)) + threadIdx.x;
  if (is_last_block() && i < a.n) with_elements<T>(a, i, [&](const auto& x) { running.add_item(x); });
  auto s = running.total(q.length);
  s.template merge_shared<certified_threads>(room);
  answer_of_certified<T, Terms>(s, room, q, a.n, out, boxes, verdict);
}

/// Packs that one block takes, whose numbers do not overflow bins.
inline constexpr std::uint64_t certified_small_packs = 4096;

/// Enqueues the kernel, and the exact one behind it where the array is not small.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t certified_reduce(const certified::question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n,
                             void* out, workspace& scratch, cudaStream_t stream) {
  using traits = certified_traits<T, Terms>;
  using mailbox_type = certified_mailbox<certified_state<traits>>;
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  const std::uint64_t rest = n - a.packs * traits::items, work = a.packs + rest;
  const std::uint32_t sm = scratch.multiprocessors();
  const bool small = work <= certified_small_packs && n <= static_cast<std::uint64_t>(binned_rows<T, Terms, 1>::most_elements);
  const bool bulk = traits::inputs == 1 && a.aligned && a.packs > 262144 && rest < traits::items && scratch.bulk_copies();
  // Half of what a multiprocessor holds, where an array is in L2: so the next kernel's blocks come before these have left.
  const bool near = a.packs * 16 * traits::inputs <= scratch.l2_bytes() / 4 * 3;
  std::uint32_t blocks = small ? 1 : bulk ? (near ? sm - sm / 128 : 2 * sm) : at_most(divide_up(work, certified_threads), near && a.packs != 0 ? sm - sm / 32 : certified_blocks<T, Terms> * sm);
  blocks = at_most(blocks, mailbox_type::most_blocks);
  const std::uint32_t of_block = small ? at_most(divide_up(work + 1, 32) * 32, certified_threads) : certified_threads;
  const std::uint64_t threads = std::uint64_t{blocks} * of_block;
  const std::uint64_t chunk = 4 * certified_threads;
  const std::uint64_t packs_each = bulk ? 4 * (a.packs / chunk / blocks + 2) : (a.packs + threads - 1) / threads;
  const std::uint64_t length = packs_each * traits::adds_of_pack + (rest + threads - 1) / threads * (traits::numbers * traits::numbers) + 4;
  const certified_question asked{q, length, reciprocals::of(n, q.correction),
                                 loss_factors::of<traits::wide>(n * traits::numbers, length, traits::lanes, traits::chains)};
  launch_config config{blocks, of_block, 0, stream, scratch.overlaps()};
  auto* const to = static_cast<Out*>(out);
  if (small) return launch(certified_small_kernel<Terms, Out, T, Ts...>, config, a, asked, to);
  bool launched = false;
  if constexpr (traits::inputs == 1) {
    if (bulk) {
      config.shared_bytes = bulk_ring<bulk_chunk<certified_threads, 4>, certified_stages>::shared_bytes;
      auto part = cut_array(static_cast<const T*>(x[0]), n - rest, blocks * certified_threads, a.kept);
      e = launch(certified_bulk_kernel<Terms, Out, T>, config, a, part, asked, to, scratch.mailbox(), scratch.verdict());
      launched = true;
    }
  }
  if (!launched) e = launch(certified_kernel<Terms, Out, T, Ts...>, config, a, asked, to, scratch.mailbox(), scratch.verdict());
  if (e != cudaSuccess) return e;
  return binned_reduce<Terms, Out, T, Ts...>({q.what, q.rounding, q.correction}, x, stride, n, out, scratch, stream, scratch.verdict());
}

}  // namespace wf::device::inline WF_BUILD
