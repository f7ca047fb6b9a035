// SPDX-License-Identifier: Apache-2.0
/// \file fused_certified.cuh
/// Exact sums of floats and complex numbers beside a fold of everything else, in one kernel: of the elements, or of what a function makes of
/// them. The sums have certificates (certified.cuh), which answer all that is asked of Σx, Σ|x| and Σ|x|². Where one is uncertain, the block of a small
/// array adds it again, and of a larger one a kernel behind, which leaves at once otherwise.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/accumulate/fused_folds.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/epilogue/fused_answer.cuh>
#include <warpfold/detail/gpu/kernels/binned_reduce.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int fused_threads = 256;

/// The questions about one set of sums: beside `of_rows` what a certificate needs. `of_rows` is for uncertain answers.
template <int Count>
struct certified_asked {
  fused_question<Count> of_rows;
  op ops[Count];  ///< each operation once, to[i] its answer; op::count behind them
  void* to[Count];
  std::uint64_t length;
  reciprocals by;
  loss_factors loss;
};
template <>
struct certified_asked<0> {};

/// Running sums of elements of E, and of their magnitudes if `Norms`.
template <class E, terms Terms, bool Norms>
struct fused_sums {
  using sum_state = certified_state<certified_traits<E, Terms>>;
  struct state {
    sum_state sums;
    static __device__ __forceinline__ state nothing() { return {sum_state::nothing()}; }
    __device__ __forceinline__ void merge(const state& o) { sums.merge(o.sums); }
  };
  struct running {
    certified_running<E, Terms> sums;
    __device__ __forceinline__ void start(op what) { sums.start(what); }
    __device__ __forceinline__ void add(const pack (&p)[1]) { sums.add(p); }
    __device__ __forceinline__ void add_item(const E& x, int i) { sums.add_item_to(x, i); }
    __device__ __forceinline__ state total(std::uint64_t length) { return {sums.total(length)}; }
  };
};
template <class E, terms Terms>
struct fused_sums<E, Terms, true> {
  using sum_state = certified_state<certified_traits<E, Terms>>;
  using norm_state = certified_state<certified_traits<E, terms::sum>>;
  struct state {
    sum_state sums;
    norm_state norms;
    static __device__ __forceinline__ state nothing() { return {sum_state::nothing(), norm_state::nothing()}; }
    __device__ __forceinline__ void merge(const state& o) {
      sums.merge(o.sums);
      norms.merge(o.norms);
    }
  };
  struct running {
    certified_running<E, Terms> sums;
    certified_running<E, terms::sum> norms;
    __device__ __forceinline__ void start(op what) {
      sums.start(what);
      norms.start(op::norm1);
    }
    __device__ __forceinline__ void add(const pack (&p)[1]) {
      sums.add(p);
      norms.add(p);
    }
    __device__ __forceinline__ void add_item(const E& x, int i) {
      sums.add_item_to(x, i);
      norms.add_item_to(x, i);
    }
    __device__ __forceinline__ state total(std::uint64_t length) { return {sums.total(length), norms.total(length)}; }
  };
};

/// The states of the sums and of the fold beside them as one state, for what blocks and the grid do with states.
template <class Sums, class Fold>
struct sums_and_fold {
  struct state {
    typename Sums::state sums;
    typename Fold::state other;
  };
  const Fold& fold;
  __device__ __forceinline__ state identity() const { return {Sums::state::nothing(), fold.identity()}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    state s{a.sums, fold.combine(a.other, b.other)};
    s.sums.merge(b.sums);
    return s;
  }
};
template <class Sums>
struct sums_and_fold<Sums, no_fold> {
  struct state {
    typename Sums::state sums;
  };
  const no_fold& fold;
  __device__ __forceinline__ state identity() const { return {Sums::state::nothing()}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    state s = a;
    s.sums.merge(b.sums);
    return s;
  }
};

/// Answers operations, one per lane, and returns whether all answers are certain. All lanes of a warp call it, with the same state.
template <class E, terms Terms, class Out, int Count>
__device__ __attribute__((noinline)) bool certified_answers(const certified_state<certified_traits<E, Terms>> s, std::uint64_t n, const certified_asked<Count>& q) {
  using traits = certified_traits<E, Terms>;
  op what = op::count;
  void* to = nullptr;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const bool own = lane_index() == i;
    what = own ? q.ops[i] : what;
    to = own ? q.to[i] : to;
  }
  certified::known sum[traits::parts], squares;
  known_sums<E, Terms>(s, q.loss, sum, squares);
  bool sure = true;
  if (what != op::count) {
    auto* const out = static_cast<Out*>(to);
    sure = q.of_rows.of_rows.rounding == wf::rounding::nearest &&
           answer_quickly<traits::parts, traits::sums, traits::squares>(what, sum, squares, n, q.by, out);
    if (!sure && n != 0) {
      // What infinities and NaNs make of squares beside sums is left to digits.
      const bool of_squares = traits::sums && traits::squares && (what == op::norm2 || what == op::sum_of_squares);
      sure = (!of_squares && special_sums<E, Terms>(s, what, out)) ||
             certified::answer<traits::parts, traits::sums, traits::squares>({what, q.of_rows.of_rows.rounding, q.of_rows.of_rows.correction}, sum, squares, n, out);
    }
  }
  return __all_sync(all_lanes, sure) != 0;
}

/// Adds the sums of a small array once more, in bins. All threads of a block call it.
template <class E, terms Terms, class Out, int Count, class Map, class... T>
__device__ __attribute__((noinline)) void add_fused_again(const arrays<sizeof...(T)>& a, const Map& map, const fused_question<Count>& q) {
  add_few_by_bins<Terms, E, 1>(
      a.n, q.of_rows.what == op::norm1,
      [&](std::uint64_t i, E(&x)[1]) { with_elements<T...>(a, i, [&](const T&... v) { x[0] = map(v...); }); },
      [&](std::int64_t* digits, const std::uint32_t* kinds) { answers_of_rows<binned_layout<E, Terms>, E, Out>(digits, kinds, a.n, q); });
}

/// Adds this thread's share to the sums and the fold, in any order.
template <class Sums, class U, class Fold, class Map, class... T>
__device__ __forceinline__ typename sums_and_fold<Sums, Fold>::state feed_fused(const Fold& fold, const Map& map, const arrays<sizeof...(T)>& a, op what, std::uint64_t length) {
  constexpr bool plain = std::is_same_v<Map, as_they_are>, alone = std::is_same_v<Fold, no_fold>, packs = all_packable<T...>;
  constexpr int size = static_cast<int>((sizeof(T) + ...) / sizeof...(T));
  typename Sums::running sums;
  sums.start(what);
  auto other = [&] {
    if constexpr (alone) return fold;
    else return start_fold(fold, wf_dynamic_shared);
  }();
  for_each_share<plain ? 4 : 2, size, packs, plain ? 4 : 0>(
      a,
      [&](const pack(&p)[sizeof...(T)], std::uint64_t v) {
        if constexpr (plain) {
          sums.add(p);
          if constexpr (!alone) fold.add(other, p, v);
        } else if constexpr (packs) {
          constexpr int items = 16 / size;
#pragma unroll
          for (int i = 0; i < items; ++i) {
            [&]<std::size_t... K>(std::index_sequence<K...>) { sums.add_item(map(item_of<T>(p[K], i)...), i); }(std::index_sequence_for<T...>());
          }
        }
      },
      [&](std::uint64_t i) {
        with_elements<T...>(a, i, [&](const T&... x) {
          sums.add_item(map(x...), 0);
          if constexpr (!alone) fold.add_item(other, i, __builtin_bit_cast(U, x)...);
        });
      },
      [] {});
  if constexpr (alone) return {sums.total(length)};
  else return {sums.total(length), fold.total(other, a)};
}

/// The same for a fold that must be given the elements in their order: see reduce_in_order_kernel.
template <class Sums, class U, class Fold, class E>
__device__ __forceinline__ typename sums_and_fold<Sums, Fold>::state feed_fused_in_order(const Fold& fold, const arrays<1>& a, op what, std::uint64_t length) {
  constexpr int packs_a_lane = 4, size = static_cast<int>(sizeof(E)), items = 16 / size, each = packs_a_lane * items;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32;
  const std::uint64_t tiles = (a.n + 32 * each - 1) / (32 * each);
  const std::uint64_t end = tiles * (warp + 1) / warps;
  const loader<cache::keep> load(1);
  typename Sums::running sums;
  sums.start(what);
  auto s = fold.identity();
#pragma unroll 1
  for (std::uint64_t tile = tiles * warp / warps; tile < end; ++tile) {
    const std::uint64_t first = (tile * 32 + lane_index()) * each, v = first / items;
    auto running = start_fold(fold, wf_dynamic_shared);
    if (v + packs_a_lane <= a.packs) {
      pack p[packs_a_lane][1];
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) p[u][0] = load_pack_of<size>(a, 0, v + u, load);
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) {
        sums.add(p[u]);
        fold.add(running, p[u], v + u);
      }
    } else {
      const std::uint64_t last = min(a.n, first + each);
#pragma unroll 1
      for (std::uint64_t i = first; i < last; ++i) {
        with_elements<E>(a, i, [&](const E& x) {
          sums.add_item(x, 0);
          fold.add_item(running, i, __builtin_bit_cast(U, x));
        });
      }
    }
    s = fold.combine(s, warp_reduce(fold, fold.total(running, a)));
  }
  return {sums.total(length), lane_index() == 0 ? s : fold.identity()};
}

/// U: the elements as the fold knows them. Out: a number of an exact answer. Small: one block, which adds again what is uncertain; otherwise verdicts[0] says to the
/// kernel behind whether the answers of the sums are there, and verdicts[1] those of Σ|x|.
template <bool Small, terms Terms, class U, class Out, class Fold, class Map, int Count, int Norms, class... T>
__global__ void __launch_bounds__(fused_threads, resident_blocks(fused_threads, 2))
    certified_fused_kernel(const __grid_constant__ Fold fold, const __grid_constant__ Map map, const __grid_constant__ arrays<sizeof...(T)> a,
                           const __grid_constant__ certified_asked<Count> q, const __grid_constant__ certified_asked<Norms> norms, std::uint32_t* verdicts,
                           std::uint64_t* boxes) {
  using E = kernel_element<U>;
  using sums = fused_sums<E, Terms, (Norms != 0)>;
  using both = sums_and_fold<sums, Fold>;
  constexpr bool alone = std::is_same_v<Fold, no_fold>;
  unsigned char* room = wf_dynamic_shared;
  if constexpr (!alone) {
    fill_shared(fold, wf_dynamic_shared);
    if constexpr (keeps_shared<Fold>) __syncthreads();
    room += fold_bytes<Fold>;
  }
  await_stream();
  typename both::state s;
  if constexpr (keeps_order<Fold>) s = feed_fused_in_order<sums, U, Fold, T...>(fold, a, q.of_rows.of_rows.what, q.length);
  else s = feed_fused<sums, U, Fold, Map, T...>(fold, map, a, q.of_rows.of_rows.what, q.length);
  const both reduction{fold};
  s = device::block_reduce(reduction, s, room);
  const bool first = grid_reduce(reduction, s, room, boxes);
  if (!Small && !is_last_block()) return;
  if constexpr (!alone) {
    if (first) fold.write(s.other, a.n, nullptr);
  }
  __shared__ typename sums::state of_all;
  if (first) of_all = s.sums;
  bool sure = true, norms_sure = true;
  if (warp_index() == 0) {
    __syncwarp();
    sure = certified_answers<E, Terms, Out>(of_all.sums, a.n, q);
    if constexpr (Norms != 0) norms_sure = certified_answers<E, terms::sum, Out>(of_all.norms, a.n, norms);
  }
  if constexpr (Small) {
    if (__syncthreads_or(sure ? 0 : 1) != 0) add_fused_again<E, Terms, Out, Count, Map, T...>(a, map, q.of_rows);
    if constexpr (Norms != 0) {
      if (__syncthreads_or(norms_sure ? 0 : 1) != 0) add_fused_again<E, terms::sum, Out, Norms, Map, T...>(a, map, norms.of_rows);
    }
  } else if (first) {
    verdicts[0] = sure ? 1u : 0u;
    if constexpr (Norms != 0) verdicts[1] = norms_sure ? 1u : 0u;
  }
}

/// Leaves at once if the answers are there.
template <terms Terms, class E, class Out, class Map, int Count, class... T>
__global__ void __launch_bounds__(binned_threads, resident_blocks(binned_threads, 2))
    fused_again_kernel(const __grid_constant__ Map map, const __grid_constant__ arrays<sizeof...(T)> a, const __grid_constant__ fused_question<Count> q,
                       const __grid_constant__ binned_board board, const std::uint32_t* verdict) {
  await_stream();
  if (*verdict != 0) return;
  const bool magnitudes = q.of_rows.what == op::norm1;
  std::uint32_t chunks = 0;
  const std::uint32_t found = add_by_bins_of<Terms, E, T...>(
      a, false, board, false, chunks, [&](auto& rows, auto& watch, const T&... x) { rows.add(watch, magnitudes, map(x...)); },
      [&](std::int64_t* digits, const std::uint32_t* kinds) {
        if (warp_index() == 0) answers_of_rows<binned_layout<E, Terms>, E, Out>(digits, kinds, a.n, q);
      });
  // Each block asks for one chunk too many, and the block that asks last knows that no other will ask again.
  if (threadIdx.x == 0 && found == chunks + gridDim.x - 1) atomicExch(board.next, 0u);
}

/// Enqueues the kernels. U: what is added up; T: the elements of the arrays as they are loaded.
template <terms Terms, class U, class Out, class... T, class Fold, class Map, int Count, int Norms>
cudaError_t fused_by_certificate(const Fold& fold, const Map& map, certified_asked<Count> q, certified_asked<Norms> norms, const void* const* x,
                                 const std::int64_t* stride, std::uint64_t n, workspace& scratch, cudaStream_t stream) {
  using E = kernel_element<U>;
  using sums = fused_sums<E, Terms, (Norms != 0)>;
  using both = sums_and_fold<sums, Fold>;
  using state = typename both::state;
  constexpr bool in_order = keeps_order<Fold>;
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<sizeof...(T)> a;
  if (!make_arrays<T...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  constexpr std::size_t sizes[] = {sizeof(T)...};
  const std::uint64_t items = all_packable<T...> ? 16 / sizes[0] : 1, rest = n - a.packs * items, work = a.packs + rest;
  std::size_t room = scratch.block_shared_bytes() - 1024;
  std::size_t own = 0;
  if constexpr (!std::is_same_v<Fold, no_fold>) own = fold_bytes<Fold>;
  if (own + fused_threads / warp_lanes * sizeof(state) > room) return cudaErrorInvalidValue;
  constexpr auto most_items = static_cast<std::uint64_t>(binned_rows<E, Terms, 1>::most_elements);
  const bool small = work <= 2048 && n <= most_items;
  std::uint32_t threads = fused_threads, blocks = 1;
  if (small) {
    const std::uint32_t warps = divide_up(work, (in_order ? 4 : 1) * 4 * warp_lanes);
    threads = warp_lanes * (warps == 0 ? 1 : at_most(warps, fused_threads / warp_lanes));
    if (own != 0) threads = fused_threads;
  } else {
    const auto boxes = static_cast<std::uint32_t>(workspace::mailbox_words / state_boxes<state>::words);
    // In L2 few blocks: each more is a message.
    const bool near = (a.packs != 0 ? a.packs * 16 : n * 32) * sizeof...(T) <= scratch.l2_bytes() / 4 * 3;
    const std::uint32_t most = !near ? 2 * scratch.multiprocessors() : at_most(work <= 262144 ? 64 : 128, scratch.multiprocessors());
    // For short arrays 8 to 32 blocks are slower than 2 and than 48 (docs/log/2026-11-28-before-and-after.md).
    blocks = work <= 6144 ? 2 : work <= 16384 ? at_most(48, most) : at_most(divide_up(work, std::uint64_t{4} * fused_threads), most);
    blocks = boxes == 0 ? 1 : at_most(blocks, boxes);
  }
  // Additions to one running sum, at most: all of a thread's.
  const std::uint64_t all_threads = std::uint64_t{blocks} * threads;
  const auto of_thread = [&]<terms Of>(std::integral_constant<terms, Of>) {
    using traits = certified_traits<E, Of>;
    const std::uint64_t of_pack = std::is_same_v<Map, as_they_are> ? static_cast<std::uint64_t>(traits::adds_of_pack) : items;
    const std::uint64_t in_tiles = in_order ? (n / (4 * items * warp_lanes) + 1) / (all_threads / warp_lanes) + 1 : 0;
    const std::uint64_t packs = in_order ? 4 * in_tiles : a.packs / all_threads + 1, singles = (rest + all_threads - 1) / all_threads + 4 * items * in_tiles;
    return packs * of_pack + singles * traits::numbers + 4;
  };
  const auto fill = [&]<terms Of, int K>(std::integral_constant<terms, Of> of, certified_asked<K>& asked) {
    using traits = certified_traits<E, Of>;
    asked.length = of_thread(of);
    asked.by = reciprocals::of(n, asked.of_rows.of_rows.correction);
    asked.loss = loss_factors::of<traits::wide>(n * traits::numbers, asked.length, traits::chains);
  };
  fill(std::integral_constant<terms, Terms>(), q);
  if constexpr (Norms != 0) fill(std::integral_constant<terms, terms::sum>(), norms);
  std::uint32_t* const verdicts = scratch.verdict();
  const launch_config config{blocks, threads, own + fused_threads / warp_lanes * sizeof(state), stream, scratch.overlaps()};
  if (small) return launch(certified_fused_kernel<true, Terms, U, Out, Fold, Map, Count, Norms, T...>, config, fold, map, a, q, norms, verdicts, scratch.mailbox());
  e = launch(certified_fused_kernel<false, Terms, U, Out, Fold, Map, Count, Norms, T...>, config, fold, map, a, q, norms, verdicts, scratch.mailbox());
  const auto again = [&]<terms Of, int K>(std::integral_constant<terms, Of>, const certified_asked<K>& asked, const std::uint32_t* verdict) {
    return launch(fused_again_kernel<Of, E, Out, Map, K, T...>,
                  {at_most(divide_up(work + 1, 2 * binned_threads), 2 * scratch.multiprocessors()), binned_threads,
                   sizeof(binned_rows<E, Of, bin_copies<E, Of>>), stream, scratch.overlaps()},
                  map, a, asked.of_rows, binned_board::of(scratch, true), verdict);
  };
  if (e == cudaSuccess) e = again(std::integral_constant<terms, Terms>(), q, verdicts);
  if constexpr (Norms != 0) {
    if (e == cudaSuccess) e = again(std::integral_constant<terms, terms::sum>(), norms, verdicts + 1);
  }
  return e;
}

}  // namespace wf::device::inline WF_BUILD
