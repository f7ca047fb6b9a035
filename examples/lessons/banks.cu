// SPDX-License-Identifier: Apache-2.0
// Which lanes of a warp wait for each other in shared memory. One warp each.
#include <cuda_runtime.h>

#include <cstdio>

/// Lane l reads word stride * l.
template <int stride>
__global__ void strided(float* out) {
  __shared__ float s[32 * stride];
  for (int k = threadIdx.x; k < 32 * stride; k += 32) s[k] = float(k);
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x * stride];
}

/// `readers` neighbouring lanes read one word: 32 is a broadcast, 4 a multicast to groups of four. `apart` words lie
/// between one group's word and the next one's.
template <int readers, int apart>
__global__ void shared_words(float* out) {
  constexpr int words = 32 / readers * apart;
  __shared__ float s[words];
  for (int k = threadIdx.x; k < words; k += 32) s[k] = float(k);
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x / readers * apart];
}

/// Where element (row, column) of a tile of 32 x 32 lies.
struct plain {
  static constexpr int words = 32 * 32;
  static __device__ int at(int row, int column) { return row * 32 + column; }
};
struct padded {
  static constexpr int words = 32 * 33;
  static __device__ int at(int row, int column) { return row * 33 + column; }
};
struct swizzled {
  static constexpr int words = 32 * 32;
  static __device__ int at(int row, int column) { return row * 32 + (column ^ row); }
};

/// One read a warp along a row, a column, the diagonal and the other diagonal.
template <class Layout>
__global__ void four_ways(float* out) {
  __shared__ float s[Layout::words];
  const int l = threadIdx.x;
  for (int row = 0; row < 32; ++row) s[Layout::at(row, l)] = float(32 * row + l);
  __syncwarp();
  out[l] = s[Layout::at(5, l)];
  out[32 + l] = s[Layout::at(l, 5)];
  out[64 + l] = s[Layout::at(l, l)];
  out[96 + l] = s[Layout::at(l, 31 - l)];
}

/// Words that the data choose: no layout knows them.
__global__ void gathered(const int* wanted, float* out) {
  __shared__ float s[1024];
  for (int k = threadIdx.x; k < 1024; k += 32) s[k] = float(k);
  __syncwarp();
  out[threadIdx.x] = s[wanted[threadIdx.x] % 1024];
}

int main() {
  float* out = nullptr;
  if (cudaMalloc(&out, 128 * sizeof(float)) != cudaSuccess) return std::puts("no GPU"), 0;
  four_ways<swizzled><<<1, 32>>>(out);
  float seen[128];
  cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int l = 0; l < 32; ++l)
    wrong += seen[l] != 160 + l || seen[32 + l] != 32 * l + 5 || seen[64 + l] != 33 * l || seen[96 + l] != 31 * l + 31;
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
