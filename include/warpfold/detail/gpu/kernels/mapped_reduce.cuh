// SPDX-License-Identifier: Apache-2.0
/// \file mapped_reduce.cuh
/// Applies a function to the elements before a reduction, in one launch and without an array of its values. The folds and row
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

/// A user's reduction of F's values for the elements.
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

/// A fold of F's values for the elements, each a U.
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
  /// Elements that were added item by item are never looked for in the array again.
  __device__ __forceinline__ state total(const running& s, const arrays<inputs>&) const { return fold.total(s, {}); }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void* out) const { fold.write(s, n, out); }
};

/// F's value for elements, as kernels know it.
template <class F, class U>
struct mapped_elements {
  F f;
  template <class... T>
  __device__ __forceinline__ kernel_element<U> operator()(const T&... x) const {
    return __builtin_bit_cast(kernel_element<U>, static_cast<U>(f(x...)));
  }
};

/// Adds this thread's share of F's values, which are integers, to a row set.
template <plain_row_set Rows, class F, class U, class... T>
__device__ __forceinline__ void feed_mapped(Rows& rows, const F& f, const arrays<sizeof...(T)>& a, const exact_question& q) {
  constexpr int size = static_cast<int>((sizeof(T) + ...) / sizeof...(T));
  const auto add = [&](const T&... x) {
    rows.add_item(static_cast<U>(f(x...)));
    rows.after_batch();
  };
  rows.start(q.what);
  for_each_share<1, size, all_packable<T...>>(
      a,
      [&](const pack(&p)[sizeof...(T)], std::uint64_t) {
        if constexpr (all_packable<T...>) {
#pragma unroll
          for (int i = 0; i < 16 / size; ++i) {
            [&]<std::size_t... K>(std::index_sequence<K...>) { add(item_of<T>(p[K], i)...); }(std::index_sequence_for<T...>());
          }
        }
      },
      [&](std::uint64_t i) { with_elements<T...>(a, i, add); }, [] {});
  rows.finish();
}

template <plain_row_set Rows, class F, class U, class Out, int Threads, int MinBlocks, int Count, class... T>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    mapped_kernel(F f, arrays<sizeof...(T)> a, fused_question<Count> q, std::uint64_t* tallies) {
  await_stream();
  __shared__ rows_block<Rows, Threads> block;
  Rows rows{};
  feed_mapped<Rows, F, U, T...>(rows, f, a, q.of_rows);
  sum_rows_of_block(rows, block);
  if (!gather_rows(block, tallies)) return;
  if (warp_index() == 0) answers_of_rows<Rows, U, Out>(block.digits, block.kinds, a.n, q);
}

/// Enqueues operation `what` over the n values, each a U, that f returns for elements of the inputs.
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
  } else if constexpr (!integer<U>) {
    return fused_by_certificate<all::plan.what, U, typename all::number, T...>(no_fold(), mapped_elements<F, U>{f}, asked.certificate(told),
                                                                               asked.template certificate<true>(told), x, stride, n, scratch, stream);
  } else {
    constexpr int threads = fused_integer_threads;
    cudaError_t e = scratch.prepare(stream);
    if (e != cudaSuccess) return e;
    arrays<sizeof...(T)> a;
    if (!make_arrays<T...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
    using rows = row_set<U, all::plan.what, threads>;
    constexpr int resident = exact_resident<rows, threads>;
    if (scratch.block_shared_bytes() < fused_shared_bytes<rows, no_fold, threads>) return cudaErrorInvalidValue;
    return launch(mapped_kernel<rows, F, U, typename all::number, threads, resident, all::numbers, T...>,
                  {at_most(exact_workers<threads>(a, resident, scratch), 4095), threads, fused_dynamic_bytes<rows, no_fold, threads>, stream, scratch.overlaps()}, f, a,
                  asked.question(told), scratch.tally());
  }
}

}  // namespace wf::device::inline WF_BUILD
