// SPDX-License-Identifier: Apache-2.0
// Elements with labels as segments: a stable radix sort of (label, place) pairs, the elements copied in that order, and the offsets
// at which labels begin. Every step's result depends on the labels alone, and elements of a label keep their order.
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

#include "rows.cuh"
#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

constexpr int label_threads = 256, label_warps = label_threads / warp_lanes;
constexpr int label_rounds = 8;  ///< elements of a thread in a tile
constexpr int label_bits = 8, label_digits = 1 << label_bits;
constexpr std::uint32_t label_tile = label_threads * label_rounds;
static_assert(label_digits == label_threads);  // a thread a digit

/// What a pass sorts: labels as they are given, or pairs that the pass before has written.
struct label_source {
  const std::int64_t* labels;  ///< null: pairs
  const labelled* pairs;
  std::uint32_t n, answers;
  std::uint32_t each;  ///< elements of a block, whole tiles
  int shift;

  /// A label that no answer has comes behind all others.
  __device__ __forceinline__ labelled operator[](std::uint32_t i) const {
    if (labels == nullptr) return pairs[i];
    const auto label = static_cast<std::uint64_t>(labels[i]);
    return {label < answers ? static_cast<std::uint32_t>(label) : answers, i};
  }
  __device__ __forceinline__ std::uint32_t digit(const labelled& x) const { return x.label >> shift & (label_digits - 1); }
  __device__ __forceinline__ std::uint32_t begin() const { return blockIdx.x * each; }
  __device__ __forceinline__ std::uint32_t end() const { return n - begin() < each ? n : begin() + each; }
};

/// How often each digit comes in a block's elements: counts[digit][block].
__global__ void __launch_bounds__(label_threads) count_labels_kernel(label_source from, std::uint32_t* counts) {
  __shared__ std::uint32_t count[label_digits];
  count[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t end = from.end();
  for (std::uint64_t i = from.begin() + threadIdx.x; i < end; i += label_threads) {
    atomicAdd(count + from.digit(from[static_cast<std::uint32_t>(i)]), 1u);
  }
  __syncthreads();
  counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

/// Each of `many` counts becomes the sum of those before it; by one block.
__global__ void __launch_bounds__(label_threads) sum_labels_kernel(std::uint32_t* counts, std::uint32_t many) {
  __shared__ std::uint32_t of_warp[label_warps];
  const std::uint32_t each = (many + label_threads - 1) / label_threads, lane = static_cast<std::uint32_t>(lane_index());
  const std::uint32_t begin = min(many, threadIdx.x * each), end = min(many, begin + each);
  std::uint32_t mine = 0;
  for (std::uint32_t k = begin; k < end; ++k) mine += counts[k];
  std::uint32_t up_to = mine;
#pragma unroll
  for (unsigned step = 1; step < warp_lanes; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(all_lanes, up_to, step);
    if (lane >= step) up_to += below;
  }
  if (lane == warp_lanes - 1) of_warp[warp_index()] = up_to;
  __syncthreads();
  std::uint32_t before = up_to - mine;
  for (int w = 0; w < warp_index(); ++w) before += of_warp[w];
  for (std::uint32_t k = begin; k < end; ++k) {
    const std::uint32_t count = counts[k];
    counts[k] = before;
    before += count;
  }
}

/// Each element goes behind those of lower digits and the earlier ones of its own.
__global__ void __launch_bounds__(label_threads) sort_labels_kernel(label_source from, const std::uint32_t* counts, labelled* to) {
  __shared__ std::uint32_t base[label_digits], of_warp[label_warps][label_digits];
  const auto lane = static_cast<std::uint32_t>(lane_index()), warp = static_cast<std::uint32_t>(warp_index());
  base[threadIdx.x] = counts[threadIdx.x * gridDim.x + blockIdx.x];
  const std::uint32_t end = from.end();
  for (std::uint64_t tile = from.begin(); tile < end; tile += label_tile) {
#pragma unroll
    for (int w = 0; w < label_warps; ++w) of_warp[w][threadIdx.x] = 0;
    __syncthreads();
    labelled x[label_rounds];
    std::uint32_t rank[label_rounds];
#pragma unroll
    for (int j = 0; j < label_rounds; ++j) {
      const std::uint64_t i = tile + (warp * label_rounds + static_cast<unsigned>(j)) * warp_lanes + lane;
      x[j] = i < end ? from[static_cast<std::uint32_t>(i)] : labelled{0, ~0u};
    }
#pragma unroll
    for (int j = 0; j < label_rounds; ++j) {
      const std::uint32_t digit = x[j].place != ~0u ? from.digit(x[j]) : label_digits;
      const unsigned peers = __match_any_sync(all_lanes, digit);
      const auto earlier = static_cast<std::uint32_t>(__popc(peers & ((1u << lane) - 1)));
      rank[j] = digit < label_digits ? of_warp[warp][digit] + earlier : 0;
      __syncwarp();
      if (digit < label_digits && earlier == 0) of_warp[warp][digit] += static_cast<std::uint32_t>(__popc(peers));
      __syncwarp();
    }
    __syncthreads();
    std::uint32_t before = 0;
#pragma unroll
    for (int w = 0; w < label_warps; ++w) {
      const std::uint32_t count = of_warp[w][threadIdx.x];
      of_warp[w][threadIdx.x] = before;
      before += count;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < label_rounds; ++j) {
      if (x[j].place == ~0u) continue;
      const std::uint32_t digit = from.digit(x[j]);
      to[base[digit] + of_warp[warp][digit] + rank[j]] = x[j];
    }
    __syncthreads();
    base[threadIdx.x] += before;
  }
}

/// offsets[k]: elements with labels below k.
__global__ void __launch_bounds__(label_threads) offsets_of_labels_kernel(const labelled* sorted, std::uint32_t n, std::uint32_t* offsets,
                                                                          std::uint32_t count) {
  for (std::uint64_t k = blockIdx.x * std::uint64_t{label_threads} + threadIdx.x; k < count; k += std::uint64_t{gridDim.x} * label_threads) {
    std::uint32_t low = 0, high = n;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (sorted[middle].label < k) low = middle + 1;
      else high = middle;
    }
    offsets[k] = low;
  }
}

/// Elements side by side, in the order of their labels; `stride` in bytes.
__global__ void __launch_bounds__(label_threads) gather_labelled_kernel(const labelled* sorted, std::uint32_t n, const unsigned char* x,
                                                                        std::int64_t stride, int size, int align, unsigned char* to) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{label_threads} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * label_threads) {
    const pack p = load_element(x + static_cast<std::int64_t>(sorted[i].place) * stride, size, align);
    unsigned char* const out = to + i * static_cast<unsigned>(size);
    switch (size) {
      case 1: *out = static_cast<unsigned char>(p.word[0]); break;
      case 2: *reinterpret_cast<std::uint16_t*>(out) = static_cast<std::uint16_t>(p.word[0]); break;
      case 4: *reinterpret_cast<std::uint32_t*>(out) = p.word[0]; break;
      case 8: *reinterpret_cast<uint2*>(out) = make_uint2(p.word[0], p.word[1]); break;
      default: *reinterpret_cast<uint4*>(out) = make_uint4(p.word[0], p.word[1], p.word[2], p.word[3]); break;
    }
  }
}

}  // namespace

cudaError_t order_labels(const std::int64_t* labels, std::int64_t elements, std::int64_t many, label_order& made, workspace& scratch,
                         cudaStream_t stream) {
  if (elements >= UINT32_MAX || many >= UINT32_MAX) return cudaErrorNotSupported;
  const auto n = static_cast<std::uint32_t>(elements), answers = static_cast<std::uint32_t>(many);
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const std::uint32_t tiles = divide_up(n, label_tile), most = 4 * scratch.multiprocessors();
  const std::uint32_t each = (tiles + most - 1) / most * label_tile, blocks = n == 0 ? 0 : divide_up(n, each);
  const int passes = (std::bit_width(answers) + label_bits - 1) / label_bits;
  std::size_t bytes = 0;
  const auto take = [&bytes](std::size_t more) {
    const std::size_t at = bytes;
    bytes += (more + 255) / 256 * 256;
    return at;
  };
  const std::size_t pairs = std::size_t{n} * sizeof(labelled);
  const std::size_t at[2] = {take(pairs), passes > 1 ? take(pairs) : 0};
  const std::size_t at_counts = take(std::size_t{label_digits} * blocks * 4), at_offsets = take((std::size_t{answers} + 1) * 4);
  void* memory = nullptr;
  e = cudaMallocAsync(&memory, bytes, stream);
  if (e != cudaSuccess) return e;
  auto* const room = static_cast<unsigned char*>(memory);
  auto* const counts = reinterpret_cast<std::uint32_t*>(room + at_counts);
  auto* const offsets = reinterpret_cast<std::uint32_t*>(room + at_offsets);
  label_source from{labels, nullptr, n, answers, each, 0};
  const launch_config by_block{blocks, label_threads, 0, stream, false};
  for (int pass = 0; pass < passes && blocks != 0 && e == cudaSuccess; ++pass) {
    auto* const to = reinterpret_cast<labelled*>(room + at[(passes - 1 - pass) % 2]);
    from.shift = pass * label_bits;
    e = launch(count_labels_kernel, by_block, from, counts);
    if (e == cudaSuccess) e = launch(sum_labels_kernel, {1, label_threads, 0, stream, false}, counts, label_digits * blocks);
    if (e == cudaSuccess) e = launch(sort_labels_kernel, by_block, from, static_cast<const std::uint32_t*>(counts), to);
    from.labels = nullptr;
    from.pairs = to;
  }
  const auto* const sorted = reinterpret_cast<const labelled*>(room + at[0]);
  if (e == cudaSuccess) {
    const std::uint32_t some = at_most(divide_up(std::uint64_t{answers} + 1, label_threads), 16 * scratch.multiprocessors());
    e = launch(offsets_of_labels_kernel, {some, label_threads, 0, stream, false}, sorted, n, offsets, answers + 1);
  }
  if (e != cudaSuccess) {
    cudaFreeAsync(memory, stream);
    return e;
  }
  made = {memory, sorted, offsets};
  return cudaSuccess;
}

cudaError_t enqueue_rows_by_label(rows_function segments, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  if (r.kept != 0 || r.reduced != 1) return cudaErrorInvalidValue;
  if (r.segments == 0) return cudaSuccess;
  const auto size = static_cast<int>(info(r.element).size), align = static_cast<int>(info(r.element).part);
  const int inputs = inputs_of(r.what);
  for (int k = 0; k < inputs && r.length[0] != 0; ++k) {
    if (reinterpret_cast<std::uintptr_t>(r.x[static_cast<std::size_t>(k)]) % static_cast<std::uintptr_t>(align) != 0) return cudaErrorMisalignedAddress;
  }
  label_order order;
  cudaError_t e = order_labels(r.labels, r.length[0], r.segments, order, scratch, stream);
  if (e != cudaSuccess) return e;
  const auto n = static_cast<std::uint32_t>(r.length[0]);
  const std::size_t copy = (std::size_t{n} * static_cast<unsigned>(size) + 255) / 256 * 256;
  void* copies = nullptr;
  e = cudaMallocAsync(&copies, (copy + 1) * static_cast<unsigned>(inputs), stream);
  rows_request s = r;
  s.labels = nullptr;
  s.offsets = order.offsets;
  s.offset_bytes = 4;
  for (int k = 0; k < inputs; ++k) {
    const auto input = static_cast<std::size_t>(k);
    auto* const to = static_cast<unsigned char*>(copies) + copy * input;
    s.x[input] = to;
    s.stride[input][0] = 1;
    if (e != cudaSuccess || n == 0) continue;
    e = launch(gather_labelled_kernel, {at_most(divide_up(n, label_threads), 16 * scratch.multiprocessors()), label_threads, 0, stream, false},
               order.elements, n, static_cast<const unsigned char*>(r.x[input]), r.stride[input][0] * size, size, align, to);
  }
  if (e == cudaSuccess) e = segments(s, scratch, stream);
  const cudaError_t freed = copies != nullptr ? cudaFreeAsync(copies, stream) : cudaSuccess, order_freed = cudaFreeAsync(order.memory, stream);
  return e != cudaSuccess ? e : freed != cudaSuccess ? freed : order_freed;
}

}  // namespace wf::device::inline WF_BUILD

#ifdef WF_LIBRARY_IS_SIMT  // not in tests of rows alone
int wf::device::built_kernels::order_labels(const std::int64_t* labels, std::int64_t n, std::int64_t answers, label_order* made, void* scratch,
                                            void* stream) {
  return device::order_labels(labels, n, answers, *made, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}
#endif
