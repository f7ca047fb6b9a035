// SPDX-License-Identifier: Apache-2.0
// Runs of equal neighbours among keys: each warp counts those that begin in its share, one block adds the counts up, and each warp in
// whose share one begins writes where they do. Keys are read twice at most, 16 bytes at once where they lie side by side, and no block waits for another.
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/detail/gpu/kernels/many_blocks.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>
#include <warpfold/device/workspace.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

constexpr int runs_threads = 256, runs_warps = runs_threads / warp_lanes;
constexpr int runs_resident = 5;  ///< blocks of a multiprocessor: 40 warps, 48 registers a thread
constexpr int runs_rows = 4;      ///< packs of a lane in a tile, which are loaded at once
constexpr int adding_threads = 1024;

/// Keys, cut into shares of warps; made by the host.
struct key_array {
  const unsigned char* x;  ///< the element at place 0
  std::int64_t stride;     ///< bytes
  int size, align;
  std::uint64_t n;
  std::uint64_t lead;   ///< places for keys from 16 aligned bytes on to the first key: key i is at place lead + i
  std::uint64_t tiles, each;  ///< all, and those of a warp

  __device__ __forceinline__ std::uint64_t share() const { return blockIdx.x * std::uint64_t{runs_warps} + static_cast<unsigned>(warp_index()); }
  __device__ __forceinline__ std::uint64_t first_tile() const { return min(tiles, share() * each); }
  __device__ __forceinline__ std::uint64_t last_tile() const { return min(tiles, (share() + 1) * each); }
};

/// Up to 16 bytes that are aligned as one part of them.
__device__ __forceinline__ pack load_parts(const unsigned char* p, int bytes, int align) {
  pack key{};
#pragma unroll 1
  for (int at = 0; at < bytes; at += align) {
    const pack part = load_bytes(p + at, align);
#pragma unroll
    for (int w = 0; w < 4; ++w) {  // in registers: which word is known when it runs
      if (w == at / 4) key.word[w] |= part.word[0] << (8 * (at % 4));
      if (align == 8 && w == at / 4 + 1) key.word[w] = part.word[1];
    }
  }
  return key;
}

template <int Bytes>
using part_of = std::conditional_t<Bytes == 1, std::uint8_t, std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, uint2>>>;
template <int Part>
__device__ __forceinline__ void copy_parts(unsigned char* to, const unsigned char* from, int bytes) {
  for (int at = 0; at < bytes; at += Part) *reinterpret_cast<part_of<Part>*>(to + at) = *reinterpret_cast<const part_of<Part>*>(from + at);
}

/// The keys that a warp looks at together: runs_rows rows of one pack per lane. Size: bytes of keys that lie side by side, many to a pack; 0: keys
/// that lie apart, each a pack of its own.
template <int Size>
struct key_tile {
  static constexpr int in_pack = Size == 0 ? 1 : 16 / Size;
  static constexpr std::uint32_t row = warp_lanes * in_pack, keys = runs_rows * row;
  static constexpr int words = Size == 0 ? 4 : (Size + 3) / 4;  ///< how many words at the end of a pack hold its last key
  static_assert(keys <= 1u << 16);

  pack p[runs_rows];
  std::uint32_t before[words];   ///< in lane 0: the key before the tile, as a pack ends with it
  std::uint32_t begins[runs_rows];  ///< bit j: a run begins at key j of the pack

  static __device__ __forceinline__ const unsigned char* at(const key_array& a, std::uint64_t place) {
    return a.x + static_cast<std::int64_t>(place) * (Size == 0 ? a.stride : Size);
  }

  /// Called before the first tile of a share.
  __device__ __forceinline__ void start(const key_array& a, std::uint64_t tile) {
#pragma unroll
    for (int w = 0; w < words; ++w) before[w] = 0;
    if (tile == 0) return;
    const pack key = Size == 0 ? load_parts(at(a, tile * keys - 1), a.size, a.align) : load_bytes(at(a, tile * keys - 1), Size);
#pragma unroll
    for (int w = 0; w < words; ++w) before[w] = key.word[w] << (Size == 1 || Size == 2 ? 32 - 8 * Size : 0);
  }

  /// Looks at one tile after the other: the first one behind start().
  __device__ __forceinline__ void look(const key_array& a, std::uint64_t tile) {
    load(a, tile);
    const int lane = lane_index();
#pragma unroll
    for (int u = 0; u < runs_rows; ++u) {
      std::uint32_t last[words];  // the lane below's; in lane 0 that of lane 31, for the next row
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const std::uint32_t below = __shfl_sync(all_lanes, p[u].word[4 - words + w], (lane + 31) & 31);
        last[w] = lane == 0 ? before[w] : below;
        before[w] = below;
      }
      begins[u] = begins_in(p[u], last);
    }
    if (tile == 0 && lane == 0) begins[0] |= 1u << a.lead;
    if (is_edge(a, tile)) {
#pragma unroll
      for (unsigned u = 0; u < runs_rows; ++u) begins[u] &= there(a, first_place(tile, u));
    }
  }

 private:
  static __device__ __forceinline__ std::uint64_t first_place(std::uint64_t tile, unsigned u) {
    return (tile * (runs_rows * warp_lanes) + u * warp_lanes + static_cast<unsigned>(lane_index())) * in_pack;
  }
  /// Whether there are places without a key in the tile.
  static __device__ __forceinline__ bool is_edge(const key_array& a, std::uint64_t tile) {
    return (tile == 0 && a.lead != 0) || (tile + 1) * keys > a.lead + a.n;
  }
  /// Which places of the pack that begins at `place` have a key.
  static __device__ __forceinline__ std::uint32_t there(const key_array& a, std::uint64_t place) {
    constexpr std::uint32_t all = (1u << in_pack) - 1;
    const std::uint64_t end = a.lead + a.n;
    std::uint32_t is = place + in_pack <= end ? all : place < end ? (1u << (end - place)) - 1 : 0;
    if (place < a.lead) is &= all << (a.lead - place);
    return is;
  }

  __device__ __forceinline__ void load(const key_array& a, std::uint64_t tile) {
    if constexpr (Size == 0) {
#pragma unroll
      for (unsigned u = 0; u < runs_rows; ++u) {
        const std::uint64_t i = first_place(tile, u);
        p[u] = i < a.n ? load_parts(at(a, i), a.size, a.align) : pack{};
      }
    } else if (!is_edge(a, tile)) {
      const unsigned char* const q = at(a, first_place(tile, 0));
#pragma unroll
      for (int u = 0; u < runs_rows; ++u) p[u] = load_bytes(q + 16 * warp_lanes * u, 16);
    } else {
#pragma unroll 1
      for (unsigned u = 0; u < runs_rows; ++u) {
        const std::uint64_t place = first_place(tile, u);
        const std::uint32_t is = there(a, place);
        pack some{};
#pragma unroll
        for (int j = 0; j < in_pack; ++j) {
          if ((is >> j & 1) == 0) continue;
          const pack key = load_bytes(at(a, place + static_cast<unsigned>(j)), Size);
#pragma unroll
          for (int w = 0; w < words; ++w) some.word[j * Size / 4 + w] |= key.word[w] << (8 * (j * Size % 4));
        }
#pragma unroll
        for (unsigned k = 0; k < runs_rows; ++k) {  // in registers
          if (k == u) p[k] = some;
        }
      }
    }
  }

  /// Which keys of a pack differ from the key before them.
  static __device__ __forceinline__ std::uint32_t begins_in(const pack& p, const std::uint32_t (&last)[words]) {
    const std::uint32_t(&w)[4] = p.word;
    if constexpr (words == 4) {
      return ((w[0] ^ last[0]) | (w[1] ^ last[1]) | (w[2] ^ last[2]) | (w[3] ^ last[3])) != 0 ? 1 : 0;
    } else if constexpr (words == 2) {
      return (((w[0] ^ last[0]) | (w[1] ^ last[1])) != 0 ? 1 : 0) | (((w[2] ^ w[0]) | (w[3] ^ w[1])) != 0 ? 2 : 0);
    } else {
      std::uint32_t found = 0, below = last[0];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (Size == 4) {
          found |= w[j] != below ? 1u << j : 0u;
        } else {
          // Each key beside the one before it; then the highest bit of those that differ, and those bits side by side.
          constexpr std::uint32_t high = Size == 1 ? 0x80808080u : 0x80008000u;
          const std::uint32_t x = w[j] ^ __funnelshift_l(below, w[j], 8 * Size);
          const std::uint32_t differ = (((x & ~high) + ~high) | x) & high;
          if constexpr (Size == 1) found |= ((differ >> 7) * 0x10204080u) >> 28 << (4 * j);
          else found |= ((differ >> 15 & 1) | (differ >> 30 & 2)) << (2 * j);
        }
        below = w[j];
      }
      return found;
    }
  }
};

/// Writes key k of `to` from a place of `from`.
template <int Size>
__device__ __forceinline__ void copy_key(unsigned char* to, std::uint32_t k, const unsigned char* from, std::uint32_t place, const key_array& a) {
  if constexpr (Size != 0) {
    copy_parts<Size < 8 ? Size : 8>(to + k * Size, from + place * Size, Size);
  } else {
    to += std::uint64_t{k} * static_cast<unsigned>(a.size);
    from += std::int64_t{place} * a.stride;
    switch (a.align) {
      case 1: return copy_parts<1>(to, from, a.size);
      case 2: return copy_parts<2>(to, from, a.size);
      case 4: return copy_parts<4>(to, from, a.size);
      default: return copy_parts<8>(to, from, a.size);
    }
  }
}

template <int Size>
__global__ void WF_MANY_BLOCKS(runs_threads, runs_resident) count_runs_kernel(key_array a, std::uint64_t* counts) {
  std::uint32_t mine = 0;
  key_tile<Size> t;
  const std::uint64_t end = a.last_tile();
  std::uint64_t tile = a.first_tile();
  if (tile < end) t.start(a, tile);
#pragma unroll 1
  for (; tile < end; ++tile) {
    t.look(a, tile);
#pragma unroll
    for (int u = 0; u < runs_rows; ++u) mine += static_cast<std::uint32_t>(__popc(t.begins[u]));
  }
  mine = warp_add(mine);
  if (lane_index() == 0) counts[a.share()] = mine;
}

/// Each of `many` counts becomes the sum of those before it, and counts[many] that of all; by one block.
__global__ void __launch_bounds__(adding_threads) sum_runs_kernel(std::uint64_t* counts, std::uint32_t many, std::int64_t* found) {
  __shared__ std::uint64_t of_warp[adding_threads / warp_lanes];
  const std::uint32_t each = (many + adding_threads - 1) / adding_threads;
  const std::uint32_t begin = min(many, threadIdx.x * each), end = min(many, begin + each);
  std::uint64_t mine = 0;
#pragma unroll 8
  for (std::uint32_t k = begin; k < end; ++k) mine += counts[k];
  std::uint64_t up_to = mine;
#pragma unroll
  for (unsigned step = 1; step < warp_lanes; step *= 2) {
    const std::uint64_t below = __shfl_up_sync(all_lanes, up_to, step);
    if (static_cast<unsigned>(lane_index()) >= step) up_to += below;
  }
  if (lane_index() == warp_lanes - 1) of_warp[warp_index()] = up_to;
  __syncthreads();
  std::uint64_t before = up_to - mine;
  for (int w = 0; w < warp_index(); ++w) before += of_warp[w];
  if (threadIdx.x == adding_threads - 1) {
    counts[many] = before + mine;
    *found = static_cast<std::int64_t>(before + mine);
  }
  for (std::uint32_t k = begin; k < end; ++k) {
    const std::uint64_t count = counts[k];
    counts[k] = before;
    before += count;
  }
}

/// Writes keys and beginnings of the first `room` runs; where there are fewer, empty segments follow.
template <int Size>
__global__ void WF_MANY_BLOCKS(runs_threads, runs_resident)
    write_runs_kernel(key_array a, const std::uint64_t* counts, unsigned char* unique, std::int64_t* offsets, std::uint64_t room) {
  using tile_type = key_tile<Size>;
  __shared__ std::uint16_t places[runs_warps][tile_type::keys];  // where beginnings in a tile lie: written as they lie, read by lanes side by side
  std::uint16_t* const mine = places[warp_index()];
  const auto lane = static_cast<std::uint32_t>(lane_index());
  std::uint64_t run = counts[a.share()];
  const std::uint64_t stop = min(counts[a.share() + 1], room + 1);
  const std::uint64_t end = a.last_tile();
  std::uint64_t tile = a.first_tile();
  tile_type t;
  if (run < stop) t.start(a, tile);
#pragma unroll 1
  for (; tile < end && run < stop; ++tile) {
    t.look(a, tile);
    // How many runs begin before this lane's in each row: two counts per word.
    static_assert(runs_rows == 4 && tile_type::row < 1u << 16);
    std::uint32_t up_to[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) up_to[k] = static_cast<std::uint32_t>(__popc(t.begins[2 * k]) | __popc(t.begins[2 * k + 1]) << 16);
    if (!__any_sync(all_lanes, (up_to[0] | up_to[1]) != 0)) continue;
#pragma unroll
    for (unsigned step = 1; step < warp_lanes; step *= 2) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const std::uint32_t below = __shfl_up_sync(all_lanes, up_to[k], step);
        if (lane >= step) up_to[k] += below;
      }
    }
    std::uint32_t all = 0;  // the rows' before
#pragma unroll
    for (unsigned u = 0; u < runs_rows; ++u) {
      const unsigned half = 16 * (u % 2);
      const std::uint32_t of_row = __shfl_sync(all_lanes, up_to[u / 2], 31) >> half & 0xffff;
      std::uint32_t left = t.begins[u], to = all + (up_to[u / 2] >> half & 0xffff) - static_cast<std::uint32_t>(__popc(left));
#pragma unroll 1
      for (; left != 0; left &= left - 1) {
        mine[to++] = static_cast<std::uint16_t>(u * tile_type::row + lane * tile_type::in_pack + static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1));
      }
      all += of_row;
    }
    __syncwarp();
    const auto count = static_cast<std::uint32_t>(min(std::uint64_t{all}, stop - run)), kept = static_cast<std::uint32_t>(min(std::uint64_t{all}, room - run));
    const std::int64_t first = static_cast<std::int64_t>(tile * tile_type::keys - a.lead);
    const unsigned char* const from = tile_type::at(a, tile * tile_type::keys);
    std::int64_t* const to = offsets + run;
    unsigned char* const keys = unique + run * static_cast<unsigned>(Size == 0 ? a.size : Size);
#pragma unroll 2
    for (std::uint32_t k = lane; k < count; k += warp_lanes) {
      const std::uint32_t place = mine[k];
      to[k] = first + place;
      if (k < kept) copy_key<Size>(keys, k, from, place, a);
    }
    __syncwarp();
    run += all;
  }
  const std::uint64_t all = counts[gridDim.x * std::uint64_t{runs_warps}];
  for (std::uint64_t k = all + blockIdx.x * std::uint64_t{runs_threads} + threadIdx.x; k <= room; k += std::uint64_t{gridDim.x} * runs_threads) {
    offsets[k] = static_cast<std::int64_t>(a.n);
  }
}

template <int Size>
cudaError_t enqueue_runs_of(const runs_request& r, workspace& scratch, cudaStream_t stream) {
  const auto n = static_cast<std::uint64_t>(r.n);
  constexpr std::uint32_t room_of_counts = workspace::row_bytes / 8 - 1;
  const std::uint32_t most = at_most(runs_resident * scratch.multiprocessors(), room_of_counts / runs_warps) * runs_warps;
  const std::uint64_t lead = Size == 0 ? 0 : reinterpret_cast<std::uintptr_t>(r.keys) % 16 / (Size == 0 ? 1 : Size);
  const std::uint64_t tiles = (n + lead + key_tile<Size>::keys - 1) / key_tile<Size>::keys, each = (tiles + most - 1) / most;
  const std::uint64_t shares = n == 0 ? 1 : (tiles + each - 1) / each;  // for no keys one, which finds none
  const auto blocks = static_cast<std::uint32_t>((shares + runs_warps - 1) / runs_warps);
  const key_array a{static_cast<const unsigned char*>(r.keys) - lead * Size, r.stride, r.size, r.align, n, lead, tiles, each};
  auto* const counts = reinterpret_cast<std::uint64_t*>(scratch.row_states());
  const launch_config by_warps{blocks, runs_threads, 0, stream, false};
  cudaError_t e = launch(count_runs_kernel<Size>, by_warps, a, counts);
  if (e == cudaSuccess) e = launch(sum_runs_kernel, {1, adding_threads, 0, stream, false}, counts, blocks * runs_warps, r.found);
  if (e == cudaSuccess) {
    e = launch(write_runs_kernel<Size>, by_warps, a, static_cast<const std::uint64_t*>(counts), static_cast<unsigned char*>(r.unique), r.offsets,
               static_cast<std::uint64_t>(r.room));
  }
  return e;
}

cudaError_t enqueue_runs(const runs_request& r, workspace& scratch, cudaStream_t stream) {
  const auto multiples_of = [&](int bytes) {
    return (reinterpret_cast<std::uintptr_t>(r.keys) | reinterpret_cast<std::uintptr_t>(r.unique)) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  if (r.n != 0 && reinterpret_cast<std::uintptr_t>(r.keys) % static_cast<std::uintptr_t>(r.align) != 0) return cudaErrorMisalignedAddress;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  if (r.stride != r.size || !multiples_of(r.size)) return enqueue_runs_of<0>(r, scratch, stream);
  switch (r.size) {
    case 1: return enqueue_runs_of<1>(r, scratch, stream);
    case 2: return enqueue_runs_of<2>(r, scratch, stream);
    case 4: return enqueue_runs_of<4>(r, scratch, stream);
    case 8: return enqueue_runs_of<8>(r, scratch, stream);
    default: return enqueue_runs_of<16>(r, scratch, stream);
  }
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

int wf::device::built_kernels::find_runs(const runs_request& r, void* scratch, void* stream) {
  return device::enqueue_runs(r, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));
}
