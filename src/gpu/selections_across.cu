// SPDX-License-Identifier: Apache-2.0
// The elements that count, one behind the other, where those of one answer lie far apart and those of neighbouring answers side by side, as along axis 0 of a matrix. A warp takes 32 neighbouring answers, one
// answer per lane, and reads a row of their elements at once; what counts is brought together in shared memory, where it lies answer by answer, and written from there. First the same warps count, and two small kernels turn
// the counts, in the order of answers and of shares of rows, into the places where each warp's part of an answer begins.
#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/detail/gpu/domain/selection.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

namespace {

constexpr unsigned across_warps = 4, across_threads = across_warps * warp_lanes;  ///< 35 KB of shared memory
[[maybe_unused]] constexpr unsigned across_resident = 5;  ///< blocks of a multiprocessor; simt has none
constexpr unsigned scan_threads = 256, scan_warps = scan_threads / warp_lanes, scan_blocks = 256;
constexpr std::int64_t least_row = 8, least_side = 8;  ///< elements of an answer, answers side by side: of fewer the other way is as good

/// A selection whose first `kept` dimensions are those that answers differ in, and one of these the one along which they lie side by side.
struct across {
  selection s;
  int kept, side;
  std::uint64_t strips_of_side, strips;  ///< groups of 32 answers
  std::uint64_t shares, each;            ///< for an answer's elements
};

/// How far element r of an answer, and its part of the mask, lie behind those of the first element.
template <class Number>
__device__ __forceinline__ two_places place_in_answer(const across& a, Number r) {
  two_places at{0, 0};
#pragma unroll 1
  for (int d = a.s.rank - 1; d > a.kept; --d) {
    const auto length = static_cast<Number>(a.s.length[d]);
    const Number above = r / length;
    const auto k = static_cast<std::int64_t>(r - above * length);
    at.x += k * a.s.step[d];
    at.mask += k * a.s.mask_step[d];
    r = above;
  }
  at.x += static_cast<std::int64_t>(r) * a.s.step[a.kept];
  at.mask += static_cast<std::int64_t>(r) * a.s.mask_step[a.kept];
  return at;
}

/// Rows of 32 answers as a warp has them: one element per lane of the rows from `first` on, and its part of the mask. All loads are on their way before any of them is looked at; lanes and rows that are not there take
/// their neighbours', which nobody counts.
template <class T, int Rows, bool Reads>
struct rows_across {
  T x[Reads ? Rows : 1];
  unsigned char mask[Rows];

  /// `places` is the warp's own.
  __device__ __forceinline__ void read(const across& a, const two_places& at, std::uint64_t first, std::uint64_t last, two_places* places) {
    static_assert(Rows <= warp_lanes);
    const selection& s = a.s;
    const std::uint64_t r = min(first + static_cast<unsigned>(lane_index()), last);  // each lane finds where one row lies
    __syncwarp();
    if (lane_index() < Rows) places[lane_index()] = s.is_small ? place_in_answer(a, static_cast<std::uint32_t>(r)) : place_in_answer(a, r);
    __syncwarp();
    if constexpr (Reads) {
#pragma unroll
      for (int j = 0; j < Rows; ++j) x[j] = *reinterpret_cast<const T*>(s.x + at.x + places[j].x);
    }
    if (s.mask != nullptr) {
#pragma unroll
      for (int j = 0; j < Rows; ++j) mask[j] = s.mask[at.mask + places[j].mask];
    } else {
#pragma unroll
      for (int j = 0; j < Rows; ++j) mask[j] = 1;
    }
  }
  __device__ __forceinline__ bool counts(const selection& s, int j) const {
    if constexpr (Reads) return mask[j] != 0 && is_number(s, x[j]);
    else return mask[j] != 0;
  }
};

/// `starts` has a number for each share of each answer: the number of elements that count, which the first kernel writes, and then the place where they go. A kernel that looks for no NaNs has elements of one byte, which are not read.
template <class T, bool Writes>
__global__ void __launch_bounds__(across_threads, resident_blocks(across_threads, across_resident)) across_kernel(across a, std::uint64_t* starts) {
  constexpr bool reads = Writes || sizeof(T) > 1;
  constexpr int rows = sizeof(T) > 8 ? 16 : sizeof(T) > 4 ? 32 : 64, batch = !reads ? 32 : sizeof(T) > 4 ? 8 : 16;  // for a tile, in flight
  constexpr int pitch = rows + 1;  // so that lanes that read an answer's elements, and those that write one of each, find different banks
  __shared__ T found[Writes ? across_warps : 1][Writes ? warp_lanes * pitch : 1];
  __shared__ two_places places[across_warps][batch];
  __shared__ std::uint8_t row_of[Writes ? across_warps : 1][Writes ? warp_lanes * pitch : 1];
  const selection& s = a.s;
  const auto lane = static_cast<std::uint32_t>(lane_index()), warp = static_cast<std::uint32_t>(warp_index());
  const std::uint64_t unit = std::uint64_t{blockIdx.x} * across_warps + warp;
  if (unit >= a.strips * a.shares) return;
  const std::uint64_t strip = unit % a.strips, share = unit / a.strips;
  const std::uint64_t mine = strip % a.strips_of_side * warp_lanes + lane, column = min(mine, static_cast<std::uint64_t>(s.length[a.side]) - 1);
  const bool inside = mine == column;
  std::uint64_t others = strip / a.strips_of_side, answer = 0, step = 1;
  two_places first{0, 0};
  for (int d = a.kept - 1; d >= 0; --d) {
    const auto length = static_cast<std::uint64_t>(s.length[d]);
    const std::uint64_t k = d == a.side ? column : others % length;
    if (d != a.side) others /= length;
    first.x += static_cast<std::int64_t>(k) * s.step[d];
    first.mask += static_cast<std::int64_t>(k) * s.mask_step[d];
    answer += k * step;
    step *= length;
  }
  const std::uint64_t end = min(s.row, (share + 1) * a.each);
  std::uint64_t at = Writes ? starts[answer * a.shares + share] : 0;
  for (std::uint64_t r = share * a.each; r < end; r += rows) {
    int some = 0;
#pragma unroll 1
    for (int b = 0; b < rows && r + static_cast<unsigned>(b) < end; b += batch) {
      rows_across<T, batch, reads> tile;
      tile.read(a, first, r + static_cast<unsigned>(b), end - 1, places[warp]);
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        if (!inside || r + static_cast<unsigned>(b + j) >= end || !tile.counts(s, j)) continue;
        if constexpr (Writes) {
          found[warp][static_cast<int>(lane) * pitch + some] = tile.x[j];
          if (s.places != nullptr) row_of[warp][static_cast<int>(lane) * pitch + some] = static_cast<std::uint8_t>(b + j);
        }
        ++some;
      }
    }
    if constexpr (Writes) {
      __syncwarp();
#pragma unroll 1
      for (int l = 0; l < warp_lanes; ++l) {
        const int many = __shfl_sync(all_lanes, some, l);
        const std::uint64_t to = __shfl_sync(all_lanes, at, l), of = __shfl_sync(all_lanes, answer, l);
#pragma unroll 1
        for (int k = static_cast<int>(lane); k < many; k += warp_lanes) {
          reinterpret_cast<T*>(s.to)[to + static_cast<unsigned>(k)] = found[warp][l * pitch + k];
          if (s.places != nullptr) s.places[to + static_cast<unsigned>(k)] = static_cast<std::int64_t>(of * s.row + r + row_of[warp][l * pitch + k]);
        }
      }
      __syncwarp();
    }
    at += static_cast<unsigned>(some);
  }
  if (!Writes && inside) starts[answer * a.shares + share] = at;
}

/// The sum of the numbers of a block's threads, in all threads.
__device__ __forceinline__ std::uint64_t scan_block_add(std::uint64_t v, std::uint64_t* of_warp) {
  v = warp_add_wide(v);
  __syncthreads();
  if (lane_index() == 0) of_warp[warp_index()] = v;
  __syncthreads();
  std::uint64_t all = 0;
  for (unsigned w = 0; w < scan_warps; ++w) all += of_warp[w];
  return all;
}

/// The sum of each block's part of `n` numbers.
__global__ void __launch_bounds__(scan_threads) parts_kernel(const std::uint64_t* numbers, std::uint64_t n, std::uint64_t each, std::uint64_t* sums) {
  __shared__ std::uint64_t of_warp[scan_warps];
  const std::uint64_t first = blockIdx.x * each, end = min(n, first + each);
  std::uint64_t mine = 0;
  for (std::uint64_t i = first + threadIdx.x; i < end; i += scan_threads) mine += numbers[i];
  mine = scan_block_add(mine, of_warp);
  if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

/// Writes the sum of the numbers before it in place of each number. `offsets`, which may be where the numbers are, gets the sum before each answer's first share, and the sum of all.
__global__ void __launch_bounds__(scan_threads) starts_kernel(std::uint64_t* numbers, std::uint64_t n, std::uint64_t each, const std::uint64_t* sums, std::uint64_t shares, std::int64_t* offsets) {
  __shared__ std::uint64_t of_warp[scan_warps];
  const std::uint64_t first = blockIdx.x * each, end = min(n, first + each);
  const int lane = lane_index();
  std::uint64_t before = scan_block_add(threadIdx.x < blockIdx.x ? sums[threadIdx.x] : 0, of_warp);
  static_assert(scan_blocks <= scan_threads);
  for (std::uint64_t i = first; i < end; i += scan_threads) {
    const std::uint64_t k = i + threadIdx.x, mine = k < end ? numbers[k] : 0;
    std::uint64_t up_to = mine;
    for (int step = 1; step < warp_lanes; step *= 2) {
      const std::uint64_t left = __shfl_up_sync(all_lanes, up_to, step);
      if (lane >= step) up_to += left;
    }
    __syncthreads();
    if (lane == warp_lanes - 1) of_warp[warp_index()] = up_to;
    __syncthreads();
    std::uint64_t here = before + up_to - mine;
    for (int w = 0; w < static_cast<int>(scan_warps); ++w) {
      if (w < warp_index()) here += of_warp[w];
      before += of_warp[w];
    }
    if (k >= end) continue;
    numbers[k] = here;
    if (k % shares == 0) offsets[k / shares] = static_cast<std::int64_t>(here);
  }
  if (end == n && first < end && threadIdx.x == 0) offsets[n / shares] = static_cast<std::int64_t>(before);
}

/// Tells how answers lie; false if these kernels cannot take them.
bool lies_across(const array_selection& r, across& a) {
  const selection& s = a.s;
  std::int64_t row = 1;
  a.kept = s.rank;
  while (a.kept > 0 && row < r.row) row *= s.length[--a.kept];
  if (row != r.row || row < least_row || a.kept == 0 || r.offsets == nullptr) return false;
  const auto distance = [&](int d) { return s.step[d] < 0 ? -s.step[d] : s.step[d]; };
  a.side = 0;
  for (int d = 1; d < a.kept; ++d)
    if (distance(d) < distance(a.side)) a.side = d;
  for (int d = a.kept; d < s.rank; ++d)
    if (distance(d) <= distance(a.side)) return false;
  return distance(a.side) != 0 && s.length[a.side] >= least_side;
}

}  // namespace

cudaError_t enqueue_select_across(const array_selection& r, const selection& s, workspace& scratch, cudaStream_t stream) {
  constexpr std::uint64_t tile = 32, warps_of_multiprocessor = 128;  // so many that the last to come make no difference
  constexpr std::uint64_t most_starts = workspace::row_bytes / 8 - scan_blocks;
  const auto up = [](std::uint64_t x, std::uint64_t y) { return (x + y - 1) / y; };
  across a{};
  a.s = s;
  if (!lies_across(r, a)) return cudaErrorNotSupported;
  const auto side = static_cast<std::uint64_t>(s.length[a.side]);
  a.strips_of_side = up(side, warp_lanes);
  a.strips = s.answers / side * a.strips_of_side;
  std::uint64_t shares = lesser(lesser(up(warps_of_multiprocessor * scratch.multiprocessors(), a.strips), up(s.row, tile)), most_starts / s.answers);
  if (shares == 0) shares = 1;
  a.each = up(up(s.row, shares), tile) * tile;
  a.shares = up(s.row, a.each);
  auto* const sums = reinterpret_cast<std::uint64_t*>(scratch.row_states());
  // Where each has one share, the starts are the offsets.
  auto* const starts = a.shares == 1 ? reinterpret_cast<std::uint64_t*>(s.offsets) : sums + scan_blocks;
  const std::uint64_t many = s.answers * a.shares, blocks = up(a.strips * a.shares, across_warps), each = up(up(many, scan_blocks), scan_threads) * scan_threads;
  if (blocks > 0x7fffffffu) return cudaErrorNotSupported;
  const launch_config c{static_cast<unsigned>(blocks), across_threads, 0, stream, false}, scan{static_cast<unsigned>(up(many, each)), scan_threads, 0, stream, false};
  return for_size(r, [&]<class T>(T) {
    cudaError_t e = cudaSuccess;
    if constexpr (sizeof(T) > 1) {
      if (s.infinity != ~std::uint64_t{0}) e = launch(across_kernel<T, false>, c, a, starts);
      else e = launch(across_kernel<std::uint8_t, false>, c, a, starts);
    } else {
      e = launch(across_kernel<T, false>, c, a, starts);
    }
    if (e == cudaSuccess) e = launch(parts_kernel, scan, starts, many, each, sums);
    if (e == cudaSuccess) e = launch(starts_kernel, scan, starts, many, each, sums, a.shares, s.offsets);
    return e != cudaSuccess ? e : launch(across_kernel<T, true>, c, a, starts);
  });
}

}  // namespace wf::device::inline WF_BUILD
