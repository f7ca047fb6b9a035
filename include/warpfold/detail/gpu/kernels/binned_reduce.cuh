// SPDX-License-Identifier: Apache-2.0
/// \file binned_reduce.cuh
/// Exact reductions of floats of any data in one launch, by bins (binned_rows.cuh): the answers that no certificate gives.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/binned_rows.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>
#include <warpfold/detail/gpu/kernels/exact_reduce.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Calls f(elements…) with element i of each input.
template <class... T, class F>
__device__ __forceinline__ void with_elements(const arrays<sizeof...(T)>& a, std::uint64_t i, F f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    f(load_item<T>(a.x[K] + static_cast<std::int64_t>(i) * a.stride[K])...);
  }(std::index_sequence_for<T...>());
}

inline constexpr int binned_threads = 512;

/// Leaves at once if there is a verdict and it says that *out is the answer. Where a state is wanted, the verdict is written:
/// whether there were no special values.
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(binned_threads, resident_blocks(binned_threads, 2))
    binned_kernel(arrays<1 + sizeof...(Ts)> a, exact_question q, Out* out, std::uint64_t* tallies, std::uint32_t* verdict) {
  await_stream();
  if (!q.states && verdict != nullptr && *verdict != 0) return;
  using bins = binned_rows<T, Terms, bin_copies<T, Terms>>;
  constexpr int inputs = 1 + sizeof...(Ts), items = 16 / static_cast<int>(sizeof(T)), loads = inputs == 1 ? 4 : 2;
  auto& rows = *reinterpret_cast<bins*>(wf_dynamic_shared);
  __shared__ struct {
    std::int64_t digits[bins::digits + spread_digits<bins>];
    std::uint32_t kinds[bins::watches];
  } block;
  rows.clear();
  for (int k = static_cast<int>(threadIdx.x); k < bins::digits; k += binned_threads) block.digits[k] = 0;
  typename bins::watch watch;
  watch.start(q.states);
  __syncthreads();
  // Rounds in which the block's threads may add before the bins must be emptied, of packs and of elements.
  constexpr int each_copy = binned_threads / bin_copies<T, Terms>;
  constexpr int rounds = bins::most_elements / each_copy / (items * loads), item_rounds = bins::most_elements / each_copy;
  static_assert(rounds > 0);
  const bool magnitudes = q.what == op::norm1;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * binned_threads, begin = blockIdx.x * std::uint64_t{binned_threads};
  const loader<cache::share> load(a.kept);
  const auto flush = [&] {
    __syncthreads();
    rows.flush(block.digits);
    __syncthreads();
  };
  int left = rounds;
#pragma unroll 1
  for (std::uint64_t base = begin; base < a.packs; base += threads * loads) {
    const std::uint64_t v = base + threadIdx.x;
    pack p[loads][inputs];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      if (v + threads * u < a.packs) {
#pragma unroll
        for (int k = 0; k < inputs; ++k) p[u][k] = load_pack_of<static_cast<int>(sizeof(T))>(a, k, v + threads * u, load);
      }
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      if (v + threads * u < a.packs) {
#pragma unroll
        for (int i = 0; i < items; ++i) {
          if constexpr (inputs == 1) rows.add(watch, magnitudes, item_of<T>(p[u][0], i));
          else rows.add(watch, magnitudes, item_of<T>(p[u][0], i), item_of<T>(p[u][1], i));
        }
      }
    }
    if (--left == 0) {
      flush();
      left = rounds;
    }
  }
  flush();
  left = item_rounds;
#pragma unroll 1
  for (std::uint64_t base = begin + a.packs * items; base < a.n; base += threads) {
    const std::uint64_t i = base + threadIdx.x;
    if (i < a.n) with_elements<T, Ts...>(a, i, [&](const auto&... x) { rows.add(watch, magnitudes, x...); });
    if (--left == 0) {
      flush();
      left = item_rounds;
    }
  }
  __syncwarp();
  rows.tell(watch);
  flush();
  {  // a step of carrying, so that digits are small enough for what follows
    constexpr int each = (bins::digits + binned_threads - 1) / binned_threads;
    std::int64_t v[each];
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int k = static_cast<int>(threadIdx.x) + j * binned_threads;
      v[j] = k < bins::digits ? settled<bins>(block.digits, k) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int k = static_cast<int>(threadIdx.x) + j * binned_threads;
      if (k < bins::digits) block.digits[k] = v[j];
    }
  }
  if (threadIdx.x < bins::watches) block.kinds[threadIdx.x] = rows.kinds[threadIdx.x];
  __syncthreads();
  if (!gather_digits<bins, binned_threads>(block.digits, block.kinds, tallies)) return;
  if constexpr (Terms != terms::moments || !bins::complex) {  // whose states keep the squares of the parts apart
    if (q.states) {
      if (threadIdx.x == 0) *verdict = put_state<T, Terms>(block.digits, block.kinds, a.n, q.what, reinterpret_cast<std::int64_t*>(out)) ? 1u : 0u;
      return;
    }
  }
  if (warp_index() == 0) answer_of_rows<bins>(block.digits, block.kinds, a.n, q, out);
}

/// Enqueues the kernel.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t binned_reduce(const exact_question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n, void* out,
                          workspace& scratch, cudaStream_t stream, std::uint32_t* verdict = nullptr) {
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  const std::uint64_t work = a.packs != 0 ? a.packs : n;
  const std::uint32_t blocks = at_most(divide_up(work + 1, 2 * binned_threads), 2 * scratch.multiprocessors());
  return launch(binned_kernel<Terms, Out, T, Ts...>,
                {blocks, binned_threads, sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>), stream, scratch.overlaps()}, a, q,
                static_cast<Out*>(out), scratch.tally(), verdict);
}

/// Enqueues what writes the state of the elements, and behind it what counts special values if there are some.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t binned_state(op what, const void* const* x, const std::int64_t* stride, std::uint64_t n, void* state, workspace& scratch,
                         cudaStream_t stream) {
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  exact_question q{what, wf::rounding::nearest, 0};
  q.states = true;
  e = binned_reduce<Terms, Out, T, Ts...>(q, x, stride, n, state, scratch, stream, scratch.verdict());
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  return launch(count_specials_kernel<Terms, T, Ts...>,
                {at_most(divide_up(n + 1, 4 * 256), 8 * scratch.multiprocessors()), 256, 0, stream, scratch.overlaps()}, a,
                what == op::norm1, static_cast<std::int64_t*>(state), static_cast<const std::uint32_t*>(scratch.verdict()));
}

}  // namespace wf::device::inline WF_BUILD
