// SPDX-License-Identifier: Apache-2.0
// Each fault is reported with kernel, block, thread and line, and the launch after it works.
#include "launching.hpp"

#include <cooperative_groups.h>
#include <cuda/atomic>

#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#undef NDEBUG
#include <cassert>

namespace {

using simt::fault;

__global__ void fine(int* out) {
  __syncthreads();
  atomicAdd(out, static_cast<int>(__shfl_sync(~0u, threadIdx.x, 3)));
}

// The line of the last MARK in a kernel.
int marked = 0;
#define MARK marked = __LINE__;

template <class Launch>
simt::fault_report fails_with(fault what, Launch launch) {
  simt::clear_fault();
  marked = 0;
  const cudaError_t e = launch();
  const auto r = simt::last_fault();
  EXPECT_EQ(e, what == fault::out_of_bounds ? cudaErrorIllegalAddress : cudaErrorLaunchFailure) << r.text;
  EXPECT_EQ(r.what, what) << r.text;
  EXPECT_EQ(cudaPeekAtLastError(), e);
  EXPECT_NE(r.text.find(simt::to_string(what)), std::string::npos) << r.text;
  if (marked != 0) {
    EXPECT_NE(r.where.file.find("faults_test.cpp"), std::string::npos) << r.text;
    EXPECT_EQ(r.where.line, marked) << r.text;
  }
  simt::clear_fault();
  EXPECT_EQ(simt::last_fault().what, fault::none);
  for (unsigned permits : {1u, 2u}) {
    const options_for scope(simt::block_order::forward, permits);
    int out = 0;
    EXPECT_EQ(run(fine, 5, 64, &out), cudaSuccess) << r.text;
    EXPECT_EQ(out, 5 * (32 * 3 + 32 * 35));
  }
  return r;
}

__global__ void half_barrier() {
  if (blockIdx.x == 2 && threadIdx.x >= 16) return;
  MARK __syncthreads();
}

TEST(faults, a_barrier_that_half_of_a_block_never_reaches) {
  const options_for scope(simt::block_order::forward, 1);
  const auto r = fails_with(fault::divergent_barrier, [] { return run(half_barrier, 4, 64); });
  EXPECT_EQ(r.block, 2u);
  EXPECT_LT(r.thread, 16u);
  EXPECT_NE(r.kernel.find("half_barrier"), std::string::npos);
  EXPECT_NE(r.text.find("16 of 64 threads"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("has ended"), std::string::npos) << r.text;
}

__global__ void barrier_against_warp() {
  if (threadIdx.x < 40) {
    MARK __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST(faults, a_barrier_while_others_wait_for_a_warp) {
  const auto r = fails_with(fault::divergent_barrier, [] { return run(barrier_against_warp, 1, 64); });
  EXPECT_EQ(r.thread, 0u);
}

__global__ void mixed_collectives(int* out) {
  if (threadIdx.x % 2) {
    out[threadIdx.x] = __shfl_sync(~0u, 1, 0);
  } else {
    out[threadIdx.x] = __any_sync(~0u, 1);
  }
}

__global__ void not_in_mask(int* out) { MARK out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0); }

__global__ void names_the_ended(int* out) {
  if (threadIdx.x == 5) return;
  out[threadIdx.x] = __shfl_sync(~0u, 1, 0);
}

__global__ void different_masks() {
  if (threadIdx.x < 8) __syncwarp(0x0000ffffu);
  else if (threadIdx.x < 16) __syncwarp(0x0000ff00u), __syncwarp(0x0000ff01u);
}

TEST(faults, collectives_that_do_not_fit) {
  int out[32];
  fails_with(fault::bad_collective, [&] { return run(mixed_collectives, 1, 32, out); });
  const auto r = fails_with(fault::bad_collective, [&] { return run(not_in_mask, 1, 32, out); });
  EXPECT_EQ(r.thread, 16u);
  fails_with(fault::bad_collective, [&] { return run(names_the_ended, 1, 32, out); });
  fails_with(fault::bad_collective, [&] { return run(different_masks, 1, 32); });
}

__global__ void part_of_a_grid() {
  if (blockIdx.x == 3) return;
  MARK cooperative_groups::this_grid().sync();
}
__global__ void grid_needs_cooperation() { cooperative_groups::this_grid().sync(); }
__global__ void part_of_a_cluster() {
  if (blockIdx.x % 2 == 1 && threadIdx.x == 7) return;
  cooperative_groups::this_cluster().sync();
}

TEST(faults, barriers_of_blocks_that_some_never_reach) {
  for (unsigned permits : {1u, 2u}) {
    const options_for scope(simt::block_order::reversed, permits);
    fails_with(fault::divergent_barrier, [] { return run_cooperative(part_of_a_grid, 8, 33); });
    fails_with(fault::divergent_barrier, [] { return run_clusters(part_of_a_cluster, 8, 32, 2); });
    fails_with(fault::trap, [] { return run(grid_needs_cooperation, 2, 32); });
  }
}

__global__ void wait_for_nobody(int* flag) {
  while (cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load() == 0) {
  }
}
__global__ void wait_asleep(int* flag) {
  if (threadIdx.x < 20) {
    while (atomicAdd(flag, 0) == 0) __nanosleep(10);
  }
  __syncthreads();
}

TEST(faults, a_loop_that_waits_for_nobody_is_a_deadlock) {
  for (unsigned permits : {1u, 2u}) {
    const options_for scope(simt::block_order::forward, permits);
    simt::current_options().timeout_seconds = 0.3;
    int flag = 0;
    const auto r = fails_with(fault::deadlock, [&] { return run(wait_for_nobody, 40, 32, &flag); });
    EXPECT_NE(r.where.file.find("faults_test.cpp"), std::string::npos) << r.text;
    fails_with(fault::deadlock, [&] { return run(wait_asleep, 3, 32, &flag); });
  }
}

__global__ void never_ends(volatile unsigned* n) {
  if (blockIdx.x == 1)
    for (;;) *n = *n + 1;
  __syncthreads();
}

TEST(faults, a_loop_without_a_step_hangs) {
  for (unsigned permits : {1u, 2u}) {
    const options_for scope(simt::block_order::forward, permits);
    simt::current_options().timeout_seconds = 0.3;
    unsigned n = 0;
    const auto r = fails_with(fault::hung, [&] { return run(never_ends, 6, 64, &n); });
    EXPECT_EQ(r.block, 1u);
    EXPECT_NE(r.where.file.find("faults_test.cpp"), std::string::npos) << r.text;
  }
}

__global__ void null_write(int* p) {
  __syncthreads();
  if (threadIdx.x == 33 && blockIdx.x == 1) {
    MARK *p = 1;
  }
  __syncthreads();
}

__global__ void traps() {
  if (threadIdx.x == 9) {
    MARK __trap();
  }
}
__global__ void asserts(int limit) { MARK assert(static_cast<int>(threadIdx.x) < limit); }
__global__ void throws() { throw std::runtime_error("no kernel may"); }

TEST(faults, an_address_that_is_not_mapped) {
  for (unsigned permits : {1u, 2u}) {
    const options_for scope(simt::block_order::forward, permits);
    int* nowhere = reinterpret_cast<int*>(16);
    const auto r = fails_with(fault::out_of_bounds, [&] { return run(null_write, 3, 64, nowhere); });
    EXPECT_EQ(r.address, 16u);
    EXPECT_EQ(r.block, 1u);
    EXPECT_EQ(r.thread, 33u);
  }
}

TEST(faults, traps_asserts_divisions_and_throws) {
  const auto r = fails_with(fault::trap, [] { return run(traps, 1, 32); });
  EXPECT_EQ(r.thread, 9u);
  const auto a = fails_with(fault::trap, [] { return run(asserts, 1, 32, 20); });
  EXPECT_EQ(a.thread, 20u);
  EXPECT_NE(a.text.find("threadIdx.x"), std::string::npos) << a.text;
  const auto t = fails_with(fault::trap, [] { return run(throws, 1, 32); });
  EXPECT_NE(t.text.find("no kernel may"), std::string::npos) << t.text;
}

// The sanitizers find these two first, and end the program.
#if !defined(WARPFOLD_SANITIZED)
__attribute__((noinline)) int deep(int n, volatile char* up) {
  volatile char here[1024];
  here[0] = up ? up[0] : 1;
  return n == 0 ? here[0] : deep(n - 1, here) + here[0];
}
__global__ void overflow(int* out) { *out = deep(1 << 20, nullptr); }

__global__ void divide(int* out, int by) { *out = 5 / by; }

TEST(faults, divisions_by_zero_and_full_stacks) {
  int out = 0;
  fails_with(fault::trap, [&] { return run(divide, 1, 1, &out, 0); });
  const auto r = fails_with(fault::out_of_bounds, [&] { return run(overflow, 1, 40, &out); });
  EXPECT_NE(r.text.find("stack"), std::string::npos) << r.text;
}
#endif

TEST(faults, a_hundred_in_a_row_lose_nothing) {
  const options_for scope(simt::block_order::shuffled, 2);
  for (int i = 0; i < 100; ++i) {
    simt::clear_fault();
    ASSERT_EQ(run(half_barrier, 40, 64), cudaErrorLaunchFailure);
  }
  simt::clear_fault();
  int out = 0;
  EXPECT_EQ(run(fine, 5, 64, &out), cudaSuccess);
}

TEST(faults, the_error_stays_until_it_is_cleared) {
  simt::clear_fault();
  ASSERT_EQ(run(traps, 1, 32), cudaErrorLaunchFailure);
  int out = 0;
  EXPECT_EQ(run(fine, 1, 64, &out), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  simt::clear_fault();
  EXPECT_EQ(run(fine, 1, 64, &out), cudaSuccess);
}

}  // namespace
