// SPDX-License-Identifier: Apache-2.0
#include "launching.hpp"

#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <climits>
#include <vector>

namespace {

constexpr unsigned blocks = 8, threads = 96, total = blocks * threads;

enum operation { add, sub, least, most, exch, inc, dec, band, bor, bxor };

// Every thread does its operation on out[0] (global) and on a shared word that thread 0 hands over.
template <operation Op, class T>
__global__ void update(T* out, T start) {
  __shared__ T word;
  if (threadIdx.x == 0) word = start;
  __syncthreads();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const T v = static_cast<T>(i % 61 + 1);
  for (T* to : {out, &word}) {
    if constexpr (Op == add) atomicAdd(to, v);
    if constexpr (Op == sub) atomicSub(to, v);
    if constexpr (Op == least) atomicMin(to, v);
    if constexpr (Op == most) atomicMax(to, v);
    if constexpr (Op == inc) atomicInc(to, 9);
    if constexpr (Op == dec) atomicDec(to, 9);
    if constexpr (Op == band) atomicAnd(to, static_cast<T>(~(T{1} << i % 20)));
    if constexpr (Op == bor) atomicOr(to, static_cast<T>(T{1} << i % 20));
    if constexpr (Op == bxor) atomicXor(to, v);
    if constexpr (Op == exch) atomicExch(to, v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[1 + blockIdx.x] = word;
}

template <operation Op, class T>
T expected(T start, unsigned first, unsigned count) {
  T r = start;
  for (unsigned i = first; i < first + count; ++i) {
    const T v = static_cast<T>(i % 61 + 1);
    if constexpr (Op == add) r += v;
    if constexpr (Op == sub) r -= v;
    if constexpr (Op == least) r = std::min(r, v);
    if constexpr (Op == most) r = std::max(r, v);
    if constexpr (Op == inc) r = r >= 9 ? 0 : r + 1;
    if constexpr (Op == dec) r = r == 0 || r > 9 ? 9 : r - 1;
    if constexpr (Op == band) r &= static_cast<T>(~(T{1} << i % 20));
    if constexpr (Op == bor) r |= static_cast<T>(T{1} << i % 20);
    if constexpr (Op == bxor) r ^= v;
  }
  return r;
}

template <operation Op, class T>
void check(T start) {
  std::vector<T> out(1 + blocks);
  out[0] = start;
  const options_for scope(simt::block_order::forward, 2);
  simt::reset_stats();
  ASSERT_EQ(run(update<Op, T>, blocks, threads, out.data(), start), cudaSuccess);
  EXPECT_EQ(out[0], (expected<Op, T>(start, 0, total))) << Op;
  for (unsigned b = 0; b < blocks; ++b) EXPECT_EQ(out[1 + b], (expected<Op, T>(start, b * threads, threads))) << Op;
  EXPECT_EQ(simt::stats().atomics, 2u * total);
}

TEST(atomics, integers_and_floats_on_shared_and_global_memory) {
  using ull = unsigned long long;
  check<add, int>(-100), check<add, unsigned>(5), check<add, ull>(1ull << 40), check<add, float>(0), check<add, double>(0.5);
  check<sub, int>(7), check<sub, unsigned>(7);
  check<least, int>(1000), check<least, unsigned>(1000), check<least, long long>(1000), check<least, ull>(1000);
  check<most, int>(-9), check<most, unsigned>(0), check<most, long long>(LLONG_MIN), check<most, ull>(0);
  check<inc, unsigned>(3), check<dec, unsigned>(20);
  check<band, int>(-1), check<band, unsigned>(~0u), check<band, ull>(~0ull);
  check<bor, int>(0), check<bor, unsigned>(0), check<bor, ull>(1ull << 50);
  check<bxor, int>(77), check<bxor, unsigned>(0), check<bxor, ull>(0);
}

template <class T>
__global__ void exchange(T* word, unsigned long long* seen) {
  const T mine = static_cast<T>(blockIdx.x * blockDim.x + threadIdx.x + 1);
  const auto old = static_cast<unsigned long long>(atomicExch(word, mine));
  atomicAdd(seen, old);
}

TEST(atomics, an_exchange_hands_each_value_to_one) {
  unsigned word = 0;
  float word_f = 0;
  unsigned long long word_l = 0, seen = 0;
  const unsigned long long sum = total * (total + 1ull) / 2;
  ASSERT_EQ(run(exchange<unsigned>, blocks, threads, &word, &seen), cudaSuccess);
  EXPECT_EQ(seen + word, sum);
  seen = 0;
  ASSERT_EQ(run(exchange<float>, blocks, threads, &word_f, &seen), cudaSuccess);
  EXPECT_EQ(seen + static_cast<unsigned long long>(word_f), sum);
  seen = 0;
  ASSERT_EQ(run(exchange<unsigned long long>, blocks, threads, &word_l, &seen), cudaSuccess);
  EXPECT_EQ(seen + word_l, sum);
}

template <class T>
__global__ void add_by_cas(T* word) {
  T old = *word, seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, static_cast<T>(seen + 1));
  } while (old != seen);
}

TEST(atomics, compare_and_swap_of_each_width) {
  int i = 0;
  unsigned u = 0;
  unsigned long long l = 1ull << 33;
  unsigned short s = 3;
  ASSERT_EQ(run(add_by_cas<int>, blocks, threads, &i), cudaSuccess);
  ASSERT_EQ(run(add_by_cas<unsigned>, blocks, threads, &u), cudaSuccess);
  ASSERT_EQ(run(add_by_cas<unsigned long long>, blocks, threads, &l), cudaSuccess);
  ASSERT_EQ(run(add_by_cas<unsigned short>, blocks, threads, &s), cudaSuccess);
  EXPECT_EQ(i, static_cast<int>(total));
  EXPECT_EQ(u, total);
  EXPECT_EQ(l, (1ull << 33) + total);
  EXPECT_EQ(s, 3 + total);
}

__global__ void scopes(int* out) {
  __shared__ int word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  atomicAdd_block(&word, 2);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(out, word);
  __threadfence_system();
}

TEST(atomics, block_and_system_scopes) {
  int out = 0;
  ASSERT_EQ(run(scopes, blocks, threads, &out), cudaSuccess);
  EXPECT_EQ(out, static_cast<int>(2 * total));
}

template <class T>
__global__ void references(T* out) {
  cuda::atomic_ref<T, cuda::thread_scope_device> r(*out);
  r.fetch_add(T{2}, cuda::memory_order_relaxed);
  r.fetch_sub(T{1}, cuda::memory_order_acq_rel);
  cuda::atomic_ref<T, cuda::thread_scope_device>(out[1]).fetch_max(static_cast<T>(threadIdx.x));
  cuda::atomic_ref<T, cuda::thread_scope_device>(out[2]).fetch_min(static_cast<T>(threadIdx.x));
  cuda::atomic_ref<T, cuda::thread_scope_system> third(out[3]);
  T old = third.load(cuda::memory_order_relaxed);
  while (!third.compare_exchange_weak(old, static_cast<T>(old + T{1}), cuda::memory_order_release,
                                      cuda::memory_order_relaxed)) {
  }
}

template <class T>
void check_references() {
  T out[4] = {T{0}, T{0}, T{100}, T{0}};
  ASSERT_EQ(run(references<T>, blocks, threads, out), cudaSuccess);
  EXPECT_EQ(out[0], T{total});
  EXPECT_EQ(out[1], T{threads - 1});
  EXPECT_EQ(out[2], T{0});
  EXPECT_EQ(out[3], T{total});
}

TEST(atomics, references_of_integers_and_floats) {
  check_references<int>();
  check_references<unsigned>();
  check_references<std::int64_t>();
  check_references<std::uint64_t>();
  check_references<float>();
  check_references<double>();
}

// Multiples of 2^-4 up to 16: every partial sum is exact in each half type.
template <class Half, class Pair>
__global__ void add_halves(Half* out, Pair* pairs) {
  __shared__ Half word;
  __shared__ Pair pair;
  if (threadIdx.x == 0) {
    word = Half(0.0f);
    pair = Pair{Half(0.0f), Half(0.0f)};
  }
  __syncthreads();
  const Pair one{Half(0.0625f), Half(-0.0625f)};
  atomicAdd(&word, Half(0.0625f));
  atomicAdd(&pair, one);
  atomicAdd(out, Half(0.0625f));
  atomicAdd(pairs, one);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = word;
    pairs[1 + blockIdx.x] = pair;
  }
}

template <class Half, class Pair>
void check_halves() {
  std::vector<Half> out(1 + blocks);
  std::vector<Pair> pairs(1 + blocks);
  const options_for scope(simt::block_order::forward, 2);
  ASSERT_EQ(run(add_halves<Half, Pair>, blocks, 32, out.data(), pairs.data()), cudaSuccess);
  for (unsigned b = 0; b <= blocks; ++b) {
    const float sum = (b == 0 ? blocks : 1) * 32 * 0.0625f;
    EXPECT_EQ(static_cast<float>(out[b]), sum) << b;
    EXPECT_EQ(static_cast<float>(pairs[b].x), sum) << b;
    EXPECT_EQ(static_cast<float>(pairs[b].y), -sum) << b;
  }
}

TEST(atomics, halves_and_pairs_of_them) {
  check_halves<__half, __half2>();
  check_halves<__nv_bfloat16, __nv_bfloat162>();
}

struct alignas(16) wide {
  std::uint64_t a, b;
};

// 16 bytes are written as one: a reader never sees halves of two values.
__global__ void wide_values(wide* cell, int* torn) {
  cuda::atomic_ref<wide, cuda::thread_scope_device> r(*cell);
  for (unsigned i = 0; i < 50; ++i) {
    const std::uint64_t v = blockIdx.x * 1000 + threadIdx.x + i;
    if (blockIdx.x % 2 == 0) r.store({v, ~v}, cuda::memory_order_release);
    const wide seen = r.load(cuda::memory_order_acquire);
    if (seen.a != ~seen.b) atomicAdd(torn, 1);
  }
}

TEST(atomics, sixteen_bytes_are_not_torn) {
  wide cell{0, ~std::uint64_t{0}};
  int torn = 0;
  const options_for scope(simt::block_order::forward, 2);
  ASSERT_EQ(run(wide_values, blocks, threads, &cell, &torn), cudaSuccess);
  EXPECT_EQ(torn, 0);
}

__global__ void shared_atomic(int* out) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> sum;
  if (threadIdx.x == 0) sum.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  sum += 1;
  ++sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

TEST(atomics, an_atomic_object_in_shared_memory) {
  int out[blocks];
  ASSERT_EQ(run(shared_atomic, blocks, threads, out), cudaSuccess);
  for (int v : out) EXPECT_EQ(v, static_cast<int>(2 * threads));
}

}  // namespace
