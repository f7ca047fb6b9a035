// SPDX-License-Identifier: Apache-2.0
// vector_load: 16 bytes a load, four loads in flight, each into a sum of its own.
//
// 16 bytes is the widest load a thread can make: a quarter of the load instructions for f32, an
// eighth for f16, and four independent sums let the next load start before the last addition is
// done. The bytes in flight, not the threads, keep the memory busy. x must be aligned to 16 bytes,
// as all that cudaMalloc gives is; the elements past the last whole load are added one by one.
#pragma once
#include <cstring>

#include "16_shuffle_block.cuh"

namespace ladder::inline WF_BUILD {

template <class T>
__device__ sum_t<T> pack_sum(const uint4& pack) {
  T element[16 / sizeof(T)];
  memcpy(element, &pack, 16);
  sum_t<T> sum(0);
  for (const T& e : element) sum += sum_t<T>(e);
  return sum;
}

/// This thread's share of the array.
template <class T>
__device__ sum_t<T> vector_thread_sum(const T* x, std::uint64_t n) {
  constexpr unsigned width = 16 / sizeof(T);
  const auto* pack = reinterpret_cast<const uint4*>(x);
  const std::uint64_t packs = n / width, stride = std::uint64_t(gridDim.x) * blockDim.x;
  const std::uint64_t first = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  sum_t<T> a(0), b(0), c(0), d(0);
  std::uint64_t i = first;
  for (; i + 3 * stride < packs; i += 4 * stride) {
    const uint4 p = pack[i], q = pack[i + stride], s = pack[i + 2 * stride],
                t = pack[i + 3 * stride];
    a += pack_sum<T>(p);
    b += pack_sum<T>(q);
    c += pack_sum<T>(s);
    d += pack_sum<T>(t);
  }
  for (; i < packs; i += stride) {
    const uint4 p = pack[i];  // from a reference into global memory, nvcc copies 16 single bytes
    a += pack_sum<T>(p);
  }
  if (first < n % width) b += sum_t<T>(x[packs * width + first]);
  return (a + b) + (c + d);
}

template <class T>
__global__ void vector_load_sum(const T* x, std::uint64_t n, sum_t<T>* out) {
  const sum_t<T> sum = block_sum(vector_thread_sum(x, n));
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

/// The most additions that one element passes through in vector_thread_sum and block_sum.
template <class T>
double vector_depth(std::uint64_t n, std::uint64_t threads) {
  return double(divide_up(n / (16 / sizeof(T)), threads)) + 16.0 / sizeof(T) + 3 + 10;
}

template <class T>
cudaError_t vector_load(const T* x, std::uint64_t n, sum_t<T>* out, run& r) {
  const std::uint64_t blocks = resident_blocks(r, n, r.block * (16 / sizeof(T)));
  r.depth = vector_depth<T>(n, blocks * r.block) + double(blocks);
  if (const cudaError_t e = zero(out, r); e != cudaSuccess) return e;
  return launch(r, vector_load_sum<T>, blocks, 0, x, n, out);
}

}  // namespace ladder::inline WF_BUILD
