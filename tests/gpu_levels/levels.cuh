// SPDX-License-Identifier: Apache-2.0
// The body of levels.hpp for the machine that this is compiled for.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <warpfold/device/cluster.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/levels.cuh>

#include "../support/device.cuh"
#include "levels.hpp"

namespace levels::inline WF_BUILD {

/// A thread's stretch, then the level's own function; each group's first thread writes.
template <class R, class T>
__global__ void kernel(level at, const T* x, std::int64_t n, std::int64_t stretch, std::uint64_t* boxes,
                       std::uint64_t* out) {
  __shared__ wf::block_states<R, 1024> room;
  const R r;
  const std::int64_t in_block = std::int64_t{blockDim.x} * blockDim.y * blockDim.z;
  const std::int64_t thread = blockIdx.x * in_block + wf::thread_in_block();
  const std::int64_t first = thread * stretch, end = first + stretch < n ? first + stretch : n;
  auto s = wf::thread_reduce(r, x, first, end);
  std::int64_t group = thread, threads = 1;
  bool writes = true;
  switch (at) {
    case level::thread: break;
    case level::warp:
      s = wf::warp_reduce(r, s);
      threads = 32;
      writes = threadIdx.x % 32 == 0;
      break;
    case level::block:
      s = wf::block_reduce(r, s, room.of_warp);
      threads = in_block;
      writes = wf::thread_in_block() == 0;
      break;
    case level::cluster:
      s = wf::cluster_reduce(r, s, room.of_warp);
      threads = static_cast<std::int64_t>(blockDim.x) * cooperative_groups::this_cluster().num_blocks();
      writes = wf::leads_cluster() && threadIdx.x == 0;
      break;
    case level::grid:
      s = wf::block_reduce(r, s, room.of_warp);
      __syncthreads();
      writes = wf::grid_reduce(r, s, room.of_warp, boxes);
      threads = static_cast<std::int64_t>(blockDim.x) * gridDim.x;
      break;
  }
  if (!writes) return;
  group = thread / threads;
  const std::int64_t begin = group * threads * stretch, left = n - begin, most = threads * stretch;
  const std::int64_t count = left < 0 ? 0 : left < most ? left : most;
  out[group] = static_cast<std::uint64_t>(r.finish(s, count));
}

template <class R, class T>
level_answers run(const level_request& q) {
  const auto x = level_data<T>(q.n);
  const auto groups = static_cast<std::size_t>(groups_of(q));
  const std::size_t boxes_bytes = 8 * std::size_t{q.blocks} * wf::state_boxes<wf::state_of<R>>::words;
  const devices::device_bytes in(x.size() * sizeof(T) + 16), boxes(boxes_bytes), out(8 * groups);
  level_answers a;
  a.got.resize(groups);
  cudaError_t e = in.error != cudaSuccess ? in.error : boxes.error != cudaSuccess ? boxes.error : out.error;
  if (e == cudaSuccess && q.n != 0) e = cudaMemcpy(in.p, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice);
  if (e == cudaSuccess) e = cudaMemset(boxes.p, 0, boxes_bytes);
  if (e == cudaSuccess) e = cudaMemset(out.p, 0xa5, 8 * groups);
  for (int twice = 0; twice < 2 && e == cudaSuccess; ++twice) {  // the boxes are left empty
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(q.blocks);
    config.blockDim = q.wide == 0 ? dim3(q.threads) : dim3(q.wide, q.high, q.threads / q.wide / q.high);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = q.cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = q.at == level::cluster ? 1 : 0;
    e = cudaLaunchKernelEx(&config, kernel<R, T>, q.at, static_cast<const T*>(in.p), q.n, stretch_of(q),
                           static_cast<std::uint64_t*>(boxes.p), static_cast<std::uint64_t*>(out.p));
  }
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  if (e == cudaSuccess) e = cudaMemcpy(a.got.data(), out.p, 8 * groups, cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) a.error = cudaGetErrorString(e);
  return a;
}

__global__ void counting(int* launches) { ++*launches; }

/// What wf::device::launch() remembers of a kernel's shared memory. `resets`: the device is reset on the way.
inline std::string launches_with_much_shared_memory(bool resets) {
  constexpr std::size_t kb = 1024;
  int launches = 0;
  const auto launched = [&](std::size_t bytes) {
    devices::device_bytes at(sizeof launches);
    cudaError_t e = at.error != cudaSuccess ? at.error : cudaMemcpy(at.p, &launches, sizeof launches, cudaMemcpyHostToDevice);
    if (e == cudaSuccess) e = wf::device::launch(counting, {.threads = 1, .shared_bytes = bytes}, static_cast<int*>(at.p));
    return e == cudaSuccess ? cudaMemcpy(&launches, at.p, sizeof launches, cudaMemcpyDeviceToHost) : e;
  };
  const auto allow = [](std::size_t bytes) { return cudaFuncSetAttribute(counting, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)); };
  const auto allowed = [] {
    cudaFuncAttributes a{};
    return cudaFuncGetAttributes(&a, counting) == cudaSuccess ? static_cast<std::size_t>(a.maxDynamicSharedSizeBytes) / kb : 0;
  };
  if (launched(60 * kb) != cudaSuccess || allowed() != 60) return "a first launch with 60 KiB";
  if (allow(90 * kb) != cudaSuccess || launched(60 * kb) != cudaSuccess) return "a second launch with 60 KiB";
  if (allowed() != 90) return "a second launch with 60 KiB asked CUDA for them again";
  if (launched(61 * kb) != cudaSuccess || allowed() != 61) return "a launch with 61 KiB after one with 60";
  if (allow(48 * kb) != cudaSuccess || launched(61 * kb) != cudaSuccess || allowed() != 61) return "a launch with 61 KiB where CUDA allows 48 again";
  if (cudaPeekAtLastError() != cudaSuccess) return "a launch that was mended left an error";
  if (launched(4096 * kb) != cudaErrorInvalidValue || cudaGetLastError() != cudaErrorInvalidValue) return "a launch with 4 MiB";
  if (resets && (cudaDeviceReset() != cudaSuccess || allowed() != 48)) return "a reset device allows as much as before";
  if (launched(61 * kb) != cudaSuccess) return "a launch with 61 KiB behind one that was refused, or behind a reset";
  return launches == 5 ? "" : "kernels were launched " + std::to_string(launches) + " times, not 5";
}

inline level_answers run_any(const level_request& q) {
  switch (q.what) {
    case kind::polynomial: return run<polynomial, std::uint8_t>(q);
    case kind::longest_run: return run<longest_run, std::int32_t>(q);
    case kind::triples: return run<triples, triple>(q);
  }
  return {"no such reduction", {}};
}

}  // namespace levels::inline WF_BUILD
