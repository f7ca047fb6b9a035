// SPDX-License-Identifier: Apache-2.0
/// \file rows_added.cuh
/// Sums of integers by label, of many answers: each element is added where it belongs by an atomic operation, which is exact in any order. Nothing is sorted.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/launch_table.hpp>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

#include "rows.cuh"

namespace wf::device::inline WF_BUILD {

inline constexpr int adder_threads = 256, adder_loads = 4;
/// Answers of sums of integers from which on elements are added where they belong, not sorted: fewer answers meet too often.
inline constexpr std::int64_t added_answers = 1 << 14;

inline constexpr std::uint32_t no_word = ~0u;  ///< a lane adds nothing
/// Adds up what the lanes that name one word have, in the first of them. Whether this lane is that one. All lanes call it.
template <class V, int N>
__device__ __forceinline__ bool sum_of_peers(std::uint32_t word, V (&sum)[N]) {
  const auto lane = static_cast<std::uint32_t>(lane_index());
  const unsigned peers = __match_any_sync(all_lanes, word);
  unsigned above = peers & (~1u << lane), rank = static_cast<unsigned>(__popc(peers & ((1u << lane) - 1)));
  const bool first = rank == 0 && word != no_word;
  if (word == no_word) above = 0;
  while (__any_sync(all_lanes, above != 0)) {  // as a tree: those at even places take the ones behind them
    const int next = __ffs(static_cast<int>(above)), from = next == 0 ? static_cast<int>(lane) : next - 1;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const V other = __shfl_sync(all_lanes, sum[k], from);
      if (next != 0) sum[k] += other;
    }
    above &= __ballot_sync(all_lanes, (rank & 1) == 0);
    rank >>= 1;
  }
  return first;
}
/// Adds each lane's number to the word that it names, modulo 2^64, and `beside` to the word behind it where a slot has two; nothing if `word` is no_word. All lanes call it.
template <bool Two>
__device__ __forceinline__ void add_to_words(unsigned long long* to, std::uint32_t word, std::int64_t sum, std::int64_t beside) {
  unsigned long long both[Two ? 2 : 1] = {static_cast<unsigned long long>(sum)};
  if constexpr (Two) both[1] = static_cast<unsigned long long>(beside);
  if (!sum_of_peers(word, both)) word = no_word;
  if constexpr (!Two) {
    if (word != no_word) atomicAdd(to + word, both[0]);
  } else {
    // Even lanes add first words and odd lanes second words: first those of the even lane, then those of the odd one, so that one request has both words.
    const bool odd = (lane_index() & 1) != 0;
    const std::uint32_t other = __shfl_xor_sync(all_lanes, word, 1);
    const unsigned long long given = __shfl_xor_sync(all_lanes, odd ? both[0] : both[1], 1), kept = odd ? both[1] : both[0];
    const std::uint32_t of_even = odd ? other : word, of_odd = odd ? word : other;
    if (of_even != no_word) atomicAdd(to + of_even + (odd ? 1 : 0), odd ? given : kept);
    __syncwarp();
    if (of_odd != no_word) atomicAdd(to + of_odd + (odd ? 1 : 0), odd ? kept : given);
  }
}

/// Adds each element to sums[label]: atomic operations of integers are exact in any order.
template <class V>
__global__ void __launch_bounds__(adder_threads) add_labelled_kernel(const unsigned char* x, std::int64_t stride, std::uint64_t sign, const std::int64_t* labels,
                                                                      std::uint32_t n, std::uint32_t answers, unsigned long long* sums) {
  const auto lane = static_cast<std::uint32_t>(lane_index());
  constexpr std::uint32_t warp_elements = warp_lanes * adder_loads;
  for (std::uint64_t at = (blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x) / warp_lanes * warp_elements; at < n; at += std::uint64_t{gridDim.x} * adder_threads * adder_loads) {
    std::uint64_t value[adder_loads] = {};
    std::uint32_t label[adder_loads];
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      const std::uint64_t i = at + j * warp_lanes + lane;
      const std::uint64_t given = i < n ? static_cast<std::uint64_t>(__ldcs(reinterpret_cast<const long long*>(labels) + i)) : ~std::uint64_t{0};
      label[j] = given < answers ? static_cast<std::uint32_t>(given) : no_word;
      if (i < n) value[j] = *reinterpret_cast<const V*>(x + static_cast<std::int64_t>(i) * stride);
    }
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      add_to_words<false>(sums, label[j], static_cast<std::int64_t>((value[j] ^ sign) - sign), 0);
    }
  }
}

/// Whether labels go this way.
inline bool adds_labels(const rows_request& r) {
  const bool whole = is_integer(r.element) && r.element != dtype::boolean;
  return r.what == op::sum && whole && !r.checked && r.state_bytes == 0 && r.segments >= added_answers && r.segments < UINT32_MAX && r.length[0] < UINT32_MAX;
}

/// Sums of integers by label, by atomic operations; `out` may be memory of the host, where those would be slow.
template <class V>
cudaError_t enqueue_added_labels(const rows_request& r, workspace& scratch, cudaStream_t stream) {
  const auto answers = static_cast<std::uint32_t>(r.segments), n = static_cast<std::uint32_t>(r.length[0]);
  void* memory = nullptr;
  cudaError_t e = cudaMallocAsync(&memory, std::size_t{answers} * 8, stream);
  if (e != cudaSuccess) return e;
  auto* const sums = static_cast<unsigned long long*>(memory);
  e = cudaMemsetAsync(memory, 0, std::size_t{answers} * 8, stream);
  const bool has_sign = r.element == dtype::i8 || r.element == dtype::i16 || r.element == dtype::i32;
  if (e == cudaSuccess && n != 0) {
    const std::uint32_t blocks = at_most(divide_up(n, adder_threads * adder_loads), 8 * scratch.multiprocessors());
    e = launch(add_labelled_kernel<V>, {blocks, adder_threads, 0, stream, false}, static_cast<const unsigned char*>(r.x[0]),
               r.stride[0][0] * static_cast<std::int64_t>(sizeof(V)), has_sign ? std::uint64_t{1} << (8 * sizeof(V) - 1) : 0, r.labels, n, answers, sums);
  }
  if (e == cudaSuccess) e = cudaMemcpyAsync(r.out, memory, std::size_t{answers} * 8, cudaMemcpyDefault, stream);
  const cudaError_t freed = cudaFreeAsync(memory, stream);
  return e != cudaSuccess ? e : freed;
}

}  // namespace wf::device::inline WF_BUILD
