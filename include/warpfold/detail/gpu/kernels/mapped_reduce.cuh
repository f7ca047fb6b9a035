// SPDX-License-Identifier: Apache-2.0
/// \file mapped_reduce.cuh
/// A function of the elements before a reduction, in one launch and without an array of what it gives. The folds and row
/// sets take it item by item, as they take the items of a strided array; the elements themselves are loaded in packs.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/fused_reduce.cuh>

namespace wf::device::inline WF_BUILD {

/// A user's reduction of what F makes of the elements.
template <class R, class F>
struct mapped_reduction {
  static constexpr bool commutes = wf::commutes<R>;
  R r;
  F f;
  WF_HD auto identity() const { return r.identity(); }
  template <class T>
  WF_HD auto lift(const T& x, std::int64_t i) const { return r.lift(f(x), i); }
  template <class T, class U>
  WF_HD auto lift(const T& x, const U& y, std::int64_t i) const { return r.lift(f(x, y), i); }
  template <class S>
  WF_HD auto combine(const S& a, const S& b) const { return r.combine(a, b); }
  template <class S>
  WF_HD auto finish(const S& s, std::int64_t n) const { return r.finish(s, n); }
};

/// A fold of what F makes of the elements, a U each.
template <class Fold, class F, class U, class... T>
struct mapped_fold {
  using state = typename Fold::state;
  using running = typename Fold::running;
  static constexpr int inputs = sizeof...(T), loads = 2;
  static constexpr bool packs = all_packable<T...>, ordered = keeps_order<Fold>;
  static constexpr int item_size = static_cast<int>((sizeof(T) + ...) / inputs);
  static constexpr int items = packs ? 16 / item_size : 1;
  static constexpr std::size_t shared_bytes = fold_bytes<Fold>;
  Fold fold;
  F f;

  __device__ __forceinline__ state identity() const { return fold.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return fold.combine(a, b); }
  __device__ __forceinline__ void fill(unsigned char* shared) const { fill_shared(fold, shared); }
  __device__ __forceinline__ running start(const unsigned char* shared = nullptr) const { return start_fold(fold, shared); }
  __device__ __forceinline__ void add(running& s, const pack (&p)[inputs], std::uint64_t v) const {
    if constexpr (packs) {
#pragma unroll
      for (int i = 0; i < items; ++i) {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
          add_item(s, v * items + static_cast<std::uint64_t>(i), item_of<T>(p[K], i)...);
        }(std::index_sequence_for<T...>());
      }
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t i, const T&... x) const {
    fold.add_item(s, i, __builtin_bit_cast(U, f(x...)));
  }
  /// What was added item by item is never looked for in the array again.
  __device__ __forceinline__ state total(const running& s, const arrays<inputs>&) const { return fold.total(s, {}); }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void* out) const { fold.write(s, n, out); }
};

/// This thread's share of what F makes of the arrays, into a row set.
template <any_row_set Rows, class F, class U, class... T>
__device__ __forceinline__ void feed_mapped(Rows& rows, const F& f, const arrays<sizeof...(T)>& a, const exact_question& q,
                                            typename Rows::room& room) {
  using E = kernel_element<U>;
  constexpr bool looks_ahead = anchored_row_set<Rows>;
  const auto add = [&](bool there, const T&... x) {
    if constexpr (looks_ahead) {
      rows.add_item(there, there ? __builtin_bit_cast(E, f(x...)) : E{});
    } else if (there) {
      rows.add_item(__builtin_bit_cast(E, f(x...)));
      rows.after_batch();
    }
  };
  if constexpr (looks_ahead) {
    const pack none[Rows::loads][1] = {};
    rows.start(q.what, q.doubles, room, none, 0);
  } else {
    rows.start(q.what);
  }
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  // The lanes of a warp stay together until the first of them has nothing more.
  const std::uint64_t warp_begins = lane_index();
  std::uint64_t done = 0;
  if constexpr (all_packable<T...>) {
    constexpr int inputs = sizeof...(T), size = static_cast<int>((sizeof(T) + ...) / inputs), items = 16 / size;
    const loader<cache::share> load(a.kept);
#pragma unroll 1
    for (std::uint64_t v = first; v - warp_begins < a.packs; v += threads) {
      pack p[inputs] = {};
      const bool there = v < a.packs;
      if (there) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[k] = load_pack_of<size>(a, k, v, load);
      }
#pragma unroll
      for (int i = 0; i < items; ++i) {
        [&]<std::size_t... K>(std::index_sequence<K...>) { add(there, item_of<T>(p[K], i)...); }(std::index_sequence_for<T...>());
      }
    }
    done = a.packs * items;
  }
#pragma unroll 1
  for (std::uint64_t i = done + first; i - warp_begins < a.n; i += threads) {
    const bool there = i < a.n;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      add(there, (there ? load_item<T>(a.x[K] + static_cast<std::int64_t>(i) * a.stride[K]) : T{})...);
    }(std::index_sequence_for<T...>());
  }
  rows.finish();
}

template <any_row_set Rows, class F, class U, class Out, int Threads, int MinBlocks, int Count, class... T>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    mapped_kernel(F f, arrays<sizeof...(T)> a, fused_question<Count> q, std::uint64_t* tallies) {
  await_stream();
  __shared__ rows_block<Rows, Threads> block;
  Rows rows{};
  feed_mapped<Rows, F, U, T...>(rows, f, a, q.of_rows, block.room);
  sum_rows_of_block(rows, block);
  if (!gather_rows(block, tallies)) return;
  if (warp_index() == 0) answers_of_rows<Rows, U, Out>(block.digits, block.kinds, a.n, q);
}

/// Enqueues one kernel: operation `what`, of what f makes of n elements of each input, a U each.
template <class U, class... T, class What, class F>
cudaError_t mapped_reduce(const What& what, const F& f, const options& told, const void* const* x, const std::int64_t* stride,
                          std::uint64_t n, void* out, workspace& scratch, cudaStream_t stream) {
  using all = fusion<U, What>;
  const std::tuple<What> parts(what);
  const std::array<void*, 1> to{out};
  const all asked{parts, to};
  if constexpr (!all::plan.any) {
    using fold = std::remove_cv_t<decltype(asked.fold())>;
    const mapped_fold<fold, F, U, T...> mapped{asked.fold(), f};
    return reduce_with<mapped_fold<fold, F, U, T...>, T...>(mapped, x, stride, n, out, scratch, stream);
  } else {
    cudaError_t e = scratch.prepare(stream);
    if (e != cudaSuccess) return e;
    arrays<sizeof...(T)> a;
    if (!make_arrays<T...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
    const auto with = [&]<int Threads>() {
      using rows = typename all::template rows<Threads>;
      constexpr int resident = exact_resident<rows, Threads>;
      return launch(mapped_kernel<rows, F, U, typename all::number, Threads, resident, all::numbers, T...>,
                    {at_most(exact_workers<Threads>(a, resident, scratch), 4095), Threads, fused_dynamic_bytes<rows, no_fold, Threads>,
                     stream, scratch.overlaps()}, f, a, asked.question(told, scratch.fast_doubles()), scratch.tally());
    };
    constexpr block_sizes threads = fused_sizes<U, all::plan.what, all::plan.norm1>();
    constexpr std::size_t least = fused_shared_bytes<typename all::template rows<threads.least>, no_fold, threads.least>;
    if (scratch.block_shared_bytes() < least) return cudaErrorInvalidValue;
    return with.template operator()<threads.least>();  // one size of block: a kernel less to compile
  }
}

}  // namespace wf::device::inline WF_BUILD
