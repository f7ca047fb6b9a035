// SPDX-License-Identifier: Apache-2.0
// More threads at once than the process has mappings or memory for; options that say nothing.
#include "launching.hpp"

#include <cooperative_groups.h>

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

__global__ void meet(unsigned* threads) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) atomicAdd(threads, blockDim.x);
}

#if !defined(WARPFOLD_SANITIZED)  // there, stacks are larger, and shadows of them take memory
/// As many blocks as `multiprocessors` hold at once.
cudaError_t fill(unsigned multiprocessors, unsigned threads, unsigned* sum) {
  const options_for scope(simt::block_order::forward);
  simt::current_options().multiprocessors = multiprocessors;
  *sum = 0;
  return run_cooperative(meet, multiprocessors * (2048 / threads), threads, sum);
}

TEST(limits, more_stacks_than_guards) {
  unsigned sum = 0;
  for (unsigned multiprocessors : {20u, 4u, 20u}) {
    ASSERT_EQ(fill(multiprocessors, 1024, &sum), cudaSuccess) << simt::last_fault().text;
    EXPECT_EQ(sum, multiprocessors * 2048);
  }
  ASSERT_EQ(fill(16, 64, &sum), cudaSuccess);
  EXPECT_EQ(sum, 16u * 2048);
}

std::size_t address_space() {
  std::size_t pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * 4096;
}

// In a process of its own: 2 if the large launch is refused for its memory and a small one works after it.
[[noreturn]] void launch_with_little_memory(unsigned threads) {
  unsigned sum = 0;
  if (fill(1, 1024, &sum) != cudaSuccess) std::exit(3);
  const std::size_t little = address_space() + (std::size_t{100} << 20);
  const rlimit limit{little, little};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(4);
  if (fill(20, threads, &sum) != cudaErrorMemoryAllocation) std::exit(5);
  sum = 0;
  if (cudaGetLastError() != cudaErrorMemoryAllocation || run_cooperative(meet, 2, 64, &sum) != cudaSuccess) std::exit(6);
  std::exit(sum == 128 ? 2 : 7);
}

TEST(limits, a_launch_without_memory_for_stacks_or_os_threads_fails_and_the_next_works) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launch_with_little_memory(1024), testing::ExitedWithCode(2), "");
  EXPECT_EXIT(launch_with_little_memory(64), testing::ExitedWithCode(2), "");
}
#endif

// A host thread reads the environment at its first launch.
std::string told_of(const char* name, const char* value, cudaError_t expected) {
  setenv(name, value, 1);
  testing::internal::CaptureStderr();
  std::thread([expected] {
    unsigned sum = 0;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run_cooperative(meet, 1, 32, &sum), expected);
  }).join();
  unsetenv(name);
  return testing::internal::GetCapturedStderr();
}

TEST(limits, a_misspelt_option_fails_the_launch_with_one_line) {
  EXPECT_EQ(told_of("SIMT_ORDER", "foo", cudaErrorInvalidValue),
            "simt: SIMT_ORDER=foo is none of forward, reversed and shuffled\n");
  for (const char* name : {"SIMT_THREADS", "SIMT_SEED", "SIMT_TIMEOUT", "SIMT_MULTIPROCESSORS"})
    for (const char* value : {"abc", "2x", "1 "})
      EXPECT_EQ(told_of(name, value, cudaErrorInvalidValue),
                "simt: " + std::string(name) + "=" + value + " is not a number that it can be\n");
  EXPECT_EQ(told_of("SIMT_THREADS", "-1", cudaErrorInvalidValue),
            "simt: SIMT_THREADS=-1 is not a number that it can be\n");
  for (const char* order : {"", "forward", "reversed", "shuffled"}) EXPECT_EQ(told_of("SIMT_ORDER", order, cudaSuccess), "");
  EXPECT_EQ(told_of("SIMT_TIMEOUT", "2.5", cudaSuccess), "");
}

}  // namespace
