// SPDX-License-Identifier: Apache-2.0
/// \file workspace.cuh
/// The scratch memory of reductions on one stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/launch_choices.hpp>
#include <warpfold/device/captures.cuh>
#include <warpfold/device/launch.cuh>

namespace wf::device::inline WF_BUILD {

/// Owns what the blocks of one launch tell each other through: 2.2 MiB of device memory. 173 KiB of it are all zero
/// between launches, since the block that reads a message erases it. So a launch needs no reset, and
/// a captured graph that holds only the kernel can be replayed.
///
/// One workspace serves the launches of one stream (or of streams ordered by events): two launches
/// that may run at once need two. It must outlive the launches, and every graph that captured them.
/// After a kernel that failed, make a new one.
class workspace {
 public:
  static constexpr std::uint32_t most_blocks = 2048;  ///< the most blocks of a launch
  static constexpr std::uint32_t message_words = 2;   ///< words per block in the mailbox of a sum
  static constexpr std::uint32_t mailbox_words = 1 << 14;  ///< in all: 264 states of 248 bytes
  static constexpr std::uint32_t near_blocks = 256;        ///< for a certified kernel of an array in L2 (certified_reduce.cuh)
  static constexpr std::uint32_t near_words = 8 * near_blocks;  ///< for their messages; two launches take turns with two such rooms
  static constexpr std::uint32_t spare_words = 4;          ///< for an answer that is never read
  static constexpr std::uint32_t tally_words = 8 * 80;
  static constexpr std::uint32_t row_tickets = 2048;      ///< for rows.hpp: rows, or tiles of columns, that many blocks share
  static constexpr std::uint64_t row_bytes = 2u << 20;    ///< for their states; what lies there between launches does not matter

  workspace() = default;
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;
  workspace(workspace&& o) noexcept { swap(o); }
  workspace& operator=(workspace&& o) noexcept {
    swap(o);
    return *this;
  }
  /// Waits for the launches that use the memory, as cudaFree does.
  ~workspace() {
    if (words_ != nullptr) cudaFree(words_);
  }

  /// Gives the memory back in stream order, without waiting; the workspace is empty after that.
  void release(cudaStream_t stream) {
    if (words_ != nullptr && cudaFreeAsync(words_, stream) != cudaSuccess) cudaFree(words_);
    words_ = nullptr;
  }

  /// Allocates and zeroes the memory in stream order on the current device; does nothing the second
  /// time. Reductions call it themselves. Where the stream is captured into a graph, the memory is none
  /// of the graph's, and this call waits for it.
  cudaError_t prepare(cudaStream_t stream) {
    if (words_ != nullptr) return cudaSuccess;
    int device = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess) {
      e = cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device);
    }
    if (e == cudaSuccess) {
      e = cudaDeviceGetAttribute(&block_shared_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&l2_bytes_, cudaDevAttrL2CacheSize, device);
    if (e == cudaSuccess) e = capability_of(device, capability_);
    if (e == cudaSuccess && !chosen_) choices_ = launch_choices_for(capability_ / 10, capability_ % 10);
#if !defined(__SIMT__)
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&double_ratio_, cudaDevAttrSingleToDoublePrecisionPerfRatio, device);
    int kilohertz = 0, bits = 0;
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device);
    memory_rate_ = 2e3 * kilohertz * bits / 8 / multiprocessors_;
#endif
    if (e != cudaSuccess) return e;
    return make(stream);
  }

  /// Launch choices in place of the table's.
  void choose(const launch_choices& c) {
    choices_ = c;
    chosen_ = true;
  }
  const launch_choices& choices() const { return choices_; }
  static cudaError_t table_choices(launch_choices& c, int device) {
    int capability = 0;
    const cudaError_t e = capability_of(device, capability);
    c = launch_choices_for(capability / 10, capability % 10);
    return e;
  }

  std::uint64_t* mailbox() const { return words_; }
  std::uint64_t* tally() const { return words_ + told_words; }
  /// What a certified kernel says to the exact one behind it (certified_reduce.cuh); each writes it anew.
  std::uint32_t* verdict() const { return reinterpret_cast<std::uint32_t*>(words_ + told_words + tally_words); }
  /// How many certified kernels of arrays in L2 there were, times two, and whether the last one's blocks were to add again.
  std::uint64_t* near_launches() const { return words_ + told_words + tally_words + 1; }
  std::uint64_t* near_boxes() const { return words_ + mailbox_words; }
  /// Six of binned_reduce.cuh.
  std::uint32_t* chunk_counters() const { return reinterpret_cast<std::uint32_t*>(words_ + told_words + tally_words + 2); }
  /// Where blocks of a certified kernel leave answers that are never read.
  std::uint64_t* spare_answers() const { return words_ + zeroed_words; }
  std::uint32_t* row_counters() const { return reinterpret_cast<std::uint32_t*>(words_ + told_words + tally_words + 10); }
  /// Which rows, of those that many blocks share, are to be added again (rows_again.cuh); each launch that asks for it writes it anew.
  std::uint64_t* row_verdicts() const { return words_ + zeroed_words + row_bytes / 8; }
  unsigned char* row_states() const { return reinterpret_cast<unsigned char*>(words_ + zeroed_words); }
  std::uint32_t multiprocessors() const { return static_cast<std::uint32_t>(multiprocessors_); }
  std::uint64_t l2_bytes() const { return static_cast<std::uint64_t>(l2_bytes_); }
  /// FP64 at a quarter of the speed of FP32 or better, as on A100, H100 and B200.
  bool fast_doubles() const { return double_ratio_ <= 4; }
  /// Whether DRAM has 30 GB/s or more for each multiprocessor: an H200 has 36, an H100 25. So it is also on simt, where tests run what is chosen then.
  bool fast_memory() const { return memory_rate_ >= 30e9; }
  std::size_t block_shared_bytes() const { return static_cast<std::size_t>(block_shared_); }
  /// Whether launches may overlap the end of the kernel before them: see launch_config.
  __attribute__((always_inline)) bool overlaps() const { return choices_.overlap != 0 && awaits_stream(capability_); }
  /// Whether kernels have copy engines to ask (bulk.cuh); others would copy by one thread. So they do on simt, where tests run these kernels.
  __attribute__((always_inline)) bool bulk_copies() const {
#if defined(__SIMT__)
    return true;
#else
    return awaits_stream(capability_);
#endif
  }

 private:
  static constexpr std::uint32_t told_words = mailbox_words + 2 * near_words;
  static constexpr std::uint32_t zeroed_words = told_words + tally_words + 10 + row_tickets / 2;
  static_assert(8 * spare_words * most_blocks <= row_bytes);
  static_assert(zeroed_words % 2 == 0);
  /// 90 for 9.0.
  static cudaError_t capability_of(int device, int& capability) {
    int major = 0, minor = 0;
    cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    capability = 10 * major + minor;
    return e;
  }
  /// Memory that a captured stream allocates is its graph's, and there only while that runs. So a stream of its own makes it then.
  [[gnu::cold, gnu::noinline]] cudaError_t make(cudaStream_t stream) {
    static_assert(most_blocks * message_words <= mailbox_words);
    constexpr std::size_t bytes = std::size_t{8} * zeroed_words;
    cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
    const bool captured = cudaStreamIsCapturing(stream, &now) != cudaSuccess || now != cudaStreamCaptureStatusNone;
    const beside_captures meanwhile;
    cudaStream_t other = nullptr;
    cudaError_t e = captured ? cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) : cudaSuccess;
    if (e != cudaSuccess) return e;
    const cudaStream_t on = captured ? other : stream;
    void* p = nullptr;
    e = cudaMallocAsync(&p, bytes + row_bytes + std::size_t{8} * row_tickets, on);
    if (e == cudaSuccess) e = cudaMemsetAsync(p, 0, bytes, on);
    if (captured) {
      const cudaError_t there = cudaStreamSynchronize(on);
      if (e == cudaSuccess) e = there;
      cudaStreamDestroy(other);
    }
    if (e == cudaSuccess) words_ = static_cast<std::uint64_t*>(p);
    else if (p != nullptr) cudaFree(p);
    return e;
  }
  void swap(workspace& o) noexcept {
    std::swap(words_, o.words_);
    std::swap(multiprocessors_, o.multiprocessors_);
    std::swap(block_shared_, o.block_shared_);
    std::swap(l2_bytes_, o.l2_bytes_);
    std::swap(double_ratio_, o.double_ratio_);
    std::swap(memory_rate_, o.memory_rate_);
    std::swap(capability_, o.capability_);
    std::swap(choices_, o.choices_);
    std::swap(chosen_, o.chosen_);
  }

  std::uint64_t* words_ = nullptr;
  int multiprocessors_ = 0;
  int block_shared_ = 0;
  int l2_bytes_ = 0;
  int double_ratio_ = 2;
  double memory_rate_ = 30e9;  // bytes per second
  int capability_ = 0;
  launch_choices choices_;
  bool chosen_ = false;
};

}  // namespace wf::device::inline WF_BUILD
