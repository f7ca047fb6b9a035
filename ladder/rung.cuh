// SPDX-License-Identifier: Apache-2.0
/// \file rung.cuh
/// What the rungs share: the type of a sum, a run's parameters and results, and the launch.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/device/shared_memory.cuh>
#include <warpfold/device/workspace.cuh>

#include "ladder.hpp"

namespace ladder::inline WF_BUILD {

/// The type that elements are added in. f16 adds in f32, or a sum of ones would stop at 2048; i32
/// adds mod 2^32, which C++ defines for unsigned alone.
template <class T>
struct sum_of {
  using type = T;
};
template <>
struct sum_of<__half> {
  using type = float;
};
template <>
struct sum_of<int> {
  using type = unsigned;
};
template <class T>
using sum_t = typename sum_of<T>::type;

/// One run of a rung: its parameters, and what its launch function reports.
struct run {
  unsigned block = 256;        ///< threads a block
  unsigned blocks_per_sm = 0;  ///< 0: as the rung likes
  unsigned sms = 1;            ///< the device's
  int capability = 0;
  cudaStream_t stream = nullptr;
  void* scratch = nullptr;       ///< device memory for partial sums
  void* host_scratch = nullptr;  ///< as much again, pinned, on the host
  std::size_t scratch_bytes = 0;
  unsigned* ticket = nullptr;               ///< device memory, 0 before a run, and again after it
  wf::device::workspace* workspace = nullptr;  ///< the library's own scratch memory

  launch_shape shape;
  double depth = 0;     ///< the most additions that one element passes through
  std::string refused;  ///< why this run cannot be

  /// For launch functions: `return r.refuse("…");`
  cudaError_t refuse(std::string why) {
    refused = std::move(why);
    return cudaErrorNotSupported;
  }
};

inline std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

/// The blocks for n elements, `each` of them a block; one if there are none, as no grid is empty.
inline std::uint64_t blocks_for(std::uint64_t n, std::uint64_t each) {
  return n == 0 ? 1 : divide_up(n, each);
}

/// As many blocks as the device holds at once (or as asked for), and no more than have work.
inline std::uint64_t resident_blocks(const run& r, std::uint64_t n, std::uint64_t each) {
  const std::uint64_t per_sm = r.blocks_per_sm != 0 ? r.blocks_per_sm : 2048 / r.block;
  const std::uint64_t most = per_sm * r.sms, wanted = blocks_for(n, each);
  return wanted < most ? wanted : most;
}

/// As many blocks as have work for every thread; fewer only if --blocks-per-sm asks for that.
inline std::uint64_t stride_blocks(const run& r, std::uint64_t n) {
  return r.blocks_per_sm != 0 ? resident_blocks(r, n, r.block) : blocks_for(n, r.block);
}

/// The steps of a tree over `width` values.
inline double steps(std::uint64_t width) {
  return width < 2 ? 0 : double(std::bit_width(width - 1));
}

/// The partial sums of a run. Refuses more than the scratch memory holds.
template <class S>
S* partials(run& r, std::uint64_t count) {
  if (count * sizeof(S) > r.scratch_bytes) {
    r.refuse(std::to_string(count) + " blocks, but partial sums of at most " +
             std::to_string(r.scratch_bytes / sizeof(S)) + ": lower --blocks-per-sm");
    return nullptr;
  }
  return static_cast<S*>(r.scratch);
}

template <class S>
cudaError_t zero(S* out, const run& r) {
  return cudaMemsetAsync(out, 0, sizeof(S), r.stream);
}

/// Launches `kernel` on `blocks` blocks of r.block threads, and notes the shape for the table.
/// Clusters and cooperative grids are asked for by an attribute.
template <class... P, class... A>
cudaError_t launch_with(cudaLaunchAttribute* attribute, run& r, void (*kernel)(P...),
                        std::uint64_t blocks, std::size_t shared_bytes, A... arguments) {
  if (blocks > 2147483647)
    return r.refuse("needs a grid of " + std::to_string(blocks) +
                    " blocks; 2147483647 is the most");
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(r.block);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = r.stream;
  config.attrs = attribute;
  config.numAttrs = attribute != nullptr;
  if (r.shape.launches++ == 0) {
    r.shape.blocks = blocks;
    r.shape.block = r.block;
    r.shape.shared_bytes = shared_bytes;
  }
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <class... P, class... A>
cudaError_t launch(run& r, void (*kernel)(P...), std::uint64_t blocks, std::size_t shared_bytes,
                   A... arguments) {
  return launch_with(nullptr, r, kernel, blocks, shared_bytes, arguments...);
}

}  // namespace ladder::inline WF_BUILD
