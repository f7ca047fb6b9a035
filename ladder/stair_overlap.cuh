// SPDX-License-Identifier: Apache-2.0
// A side stair: data on the host, summed in chunks over several streams.
//
// A copy engine and the SMs work at the same time, if the work is on different streams: while one
// chunk is summed, the next one is copied. That needs pinned memory. From pageable memory the
// driver copies through a buffer of its own, and the call returns late; nothing overlaps. The bus
// remains the limit: a kernel hidden behind copies costs nothing, and makes nothing faster than the
// copy.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include "16_shuffle_block.cuh"
#include "check.cuh"

namespace ladder::inline WF_BUILD {

inline constexpr unsigned overlap_chunks = 16;

/// One sum a chunk in device memory, chunk c on stream c mod count. Waits for all.
inline cudaError_t overlap(const float* host, float* device, std::uint64_t n, float* sums,
                           const std::vector<cudaStream_t>& streams, unsigned sms) {
  const std::uint64_t each = blocks_for(n, overlap_chunks);
  for (unsigned c = 0; c < overlap_chunks; ++c) {
    const std::uint64_t first = std::min(n, c * each), count = std::min(each, n - first);
    run r;
    r.sms = sms;
    r.stream = streams[c % streams.size()];
    cudaError_t e = cudaMemcpyAsync(device + first, host + first, count * sizeof(float),
                                    cudaMemcpyHostToDevice, r.stream);
    const float* x = device + first;
    if (e == cudaSuccess) e = shuffle_block(x, count, sums + c, r);
    if (e != cudaSuccess) return e;
  }
  for (const cudaStream_t s : streams)
    if (const cudaError_t e = cudaStreamSynchronize(s); e != cudaSuccess) return e;
  return cudaSuccess;
}

/// 1, 2, 4 and 8 streams from pageable and from pinned memory. The elements are small integers, so
/// that every sum is exact and compared with ==.
inline std::vector<overlap_row> run_overlaps(std::uint64_t n, unsigned sms) {
  std::vector<float> pageable(n);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const unsigned v = i * 2654435761u >> 20 & 1;
    pageable[i] = static_cast<float>(v);
    expected += v;
  }
  const std::uint64_t bytes = n * sizeof(float);
  device_memory device(bytes + 16), sums(overlap_chunks * sizeof(float));
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, bytes + 16), "cudaMallocHost");
  std::copy(pageable.begin(), pageable.end(), static_cast<float*>(pinned));
  std::vector<cudaStream_t> all(8);
  for (cudaStream_t& s : all)
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");

  std::vector<overlap_row> rows;
  for (const bool is_pinned : {false, true})
    for (const unsigned count : {1u, 2u, 4u, 8u}) {
      overlap_row row;
      row.memory = is_pinned ? "pinned" : "pageable";
      row.streams = count;
      const std::vector<cudaStream_t> streams(all.begin(), all.begin() + count);
      const float* host = is_pinned ? static_cast<const float*>(pinned) : pageable.data();
      const auto once = [&] {
        check(overlap(host, static_cast<float*>(device.get()), n, static_cast<float*>(sums.get()),
                      streams, sms),
              "overlap");
      };
      check(cudaMemset(device.get(), 0xFF, bytes), "cudaMemset");
      check(cudaDeviceSynchronize(), "cudaMemset");
      once();
      float of_chunk[overlap_chunks];
      check(cudaMemcpy(of_chunk, sums.get(), sizeof of_chunk, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
      double sum = 0;
      for (const float s : of_chunk) sum += s;
      row.right = sum == static_cast<double>(expected);
#if defined(__CUDACC__)
      std::vector<double> times;
      for (int k = 0; k < 7; ++k) {
        const auto start = std::chrono::steady_clock::now();
        once();
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::sort(times.begin(), times.end());
      row.seconds = times[times.size() / 2];
#endif
      rows.push_back(row);
    }
  for (const cudaStream_t s : all) cudaStreamDestroy(s);
  cudaFreeHost(pinned);
  return rows;
}

}  // namespace ladder::inline WF_BUILD
