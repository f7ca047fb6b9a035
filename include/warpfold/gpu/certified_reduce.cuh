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
#include <warpfold/gpu/binned_reduce.cuh>
#include <warpfold/gpu/certified.cuh>
#include <warpfold/gpu/exact_reduce.cuh>
#include <warpfold/gpu/items.cuh>
#include <warpfold/gpu/launch.cuh>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// This thread's share of the arrays, then that of a block of up to Warps warps, in thread 0.
template <int Warps, terms Terms, class T, class... Ts>
__device__ __forceinline__ certified_state<certified_traits<T, Terms>> certified_block(
    const arrays<1 + sizeof...(Ts)>& a, const certified_question& q, certified_state<certified_traits<T, Terms>>* of_warp) {
  certified_running<T, Terms> running;
  running.start(q.q.what);
  for_each_share<4, static_cast<int>(sizeof(T)), true>(
      a, [&](const pack(&p)[1 + sizeof...(Ts)], std::uint64_t) { running.add(p); },
      [&](std::uint64_t i) { with_elements<T, Ts...>(a, i, [&](const auto&... x) { running.add_item(x...); }); }, [] {});
  auto s = running.total(q.length);
  s.template merge_block<Warps>(of_warp);
  return s;
}

template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(1024) certified_small_kernel(arrays<1 + sizeof...(Ts)> a, certified_question q, Out* out) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  using bins = binned_rows<T, Terms, 1>;
  __shared__ state of_warp[1024 / warp_lanes];
  __shared__ bins rows;
  __shared__ std::int64_t digits[bins::digits + spread_digits<bins>];
  __shared__ int sure;
  const state s = certified_block<32, Terms, T, Ts...>(a, q, of_warp);
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
  /// By all threads of a block, as many boxes as there are threads at a time: box threadIdx.x, threadIdx.x + blockDim.x, …
  /// below `count`, into s. A warp stays together.
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

/// *verdict = 1 if *out is the answer, else 0.
template <terms Terms, class Out, int Threads, class T, class... Ts>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, (Threads == 256 ? 512 : 1024) / Threads))
    certified_kernel(arrays<1 + sizeof...(Ts)> a, certified_question q, Out* out, std::uint64_t* boxes, std::uint32_t* verdict) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  using mailbox_type = certified_mailbox<state>;
  constexpr int warps = Threads / warp_lanes;
  __shared__ state of_warp[warps], of_warp_at_last[warps];
  state s = certified_block<warps, Terms, T, Ts...>(a, q, of_warp);
  if (!is_last_block()) {
    if (threadIdx.x == 0) mailbox_type::post(boxes, s);
    return;
  }
  if (threadIdx.x != 0) s = state::nothing();
  mailbox_type::collect(boxes, gridDim.x - 1, s);
  s.template merge_block<warps>(of_warp_at_last);
  if (threadIdx.x == 0) *verdict = certified_answer<T, Terms>(s, q, a.n, out) ? 1u : 0u;
}

/// Blocks of what is certified: few for arrays in L2, since each sends a message; then two of 512 threads a multiprocessor.
constexpr reduce_shape certified_shape_for(std::uint64_t packs, std::uint32_t sm) {
  if (packs <= 65536) return {divide_up(packs, 256), 256};
  if (packs <= 262144) return {divide_up(packs, 1024), 256};
  return {2 * sm, 512};
}

/// Packs that one block takes, whose numbers do not overflow bins.
inline constexpr std::uint64_t certified_small_packs = 4096;

/// Enqueues the kernel, and the exact one behind it where the array is not small.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t certified_reduce(const certified::question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n,
                             void* out, workspace& scratch, cudaStream_t stream) {
  using traits = certified_traits<T, Terms>;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  const std::uint64_t work = a.packs != 0 ? a.packs + (a.packs * traits::items < n ? 1 : 0) : n;
  const bool small = work <= certified_small_packs && n <= static_cast<std::uint64_t>(binned_rows<T, Terms, 1>::most_elements);
  reduce_shape shape = certified_shape_for(work, scratch.multiprocessors());
  if (small) shape = {1, at_most(work < 32 ? 32 : divide_up(work, 32) * 32, 1024)};
  shape.blocks = at_most(shape.blocks, certified_mailbox<certified_state<traits>>::most_blocks);
  const std::uint64_t threads = std::uint64_t{shape.blocks} * shape.threads, rest = n - a.packs * traits::items;
  const std::uint64_t length = (a.packs + threads - 1) / threads * traits::adds_of_pack +
                               (rest + threads - 1) / threads * (traits::numbers * traits::numbers) + 4;
  const certified_question asked{q, length, reciprocals::of(n, q.correction),
                                 loss_factors::of<traits::wide>(n * traits::numbers, length, traits::lanes, traits::chains)};
  const launch_config config{shape.blocks, shape.threads, 0, stream, scratch.overlaps()};
  if (small) return launch(certified_small_kernel<Terms, Out, T, Ts...>, config, a, asked, static_cast<Out*>(out));
  const cudaError_t launched =
      shape.threads == 256
          ? launch(certified_kernel<Terms, Out, 256, T, Ts...>, config, a, asked, static_cast<Out*>(out), scratch.mailbox(), scratch.verdict())
          : launch(certified_kernel<Terms, Out, 512, T, Ts...>, config, a, asked, static_cast<Out*>(out), scratch.mailbox(), scratch.verdict());
  if (launched != cudaSuccess) return launched;
  return binned_reduce<Terms, Out, T, Ts...>({q.what, q.rounding, q.correction}, x, stride, n, out, scratch, stream, scratch.verdict());
}

}  // namespace wf::device::inline WF_BUILD
