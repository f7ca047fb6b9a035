// SPDX-License-Identifier: Apache-2.0
/// \file domain.cuh
/// The protocols of domains of whole arrays, which say which elements a thread walks and how it loads them; and those domains. For rows see rows_view.cuh.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/thread.cuh>

namespace wf::device::inline WF_BUILD {

/// A domain of arrays of T that are cut into packs. All threads call walk(part, shared, start, add, after_batch), which calls start() once, add(pack) with
/// each pack of the thread, and after_batch(packs) behind each batch of at most so many. Which thread adds which elements, and in which order, depends on the cut alone.
template <class D, class T>
concept pack_domain = requires(const array_part<T>& part, unsigned char* shared, void (*start)(), void (*add)(const pack&), void (*after_batch)(int)) {
  { D::threads } -> std::convertible_to<int>;               // a block's
  { D::loads } -> std::convertible_to<int>;                 // packs of a batch, at most
  { D::ahead } -> std::convertible_to<bool>;                // whether registers hold the next batch too
  { D::shared_bytes } -> std::convertible_to<std::size_t>;  // dynamic shared memory, from `shared` on
  D::walk(part, shared, start, add, after_batch);
};
/// A domain that has no code for some architectures.
template <class D>
concept built_for_some = requires { { D::is_built } -> std::convertible_to<bool>; };
template <class D>
inline constexpr bool is_built = true;
template <built_for_some D>
inline constexpr bool is_built<D> = D::is_built;

/// A domain of one or two arrays of any elements. walk(arrays, add, add_item) calls add(packs, v) with pack v of each array, and add_item(i) for each
/// element of the thread that no pack holds.
template <class D, int Inputs>
concept item_domain = requires(const arrays<Inputs>& a, void (*add)(const pack (&)[Inputs], std::uint64_t), void (*add_item)(std::uint64_t)) {
  D::walk(a, add, add_item);
};

/// Each thread loads its packs itself, as Walk says (thread.cuh).
template <int Threads, class Walk, bool Aligned>
struct by_loads {
  static constexpr int threads = Threads, loads = Walk::loads;
  static constexpr bool ahead = Walk::ahead;
  static constexpr std::size_t shared_bytes = 0;

  template <class Part, class Start, class Add, class AfterBatch>
  static __device__ __forceinline__ void walk(const Part& part, unsigned char*, Start start, Add add, AfterBatch after_batch) {
    for_each_pack<Walk, Aligned>(part, blockIdx.x * Threads + threadIdx.x, start, add, [&] { after_batch(loads); });
  }
};

/// Each block's packs lie side by side, in rows of one pack per thread, as many rows as the cut has rounds. It is for arrays in L2, whose threads have few packs: one loop of
/// little code, without the odd batch that by_loads begins with. (Exact sums of 2^20 f32 took 3.4 µs by loads with it, and take 3.2 µs without.)
template <int Threads, int Loads>
struct side_by_side {
  static constexpr int threads = Threads, loads = Loads;
  static constexpr bool ahead = false;
  static constexpr std::size_t shared_bytes = 0;

  template <class Part, class Start, class Add, class AfterBatch>
  static __device__ __forceinline__ void walk(const Part& part, unsigned char*, Start start, Add add, AfterBatch after_batch) {
    using T = typename Part::element;
    const auto packs = static_cast<std::uint32_t>(part.last);
    const std::uint32_t mine = (static_cast<std::uint32_t>(part.rounds) + (part.whole_rest != 0 ? 1 : 0)) * Threads;
    const std::uint32_t begin = blockIdx.x * mine, end = min(begin + mine, packs);
    const loader<cache::keep> load(1);
    const auto fetch = [&](std::uint32_t v) { return load(part.x + std::uint64_t{v} * pack_items<T>); };
    start();
    std::uint32_t v = begin + threadIdx.x;
    pack p[Loads];
#pragma unroll 1
    for (; v + (Loads - 1) * Threads < end; v += Loads * Threads) {
#pragma unroll
      for (int u = 0; u < Loads; ++u) p[u] = fetch(v + u * Threads);
#pragma unroll
      for (int u = 0; u < Loads; ++u) add(p[u]);
      after_batch(Loads);
    }
    if (v < end) {
#pragma unroll
      for (int u = 0; u < Loads - 1; ++u) {
        if (v + u * Threads < end) p[u] = fetch(v + u * Threads);
      }
#pragma unroll
      for (int u = 0; u < Loads - 1; ++u) {
        if (v + u * Threads < end) add(p[u]);
      }
      after_batch(Loads);
    }
    if (part.rest != 0 && blockIdx.x == 0 && threadIdx.x < 2) {  // before the packs, and behind them
      const bool head = threadIdx.x == 0;
      const std::uint32_t count = head ? part.head() : part.tail();
      if (count != 0) add(load_part(head ? part.x - count : part.x + part.last * pack_items<T>, static_cast<int>(count)));
      after_batch(1);
    }
  }
};

/// Chunks of `Each` packs per thread come by way of shared memory (bulk.cuh).
template <int Threads, int Each, int Stages, bool Aligned>
struct by_copies {
  using ring = bulk_ring<bulk_chunk<Threads, Each>, Stages>;
  static constexpr int threads = Threads, loads = Each;
  static constexpr bool ahead = false;
  static constexpr std::size_t shared_bytes = ring::shared_bytes;
  static constexpr bool is_built = has_bulk_copies;

  template <class Part, class Start, class Add, class AfterBatch>
  static __device__ __forceinline__ void walk(const Part& part, unsigned char* shared, Start start, Add add, AfterBatch after_batch) {
    __shared__ typename ring::barriers barriers;
    for_each_pack_bulk<Threads, Each, Stages, Aligned>(part, ring(shared, barriers), start, [&](const pack(&p)[Each], int count) {
#pragma unroll
      for (int u = 0; u < Each; ++u) {
        if (u < count) add(p[u]);
      }
      after_batch(Each);
    });
  }
};

/// Threads take packs in turn, Loads of each input on their way, and Ahead beside those that are added.
template <int Loads, int Size, bool Packs, int Ahead = 0>
struct in_turn {
  template <int Inputs, class Add, class AddItem>
  static __device__ __forceinline__ void walk(const arrays<Inputs>& a, Add add, AddItem add_item) {
    for_each_share<Loads, Size, Packs, Ahead>(a, add, add_item, [] {});
  }
};

}  // namespace wf::device::inline WF_BUILD
