// SPDX-License-Identifier: Apache-2.0
/// \file read.cuh
/// The floor under every reduction: each byte is loaded and nothing is kept. The ladder and the benchmarks hold their kernels
/// against it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <warpfold/device/launch.cuh>
#include <warpfold/device/thread.cuh>

namespace wf::measure::inline WF_BUILD {

/// How an array is loaded.
enum class reading {
  passing,  ///< by streaming loads, which leave the L2 to others: the fastest from memory
  filling,  ///< by plain loads: what lay in the L2 before is gone
  keeping,  ///< as the library's kernels load: a share of the array stays in the L2, the fastest where it was left there
};

template <bool streaming>
__device__ uint4 load_pack(const uint4* x) {
  if constexpr (streaming) return __ldcs(x);
  return *x;
}

/// Loads `packs` times 16 bytes, eight loads in flight a thread. The store never happens, but the compiler cannot know.
template <bool streaming>
__global__ void read_kernel(const uint4* x, std::uint64_t packs, unsigned* out) {
  constexpr int in_flight = 8;
  const std::uint64_t stride = std::uint64_t(gridDim.x) * blockDim.x;
  std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned seen = 0;
  for (; i + (in_flight - 1) * stride < packs; i += in_flight * stride) {
    uint4 v[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) v[k] = load_pack<streaming>(x + i + k * stride);
#pragma unroll
    for (int k = 0; k < in_flight; ++k) seen ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  for (; i < packs; i += stride) {
    const uint4 v = load_pack<streaming>(x + i);
    seen ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (seen == 0x9e3779b9u) *out = seen;
}

constexpr unsigned keeping_threads = 512;

/// The same by the walk of the library's kernels, which knows how large a share may stay in the L2.
__global__ void __launch_bounds__(keeping_threads) read_keeping_kernel(device::array_part<float> part, unsigned* out) {
  unsigned any = 0;
  device::for_each_pack<device::walk<4, false, device::cache::share>, true>(
      part, blockIdx.x * keeping_threads + threadIdx.x, [] {},
      [&](const device::pack& p) { any |= p.word[0] & p.word[1] & p.word[2] & p.word[3]; }, [] {});
  if (any == 0xdeadbeefu) *out = any;
}

/// How an array is read, and by how many threads. A keeping read has a shape of its own.
struct read_way {
  reading how;
  unsigned threads = 512, blocks_per_sm = 4;
};
/// The fastest of them is the ceiling; which it is, the size says, and what is in the L2.
inline constexpr read_way read_ways[] = {
    {reading::passing, 256, 1}, {reading::passing, 256, 2},  {reading::passing, 256, 4},  {reading::passing, 256, 8}, {reading::passing, 512, 1},
    {reading::passing, 512, 2}, {reading::passing, 512, 4}, {reading::passing, 1024, 1}, {reading::passing, 1024, 2}, {reading::keeping}};

/// What a device has, as far as reading goes.
struct read_device {
  unsigned sms;
  std::uint64_t l2_bytes;
};

/// Enqueues a read of so many bytes, in packs of 16 and one at least, from an aligned address. `out` is a word of the device
/// that nothing is written to.
inline cudaError_t enqueue_read(const read_way& way, const void* from, std::uint64_t bytes, unsigned* out, const read_device& on, cudaStream_t stream) {
  const std::uint64_t packs = std::max<std::uint64_t>(bytes / 16, 1);
  if (way.how == reading::keeping) {
    const auto share = static_cast<float>(std::min(1.0, 0.48 * static_cast<double>(on.l2_bytes) / static_cast<double>(bytes + 1)));
    const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(packs / keeping_threads, 1, std::uint64_t{4} * on.sms));
    const auto part = device::cut_array(static_cast<const float*>(from), bytes / 4, blocks * keeping_threads, bytes <= on.l2_bytes / 4 * 3 ? 1.0f : share);
    return device::launch(read_keeping_kernel, {blocks, keeping_threads, 0, stream}, part, out);
  }
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::uint64_t>((packs + way.threads - 1) / way.threads, 1, std::uint64_t{way.blocks_per_sm} * on.sms));
  return device::launch(way.how == reading::passing ? read_kernel<true> : read_kernel<false>, {blocks, way.threads, 0, stream},
                        static_cast<const uint4*>(from), packs, out);
}

}  // namespace wf::measure::inline WF_BUILD
