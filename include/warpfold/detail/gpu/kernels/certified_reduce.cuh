// SPDX-License-Identifier: Apache-2.0
/// \file certified_reduce.cuh
/// Exact reductions by certificate: a kernel that adds in doubles and answers if the rounding is certain. Where it is not, the array is
/// added again by bins (binned_reduce.cuh): a small array by its block; one in L2 by the blocks of the same kernel, which stay until they know; a
/// larger one by a kernel that is enqueued behind, and leaves at once otherwise.
#pragma once

#include <cuda_runtime.h>

#include <cuda/atomic>

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

/// Threads of a block, and what they need of shared memory: a state a warp.
inline constexpr int certified_threads = 256;
template <class T, terms Terms, int Threads = certified_threads>
using certified_room = certified_state<certified_traits<T, Terms>>[Threads / warp_lanes];

/// This thread's share of the arrays by loads, then the block's, in thread 0; of the blocks 0 … workers - 1.
template <terms Terms, class T, class... Ts>
__device__ __forceinline__ certified_state<certified_traits<T, Terms>> certified_block(const arrays<1 + sizeof...(Ts)>& a,
                                                                                       const certified_question& q,
                                                                                       certified_room<T, Terms>& room, std::uint32_t workers) {
  certified_running<T, Terms> running;
  running.start(q.q.what);
  for_each_share<4, static_cast<int>(sizeof(T)), true, true>(
      a, [&](const pack(&p)[1 + sizeof...(Ts)], std::uint64_t) { running.add(p); },
      [&](std::uint64_t i) { with_elements<T, Ts...>(a, i, [&](const auto&... x) { running.add_item(x...); }); }, [] {}, workers);
  auto s = running.total(q.length);
  s.template merge_block<certified_threads>(room);
  return s;
}

/// One block.
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads)
    certified_small_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  using bins = binned_rows<T, Terms, 1>;
  __shared__ certified_room<T, Terms> room;
  __shared__ bins rows;
  __shared__ std::int64_t digits[bins::digits + spread_digits<bins>];
  __shared__ int sure;
  const state s = certified_block<Terms, T, Ts...>(a, q, room, 1);
  if (threadIdx.x == 0) sure = certified_quickly<T, Terms>(s, q, a.n, out) || certified_slowly<T, Terms>(s, q, a.n, out) ? 1 : 0;
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
  /// All lanes of a warp call it: boxes first + lane, first + step + lane, … below `count` into s. It goes this way once at least, so that a rehearsal does.
  static __device__ __forceinline__ void collect(std::uint64_t* boxes, std::uint32_t first, std::uint32_t step, std::uint32_t count, State& s) {
#pragma unroll 1
    do {
      const std::uint32_t b = first + lane_index();
      std::uint64_t seen[words];
      for (bool wait = true; wait;) {
        std::uint64_t marks = full;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          seen[j] = b < count ? load_word(box(boxes, b, j)) : full;
          marks &= seen[j];
        }
        wait = __any_sync(all_lanes, marks == 0) != 0;
        if (wait) __nanosleep(0);
      }
      std::uint32_t w[words];
#pragma unroll
      for (int j = 0; j < words; ++j) {
        w[j] = static_cast<std::uint32_t>(seen[j]);
        if (b < count) store_word(box(boxes, b, j), 0);
      }
      const State other = b < count ? State::from_words(w) : State::nothing();
      s.merge(other);
      first += step;
    } while (first < count);
  }
};

/// Where a block of a kernel of certificates leaves what others must know.
struct certified_desk {
  std::uint64_t* boxes;
  std::uint32_t* verdict;   ///< 1 if *out is the answer, else 0: to the kernel behind
  std::uint64_t* number;    ///< the same to the blocks that stay: an odd number, other than before, where *out is not the answer, else an even one; nullptr: no block stays
  binned_board board;
  std::uint32_t looks;      ///< a block that stays looks so often, and leaves
};

/// All threads of the last block call it, which has added nothing itself: some of its warps collect the others' states, and thread 0 answers, and says
/// to all who wait whether that is certain. True there, if it is not and blocks stay.
///
/// The block has nothing to do until the first states come. It answers a question of its own in the meantime, so that the instructions are there
/// when they are needed: an f64 sum of 2^14 took 0.2 µs longer without.
template <int Threads, class T, terms Terms, class Out>
__device__ __forceinline__ bool certified_decision(certified_room<T, Terms, Threads>& room, const certified_question& q, std::uint64_t n, Out* out,
                                                   const certified_desk& desk) {
  using traits = certified_traits<T, Terms>;
  using state = certified_state<traits>;
  using mailbox_type = certified_mailbox<state>;
  __shared__ Out rehearsed[traits::parts + 1];
  __shared__ std::uint64_t rehearsed_number;
  const auto warps = static_cast<int>(min((gridDim.x + warp_lanes - 2) / warp_lanes, blockDim.x / warp_lanes));
  const std::uint64_t before = desk.number != nullptr ? load_word(desk.number) & ~std::uint64_t{1} : 0;
  bool uncertain = false;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const bool rehearsal = pass == 0;
    state s = state::nothing();
    if (warp_index() < warps) {
      mailbox_type::collect(desk.boxes, warp_index() * warp_lanes, warps * warp_lanes, rehearsal ? 0 : gridDim.x - 1, s);
      s.merge_warp();
    }
    if (warps > 1) {
      __syncthreads();  // the rehearsal has read the room
      if (warp_index() < warps && lane_index() == 0) room[warp_index()] = s;
      __syncthreads();
      if (warp_index() == 0) {
        s = lane_index() < warps ? room[lane_index()] : state::nothing();
        s.template merge_warp<Threads / warp_lanes>();
      }
    }
    if (threadIdx.x != 0) continue;
    if (rehearsal) s.rehearse();
    bool sure = certified_quickly<T, Terms>(s, q, n, rehearsal ? rehearsed : out);
    if (!rehearsal && !sure) {
      sure = certified_slowly<T, Terms>(s, q, n, out);
      if (!sure && desk.number != nullptr) {
        *desk.board.next = 0;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
        uncertain = true;
      }
    }
    if (desk.number != nullptr) store_word(rehearsal ? &rehearsed_number : desk.number, before + (sure ? 2 : 3));
    else if (!rehearsal) *desk.verdict = sure ? 1u : 0u;
  }
  return uncertain;
}

/// Thread 0 of a block that has told what it knows: whether the array is to be added again. Who waits in vain leaves, and others do its part: so a block here is never in the way of one that it waits for.
__device__ __forceinline__ bool await_verdict(std::uint64_t* number, std::uint64_t before, std::uint32_t looks) {
  for (std::uint32_t i = 0; i < looks; ++i) {
    const std::uint64_t seen = load_word(number);
    if (seen != before) {
      if ((seen & 1) == 0) return false;  // without a fence, which takes half a µs
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      return true;
    }
    __nanosleep(0);
  }
  return false;
}

/// All threads of each block call it: `add` gives a worker's state, in thread 0.
template <int Threads, terms Terms, class Out, class T, class... Ts, class Add>
__device__ __forceinline__ void certified_answer_of_blocks(certified_room<T, Terms, Threads>& room, const arrays<1 + sizeof...(Ts)>& a, const certified_question& q, Out* out,
                                                           const certified_desk& desk, Add add) {
  using state = certified_state<certified_traits<T, Terms>>;
  __shared__ int again;
  const bool stays = desk.number != nullptr;
  if (!is_last_block()) {
    std::uint64_t before = 0;
    if (stays && threadIdx.x == 0) before = load_word(desk.number);
    const state s = add();
    if (threadIdx.x == 0) certified_mailbox<state>::post(desk.boxes, s);
    if (!stays) return;
    let_others_come();
    if (threadIdx.x == 0) again = await_verdict(desk.number, before, desk.looks) ? 1 : 0;
  } else {
    const bool uncertain = certified_decision<Threads, T, Terms>(room, q, a.n, out, desk);
    if (!stays) return;
    if (threadIdx.x == 0) again = uncertain ? 1 : 0;
  }
  __syncthreads();
  if (again == 0) return;
  std::uint32_t chunks;
  const exact_question exactly{q.q.what, q.q.rounding, q.q.correction};
  add_by_bins<Terms, Out, T, Ts...>(a, exactly, out, desk.board, nullptr, chunks);
}

/// Blocks that a multiprocessor is to hold, of arrays beyond L2: more where loads wait for arithmetic of two arrays.
template <class T, terms Terms>
inline constexpr int certified_blocks = certified_traits<T, Terms>::products && !certified_traits<T, Terms>::wide ? 3 : 2;

template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads, resident_blocks(certified_threads, certified_blocks<T, Terms>))
    certified_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out,
                     const __grid_constant__ certified_desk desk) {
  await_stream();
  __shared__ certified_room<T, Terms> room;
  certified_answer_of_blocks<certified_threads, Terms, Out, T, Ts...>(room, a, q, out, desk, [&] { return certified_block<Terms, T, Ts...>(a, q, room, gridDim.x - 1); });
}

/// The same by way of shared memory (bulk.cuh) of whole packs at multiples of 16: the copies go on while FP64 works.
inline constexpr int certified_stages = 3, certified_bulk_threads = 512;
template <terms Terms, class Out, class T>
__global__ void __launch_bounds__(certified_bulk_threads, resident_blocks(certified_bulk_threads, 2))
    certified_bulk_kernel(const __grid_constant__ arrays<1> a, const __grid_constant__ array_part<T> part, const __grid_constant__ certified_question q,
                          Out* out, const __grid_constant__ certified_desk desk) {
  await_stream();
  using ring = bulk_ring<bulk_chunk<certified_bulk_threads, 4>, certified_stages>;
  static_assert(sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>) <= ring::shared_bytes);
  __shared__ typename ring::barriers barriers;
  __shared__ certified_room<T, Terms, certified_bulk_threads> room;
  certified_answer_of_blocks<certified_bulk_threads, Terms, Out, T>(room, a, q, out, desk, [&] {
    const std::uint32_t workers = gridDim.x - 1;
    certified_running<T, Terms> running;
    for_each_pack_bulk<certified_bulk_threads, 4, certified_stages, true>(
        part, ring(wf_dynamic_shared, barriers), [&] { running.start(q.q.what); },
        [&](const pack(&p)[4], int count) {
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            if (u < count) {
              const pack one[1] = {p[u]};
              running.add(one);
            }
          }
        },
        workers);
    const std::uint64_t i = part.last * (16 / sizeof(T)) + threadIdx.x;
    if (blockIdx.x == workers - 1 && i < a.n) with_elements<T>(a, i, [&](const auto& x) { running.add_item(x); });
    auto s = running.total(q.length);
    s.template merge_block<certified_bulk_threads>(room);
    return s;
  });
}

/// Packs that one block takes, whose numbers do not overflow bins.
inline constexpr std::uint64_t certified_small_packs = 2048;

/// From more packs than these on bulk copies are faster than loads: an f64 sum of 2^21 takes 0.91 of the time.
inline constexpr std::uint64_t certified_bulk_packs = 500000;

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
  const bool bulk = traits::inputs == 1 && a.aligned && a.packs > certified_bulk_packs && rest < traits::items && scratch.bulk_copies();
  // Half of what a multiprocessor holds, where an array is in L2: so the next kernel's blocks come before these have left.
  const bool near = (a.packs != 0 ? a.packs * 16 : n * 32) * traits::inputs <= scratch.l2_bytes() / 4 * 3;  // elements apart: a sector each
  const std::uint32_t most = near ? sm - sm / 128 - 1 : (bulk ? 1 : certified_blocks<T, Terms>) * sm - 1;  // and one that collects
  std::uint32_t workers = small ? 1 : bulk ? most : at_most(divide_up(work, certified_threads), most);
  workers = at_most(workers, mailbox_type::most_blocks);
  const std::uint32_t of_block = small ? at_most(divide_up(work + 1, 32) * 32, certified_threads) : bulk ? certified_bulk_threads : certified_threads;
  const std::uint64_t threads = std::uint64_t{workers} * of_block;
  const std::uint64_t chunk = 4 * certified_bulk_threads;
  const std::uint64_t packs_each = bulk ? 4 * (a.packs / chunk / workers + 2) : (a.packs + threads - 1) / threads;
  const std::uint64_t length = packs_each * traits::adds_of_pack + (rest + threads - 1) / threads * (traits::numbers * traits::numbers) + 4;
  const certified_question asked{q, length, reciprocals::of(n, q.correction),
                                 loss_factors::of<traits::wide>(n * traits::numbers, length, traits::lanes, traits::chains)};
  launch_config config{small ? 1 : workers + 1, of_block, 0, stream, scratch.overlaps()};
  auto* const to = static_cast<Out*>(out);
  if (small) return launch(certified_small_kernel<Terms, Out, T, Ts...>, config, a, asked, to);
  const certified_desk desk{scratch.mailbox(), scratch.verdict(), near ? scratch.verdict_number() : nullptr, binned_board::of(scratch, false), scratch.choices().looks};
  if (near) config.shared_bytes = sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>);
  bool launched = false;
  if constexpr (traits::inputs == 1) {
    if (bulk) {
      config.shared_bytes = bulk_ring<bulk_chunk<certified_bulk_threads, 4>, certified_stages>::shared_bytes;
      auto part = cut_array(static_cast<const T*>(x[0]), n - rest, workers * certified_bulk_threads, a.kept);
      e = launch(certified_bulk_kernel<Terms, Out, T>, config, a, part, asked, to, desk);
      launched = true;
    }
  }
  if (!launched) e = launch(certified_kernel<Terms, Out, T, Ts...>, config, a, asked, to, desk);
  if (e != cudaSuccess || near) return e;
  return binned_reduce<Terms, Out, T, Ts...>({q.what, q.rounding, q.correction}, x, stride, n, out, scratch, stream, scratch.verdict());
}

}  // namespace wf::device::inline WF_BUILD
