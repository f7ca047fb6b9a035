// SPDX-License-Identifier: Apache-2.0
/// \file reduce.cuh
/// The general kernel: any reduction of reduction.hpp over whole arrays, in one launch.
/// What a thread keeps while it adds is up to a fold (fold.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fold.cuh>
#include <warpfold/detail/gpu/domain/domain.cuh>
#include <warpfold/detail/gpu/merge/merge.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

template <class Fold, class... T, std::size_t... K>
__device__ __forceinline__ void add_one(const Fold& fold, typename Fold::running& s,
                                        const arrays<sizeof...(T)>& a, std::uint64_t i,
                                        std::index_sequence<K...>) {
  fold.add_item(s, i, load_item<T>(a.x[K] + static_cast<std::int64_t>(i) * a.stride[K])...);
}

/// First in a kernel: what no one else reads or writes can be filled before the stream's earlier work is done.
/// What is behind it is free for states.
template <class Fold>
__device__ __forceinline__ unsigned char* prepare(const Fold& fold) {
  fill_shared(fold, wf_dynamic_shared);
  if constexpr (keeps_shared<Fold>) __syncthreads();
  await_stream();
  return wf_dynamic_shared + fold_bytes<Fold>;
}

/// What to write of a fold's state. `first`: the index of the first element.
struct written {
  bool state = false;
  std::int64_t first = 0;
};
/// Writes the answer, or the words that the host's reduction keeps (backend.hpp): the number of elements, then the state's own words,
/// which are those of the fold itself where it has no write_state(state, n, first, words).
template <class Fold>
__device__ __forceinline__ void write_fold(const Fold& fold, const typename Fold::state& s, std::uint64_t n, const written& w, void* out) {
  if (!w.state) {
    if constexpr (writes_places<Fold>) fold.write(s, n, w.first, out);
    else fold.write(s, n, out);
    return;
  }
  auto* const words = static_cast<std::uint64_t*>(out);
  words[0] = n;
  if constexpr (writes_words<Fold>) {
    fold.write_state(s, n, w.first, words + 1);
  } else {
    constexpr int count = static_cast<int>((sizeof s + 7) / 8);
    std::uint64_t own[count] = {};
    __builtin_memcpy(own, &s, sizeof s);
#pragma unroll
    for (int k = 0; k < count; ++k) words[1 + k] = own[k];
  }
}

inline constexpr int most_reduce_threads = 512;

/// The domain of a fold.
template <class Fold>
using turns_of = in_turn<Fold::loads, Fold::item_size, Fold::packs, packs_ahead<Fold>>;
/// For reductions that commute: threads take packs in turn.
template <class Fold, class... T>
  requires fold_of<Fold, T...> && item_domain<turns_of<Fold>, sizeof...(T)> && state_merge_of<state_boxes<typename Fold::state>, typename Fold::state>
__global__ void __launch_bounds__(most_reduce_threads, resident_blocks(most_reduce_threads, 2))
    reduce_kernel(Fold fold, arrays<sizeof...(T)> a, void* out, written what, std::uint64_t* boxes) {
  unsigned char* const room = prepare(fold);
  auto running = start_fold(fold, wf_dynamic_shared);
  turns_of<Fold>::walk(
      a, [&](const pack(&p)[sizeof...(T)], std::uint64_t v) { fold.add(running, p, v); },
      [&](std::uint64_t i) { add_one<Fold, T...>(fold, running, a, i, std::index_sequence_for<T...>()); });
  auto s = device::block_reduce(fold, fold.total(running, a), room);
  if (grid_reduce(fold, s, room, boxes)) write_fold(fold, s, a.n, what, out);
}

/// For those that do not: a warp takes a stretch of the array, in tiles of 64 bytes a lane, and
/// combines the lanes of each tile in order. Loads of neighbouring lanes lie 64 bytes apart, so each
/// line is used by four loads in a row, the last three of them from L1.
template <class Fold, class... T>
  requires fold_of<Fold, T...>
__global__ void __launch_bounds__(most_reduce_threads, resident_blocks(most_reduce_threads, 2))
    reduce_in_order_kernel(Fold fold, arrays<sizeof...(T)> a, void* out, written what, std::uint64_t* boxes) {
  unsigned char* const room = prepare(fold);
  constexpr int packs_a_lane = 4;
  constexpr int each = packs_a_lane * Fold::items;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32;
  const std::uint64_t tiles = (a.n + 32 * each - 1) / (32 * each);
  const std::uint64_t end = tiles * (warp + 1) / warps;  // no overflow: tiles < 2^53 in any memory
  const loader<cache::keep> load(1);
  auto s = fold.identity();
  for (std::uint64_t tile = tiles * warp / warps; tile < end; ++tile) {
    const std::uint64_t first = (tile * 32 + lane_index()) * each;
    auto running = start_fold(fold, wf_dynamic_shared);
    const std::uint64_t v = first / Fold::items;
    if (Fold::packs && v + packs_a_lane <= a.packs) {
      pack p[packs_a_lane][sizeof...(T)];
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) {
#pragma unroll
        for (int k = 0; k < static_cast<int>(sizeof...(T)); ++k) {
          p[u][k] = load_pack_of<Fold::item_size>(a, k, v + u, load);
        }
      }
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) fold.add(running, p[u], v + u);
    } else {
      const std::uint64_t last = min(a.n, first + each);
      for (std::uint64_t i = first; i < last; ++i) {
        add_one<Fold, T...>(fold, running, a, i, std::index_sequence_for<T...>());
      }
    }
    s = fold.combine(s, warp_reduce(fold, fold.total(running, a)));
  }
  // Lanes but the first hold what only the first one has: the stretch of the warp counts once.
  if (lane_index() != 0) s = fold.identity();
  s = device::block_reduce(fold, s, room);
  if (grid_reduce(fold, s, room, boxes)) write_fold(fold, s, a.n, what, out);
}

template <class Fold, class... T>
constexpr auto kernel_of() {
  if constexpr (keeps_order<Fold>) return reduce_in_order_kernel<Fold, T...>;
  else return reduce_kernel<Fold, T...>;
}

/// Blocks and threads of a launch.
struct reduce_shape {
  std::uint32_t blocks, threads;
};

/// For `packs` packs (or elements that lie apart): one block of few threads, then blocks of 256 with a
/// pack per thread while they fit beside each other, then what the launch choices say.
constexpr reduce_shape reduce_shape_for(std::uint64_t packs, std::uint32_t sm, const launch_choices& c) {
  if (packs <= 2048) {
    const std::uint32_t t = divide_up(packs, 32) * 32;
    return {1, t < 32 ? 32 : t > 512 ? 512 : t};
  }
  const std::uint32_t few = divide_up(packs, 256);
  if (few <= 2 * sm && few <= 256) return {few, 256};
  return {at_most(divide_up(packs, c.reduce_threads), c.reduce_blocks * sm), c.reduce_threads};
}

/// Enqueues one kernel: the fold of n elements of each input, written to *out. A shape with no threads
/// stands for the library's own choice.
template <class Fold, class... T>
  requires fold_of<Fold, T...>
cudaError_t reduce_with(const Fold& fold, const void* const* x, const std::int64_t* stride,
                        std::uint64_t n, void* out, workspace& scratch, cudaStream_t stream,
                        reduce_shape shape = {0, 0}, const written& what = {}) {
  using state = typename Fold::state;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<sizeof...(T)> a;
  if (!make_arrays<T...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  if (shape.threads == 0) {
    const std::uint64_t work = a.packs != 0 ? a.packs : n;
    shape = reduce_shape_for(keeps_order<Fold> ? work / 4 : work, scratch.multiprocessors(), scratch.choices());
    if (fold_bytes<Fold> != 0 && shape.threads < 256) shape.threads = 256;  // which fill in less time
  }
  // There is one state per warp in shared memory, and one per block in the mailbox: where states are large, there are few of both.
  std::size_t room = scratch.block_shared_bytes() - 1024;
  if (fold_bytes<Fold> + sizeof(state) > room) return cudaErrorInvalidValue;
  room -= fold_bytes<Fold>;
  shape.threads = at_most(shape.threads, static_cast<std::uint32_t>(room / sizeof(state) * 32));
  const auto boxes = static_cast<std::uint32_t>(workspace::mailbox_words / state_boxes<state>::words);
  shape.blocks = boxes == 0 ? 1 : at_most(shape.blocks, boxes);
  const std::size_t shared = fold_bytes<Fold> + shape.threads / 32 * sizeof(state);
  return launch(kernel_of<Fold, T...>(), {shape.blocks, shape.threads, shared, stream, scratch.overlaps()},
                fold, a, out, what, scratch.mailbox());
}

/// *out = r over x[0 … n), of any reduction whose members are WF_HD, in the order of the elements
/// unless it commutes. x and out are memory that the device reads and writes; x at any multiple of
/// its type's alignment. One kernel on `stream`, once `scratch` is prepared. Errors are CUDA's own.
template <class R, class T>
  requires reduction<R, T>
cudaError_t reduce(const R& r, const T* x, std::uint64_t n, result_of<R>* out, workspace& scratch,
                   cudaStream_t stream, std::int64_t stride = 1) {
  const void* const inputs[] = {x};
  return reduce_with<plain_fold<R, T>, T>({r}, inputs, &stride, n, out, scratch, stream);
}

}  // namespace wf::device::inline WF_BUILD
