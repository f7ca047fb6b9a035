// SPDX-License-Identifier: Apache-2.0
// The elements that count, one behind the other: each warp counts those of its share, and then writes them behind those of the shares before. The mask is read twice, elements once where no NaNs are
// looked for. No block waits for another, and nothing is told to the host. Or all elements, with what changes no answer in place of those that do not count.
#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/keys.cuh>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/detail/gpu/domain/selection.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

namespace {

constexpr unsigned select_threads = 256, select_warps = select_threads / warp_lanes;
constexpr unsigned select_resident = 4;                         ///< blocks of a multiprocessor
constexpr std::uint64_t select_alone = 16 * select_threads * 2;  ///< elements that one block takes alone, which saves a launch

/// Bit k: byte k of four is not 0.
__device__ __forceinline__ std::uint32_t bits_of_bytes(std::uint32_t w) {
  return ((nonzero_bytes(w) >> 7) * 0x10204080u) >> 28;
}

/// A tile of a warp: `rows` rows of one element per lane.
template <class T, bool Flat>
struct selected_tile {
  static constexpr int rows = !Flat || sizeof(T) > 8 ? 4 : sizeof(T) > 4 ? 8 : 16;
  static constexpr std::uint64_t elements = std::uint64_t{rows} * warp_lanes;
  T x[rows];
  std::uint32_t counts[rows];  ///< bit k: that of lane k counts
  bool only_bits = false;      ///< counts[0] is each lane's own part

  /// Looks at elements from `first` on, those before `end`.
  __device__ __forceinline__ void look(const selection& s, std::uint64_t first, std::uint64_t end) {
    const bool reads = s.to != nullptr || s.infinity != ~std::uint64_t{0};
    const std::uint64_t mine = first + static_cast<unsigned>(lane_index());
    bool is[rows];
    only_bits = false;
    if constexpr (Flat) {
      // A lane takes 16 bytes of the mask at once, as many as there are in a tile.
      const bool by_packs = s.by_packs && first + elements <= end;
      std::uint32_t bits = 0;
      if (by_packs && lane_index() < rows * 2) {
        const uint4 pack = *reinterpret_cast<const uint4*>(s.mask + first + 16 * static_cast<unsigned>(lane_index()));
        bits = bits_of_bytes(pack.x) | bits_of_bytes(pack.y) << 4 | bits_of_bytes(pack.z) << 8 | bits_of_bytes(pack.w) << 12;
      }
      if (by_packs && !reads) {
        counts[0] = bits;  // each lane its own, which count() adds up
        only_bits = true;
        return;
      }
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const std::uint64_t i = mine + static_cast<unsigned>(j) * warp_lanes;
        if (by_packs) {
          const std::uint32_t row = __shfl_sync(all_lanes, bits, 2 * j) | __shfl_sync(all_lanes, bits, 2 * j + 1) << 16;
          is[j] = (row >> lane_index() & 1) != 0;
        } else {
          is[j] = i < end && (s.mask == nullptr || s.mask[i] != 0);
        }
      }
      if (reads) {
#pragma unroll
        for (int j = 0; j < rows; ++j) {
          const std::uint64_t i = mine + static_cast<unsigned>(j) * warp_lanes;
          x[j] = i < end ? reinterpret_cast<const T*>(s.x)[i] : T{};
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const std::uint64_t i = mine + static_cast<unsigned>(j) * warp_lanes;
        is[j] = i < end;
        x[j] = T{};
        if (!is[j]) continue;
        const two_places at = s.is_small ? place_by(s, static_cast<std::uint32_t>(i)) : place_by(s, i);
        is[j] = s.mask == nullptr || s.mask[at.mask] != 0;
        if (is[j] && reads) x[j] = *reinterpret_cast<const T*>(s.x + at.x);
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) counts[j] = __ballot_sync(all_lanes, is[j] && (!reads || is_number(s, x[j])));
  }
  __device__ __forceinline__ std::uint32_t count() const {
    if (only_bits) return warp_add(static_cast<std::uint32_t>(__popc(counts[0])));
    std::uint32_t all = 0;
#pragma unroll
    for (int j = 0; j < rows; ++j) all += static_cast<std::uint32_t>(__popc(counts[j]));
    return all;
  }
};

/// One grid counts the elements of each warp's share, where `s.to` is null; the next writes them. A block that is alone writes, and counts by itself.
template <class T, bool Flat>
__global__ void __launch_bounds__(select_threads, resident_blocks(select_threads, select_resident)) select_kernel(selection s, std::uint64_t* counts) {
  using tile = selected_tile<T, Flat>;
  __shared__ std::uint64_t of_warp[select_warps], of_share[select_warps];
  const auto lane = static_cast<std::uint32_t>(lane_index()), warp = static_cast<std::uint32_t>(warp_index());
  const std::uint64_t share = std::uint64_t{blockIdx.x} * select_warps + warp;
  const std::uint64_t first = min(s.n, share * s.each), end = min(s.n, first + s.each);
  tile t;
  if (s.to == nullptr || gridDim.x == 1) {
    std::uint64_t found = 0;
    for (std::uint64_t i = first; i < end; i += tile::elements) {
      t.look(s, i, end);
      found += t.count();
    }
    if (s.to == nullptr) {
      if (lane == 0) counts[share] = found;
      return;
    }
    if (lane == 0) of_share[warp] = found;
  } else if (lane == 0) {
    of_share[warp] = counts[share];
  }
  std::uint64_t before = 0;
  for (std::uint64_t k = threadIdx.x; k < std::uint64_t{blockIdx.x} * select_warps; k += select_threads) before += counts[k];
  before = warp_add_wide(before);
  if (lane == 0) of_warp[warp] = before;
  __syncthreads();
  std::uint64_t at = 0;
  for (unsigned w = 0; w < select_warps; ++w) at += of_warp[w] + (w < warp ? of_share[w] : 0);
  if (first >= end) return;

  std::uint64_t answer = (first + s.row - 1) / s.row, start = answer * s.row;  // the next one to begin
  for (std::uint64_t i = first; i < end; i += tile::elements) {
    t.look(s, i, end);
#pragma unroll
    for (int j = 0; j < tile::rows; ++j) {
      const std::uint64_t from = i + static_cast<unsigned>(j) * warp_lanes, to = min(end, from + warp_lanes);
      if (s.offsets != nullptr && start < to) {
        const std::uint64_t mine = start + lane * s.row;
        if (mine < to) s.offsets[answer + lane] = static_cast<std::int64_t>(at) + __popc(t.counts[j] & ((1u << (mine - from)) - 1));
        const std::uint64_t many = (to - 1 - start) / s.row + 1;
        answer += many;
        start += many * s.row;
      }
      if (t.counts[j] >> lane & 1) {
        const std::uint64_t k = at + static_cast<std::uint32_t>(__popc(t.counts[j] & ((1u << lane) - 1)));
        reinterpret_cast<T*>(s.to)[k] = t.x[j];
        if (s.places != nullptr) s.places[k] = static_cast<std::int64_t>(from + lane);
      }
      at += static_cast<std::uint32_t>(__popc(t.counts[j]));
    }
  }
  if (s.offsets != nullptr && end == s.n && lane == 0) s.offsets[s.answers] = static_cast<std::int64_t>(at);
}

template <class T, bool Flat>
cudaError_t enqueue_selection_of(selection s, workspace& scratch, cudaStream_t stream) {
  constexpr std::uint64_t tile = selected_tile<T, Flat>::elements;
  const auto up = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
  const std::uint64_t most = lesser<std::uint64_t>(select_resident * scratch.multiprocessors(), workspace::row_bytes / 8 / select_warps);
  const std::uint64_t blocks = s.n <= select_alone ? 1 : lesser(most, up(s.n, select_warps * tile));
  s.each = up(up(s.n, blocks * select_warps), tile) * tile;
  auto* const counts = reinterpret_cast<std::uint64_t*>(scratch.row_states());
  const launch_config c{static_cast<unsigned>(blocks), select_threads, 0, stream, false};
  cudaError_t e = cudaSuccess;
  if (blocks > 1) {
    selection counted = s;
    counted.to = nullptr;
    e = launch(select_kernel<T, Flat>, c, counted, counts);
  }
  return e != cudaSuccess ? e : launch(select_kernel<T, Flat>, c, s, counts);
}

cudaError_t enqueue_select(const array_selection& r, workspace& scratch, cudaStream_t stream) {
  selection s{};
  bool flat = false;
  if (!read_selection(r, s, flat)) return cudaErrorMisalignedAddress;
  if (s.n == 0 || r.row <= 0 || r.to == nullptr) return cudaErrorInvalidValue;
  s.answers = (s.n - 1) / s.row + 1;
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  if (!flat && s.n > select_alone) {
    e = enqueue_select_across(r, s, scratch, stream);
    if (e != cudaErrorNotSupported) return e;
  }
  return for_size(r, [&]<class T>(T) { return flat ? enqueue_selection_of<T, true>(s, scratch, stream) : enqueue_selection_of<T, false>(s, scratch, stream); });
}

/// The elements that a thread has at once: neighbours, up to 16 bytes of them.
template <class T>
struct alignas(16) elements_of_pack {
  static constexpr unsigned count = 16 / sizeof(T);
  T x[count];
};
template <unsigned Bytes>
struct alignas(Bytes) mask_of_pack {
  unsigned char x[Bytes];
};

template <class T>
__device__ __forceinline__ T one_or_neutral(const selection& s, const T& x, bool counts, const T& neutral) {
  return counts && is_number(s, x) ? x : neutral;
}

template <class T, bool Flat>
__global__ void __launch_bounds__(select_threads) fill_kernel(selection s, T neutral) {
  const std::uint64_t first = blockIdx.x * std::uint64_t{select_threads} + threadIdx.x, step = gridDim.x * std::uint64_t{select_threads};
  T* const to = reinterpret_cast<T*>(s.to);
  if constexpr (Flat) {
    using pack_type = elements_of_pack<T>;
    using mask_type = mask_of_pack<pack_type::count>;
    const T* const x = reinterpret_cast<const T*>(s.x);
    std::uint64_t done = 0;
    if (s.by_packs) {
      const std::uint64_t packs = s.n / pack_type::count;
      done = packs * pack_type::count;
#pragma unroll 2
      for (std::uint64_t k = first; k < packs; k += step) {
        pack_type p = reinterpret_cast<const pack_type*>(x)[k];
        if (s.mask != nullptr) {
          const mask_type m = reinterpret_cast<const mask_type*>(s.mask)[k];
#pragma unroll
          for (unsigned j = 0; j < pack_type::count; ++j) p.x[j] = one_or_neutral(s, p.x[j], m.x[j] != 0, neutral);
        } else {
#pragma unroll
          for (unsigned j = 0; j < pack_type::count; ++j) p.x[j] = one_or_neutral(s, p.x[j], true, neutral);
        }
        reinterpret_cast<pack_type*>(to)[k] = p;
      }
    }
    for (std::uint64_t i = done + first; i < s.n; i += step) to[i] = one_or_neutral(s, x[i], s.mask == nullptr || s.mask[i] != 0, neutral);
  } else {
#pragma unroll 4
    for (std::uint64_t i = first; i < s.n; i += step) {
      const two_places at = s.is_small ? place_by(s, static_cast<std::uint32_t>(i)) : place_by(s, i);
      to[i] = one_or_neutral(s, *reinterpret_cast<const T*>(s.x + at.x), s.mask == nullptr || s.mask[at.mask] != 0, neutral);
    }
  }
}

cudaError_t enqueue_fill(const array_selection& r, const void* neutral, cudaStream_t stream) {
  constexpr std::uint64_t most = 8 * 132;  // blocks, those that an H100 has room for
  selection s{};
  bool flat = false;
  if (!read_selection(r, s, flat)) return cudaErrorMisalignedAddress;
  if (s.n == 0 || r.to == nullptr) return cudaErrorInvalidValue;
  s.by_packs = (reinterpret_cast<std::uintptr_t>(r.x) | reinterpret_cast<std::uintptr_t>(r.to) | reinterpret_cast<std::uintptr_t>(r.mask)) % 16 == 0;
  return for_size(r, [&]<class T>(T value) {
    __builtin_memcpy(&value, neutral, sizeof value);
    const std::uint64_t each = flat && s.by_packs ? 16 / sizeof(T) : 1;
    const launch_config c{static_cast<unsigned>(lesser((s.n / each) / select_threads + 1, most)), select_threads, 0, stream, false};
    return flat ? launch(fill_kernel<T, true>, c, s, value) : launch(fill_kernel<T, false>, c, s, value);
  });
}

__device__ __forceinline__ std::int64_t number_at(const void* p, int bytes, std::int64_t k) {
  return bytes == 4 ? static_cast<const std::int32_t*>(p)[k] : static_cast<const std::int64_t*>(p)[k];
}

/// Sums of floats, of `parts` numbers each.
struct sums_of_floats {
  void* at;
  int size, parts;
  std::int64_t count;

  __device__ __forceinline__ std::uint64_t minus_zero() const { return std::uint64_t{1} << (8 * size - 1); }
  /// A note that an element of the sum counts: a NaN that no sum is.
  __device__ __forceinline__ std::uint64_t note() const { return size == 8 ? 0x7ff4000000000123u : size == 4 ? 0x7fa00123u : 0x7f8bu; }
  __device__ __forceinline__ std::uint64_t bits(std::int64_t k) const {
    return size == 8 ? static_cast<const volatile std::uint64_t*>(at)[k] : size == 4 ? static_cast<const volatile std::uint32_t*>(at)[k] : static_cast<const volatile std::uint16_t*>(at)[k];
  }
  __device__ __forceinline__ void set(std::int64_t k, std::uint64_t bits) const {
    if (size == 8) static_cast<volatile std::uint64_t*>(at)[k] = bits;
    else if (size == 4) static_cast<volatile std::uint32_t*>(at)[k] = static_cast<std::uint32_t>(bits);
    else static_cast<volatile std::uint16_t*>(at)[k] = static_cast<std::uint16_t>(bits);
  }
  /// Whether all numbers of sum k are -0; the first of them may be a note.
  __device__ __forceinline__ bool is_minus_zero(std::int64_t k, bool noted) const {
    if (bits(k * parts) != (noted ? note() : minus_zero())) return false;
    for (int j = 1; j < parts; ++j)
      if (bits(k * parts + j) != minus_zero()) return false;
    return true;
  }
};

/// Where the elements of a sum lie.
struct rows_of_sums {
  const void* starts;
  int bytes;
  std::int64_t row, n;
  __device__ __forceinline__ std::int64_t begin(std::int64_t k) const { return starts != nullptr ? number_at(starts, bytes, k) : k * row; }
  __device__ __forceinline__ std::int64_t end(std::int64_t k) const { return starts != nullptr ? number_at(starts, bytes, k + 1) : min(n, (k + 1) * row); }
};

template <class T>
__device__ __forceinline__ bool counts_at(const selection& s, std::int64_t i) {
  const two_places at = place_by(s, static_cast<std::uint64_t>(i));
  return (s.mask == nullptr || s.mask[at.mask] != 0) && is_number(s, *reinterpret_cast<const T*>(s.x + at.x));
}

/// A warp looks at the elements of each sum that is -0, one sum after the other, and stops at the first that counts.
template <class T>
__global__ void __launch_bounds__(select_threads) settle_kernel_of_rows(selection s, sums_of_floats sums, rows_of_sums rows) {
  const std::int64_t warps = gridDim.x * std::int64_t{select_warps}, lane = lane_index();
  for (std::int64_t first = (blockIdx.x * std::int64_t{select_warps} + warp_index()) * warp_lanes; first < sums.count; first += warps * warp_lanes) {
    const std::int64_t mine = first + lane;
    std::uint32_t left = __ballot_sync(all_lanes, mine < sums.count && sums.is_minus_zero(mine, false));
    for (; left != 0; left &= left - 1) {
      const std::int64_t k = first + __ffs(static_cast<int>(left)) - 1, end = rows.end(k);
      bool any = false;
      for (std::int64_t i = rows.begin(k); i < end && !any; i += warp_lanes) any = __any_sync(all_lanes, i + lane < end && counts_at<T>(s, i + lane)) != 0;
      if (!any && lane < sums.parts) sums.set(k * sums.parts + lane, 0);
    }
  }
}

/// Sums of many elements: blocks share them, and leave a note where one counts.
template <class T>
__global__ void __launch_bounds__(select_threads) note_kernel(selection s, sums_of_floats sums, rows_of_sums rows, std::int64_t shares) {
  for (std::int64_t b = blockIdx.x; b < sums.count * shares; b += gridDim.x) {
    const std::int64_t k = b / shares;
    if (!sums.is_minus_zero(k, false)) continue;  // some threads may see a note that others do not see yet: both are right
    const std::int64_t begin = rows.begin(k), end = rows.end(k), each = (end - begin + shares - 1) / shares;
    const std::int64_t last = min(end, begin + (b % shares + 1) * each);
    for (std::int64_t i = begin + b % shares * each + threadIdx.x; i < last; i += select_threads) {
      if (!counts_at<T>(s, i)) continue;
      sums.set(k * sums.parts, sums.note());
      break;
    }
  }
}
__global__ void __launch_bounds__(select_threads) settle_kernel_of_notes(sums_of_floats sums) {
  for (std::int64_t k = blockIdx.x * std::int64_t{select_threads} + threadIdx.x; k < sums.count; k += gridDim.x * std::int64_t{select_threads}) {
    if (sums.is_minus_zero(k, true)) {
      sums.set(k * sums.parts, sums.minus_zero());
    } else if (sums.is_minus_zero(k, false)) {
      for (int j = 0; j < sums.parts; ++j) sums.set(k * sums.parts + j, 0);
    }
  }
}

__global__ void __launch_bounds__(select_threads) narrow_kernel(const std::int64_t* places, const std::int64_t* counted, const void* offsets, int bytes, std::int64_t count, std::int64_t* to) {
  const std::int64_t all = *counted;
  for (std::int64_t k = blockIdx.x * std::int64_t{select_threads} + threadIdx.x; k < count; k += gridDim.x * std::int64_t{select_threads}) {
    const std::int64_t wanted = number_at(offsets, bytes, k);
    std::int64_t low = 0, high = all;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (places[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    to[k] = low;
  }
}

__global__ void __launch_bounds__(select_threads) widen_kernel(std::int64_t* answers, std::int64_t count, const std::int64_t* offsets, const std::int64_t* places, const void* starts, int bytes,
                                                               std::int64_t row) {
  for (std::int64_t k = blockIdx.x * std::int64_t{select_threads} + threadIdx.x; k < count; k += gridDim.x * std::int64_t{select_threads}) {
    const std::int64_t found = answers[k];
    if (found >= 0) answers[k] = places[offsets[k] + found] - (starts == nullptr ? k * row : number_at(starts, bytes, k));
  }
}

launch_config one_thread_each(std::int64_t count, cudaStream_t stream) {
  constexpr std::int64_t most = 4096;
  return {static_cast<unsigned>(lesser(most, (count - 1) / std::int64_t{select_threads} + 1)), select_threads, 0, stream, false};
}

cudaError_t enqueue_settle(const array_selection& r, sums_of_floats sums, rows_of_sums rows, cudaStream_t stream) {
  constexpr std::int64_t many = 1 << 12, most = 256;  // elements of a sum that blocks share
  selection s{};
  bool flat = false;
  if (!read_selection(r, s, flat)) return cudaErrorMisalignedAddress;
  if (sums.count == 0) return cudaSuccess;
  rows.n = static_cast<std::int64_t>(s.n);
  const std::int64_t of_one = rows.starts != nullptr ? rows.n / sums.count : rows.row;
  return for_size(r, [&]<class T>(T) {
    if (of_one < many) return launch(settle_kernel_of_rows<T>, one_thread_each(sums.count, stream), s, sums, rows);
    const std::int64_t shares = lesser(most, of_one / (many / 4));
    const cudaError_t e = launch(note_kernel<T>, {static_cast<unsigned>(lesser(sums.count * shares, most)), select_threads, 0, stream, false}, s, sums, rows, shares);
    return e != cudaSuccess ? e : launch(settle_kernel_of_notes, one_thread_each(sums.count, stream), sums);
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

int wf::array_calls::fill(const array_selection& r, const void* neutral, void* stream) {
  return device::enqueue_fill(r, neutral, static_cast<cudaStream_t>(stream));
}

int wf::array_calls::settle_zeros(const array_selection& r, void* sums, int size, int parts, std::int64_t count, const void* starts, int bytes, void* stream) {
  return device::enqueue_settle(r, {sums, size, parts, count}, {starts, bytes, r.row, 0}, static_cast<cudaStream_t>(stream));
}

int wf::array_calls::select(const array_selection& r, void* scratch, void* stream) {
  return device::enqueue_select(r, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}

int wf::array_calls::narrow(const std::int64_t* places, const std::int64_t* counted, const void* offsets, int bytes, std::int64_t count, std::int64_t* to, void* stream) {
  if (count <= 0) return cudaSuccess;
  return device::launch(device::narrow_kernel, device::one_thread_each(count, static_cast<cudaStream_t>(stream)), places, counted, offsets, bytes, count, to);
}

int wf::array_calls::widen(std::int64_t* answers, std::int64_t count, const std::int64_t* offsets, const std::int64_t* places, const void* starts, int bytes, std::int64_t row, void* stream) {
  if (count <= 0) return cudaSuccess;
  return device::launch(device::widen_kernel, device::one_thread_each(count, static_cast<cudaStream_t>(stream)), answers, count, offsets, places, starts, bytes, row);
}
