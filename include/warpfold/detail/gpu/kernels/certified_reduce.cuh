// SPDX-License-Identifier: Apache-2.0
/// \file certified_reduce.cuh
/// Exact reductions by certificate: a kernel that adds in doubles and answers if the rounding is certain. Where it is not, a small array is
/// added again by its block, and an array beyond L2 by a kernel that is enqueued behind and leaves at once otherwise (binned_reduce.cuh).
/// An array in L2 has one kernel: blocks whose sums lost nothing have told all that there is to know, and their sums give the exact answer;
/// the others stay until they know whether they must add again.
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
#include <warpfold/device/grid.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Threads of a block at most, and what they need of shared memory: a state a warp.
inline constexpr int certified_threads = 512, certified_small_threads = 256;
template <class T, terms Terms, int Threads>
using certified_room = certified_state<certified_traits<T, Terms>>[Threads / warp_lanes];

/// This thread's share of the arrays by loads, then the block's, in thread 0; of the blocks 0 … workers - 1.
template <int Threads, int Ahead, terms Terms, class T, class... Ts>
__device__ __forceinline__ certified_state<certified_traits<T, Terms>> certified_block(const arrays<1 + sizeof...(Ts)>& a,
                                                                                       const certified_question& q,
                                                                                       certified_room<T, Terms, Threads>& room, std::uint32_t workers) {
  certified_running<T, Terms> running;
  running.start(q.q.what);
  for_each_share<4, static_cast<int>(sizeof(T)), true, Ahead>(
      a, [&](const pack(&p)[1 + sizeof...(Ts)], std::uint64_t) { running.add(p); },
      [&](std::uint64_t i) { with_elements<T, Ts...>(a, i, [&](const auto&... x) { running.add_item(x...); }); }, [] {}, workers);
  auto s = running.total(q.length);
  s.template merge_block<Threads>(room);
  return s;
}

/// One block.
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_small_threads)
    certified_small_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  using bins = binned_rows<T, Terms, 1>;
  __shared__ certified_room<T, Terms, certified_small_threads> room;
  __shared__ bins rows;
  __shared__ std::int64_t digits[bins::digits + spread_digits<bins>];
  const state s = certified_block<certified_small_threads, 4, Terms, T, Ts...>(a, q, room, 1);
  bool doubt = false;
  if (threadIdx.x == 0) doubt = !certified_quickly<T, Terms>(s, q, a.n, out) && !certified_slowly<T, Terms>(s, q, a.n, out);
  if (__syncthreads_or(doubt ? 1 : 0) == 0) return;
  rows.clear();
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
  typename bins::watch watch;
  watch.start();
  __syncthreads();
  constexpr int each = 8;  // loads on their way at once
#pragma unroll 1
  for (std::uint64_t first = threadIdx.x; first < a.n; first += each * blockDim.x) {
    T x[each][1 + sizeof...(Ts)] = {};
#pragma unroll
    for (int u = 0; u < each; ++u) {
      const std::uint64_t i = first + u * blockDim.x;
      if (i < a.n) with_elements<T, Ts...>(a, i, [&](const T& v, const Ts&... w) { x[u][0] = v; ((x[u][sizeof...(Ts)] = w), ...); });
    }
#pragma unroll
    for (int u = 0; u < each; ++u) {
      if (first + u * blockDim.x >= a.n) continue;
      if constexpr (sizeof...(Ts) == 0) rows.add(watch, q.q.what == op::norm1, x[u][0]);
      else rows.add(watch, q.q.what == op::norm1, x[u][0], x[u][1]);
    }
  }
  __syncwarp();
  rows.tell(watch);
  __syncthreads();
  rows.flush(digits);
  __syncthreads();
  if (warp_index() == 0) answer_of_rows<bins>(digits, rows.kinds, a.n, {q.q.what, q.q.rounding, q.q.correction}, out);
}

/// The states of blocks, to the last one: words that are never zero, those of a kind side by side.
template <class State>
struct certified_mailbox {
  static constexpr int words = State::words;
  static constexpr std::uint32_t most_blocks = workspace::mailbox_words / words / 64 * 64;

  static __device__ __forceinline__ std::uint64_t* box(std::uint64_t* boxes, std::uint32_t block, int word) {
    return boxes + word * most_blocks + block;
  }
  static __device__ __forceinline__ void post(std::uint64_t* boxes, const State& s, bool lost_nothing) {
    std::uint64_t w[words];
    s.to_words(w, lost_nothing);
#pragma unroll
    for (int j = 0; j < words; ++j) store_word(box(boxes, blockIdx.x, j), w[j]);
  }
  /// All lanes of a warp call it: boxes first + lane, first + step + lane, … below `count` into s. It goes this way once at least, so that a
  /// rehearsal does. told(box, state) gets each that is there. Returns whether all of this lane's lost nothing.
  template <class Told>
  static __device__ __forceinline__ bool collect(std::uint64_t* boxes, std::uint32_t first, std::uint32_t step, std::uint32_t count, State& s, Told told) {
    bool lost_nothing = true;
#pragma unroll 1
    do {
      const std::uint32_t b = first + lane_index();
      std::uint64_t seen[words];
      for (bool wait = true; wait;) {
        bool full = true;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          seen[j] = b < count ? load_word(box(boxes, b, j)) : 1;
          full &= seen[j] != 0;
        }
        wait = __any_sync(all_lanes, !full) != 0;
        if (wait) __nanosleep(0);
      }
      if (b < count) {
#pragma unroll
        for (int j = 0; j < words; ++j) store_word(box(boxes, b, j), 0);
        const State other = State::from_words(seen);
        lost_nothing = lost_nothing && State::marked(seen);
        told(b, other);
        s.merge(other);
      }
      first += step;
    } while (first < count);
    return lost_nothing;
  }
};

/// Where a block of a kernel of certificates leaves what others must know.
struct certified_desk {
  std::uint64_t* boxes;
  std::uint32_t* verdict;   ///< 1 if *out is the answer, else 0: to the kernel behind
  std::uint64_t* number;    ///< the same to the blocks that stay: an odd number, other than before, where they are to add again, else an even one; nullptr: no block stays
  binned_board board;
  std::uint64_t* rehearsed; ///< room for a word, and an answer
  std::uint32_t looks;      ///< a block that stays looks so often, and leaves
};

/// v·2^scale more to carry-save digits, whose first one's unit is 2^unit: a multiple of that.
__device__ inline void add_to_digits(std::int64_t* digits, int unit, double v, int scale) {
  const auto b = __builtin_bit_cast(std::uint64_t, v);
  const int field = static_cast<int>(b >> 52 & 0x7ff);
  std::uint64_t m = (b & ((std::uint64_t{1} << 52) - 1)) | (field != 0 ? std::uint64_t{1} << 52 : 0);
  if (m == 0) return;
  int place = (field != 0 ? field : 1) - 1075 + scale - unit;
  if (place < 0) {  // zeros below the unit
    m >>= -place;
    place = 0;
  }
  const std::uint64_t low = (m & 0xffffffffu) << (place & 31), high = (m >> 32) << (place & 31);
  const std::uint64_t part[3] = {low & 0xffffffffu, (low >> 32) + (high & 0xffffffffu), high >> 32};
  auto* const to = reinterpret_cast<unsigned long long*>(digits) + place / 32;
  for (int i = 0; i < 3; ++i) {
    if (part[i] != 0) atomicAdd(to + i, b >> 63 != 0 ? 0 - part[i] : part[i]);
  }
}

/// All threads of a block call it: the answer from what `count` blocks told, who lost nothing; only their sum had no certain rounding.
/// The digits are in shared memory behind `told`.
template <class T, terms Terms, class Out>
__device__ __attribute__((noinline)) void answer_of_told(const certified::pair* told, std::uint32_t count, const exact_question& q, std::uint64_t n, Out* out) {
  using traits = certified_traits<T, Terms>;
  using rows = binned_layout<T, Terms>;
  auto* const digits = reinterpret_cast<std::int64_t*>(wf_dynamic_shared) + 2 * traits::parts * count;
  __shared__ std::uint32_t kinds[rows::watches];
  for (int k = static_cast<int>(threadIdx.x); k < rows::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
  if (threadIdx.x < rows::watches) kinds[threadIdx.x] = special::ordinary;
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < traits::parts * count; k += blockDim.x) {
    const int part = static_cast<int>(k % traits::parts);
    add_to_digits(digits + (part == 0 ? 0 : rows::digits0), part == 0 ? rows::unit0 : rows::unit1, told[k].s, traits::scale);
    add_to_digits(digits + (part == 0 ? 0 : rows::digits0), part == 0 ? rows::unit0 : rows::unit1, told[k].c, traits::scale);
  }
  __syncthreads();
  if (warp_index() == 0) answer_of_rows<rows>(digits, kinds, n, q, out);
}

/// All threads of the last block call it, which has added nothing itself: some of its warps collect the others' states, and thread 0 answers, and says
/// to all who wait whether that is certain. True there, if the array is to be added again, and blocks stay.
///
/// The block has nothing to do until the first states come. It answers a question of its own in the meantime, so that the instructions are there
/// when they are needed: an f64 sum of 2^14 took 0.2 µs longer without.
template <int Threads, class T, terms Terms, class Out>
__device__ __forceinline__ bool certified_decision(certified_room<T, Terms, Threads>& room, const certified_question& q, std::uint64_t n, Out* out,
                                                   const certified_desk& desk) {
  using traits = certified_traits<T, Terms>;
  using state = certified_state<traits>;
  using mailbox_type = certified_mailbox<state>;
  constexpr bool tells = may_lose_nothing<T, Terms>;
  static_assert(sizeof(Out) * (traits::parts + 1) <= 24);
  // Not in shared memory: a pointer that may be to either is dear to make.
  auto* const rehearsed = reinterpret_cast<Out*>(desk.rehearsed + 1);
  auto* const told = reinterpret_cast<certified::pair*>(wf_dynamic_shared);
  const auto warps = static_cast<int>(min((gridDim.x + warp_lanes - 2) / warp_lanes, blockDim.x / warp_lanes));
  const std::uint64_t before = desk.number != nullptr ? load_word(desk.number) & ~std::uint64_t{1} : 0;
  bool lost_nothing = tells, doubt = false;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const bool rehearsal = pass == 0;
    state s = state::nothing();
    if (warp_index() < warps) {
      lost_nothing = mailbox_type::collect(desk.boxes, warp_index() * warp_lanes, warps * warp_lanes, rehearsal ? 0 : gridDim.x - 1, s, [&](std::uint32_t b, const state& x) {
        if constexpr (tells) {
          if (desk.number != nullptr) {
#pragma unroll
            for (int i = 0; i < traits::parts; ++i) told[b * traits::parts + i] = x.pair[i];
          }
        }
      });
      s.merge_warp();
    }
    if (warps > 1) {
      __syncthreads();  // the rehearsal has read the room
      if (warp_index() < warps && lane_index() == 0) room[warp_index()] = s;
      __syncthreads();
      if (warp_index() == 0) s.template merge_warps<Threads>(room, warps);
    }
    if (threadIdx.x != 0) continue;
    if (rehearsal) s.rehearse();
    bool sure = certified_quickly<T, Terms>(s, q, n, rehearsal ? rehearsed : out);
    if (!rehearsal) {
      if (!sure) sure = certified_slowly<T, Terms>(s, q, n, out);
      doubt = !sure;
    }
    if (desk.number == nullptr) {
      if (!rehearsal) *desk.verdict = sure ? 1u : 0u;
    } else if (sure) {
      store_word(rehearsal ? desk.rehearsed : desk.number, before + 2);
    }
  }
  if (desk.number == nullptr || __syncthreads_or(doubt ? 1 : 0) == 0) return false;
  if constexpr (tells) {
    if (__syncthreads_and(lost_nothing ? 1 : 0) != 0) {
      answer_of_told<T, Terms>(told, gridDim.x - 1, {q.q.what, q.q.rounding, q.q.correction}, n, out);
      return false;  // nobody stays
    }
  }
  if (threadIdx.x == 0) {
    *desk.board.next = 0;
    release_fence();
    store_word(desk.number, before + 3);
  }
  return true;
}

/// Thread 0 of a block that has told what it knows: whether the array is to be added again. Who waits in vain leaves, and others do its part: so a block here is never in the way of one that it waits for.
__device__ __forceinline__ bool await_verdict(std::uint64_t* number, std::uint64_t before, std::uint32_t looks) {
  for (std::uint32_t i = 0; i < looks; ++i) {
    const std::uint64_t seen = load_word(number);
    if (seen != before) {
      if ((seen & 1) == 0) return false;  // without a fence, which takes half a µs
      acquire_fence();
      return true;
    }
    __nanosleep(0);
  }
  return false;
}

/// All threads of each block call it: `add` gives a worker's state, in thread 0. A worker that lost nothing has told all that there is to know, and leaves;
/// the others stay until the verdict.
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
    bool leaves = !stays;
    if (threadIdx.x == 0) {
      const bool lost_nothing = stays && loses_nothing<T, Terms>(s, q.loss);
      certified_mailbox<state>::post(desk.boxes, s, lost_nothing);
      leaves = leaves || lost_nothing;
    }
    if (!stays) return;
    let_others_come();
    if (threadIdx.x == 0) again = !leaves && await_verdict(desk.number, before, desk.looks) ? 1 : 0;
    __syncthreads();
    if (again == 0) return;
  } else {
    if (!certified_decision<Threads, T, Terms>(room, q, a.n, out, desk)) return;
  }
  std::uint32_t chunks;
  const exact_question exactly{q.q.what, q.q.rounding, q.q.correction};
  add_by_bins<Terms, Out, T, Ts...>(a, exactly, out, desk.board, nullptr, chunks);
}

/// Blocks of half the threads that a multiprocessor is to hold, of arrays beyond L2: more where loads wait for arithmetic of two arrays.
template <class T, terms Terms>
inline constexpr int certified_blocks = certified_traits<T, Terms>::products && !certified_traits<T, Terms>::wide ? 3 : 2;

template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads, resident_blocks(certified_threads, 2))
    certified_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out,
                     const __grid_constant__ certified_desk desk) {
  await_stream();
  __shared__ certified_room<T, Terms, certified_threads> room;
  certified_answer_of_blocks<certified_threads, Terms, Out, T, Ts...>(
      room, a, q, out, desk, [&] { return certified_block<certified_threads, 2, Terms, T, Ts...>(a, q, room, gridDim.x - 1); });
}

/// The same by way of shared memory (bulk.cuh) of whole packs at multiples of 16: the copies go on while FP64 works.
inline constexpr int certified_stages = 3, certified_bulk_threads = certified_threads;
template <terms Terms, class Out, class T>
__global__ void __launch_bounds__(certified_bulk_threads, resident_blocks(certified_bulk_threads, 2))
    certified_bulk_kernel(const __grid_constant__ arrays<1> a, const __grid_constant__ array_part<T> part, const __grid_constant__ certified_question q,
                          Out* out, const __grid_constant__ certified_desk desk) {
  if constexpr (!has_bulk_copies) return;
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

/// How an array is cut: `workers` blocks of `threads`, and where there are several one more, which collects.
struct certified_shape {
  bool small, bulk;  ///< one block that answers itself; bulk copies, in blocks of certified_bulk_threads
  std::uint32_t workers, threads;
};

/// Packs of a thread of one block: as few warps as can be, since one needs no others, and a second one costs 0.15 µs.
inline constexpr int certified_small_packs_each = 4;
/// Packs that one block takes, whose numbers do not overflow bins.
inline constexpr std::uint64_t certified_small_packs = 2048;

/// Blocks and threads of an array of several blocks: in L2 (`near`) few blocks of few threads where the messages are what takes time, at last two blocks
/// a multiprocessor; beyond, `far` blocks of half the threads a multiprocessor.
constexpr certified_shape certified_shape_for(std::uint64_t work, bool near, bool bulk, std::uint32_t far, std::uint32_t sm) {
  if (bulk) return {false, true, sm - 1, certified_bulk_threads};
  if (!near) return {false, false, at_most(divide_up(work, certified_threads / 2), far * sm - 1), certified_threads / 2};
  const std::uint32_t threads = work <= 8192 ? 128 : work <= 1048576 ? 256 : 512;
  const std::uint32_t each = work <= 16384 ? 2 : 4, most = at_most(work <= 262144 ? 128 : 256, 2 * sm - 1);
  // No more rounds than with `most`, and as even as can be.
  const std::uint32_t rounds = divide_up(work, std::uint64_t{threads} * most);
  return {false, false, divide_up(work, std::uint64_t{threads} * (rounds > each ? rounds : each)), threads};
}

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
  const bool near = (a.packs != 0 ? a.packs * 16 : n * 32) * traits::inputs <= scratch.l2_bytes() / 4 * 3;  // elements apart: a sector each
  const bool bulk = !near && traits::inputs == 1 && a.aligned && a.packs > 262144 && rest < traits::items && scratch.bulk_copies();
  certified_shape shape = certified_shape_for(work, near, bulk, certified_blocks<T, Terms>, scratch.multiprocessors());
  if (work <= certified_small_packs && n <= static_cast<std::uint64_t>(binned_rows<T, Terms, 1>::most_elements)) {
    const std::uint32_t warps = divide_up(work, certified_small_packs_each * warp_lanes);
    shape = {true, false, 1, warp_lanes * (warps == 0 ? 1 : at_most(warps, certified_small_threads / warp_lanes))};
  }
  shape.workers = at_most(shape.workers, mailbox_type::most_blocks);
  const std::uint64_t threads = std::uint64_t{shape.workers} * shape.threads;
  const std::uint64_t chunk = 4 * certified_bulk_threads;
  const std::uint64_t packs_each = shape.bulk ? 4 * (a.packs / chunk / shape.workers + 2) : (a.packs + threads - 1) / threads;
  const std::uint64_t length = packs_each * traits::adds_of_pack + (rest + threads - 1) / threads * (traits::numbers * traits::numbers) + 4;
  const certified_question asked{q, length, reciprocals::of(n, q.correction),
                                 loss_factors::of<traits::wide>(n * traits::numbers, length, traits::lanes, traits::chains)};
  launch_config config{shape.small ? 1 : shape.workers + 1, shape.threads, 0, stream, scratch.overlaps()};
  auto* const to = static_cast<Out*>(out);
  if (shape.small) return launch(certified_small_kernel<Terms, Out, T, Ts...>, config, a, asked, to);
  const certified_desk desk{scratch.mailbox(), scratch.verdict(), near ? scratch.verdict_number() : nullptr, binned_board::of(scratch, false), scratch.rehearsed(), scratch.choices().looks};
  if (near) {
    const std::size_t bins = sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>);
    const std::size_t told = 8 * (2 * traits::parts * std::size_t{shape.workers} + binned_layout<T, Terms>::digits);
    config.shared_bytes = bins > told ? bins : told;
  }
  bool launched = false;
  if constexpr (traits::inputs == 1) {
    if (shape.bulk) {
      config.shared_bytes = bulk_ring<bulk_chunk<certified_bulk_threads, 4>, certified_stages>::shared_bytes;
      auto part = cut_array(static_cast<const T*>(x[0]), n - rest, shape.workers * certified_bulk_threads, a.kept);
      e = launch(certified_bulk_kernel<Terms, Out, T>, config, a, part, asked, to, desk);
      launched = true;
    }
  }
  if (!launched) e = launch(certified_kernel<Terms, Out, T, Ts...>, config, a, asked, to, desk);
  if (e != cudaSuccess || near) return e;
  return binned_reduce<Terms, Out, T, Ts...>({q.what, q.rounding, q.correction}, x, stride, n, out, scratch, stream, scratch.verdict());
}

}  // namespace wf::device::inline WF_BUILD
