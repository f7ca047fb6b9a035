// SPDX-License-Identifier: Apache-2.0
// Elements with labels as segments: a stable radix sort of labels that takes the elements, or their places, along, and the offsets at which
// labels begin. Every step's result depends on the labels alone, and elements of a label keep their order.
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

#include "rows.cuh"
#include "rows_added.cuh"
#include "rows_added_floats.cuh"
#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

constexpr int label_threads = 512, label_warps = label_threads / warp_lanes;
constexpr int label_items = 16;  ///< each thread's in a tile
constexpr std::uint32_t label_tile = label_threads * label_items, warp_tile = warp_lanes * label_items;
constexpr int label_blocks = 2;  ///< on a multiprocessor: 64 registers a thread
constexpr int label_bits = 10;   ///< at most in a pass: a tile has runs of 8 elements of a digit, and they are written side by side
static_assert(1 << label_bits <= 2 * label_threads);  // two digits a thread
constexpr int count_threads = 1024, count_words = 4096;
constexpr int copy_threads = 256;

/// What a pass sorts by: labels as they are given, or as the pass before has written them.
struct label_pass {
  const std::int64_t* given;  ///< null after the first pass
  const std::uint32_t* written;
  std::uint32_t n, answers;
  std::uint32_t each;  ///< elements of a block, whole tiles
  int shift, bits;

  /// A label that no answer has comes behind all others.
  __device__ __forceinline__ std::uint32_t label(std::uint32_t i) const {
    if (given == nullptr) return __ldcs(written + i);
    const auto label = static_cast<std::uint64_t>(__ldcs(reinterpret_cast<const long long*>(given) + i));
    return label < answers ? static_cast<std::uint32_t>(label) : answers;
  }
  /// Loads the labels of elements i, i + step, …: all loads are on their way before one is waited for.
  template <int Count>
  __device__ __forceinline__ void load(std::uint32_t i, std::uint32_t step, std::uint32_t (&to)[Count]) const {
    if (given == nullptr) {
#pragma unroll
      for (unsigned j = 0; j < Count; ++j) to[j] = __ldcs(written + i + j * step);
    } else {
      long long label[Count];
#pragma unroll
      for (unsigned j = 0; j < Count; ++j) label[j] = __ldcs(reinterpret_cast<const long long*>(given) + i + j * step);
#pragma unroll
      for (unsigned j = 0; j < Count; ++j) to[j] = static_cast<std::uint64_t>(label[j]) < answers ? static_cast<std::uint32_t>(label[j]) : answers;
    }
  }
  __device__ __forceinline__ std::uint32_t digits() const { return 1u << bits; }
  __device__ __forceinline__ std::uint32_t digit(std::uint32_t label) const { return label >> shift & (digits() - 1); }
  __device__ __forceinline__ std::uint32_t begin() const { return blockIdx.x * each; }
  __device__ __forceinline__ std::uint32_t elements() const { return min(each, n - begin()); }
};

/// What goes along with a label: its element, or where it lies.
template <class V>
struct label_value {
  const unsigned char* x;  ///< null: places
  std::int64_t stride;     ///< bytes
  int align;

  /// Loads what goes along with elements i, i + 32, …, those with j · 32 < rest.
  template <int Count>
  __device__ __forceinline__ void load(std::uint32_t i, int rest, V (&to)[Count]) const {
    if constexpr (sizeof(V) == 4) {
      if (x == nullptr) {
#pragma unroll
        for (int j = 0; j < Count; ++j) to[j] = i + static_cast<unsigned>(j * warp_lanes);
        return;
      }
    }
    const unsigned char* const p = x + std::int64_t{i} * stride;
    if constexpr (sizeof(V) == 8) {
      if (align == 4) {  // complex numbers
#pragma unroll
        for (int j = 0; j < Count; ++j) {
          if (j * warp_lanes >= rest) continue;
          const auto* const half = reinterpret_cast<const std::uint32_t*>(p + j * warp_lanes * stride);
          to[j] = __ldcs(half) | V{__ldcs(half + 1)} << 32;
        }
        return;
      }
    }
#pragma unroll
    for (int j = 0; j < Count; ++j) {
      if (j * warp_lanes < rest) to[j] = __ldcs(reinterpret_cast<const V*>(p + j * warp_lanes * stride));
    }
  }
};

/// The arrays that a pass writes.
template <class V>
struct label_target {
  std::uint32_t* labels;  ///< null: nobody needs them
  V* values;
  int stride;              ///< from a label or value to the next: 2 where they are pairs
  std::uint32_t* offsets;  ///< null, or where labels begin: of a single pass
};

/// How often each digit comes in a block's elements: counts[digit][block].
__global__ void __launch_bounds__(count_threads) count_labels_kernel(label_pass p, std::uint32_t* counts) {
  __shared__ std::uint32_t count[count_words];  // copies[digit][copy]: lanes that have the same digit meet less often
  const std::uint32_t digits = p.digits(), copies = min(std::uint32_t{warp_lanes}, count_words / digits), copy = threadIdx.x & (copies - 1);
  for (std::uint32_t k = threadIdx.x; k < digits * copies; k += count_threads) count[k] = 0;
  __syncthreads();
  const std::uint32_t first = p.begin(), elements = p.elements();
  constexpr std::uint32_t loads = 8;
  std::uint32_t i = threadIdx.x;
#pragma unroll 1
  for (; i < elements && elements - i > (loads - 1) * count_threads; i += loads * count_threads) {
    std::uint32_t label[loads];
    p.load(first + i, count_threads, label);
#pragma unroll
    for (unsigned j = 0; j < loads; ++j) atomicAdd(count + p.digit(label[j]) * copies + copy, 1u);
  }
#pragma unroll 1
  for (; i < elements; i += count_threads) atomicAdd(count + p.digit(p.label(first + i)) * copies + copy, 1u);
  __syncthreads();
  for (std::uint32_t d = threadIdx.x; d < digits; d += count_threads) {
    std::uint32_t all = 0;
    for (std::uint32_t k = 0; k < copies; ++k) all += count[d * copies + (d + k) % copies];
    counts[std::uint64_t{d} * gridDim.x + blockIdx.x] = all;
  }
}

/// Each count of a digit becomes the sum of the earlier blocks' counts, and of_digit[digit] the sum of all; one warp per digit.
__global__ void __launch_bounds__(copy_threads) sum_labels_kernel(std::uint32_t* counts, std::uint32_t digits, std::uint32_t blocks, std::uint32_t* of_digit) {
  const std::uint32_t d = blockIdx.x * (copy_threads / warp_lanes) + static_cast<unsigned>(warp_index()), lane = static_cast<unsigned>(lane_index());
  if (d >= digits) return;
  std::uint32_t* const mine = counts + std::uint64_t{d} * blocks;
  std::uint32_t before = 0;
  for (std::uint32_t at = 0; at < blocks; at += warp_lanes) {
    const std::uint32_t count = at + lane < blocks ? mine[at + lane] : 0;
    std::uint32_t up_to = count;
#pragma unroll
    for (unsigned step = 1; step < warp_lanes; step *= 2) {
      const std::uint32_t below = __shfl_up_sync(all_lanes, up_to, step);
      if (lane >= step) up_to += below;
    }
    if (at + lane < blocks) mine[at + lane] = before + up_to - count;
    before += __shfl_sync(all_lanes, up_to, 31);
  }
  if (lane == 0) of_digit[d] = before;
}

/// The sum of the values of the threads before this one. It has two barriers.
__device__ __forceinline__ std::uint32_t sum_of_threads_before(std::uint32_t mine, std::uint32_t (&of_warp)[label_warps]) {
  const auto lane = static_cast<unsigned>(lane_index());
  std::uint32_t up_to = mine;
#pragma unroll
  for (unsigned step = 1; step < warp_lanes; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(all_lanes, up_to, step);
    if (lane >= step) up_to += below;
  }
  if (lane == warp_lanes - 1) of_warp[warp_index()] = up_to;
  __syncthreads();
  const std::uint32_t warp_before = warp_add(lane < static_cast<unsigned>(warp_index()) ? of_warp[lane % label_warps] : 0);
  __syncthreads();
  return warp_before + up_to - mine;
}

/// How many bytes of shared memory a pass takes: two words per digit, and a count of each digit for each warp, or a label or value for each element.
constexpr std::size_t label_shared(int bits, int value) {
  const std::size_t digits = std::size_t{1} << bits, counts = digits * label_warps * 4, items = std::size_t{label_tile} * static_cast<unsigned>(value < 4 ? 4 : value);
  return digits * 8 + (counts > items ? counts : items);
}

/// How often this thread's two digits come in all elements, counted by the only block of a launch in label_warps words of shared memory per digit: lanes that
/// have the same digit add to different words. Two barriers.
__device__ __forceinline__ void count_alone(const label_pass& p, std::uint32_t* room, std::uint32_t (&count)[2]) {
  const std::uint32_t digits = p.digits(), copy = threadIdx.x % label_warps, mine = 2 * threadIdx.x;
  for (std::uint32_t k = threadIdx.x; k < digits * label_warps; k += label_threads) room[k] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < p.n; i += label_threads) atomicAdd(room + p.digit(p.label(i)) * label_warps + copy, 1u);
  __syncthreads();
  if (mine >= digits) return;
#pragma unroll
  for (unsigned k = 0; k < 2; ++k) {
    for (std::uint32_t w = 0; w < label_warps; ++w) count[k] += room[(mine + k) * label_warps + (w + copy) % label_warps];
  }
}

/// Each element goes behind those of lower digits and the earlier ones of its own. A tile is put in order in shared memory, so that
/// neighbouring threads write neighbouring elements. A block that is alone is given no counts, and counts by itself.
template <class V>
__global__ void __launch_bounds__(label_threads, resident_blocks(label_threads, label_blocks))
    sort_labels_kernel(label_pass p, label_value<V> from, const std::uint32_t* counts, const std::uint32_t* of_digit, label_target<V> to) {
  __shared__ std::uint32_t of_warp[label_warps];
  const std::uint32_t digits = p.digits();
  auto* const way = reinterpret_cast<std::uint32_t*>(wf_dynamic_shared);  // from an element's place in the tile to the one where it is written
  std::uint32_t* const begins = way + digits;                             // for digits in the tile
  std::uint32_t* const room = begins + digits;
  const auto lane = static_cast<std::uint32_t>(lane_index()), warp = static_cast<std::uint32_t>(warp_index());
  std::uint32_t* const of_digits = room + warp * digits;  // so far of each digit, of this warp
  auto* const values = reinterpret_cast<V*>(room);
  // This thread's two digits.
  const std::uint32_t mine = 2 * threadIdx.x;
  std::uint32_t base[2] = {0, 0};
  {
    std::uint32_t count[2] = {0, 0};
    if (counts == nullptr) {
      count_alone(p, room, count);
    } else if (mine < digits) {
      count[0] = of_digit[mine];
      count[1] = of_digit[mine + 1];
    }
    base[0] = sum_of_threads_before(count[0] + count[1], of_warp);
    base[1] = base[0] + count[0];
    if (mine < digits) {
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        if (to.offsets != nullptr && blockIdx.x == 0 && mine + k <= p.answers) to.offsets[mine + k] = base[k];
        if (counts != nullptr) base[k] += counts[std::uint64_t{mine + k} * gridDim.x + blockIdx.x];
      }
    }
  }
  std::uint32_t first = p.begin();
#pragma unroll 1
  for (std::uint32_t left = p.elements(); left != 0;) {
    const std::uint32_t here = min(left, label_tile), from_warp = warp * warp_tile + lane;
    // Element j of this thread is there if 32 j < rest, as they are read; if label_threads * j < rest_in_order, as they are written.
    const int rest = static_cast<int>(here) - static_cast<int>(from_warp), rest_in_order = static_cast<int>(here) - static_cast<int>(threadIdx.x);
    for (std::uint32_t k = threadIdx.x; k < digits * label_warps; k += label_threads) room[k] = 0;
    std::uint32_t label[label_items], place[label_items];
    const bool any = warp * warp_tile < here;
    if (here == label_tile) {
      p.load(first + from_warp, warp_lanes, label);
    } else {
#pragma unroll
      for (int j = 0; j < label_items; ++j) {
        label[j] = ~0u;  // those that are not there come behind all others of the tile
        if (j * warp_lanes < rest) label[j] = p.label(first + from_warp + static_cast<unsigned>(j * warp_lanes));
      }
    }
    __syncthreads();
    if (any) {
      // Lanes with the same digit, bit by bit.
#pragma unroll
      for (int j = 0; j < label_items; ++j) place[j] = all_lanes;
#pragma unroll 1
      for (int b = p.shift; b < p.shift + p.bits; ++b) {
#pragma unroll
        for (int j = 0; j < label_items; ++j) {
          const bool bit = (label[j] >> b & 1) != 0;
          const unsigned ones = __ballot_sync(all_lanes, bit);
          place[j] &= bit ? ones : ~ones;
        }
      }
      // The last of them counts them; row by row, so that earlier elements come first.
#pragma unroll
      for (int j = 0; j < label_items; ++j) {
        const unsigned peers = place[j];
        const auto last = 31 - static_cast<unsigned>(__clz(static_cast<int>(peers)));
        std::uint32_t before = 0;
        if (lane == last) before = atomicAdd(of_digits + p.digit(label[j]), static_cast<std::uint32_t>(__popc(peers)));
        before = __shfl_sync(all_lanes, before, static_cast<int>(last));
        place[j] = before + static_cast<std::uint32_t>(__popc(peers & ((1u << lane) - 1)));
      }
    }
    __syncthreads();
    std::uint32_t count[2] = {0, 0};
    if (mine < digits) {
#pragma unroll
      for (int w = 0; w < label_warps; ++w) {
        auto* const both = reinterpret_cast<uint2*>(room + static_cast<unsigned>(w) * digits + mine);
        const uint2 c = *both;
        *both = make_uint2(count[0], count[1]);
        count[0] += c.x;
        count[1] += c.y;
      }
    }
    const std::uint32_t before = sum_of_threads_before(count[0] + count[1], of_warp);
    if (mine < digits) {
      *reinterpret_cast<uint2*>(begins + mine) = make_uint2(before, before + count[0]);
      *reinterpret_cast<uint2*>(way + mine) = make_uint2(base[0] - before, base[1] - (before + count[0]));
      base[0] += count[0];
      base[1] += count[1];
    }
    __syncthreads();
    if (any) {
#pragma unroll
      for (int j = 0; j < label_items; ++j) {
        const std::uint32_t digit = p.digit(label[j]);
        place[j] += begins[digit] + of_digits[digit];
      }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < label_items; ++j) {
      if (j * warp_lanes < rest) room[place[j]] = label[j];
    }
    __syncthreads();
    std::uint32_t target[label_items];  // has no use where no element is
#pragma unroll
    for (unsigned j = 0; j < label_items; ++j) {
      const std::uint32_t k = threadIdx.x + j * label_threads;
      target[j] = k + way[p.digit(room[min(k, here - 1)])];
    }
    if (to.labels != nullptr) {
#pragma unroll
      for (int j = 0; j < label_items; ++j) {
        if (j * label_threads < rest_in_order) to.labels[std::uint64_t{target[j]} * static_cast<unsigned>(to.stride)] = room[static_cast<int>(threadIdx.x) + j * label_threads];
      }
    }
    __syncthreads();
#pragma unroll
    for (int half = 0; half < label_items; half += label_items / 2) {
      V some[label_items / 2] = {};
      from.load(first + from_warp + static_cast<unsigned>(half * warp_lanes), rest - half * warp_lanes, some);
#pragma unroll
      for (int j = 0; j < label_items / 2; ++j) {
        if ((half + j) * warp_lanes < rest) values[place[half + j]] = some[j];
      }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < label_items; ++j) {
      if (j * label_threads < rest_in_order) to.values[std::uint64_t{target[j]} * static_cast<unsigned>(to.stride)] = values[static_cast<int>(threadIdx.x) + j * label_threads];
    }
    __syncthreads();
    left -= here;
    first += here;
  }
}

/// offsets[k] becomes the number of elements with labels below k. Sorted labels lie `stride` words apart.
__global__ void __launch_bounds__(copy_threads) offsets_of_labels_kernel(const std::uint32_t* sorted, int stride, std::uint32_t n, std::uint32_t* offsets,
                                                                         std::uint32_t count) {
  for (std::uint64_t k = blockIdx.x * std::uint64_t{copy_threads} + threadIdx.x; k < count; k += std::uint64_t{gridDim.x} * copy_threads) {
    std::uint32_t low = 0, high = n;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (sorted[std::uint64_t{middle} * static_cast<unsigned>(stride)] < k) low = middle + 1;
      else high = middle;
    }
    offsets[k] = low;
  }
}

/// Writes elements side by side, in the order of their labels; `stride` is in bytes.
__global__ void __launch_bounds__(copy_threads) gather_labelled_kernel(const labelled* sorted, std::uint32_t n, const unsigned char* x,
                                                                        std::int64_t stride, int size, int align, unsigned char* to) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{copy_threads} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * copy_threads) {
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

/// Sorted values, and where those of each label begin.
template <class V>
struct sorted_by_label {
  void* memory = nullptr;  ///< holds all of it
  V* values = nullptr;
  std::uint32_t* offsets = nullptr;
};

/// Whether a multiprocessor has the shared memory to sort them, by at worst one bit per pass less than the most.
template <class V>
bool sorts_by_label(const workspace& scratch) {
  return label_shared(label_bits - 1, sizeof(V)) <= scratch.block_shared_bytes();
}

/// Enqueues the sort. Pairs: a value lies behind its label.
template <class V>
cudaError_t sort_by_label(const std::int64_t* labels, std::int64_t elements, std::int64_t many, label_value<V> from, bool pairs, sorted_by_label<V>& made,
                          workspace& scratch, cudaStream_t stream) {
  if (elements >= UINT32_MAX || many >= UINT32_MAX) return cudaErrorNotSupported;
  const auto n = static_cast<std::uint32_t>(elements), answers = static_cast<std::uint32_t>(many);
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const int bits = std::bit_width(answers | 1u), most_bits = label_shared(label_bits, sizeof(V)) <= scratch.block_shared_bytes() ? label_bits : label_bits - 1;
  const int passes = (bits + most_bits - 1) / most_bits, bits_each = (bits + passes - 1) / passes;
  const std::uint32_t tiles = divide_up(n, label_tile), most = label_blocks * scratch.multiprocessors();
  const std::uint32_t each = divide_up(tiles, most) * label_tile, blocks = n == 0 ? 0 : divide_up(n, each), digits = 1u << bits_each;
  std::size_t bytes = 0;
  const auto take = [&bytes](std::size_t more) {
    const std::size_t at = bytes;
    bytes += (more + 255) / 256 * 256;
    return at;
  };
  const std::size_t each_value = pairs ? 4 + sizeof(V) : sizeof(V);
  const std::size_t at_values[2] = {take(n * each_value), passes > 1 ? take(n * sizeof(V)) : 0};
  const std::size_t at_labels[2] = {passes > 1 && (!pairs || passes > 2) ? take(std::size_t{n} * 4) : 0, passes > 1 ? take(std::size_t{n} * 4) : 0};
  const std::size_t at_counts = take(std::size_t{digits} * blocks * 4), at_totals = take(std::size_t{digits} * 4), at_offsets = take((std::size_t{answers} + 1) * 4);
  void* memory = nullptr;
  e = cudaMallocAsync(&memory, bytes, stream);
  if (e != cudaSuccess) return e;
  auto* const room = static_cast<unsigned char*>(memory);
  const auto words = [room](std::size_t at) { return reinterpret_cast<std::uint32_t*>(room + at); };
  std::uint32_t *const counts = words(at_counts), *const totals = words(at_totals), *const offsets = words(at_offsets);
  label_pass p{labels, nullptr, n, answers, each, 0, bits_each};
  label_target<V> to{};
  for (int pass = 0; pass < passes && blocks != 0 && e == cudaSuccess; ++pass) {
    const int which = (passes - 1 - pass) % 2;
    const bool last = pass + 1 == passes;
    p.shift = pass * bits_each;
    to = {passes > 1 ? words(at_labels[which]) : nullptr, reinterpret_cast<V*>(room + at_values[which]), 1, passes > 1 ? nullptr : offsets};
    if (pairs && last) to = {words(at_values[0]), reinterpret_cast<V*>(room + at_values[0] + 4), 2, to.offsets};
    const bool alone = blocks == 1;
    if (!alone) e = launch(count_labels_kernel, {blocks, count_threads, 0, stream, false}, p, counts);
    if (!alone && e == cudaSuccess) e = launch(sum_labels_kernel, {divide_up(digits, copy_threads / warp_lanes), copy_threads, 0, stream, false}, counts, digits, blocks, totals);
    if (e == cudaSuccess) {
      e = launch(sort_labels_kernel<V>, {blocks, label_threads, label_shared(bits_each, sizeof(V)), stream, false}, p, from,
                 static_cast<const std::uint32_t*>(alone ? nullptr : counts), static_cast<const std::uint32_t*>(totals), to);
    }
    p.given = nullptr;
    p.written = to.labels;
    from = {reinterpret_cast<const unsigned char*>(to.values), sizeof(V), sizeof(V)};
  }
  if (e == cudaSuccess && (passes > 1 || blocks == 0)) {
    const std::uint32_t some = at_most(divide_up(std::uint64_t{answers} + 1, copy_threads), 16 * scratch.multiprocessors());
    e = launch(offsets_of_labels_kernel, {some, copy_threads, 0, stream, false}, static_cast<const std::uint32_t*>(to.labels), to.stride, n, offsets,
               answers + 1);
  }
  if (e != cudaSuccess) {
    cudaFreeAsync(memory, stream);
    return e;
  }
  made = {memory, reinterpret_cast<V*>(room + at_values[0]), offsets};
  return cudaSuccess;
}

/// Answers by label of elements of one input, which the sort takes along.
template <class V>
cudaError_t enqueue_sorted_rows(rows_function segments, const rows_request& r, int align, workspace& scratch, cudaStream_t stream) {
  sorted_by_label<V> sorted;
  const std::int64_t stride = r.stride[0][0] * static_cast<std::int64_t>(sizeof(V));
  const bool whole = reinterpret_cast<std::uintptr_t>(r.x[0]) % sizeof(V) == 0;
  const label_value<V> from{static_cast<const unsigned char*>(r.x[0]), stride, whole ? static_cast<int>(sizeof(V)) : align};
  cudaError_t e = sort_by_label<V>(r.labels, r.length[0], r.segments, from, false, sorted, scratch, stream);
  if (e != cudaSuccess) return e;
  rows_request s = r;
  s.labels = nullptr;
  s.offsets = sorted.offsets;
  s.offset_bytes = 4;
  s.x[0] = sorted.values;
  s.stride[0][0] = 1;
  e = segments(s, scratch, stream);
  const cudaError_t freed = cudaFreeAsync(sorted.memory, stream);
  return e != cudaSuccess ? e : freed;
}

}  // namespace

cudaError_t order_labels(const std::int64_t* labels, std::int64_t elements, std::int64_t many, label_order& made, workspace& scratch,
                         cudaStream_t stream) {
  sorted_by_label<std::uint32_t> sorted;
  const cudaError_t e = sort_by_label<std::uint32_t>(labels, elements, many, {nullptr, 0, 4}, true, sorted, scratch, stream);
  if (e == cudaSuccess) made = {sorted.memory, reinterpret_cast<const labelled*>(sorted.values), sorted.offsets};
  return e;
}

cudaError_t enqueue_rows_by_label(rows_function segments, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  if (r.kept != 0 || r.reduced != 1) return cudaErrorInvalidValue;
  if (r.segments == 0) return cudaSuccess;
  if (const cudaError_t e = scratch.prepare(stream); e != cudaSuccess) return e;
  const auto size = static_cast<int>(info(r.element).size), align = static_cast<int>(info(r.element).part);
  const int inputs = inputs_of(r.what);
  for (int k = 0; k < inputs && r.length[0] != 0; ++k) {
    if (reinterpret_cast<std::uintptr_t>(r.x[static_cast<std::size_t>(k)]) % static_cast<std::uintptr_t>(align) != 0) return cudaErrorMisalignedAddress;
  }
  switch (r.element) {
    case dtype::f16: if (adds_float_labels<f16>(r)) return enqueue_added_float_labels<f16>(r, scratch, stream); break;
    case dtype::bf16: if (adds_float_labels<bf16>(r)) return enqueue_added_float_labels<bf16>(r, scratch, stream); break;
    case dtype::f32: if (adds_float_labels<float>(r)) return enqueue_added_float_labels<float>(r, scratch, stream); break;
    case dtype::f64: if (adds_float_labels<double>(r)) return enqueue_added_float_labels<double>(r, scratch, stream); break;
    default: break;
  }
  if (adds_labels(r)) {
    switch (size) {
      case 1: return enqueue_added_labels<std::uint8_t>(r, scratch, stream);
      case 2: return enqueue_added_labels<std::uint16_t>(r, scratch, stream);
      case 4: return enqueue_added_labels<std::uint32_t>(r, scratch, stream);
      default: return enqueue_added_labels<std::uint64_t>(r, scratch, stream);
    }
  }
  if (inputs == 1) {
    switch (size) {
      case 1: return enqueue_sorted_rows<std::uint8_t>(segments, r, align, scratch, stream);
      case 2: return enqueue_sorted_rows<std::uint16_t>(segments, r, align, scratch, stream);
      case 4: return enqueue_sorted_rows<std::uint32_t>(segments, r, align, scratch, stream);
      case 8:
        if (sorts_by_label<std::uint64_t>(scratch)) return enqueue_sorted_rows<std::uint64_t>(segments, r, align, scratch, stream);
    }
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
    e = launch(gather_labelled_kernel, {at_most(divide_up(n, copy_threads), 16 * scratch.multiprocessors()), copy_threads, 0, stream, false},
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
