// SPDX-License-Identifier: Apache-2.0
// What simt tells of kernels: why a launch failed, where threads race, and what was counted. It is compiled by
// wf_add_simt_library(… LENS SOURCES lens.cpp LINK warpfold_lens): its kernels are instrumented.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// [fault]
#include <cuda_runtime.h>
#include <simt/machine.hpp>
// [/fault]
// [races]
#include <simt/race.hpp>

// [/races]
#include <lens/counting.hpp>
// [fault]

__global__ void half_barrier() {
  if (threadIdx.x >= 16) return;
  __syncthreads();
}

// [/fault]
/// A warp reads a column of its tile, 32 words of one bank, and all blocks write the same words.
__global__ void columns(int* out) {
  __shared__ int tile[32][32];
  for (int row = 0; row < 32; ++row) tile[row][threadIdx.x] = row;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][0];
}

static void launch_my_kernel() {
  int* out = nullptr;
  cudaMalloc(&out, 32 * sizeof(int));
  cudaLaunchConfig_t config{};
  config.gridDim = 2;
  config.blockDim = 32;
  cudaLaunchKernelEx(&config, columns, out);
  cudaFree(out);
}

int main() {
  // [races]
  simt::race_detector races;
  simt::current_options().watch = &races;   // for this host thread's launches
  launch_my_kernel();                       // in the LENS library
  simt::current_options().watch = nullptr;
  for (const simt::race& r : races.races()) std::puts(to_string(r).c_str());
  // [/races]
  // [counts]
  const std::vector<lens::kernel_counts> all = lens::count([&] { launch_my_kernel(); });
  std::uint64_t conflicts = all[0].total.shared_load.conflicts();  // and by source line: all[0].lines
  // [/counts]

  // The last thing, since no kernel starts after a fault.
  // [fault]
  simt::current_options().os_threads = 1;      // one block at a time: block 0 is always the first to fail
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 64;
  cudaLaunchKernelEx(&config, half_barrier);   // cudaErrorLaunchFailure
  std::puts(simt::last_fault().text.c_str());  // half_barrier, block 0, thread 0, lens.cpp:22: divergent barrier: 16 of 64 threads wait here, thread 16 has ended
  // [/fault]
  const std::string fault = simt::last_fault().text;
  const bool is_told = fault.starts_with("half_barrier, block 0, thread 0, ") &&
                       fault.ends_with("lens.cpp:22: divergent barrier: 16 of 64 threads wait here, thread 16 has ended");
  return is_told && races.races().size() == 1 && conflicts == 2 * 31 ? 0 : 1;
}
