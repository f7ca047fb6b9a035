// SPDX-License-Identifier: Apache-2.0
// A side stair: transposing a matrix, the bank lesson in two dimensions.
//
// Rows are read along, columns written across. Naive, each warp writes 32 rows: 32 sectors for what
// one request could write. A tile in shared memory makes both sides coalesced, but a column of a
// 32-wide tile lies in one bank: 32 turns. A 33rd column that nobody uses shifts each row by a bank
// and ends that; an xor of the column with the row does too, and wastes nothing.
#pragma once
#include <vector>

#include "check.cuh"
#include "rung.cuh"
#include "timer.cuh"

namespace ladder::inline WF_BUILD {

inline constexpr unsigned tile = 32,
                          tile_rows = 8;  // a block is 32 x 8 threads, each moves 4 elements

__global__ void transpose_naive(const float* in, float* out, unsigned side) {
  const unsigned x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (unsigned k = 0; k < tile; k += tile_rows)
    if (x < side && y + k < side)
      out[std::uint64_t(x) * side + y + k] = in[std::uint64_t(y + k) * side + x];
}

/// Where a shared tile keeps the element of a row and a column.
struct plain_layout {  // a column is one bank: 32 turns
  static constexpr unsigned cells = tile * tile;
  __device__ static unsigned at(unsigned row, unsigned column) { return row * tile + column; }
};
struct padded_layout {  // [32][33]
  static constexpr unsigned cells = tile * (tile + 1);
  __device__ static unsigned at(unsigned row, unsigned column) { return row * (tile + 1) + column; }
};
struct swizzled_layout {  // every row permuted by its own number
  static constexpr unsigned cells = tile * tile;
  __device__ static unsigned at(unsigned row, unsigned column) {
    return row * tile + (column ^ row);
  }
};

template <class Layout>
__global__ void transpose_tiled(const float* in, float* out, unsigned side) {
  __shared__ float s[Layout::cells];
  unsigned x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (unsigned k = 0; k < tile; k += tile_rows)
    if (x < side && y + k < side)
      s[Layout::at(threadIdx.y + k, threadIdx.x)] = in[std::uint64_t(y + k) * side + x];
  __syncthreads();
  x = blockIdx.y * tile + threadIdx.x;
  y = blockIdx.x * tile + threadIdx.y;
  for (unsigned k = 0; k < tile; k += tile_rows)
    if (x < side && y + k < side)
      out[std::uint64_t(y + k) * side + x] = s[Layout::at(threadIdx.x, threadIdx.y + k)];
}

using transpose_kernel = void (*)(const float*, float*, unsigned);

inline cudaError_t transpose(transpose_kernel kernel, const float* in, float* out, unsigned side,
                             cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  const unsigned tiles = side == 0 ? 1 : (side + tile - 1) / tile;
  config.gridDim = dim3(tiles, tiles);
  config.blockDim = dim3(tile, tile_rows);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, in, out, side);
}

/// Each way of transposing a matrix of side x side floats, every element looked at; timed on a GPU,
/// if that is asked for.
inline std::vector<transpose_row> run_transposes(unsigned side, cudaStream_t stream,
                                                 [[maybe_unused]] bool timed) {
  struct way {
    std::string_view name;
    transpose_kernel kernel;
    std::uint64_t shared_bytes;
  };
  const way ways[] = {
      {"naive", transpose_naive, 0},
      {"tile, 32-way conflicts", transpose_tiled<plain_layout>,
       plain_layout::cells * sizeof(float)},
      {"tile, padded [32][33]", transpose_tiled<padded_layout>,
       padded_layout::cells * sizeof(float)},
      {"tile, xor-swizzled", transpose_tiled<swizzled_layout>,
       swizzled_layout::cells * sizeof(float)},
  };
  const std::uint64_t cells = std::uint64_t(side) * side, bytes = cells * sizeof(float);
  std::vector<float> in(cells), out(cells);
  for (std::uint64_t i = 0; i < cells; ++i) in[i] = static_cast<float>(i % 16777213);
  device_memory device_in(bytes + 16), device_out(bytes + 16);
  auto* from = static_cast<float*>(device_in.get());
  auto* to = static_cast<float*>(device_out.get());
  copy_in(from, in.data(), bytes, stream);
  std::vector<transpose_row> rows;
  for (const way& w : ways) {
    check(cudaMemsetAsync(to, 0xFF, bytes, stream), w.name);
    check(transpose(w.kernel, from, to, side, stream), w.name);
    check(cudaStreamSynchronize(stream), w.name);
    check(cudaMemcpy(out.data(), to, bytes, cudaMemcpyDeviceToHost), w.name);
    transpose_row row{w.name, true, 0, w.shared_bytes};
    for (std::uint64_t y = 0; y < side && row.right; ++y)
      for (std::uint64_t x = 0; x < side; ++x)
        if (out[x * side + y] != in[y * side + x]) row.right = false;
#if defined(__CUDACC__)
    if (row.right && timed) {
      timer t(stream, 0, 1);
      row.seconds =
          t.by_graph([&] { check(transpose(w.kernel, from, to, side, stream), w.name); }, true)
              .median;
    }
#endif
    rows.push_back(row);
  }
  return rows;
}

}  // namespace ladder::inline WF_BUILD
