// SPDX-License-Identifier: Apache-2.0
// Blocks that wait for other blocks in loops of their own.
#include "launching.hpp"

#include <cuda/atomic>

#include <thread>
#include <vector>

namespace {

template <class T>
using device_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;

// Every block leaves its partial and takes a ticket; the last one finishes.
__global__ void last_block(const int* in, int* partials, unsigned* ticket, int* out) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd_block(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += device_ref<int>(partials[i]).load(cuda::memory_order_relaxed);
    *out = all;
  }
}

TEST(blocks, the_last_one_finishes) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u}) {
      const options_for scope(order, permits);
      std::vector<int> in(500 * 48, 1), partials(500);
      unsigned ticket = 0;
      int out = 0;
      ASSERT_EQ(run(last_block, 500, 48, in.data(), partials.data(), &ticket, &out), cudaSuccess);
      EXPECT_EQ(out, 500 * 48);
    }
}

// Block 0 collects what the others put into their mailboxes, and answers each.
__global__ void mailboxes(int* box, int* answer, int* out) {
  if (blockIdx.x == 0) {
    for (unsigned i = 1 + threadIdx.x; i < gridDim.x; i += blockDim.x) {
      while (device_ref<int>(box[i]).load(cuda::memory_order_acquire) == 0) __nanosleep(100);
      device_ref<int>(answer[i]).store(box[i] + 1000, cuda::memory_order_release);
    }
  } else if (threadIdx.x == 0) {
    device_ref<int>(box[blockIdx.x]).store(static_cast<int>(blockIdx.x), cuda::memory_order_release);
    while (device_ref<int>(answer[blockIdx.x]).load(cuda::memory_order_acquire) == 0) {
    }
    out[blockIdx.x] = answer[blockIdx.x];
  }
}

// The last block's warps look at what the others put there, and vote at each look whether all of it has come.
__global__ void looks_by_vote(int* box, int* out) {
  if (blockIdx.x + 1 < gridDim.x) {
    if (threadIdx.x == 0) device_ref<int>(box[blockIdx.x]).store(1, cuda::memory_order_release);
    return;
  }
  int seen = 0;
  for (bool wait = true; wait;) {
    seen = threadIdx.x + 1 < gridDim.x ? device_ref<int>(box[threadIdx.x]).load(cuda::memory_order_acquire) : 1;
    wait = __any_sync(~0u, seen == 0) != 0;
    if (wait) __nanosleep(0);
  }
  atomicAdd(out, seen);
}

TEST(blocks, votes_of_lanes_that_wait_for_other_blocks_are_no_progress) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u}) {
      const options_for scope(order, permits);
      std::vector<int> box(64);
      int out = 0;
      ASSERT_EQ(run(looks_by_vote, 48, 64, box.data(), &out), cudaSuccess) << simt::last_fault().text;
      EXPECT_EQ(out, 64);
    }
}

TEST(blocks, mailboxes_between_block_0_and_the_rest) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u, 5u})
      for (unsigned threads : {1u, 32u, 64u}) {
        const options_for scope(order, permits);
        const unsigned blocks = 24;
        std::vector<int> box(blocks), answer(blocks), out(blocks);
        ASSERT_EQ(run(mailboxes, blocks, threads, box.data(), answer.data(), out.data()), cudaSuccess)
            << simt::last_fault().text;
        for (unsigned b = 1; b < blocks; ++b) EXPECT_EQ(out[b], static_cast<int>(b) + 1000);
      }
}

// Each block waits for the one before it, by failing compare-and-swaps only.
__global__ void chain(int* turn, int* out) {
  if (threadIdx.x == 0) {
    const int mine = static_cast<int>(gridDim.x - 1 - blockIdx.x);
    while (atomicCAS(turn, mine, mine) != mine) {
    }
    out[mine] = static_cast<int>(blockIdx.x);
    atomicExch(turn, mine + 1);
  }
  __syncthreads();
}

TEST(blocks, a_chain_against_the_starting_order) {
  for (auto order : every_order)
    for (unsigned permits : {1u, 2u}) {
      const options_for scope(order, permits);
      const unsigned blocks = 60;
      int turn = 0;
      std::vector<int> out(blocks);
      ASSERT_EQ(run(chain, blocks, 128, &turn, out.data()), cudaSuccess) << simt::last_fault().text;
      for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(out[i], static_cast<int>(blocks - 1 - i));
    }
}

// Threads of one block, of one warp even, wait for each other without a barrier.
__global__ void spin_in_a_block(int* turn) {
  const int mine = static_cast<int>(blockDim.x - 1 - threadIdx.x);
  while (device_ref<int>(*turn).load() != mine) {
  }
  device_ref<int>(*turn).store(mine + 1);
}

TEST(blocks, threads_of_one_block_wait_in_loops) {
  for (unsigned threads : {2u, 32u, 100u}) {
    int turn = 0;
    ASSERT_EQ(run(spin_in_a_block, 1, threads, &turn), cudaSuccess);
    EXPECT_EQ(turn, static_cast<int>(threads));
  }
}

__global__ void count(unsigned long long* sum) {
  __shared__ unsigned long long s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, 1ull);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, s);
}

TEST(blocks, launches_from_several_host_threads) {
  std::vector<std::thread> hosts;
  unsigned long long sums[3] = {};
  for (auto& sum : sums)
    hosts.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(run(count, 50, 70, &sum), cudaSuccess);
      EXPECT_EQ(simt::stats().blocks, 1000u);
    });
  for (auto& h : hosts) h.join();
  for (auto sum : sums) EXPECT_EQ(sum, 20ull * 50 * 70);
}

}  // namespace
