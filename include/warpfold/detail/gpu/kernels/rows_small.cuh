// SPDX-License-Identifier: Apache-2.0
/// \file rows_small.cuh
/// Small batches: so few elements in all that a launch takes most of the time, or the way from the cache. Each thread has one row, or a part of one, from the
/// start, so that nothing is looked up or counted; parameters are few; and the next kernel comes to the multiprocessors while this one runs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/domain/shared_place.cuh>
#include <warpfold/detail/gpu/kernels/rows_stream.cuh>
#include <warpfold/device/cluster_words.cuh>

namespace wf::device::inline WF_BUILD {

/// The most threads of a block, and the most blocks that share a row, as a cluster.
inline constexpr int small_threads = 256, small_warps = small_threads / warp_lanes, small_cluster = 8;
/// How many packs a thread has, if there are enough threads; how many blocks a multiprocessor holds, so that all are resident at once.
inline constexpr std::uint32_t small_lane_packs = 4, small_blocks = 8;
/// The most bytes of a row, and the most elements of a row whose threads keep pairs.
inline constexpr std::uint64_t small_bytes = 1 << 18, small_long_elements = 1 << 16;
/// The packs of a row from which on several blocks share it, if there are multiprocessors enough. A row alone of 2048, one launch after another: f64 2.20 → 1.68 µs, f32 2.16 → 1.63; behind a
/// kernel that does not let the next one in early, where a cluster comes late, 3.14 → 3.38 and 3.09 → 3.35.
inline constexpr std::uint32_t small_shared_packs = 2048;

/// The packs of a row from which on two of the blocks that share it may be on one multiprocessor.
inline constexpr std::uint32_t small_twice_packs = 8192;

/// How rows are walked; made by the host. Rows are made of packs.
struct small_walk {
  const unsigned char* x;
  unsigned char* out;
  std::int64_t row_bytes;     ///< from a row to the next
  std::uint32_t rows, packs;  ///< packs of a row
  int lanes_log2;             ///< lanes of a row, where a warp has several
  std::uint32_t parts;        ///< blocks of a row
  bool twice;                 ///< two blocks a multiprocessor share rows, with twice the loads on their way
};

/// The rows as other kernels see them.
template <class Acc>
__device__ __forceinline__ row_view<1> view_of(const small_walk& w) {
  row_view<1> v;
  v.x[0] = w.x;
  v.kept = 1;
  v.dims = 2;
  v.rows = w.rows;
  v.n = std::uint64_t{w.packs} * Acc::items;
  v.all = v.rows * v.n;
  v.offsets = nullptr;
  v.offset_bytes = 0;
  v.dim[0] = {v.rows, {w.row_bytes}};
  v.dim[1] = {v.n, {Acc::fixed_size}};
  return v;
}
/// Answers a warp's uncertain rows, one for each lane at most; or one for all threads of a block.
template <class Acc>
__device__ __attribute__((noinline)) void settle_small(Acc acc, const facts_of<Acc>& facts, typename room_of<Acc>::type& room, const small_walk& w, std::uint32_t row, bool uncertain, bool by_block) {
  const row_view<1> v = view_of<Acc>(w);
  const auto apart = [&](std::uint64_t of) {  // by a view of its own, so that v need not lie in memory
    const row_view<1> other = view_of<Acc>(w);
    acc.by_digits(room, other, of, by_block, w.out + of * Acc::answer_size);
  };
  if (!by_block) settle_rows(acc, facts, room, v, uncertain ? 1 : 0, row, 1, {}, Acc::answer_size, w.out, apart);
  else if (!acc.again(room, facts, v, row, true, w.out + std::uint64_t{row} * Acc::answer_size)) apart(row);
}

/// Loads `Packs` packs of a row, `step` apart from each other; none where it is not `mine`.
template <unsigned Packs, class Acc>
__device__ __forceinline__ typename Acc::state sum_few(const Acc& acc, const facts_of<Acc>& facts, const unsigned char* from, std::uint32_t step, bool mine) {
  typename Acc::running r = acc.start();
  if (mine) {
    pack p[Packs];
#pragma unroll
    for (unsigned j = 0; j < Packs; ++j) p[j] = load_bytes(from + std::uint64_t{j * step} * 16, 16);
#pragma unroll
    for (unsigned j = 0; j < Packs; ++j) acc.add(r, {p[j]}, 0);
  }
  __syncwarp();
  return total_of(acc, r, facts);
}

/// Adds packs u, u + step, … below `end` of a row that begins at `from`, by `Most` loads at once where that is asked for.
template <unsigned Most, class Acc>
__device__ __forceinline__ typename Acc::state sum_packs(const Acc& acc, const facts_of<Acc>& facts, const unsigned char* from, std::uint32_t u,
                                                         std::uint32_t step, std::uint32_t end, [[maybe_unused]] bool most = false) {
  constexpr unsigned ahead = 4;
  typename Acc::running r = acc.start();
  if constexpr (Most > ahead) {
#pragma unroll 1
    for (; most && u + (Most - 1) * step < end; u += Most * step) {
      pack p[Most];
#pragma unroll
      for (unsigned j = 0; j < Most; ++j) p[j] = load_bytes(from + std::uint64_t{u + j * step} * 16, 16);
#pragma unroll
      for (unsigned j = 0; j < Most; ++j) acc.add(r, {p[j]}, 0);
    }
  }
#pragma unroll 1
  for (; u + (ahead - 1) * step < end; u += ahead * step) {
    pack p[ahead];
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) p[j] = load_bytes(from + std::uint64_t{u + j * step} * 16, 16);
#pragma unroll
    for (unsigned j = 0; j < ahead; ++j) acc.add(r, {p[j]}, 0);
  }
  pack p[ahead - 1] = {};
#pragma unroll
  for (unsigned j = 0; j < ahead - 1; ++j) {
    if (u + j * step < end) p[j] = load_bytes(from + std::uint64_t{u + j * step} * 16, 16);
  }
#pragma unroll
  for (unsigned j = 0; j < ahead - 1; ++j) {
    if (u + j * step < end) acc.add(r, {p[j]}, 0);
  }
  __syncwarp();
  return total_of(acc, r, facts);
}

/// Waits for what this kernel needs: the first part of await_stream().
__device__ __forceinline__ void await_stream_now() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Where the warps of a block leave their states for its first warp, or those of a cluster for the first warp of its first block. Those of a cluster tell by themselves that they have come (st.async), so that nobody
/// waits for a barrier of the cluster once elements are read: an H100 takes 0.5 µs less.
template <class State, bool Cluster>
class cluster_box {
 public:
  /// All threads call it, before there is anything to wait for: the first block is then there, and counts bytes.
  __device__ __forceinline__ cluster_box(State* states, [[maybe_unused]] unsigned part, [[maybe_unused]] unsigned count) : to_(states) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (Cluster) {
      __shared__ std::uint64_t barrier;
      barrier_ = static_cast<std::uint32_t>(__cvta_generic_to_shared(&barrier));
      if (part == 0 && threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_), "r"(count * static_cast<std::uint32_t>(sizeof(State))) : "memory");
      }
      asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there_) : "r"(barrier_));
      asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first_) : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(states))));
      sync_cluster();
    }
#elif !defined(__CUDA_ARCH__)
    if constexpr (Cluster) {
      sync_cluster();
      to_ = shared_of_block(states, 0);
    }
#endif
  }
  /// One thread calls it for each of the `count` states.
  __device__ __forceinline__ void put(unsigned i, const State& s) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (Cluster) {
      static_assert(sizeof(State) % 4 == 0);
      constexpr unsigned size = sizeof(State) % 8 == 0 ? 8 : 4;
      std::conditional_t<size == 8, std::uint64_t, std::uint32_t> word[sizeof(State) / size];
      __builtin_memcpy(word, &s, sizeof s);
#pragma unroll
      for (unsigned j = 0; j < sizeof(State) / size; ++j) {
        const std::uint32_t at = first_ + i * static_cast<std::uint32_t>(sizeof(State)) + j * size;
        if constexpr (size == 8) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(at), "l"(word[j]), "r"(there_) : "memory");
        else asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(at), "r"(word[j]), "r"(there_) : "memory");
      }
      return;
    }
#endif
    to_[i] = s;
  }
  /// All threads of a cluster call it when they have put what they have.
  __device__ __forceinline__ void leave() const {
#if !defined(__CUDA_ARCH__)
    if constexpr (Cluster) sync_cluster();
#endif
  }
  /// Waits until all states are there. Threads of the first block call it.
  __device__ __forceinline__ void await() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(barrier_) : "memory");
    }
#endif
  }

 private:
  State* to_;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  std::uint32_t barrier_ = 0, there_ = 0, first_ = 0;
#endif
};

/// Merges the states of a row's lanes into the first of them, where all 32 lanes of a warp have states, or the first 2^Steps alone.
template <int Steps, class Acc>
__device__ __forceinline__ typename Acc::state first_lanes_together(const Acc& acc, const typename Acc::state& s) {
  if constexpr (merges_first_lanes<Acc>) return acc.template first_lanes_together<Steps>(s);
  else return lanes_together(acc, s, Steps);
}

/// Reduces rows by one lane each, or by some lanes of a warp.
template <unordered_accumulator Acc>
__global__ void __launch_bounds__(small_threads, resident_blocks(small_threads, 4))
    small_rows_kernel(const __grid_constant__ small_walk w, const __grid_constant__ Acc acc, const __grid_constant__ facts_of<Acc> facts) {
  let_others_come();
  __shared__ typename room_of<Acc>::type rooms[small_warps];
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread >> w.lanes_log2, member = thread & ((1u << w.lanes_log2) - 1);
  const bool mine = row < w.rows;
  const unsigned char* const from = in_register(w.x + static_cast<std::int64_t>(mine ? row : 0) * w.row_bytes);
  await_stream_now();
  // What most rows go by follows the wait at once, since instructions of a launch come from afar: 0.05 µs.
  typename Acc::state s;
  const std::uint32_t lanes = 1u << w.lanes_log2;
  if (w.packs == lanes) [[likely]] {
    s = sum_few<1>(acc, facts, from + std::uint64_t{member} * 16, lanes, mine);
  } else if (w.packs == small_lane_packs * lanes) {
    s = sum_few<small_lane_packs>(acc, facts, from + std::uint64_t{member} * 16, lanes, mine);
  } else [[unlikely]] {
    s = sum_packs<4>(acc, facts, from, member, lanes, mine ? w.packs : 0);
  }
  s = w.lanes_log2 == 5 ? first_lanes_together<5>(acc, s) : lanes_together(acc, s, w.lanes_log2);
  bool sure = true;
  if (mine && member == 0) sure = acc.answer(s, std::uint64_t{w.packs} * Acc::items, facts, w.out + std::uint64_t{row} * Acc::answer_size);
  if constexpr (may_doubt<Acc>) {
    // The row's number is counted again: one that was kept for this call would lie in memory, and all lanes would wait for it.
    if (__any_sync(all_lanes, !sure)) settle_small(acc.settler(), facts, rooms[warp_index()], w, (blockIdx.x * blockDim.x + threadIdx.x) >> w.lanes_log2, !sure, false);
  }
}

/// Whether a multiprocessor may hold two blocks, whose threads have registers for 8 loads.
template <bool Cluster, class Acc>
inline constexpr bool small_wide = Cluster && Acc::fixed_size >= 4;

/// Reduces one row per block; or, where Cluster, `parts` blocks, which are a cluster: its first one has the states of all warps in its shared memory.
template <bool Cluster, unordered_accumulator Acc>
__global__ void __launch_bounds__(small_threads, resident_blocks(small_threads, small_wide<Cluster, Acc> ? 2 : 4))
    small_blocks_kernel(const __grid_constant__ small_walk w, const __grid_constant__ Acc acc, const __grid_constant__ facts_of<Acc> facts) {
  if constexpr (Cluster && !has_bulk_copies) return;  // nor clusters
  using state = typename Acc::state;
  let_others_come();
  constexpr unsigned most = small_warps * (Cluster ? small_cluster : 1);
  __shared__ __align__(16) state of_warp[most];
  __shared__ typename room_of<Acc>::type room;
  const std::uint32_t parts = Cluster ? w.parts : 1, row = Cluster ? blockIdx.x / parts : blockIdx.x, part = Cluster ? blockIdx.x % parts : 0;
  const auto lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const unsigned warps = blockDim.x / warp_lanes, all = warps * parts;
  const cluster_box<state, Cluster> box(of_warp, part, all);
  const unsigned char* const from = in_register(w.x + static_cast<std::int64_t>(row) * w.row_bytes);
  await_stream_now();
  state s = sum_packs<(small_wide<Cluster, Acc> ? 8 : 4)>(acc, facts, from, part * blockDim.x + threadIdx.x, parts * blockDim.x, w.packs, w.twice);
  s = first_lanes_together<5>(acc, s);
  if (lane == 0) box.put(part * warps + warp, s);
  if constexpr (Cluster) {
    box.leave();
    if (part != 0) return;
    if (warp == 0) box.await();
  } else {
    __syncthreads();
  }
  bool sure = true;
  if (warp == 0) {
    s = lane < all ? of_warp[lane] : acc.identity();
    if constexpr (most > warp_lanes) {
      if (warp_lanes + lane < all) s = acc.combine(s, of_warp[warp_lanes + lane]);
      __syncwarp();
    }
    s = all <= 8 ? first_lanes_together<3>(acc, s) : first_lanes_together<5>(acc, s);
    if (lane == 0) sure = acc.answer(s, std::uint64_t{w.packs} * Acc::items, facts, w.out + std::uint64_t{row} * Acc::answer_size);
  }
  if constexpr (may_doubt<Acc>) {
    if (__syncthreads_or(sure ? 0 : 1) != 0) settle_small(acc.settler(), facts, room, w, row, true, true);
  }
}

/// An accumulator of longer rows, which keeps pairs.
template <class Acc>
concept long_quick_accumulator = quick_accumulator<Acc> && std::is_same_v<typename Acc::state, typename Acc::long_state>;

/// The most elements of a row: longer rows give rows_long.cuh enough blocks. An accumulator that keeps pairs decides ties of longer rows.
template <class Acc>
constexpr std::uint64_t small_elements() {
  if constexpr (!quick_accumulator<Acc>) return small_bytes / Acc::fixed_size;
  else if constexpr (long_quick_accumulator<Acc>) return small_long_elements;
  else return Acc::narrow && Acc::fixed_size == 4 ? small_bytes / 4 : quick_elements;
}

/// Whether rows go by these kernels; enqueued if they do.
template <class Acc>
bool enqueue_small_rows(const Acc& acc, const row_view<1>& v, workspace& scratch, cudaStream_t stream, void* to, cudaError_t& e) {
  constexpr std::uint64_t size = Acc::fixed_size;
  const std::uint64_t row_bytes = v.n * size, multiprocessors = scratch.multiprocessors();
  if (v.offsets != nullptr || v.n == 0 || v.kept > 1 || v.dims != v.kept + 1 || v.dim[v.kept].stride[0] != static_cast<std::int64_t>(size) ||
      row_bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(v.x[0]) % 16 != 0 || v.n > small_elements<Acc>() || v.all * size > scratch.l2_bytes()) {
    return false;
  }
  const std::int64_t apart = v.kept == 1 ? v.dim[0].stride[0] : 0;
  if (apart % 16 != 0) return false;
  const auto packs = static_cast<std::uint32_t>(row_bytes / 16);
  small_walk w{v.x[0], static_cast<unsigned char*>(to), apart, static_cast<std::uint32_t>(v.rows), packs, 0, 1, false};
  const auto facts_by = [&](std::uint64_t lanes) { return acc.facts(v.n, (packs + lanes - 1) / lanes * static_cast<unsigned>(Acc::items), 11); };
  const bool many = v.rows >= 4 * multiprocessors;  // then a warp each, where blocks would have two warps of little to do
  constexpr bool longer = long_quick_accumulator<Acc>;
  if constexpr (longer) {
    if (4 * v.rows > multiprocessors || packs < small_shared_packs) return false;  // not measured: rows_long.cuh has them
  } else if (packs <= (many ? 2 : 1) * small_lane_packs * warp_lanes) {
    const std::uint32_t each = v.rows * packs <= 128 * multiprocessors ? 1 : small_lane_packs;  // one lane per row, while that is not too many warps
    while (w.lanes_log2 < 5 && packs > each << w.lanes_log2) ++w.lanes_log2;
    const std::uint64_t lanes = v.rows << w.lanes_log2;
    if (lanes > small_blocks * 128 * multiprocessors) return false;
    const unsigned threads = lanes <= 32 * multiprocessors ? 32 : 128;
    e = launch(small_rows_kernel<Acc>, {divide_up(lanes, threads), threads, 0, stream, scratch.overlaps()}, w, acc, facts_by(std::uint64_t{1} << w.lanes_log2));
    return true;
  }
  if (v.rows > small_blocks * multiprocessors) return false;
  unsigned threads = 2 * warp_lanes;
  const std::uint32_t each = 4 * v.rows <= multiprocessors ? small_lane_packs / 2 : small_lane_packs;
  while (threads < small_threads && packs > each * threads) threads *= 2;
  while (threads > 4 * warp_lanes && v.rows * threads > 1024 * multiprocessors) threads /= 2;  // all rows at once
  if (scratch.bulk_copies() && packs >= small_shared_packs) {
    constexpr unsigned half = small_threads / 2;
    // Where all multiprocessors have two blocks, one of which reads while the other adds: 32 rows of 65536 f64 6.59 → 5.39 µs, 16 rows, of which there are no two, 4.54 → 4.71.
    const std::uint64_t blocks = small_cluster * v.rows;
    w.twice = small_wide<true, Acc> && packs >= small_twice_packs && blocks <= 2 * multiprocessors && 4 * blocks >= 7 * multiprocessors;
    while (w.parts < small_cluster && (w.twice || 2 * w.parts * v.rows <= multiprocessors) && packs > half * w.parts) w.parts *= 2;
    if (w.parts == 1 && v.rows <= multiprocessors && packs >= 2 * small_shared_packs) w.parts = 2;
    if (w.parts > 1) threads = packs > small_lane_packs * half * w.parts ? small_threads : half;
  }
  const launch_config at{static_cast<unsigned>(v.rows) * w.parts, threads, 0, stream, scratch.overlaps(), w.parts};
  const auto facts = facts_by(std::uint64_t{threads} * w.parts);
  if constexpr (longer) {
    if (w.parts == 1) return false;
    e = launch(small_blocks_kernel<true, Acc>, at, w, acc, facts);
  } else {
    e = w.parts > 1 ? launch(small_blocks_kernel<true, Acc>, at, w, acc, facts) : launch(small_blocks_kernel<false, Acc>, at, w, acc, facts);
  }
  return true;
}

}  // namespace wf::device::inline WF_BUILD
