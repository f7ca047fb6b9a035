// SPDX-License-Identifier: Apache-2.0
// How often each letter stands in a text: counted in shared memory first, with a table of letters in constant memory.
#include <cstdio>
#include <cstring>
#include <string>

#define BINS 27
__constant__ unsigned char bin_of[256];
__device__ unsigned int counted;  // characters, by all blocks

__global__ void histogram(const unsigned char* text, size_t n, unsigned int* bins) {
  __shared__ unsigned int own[BINS];
  if (threadIdx.x < BINS) own[threadIdx.x] = 0;
  __syncthreads();
  unsigned int seen = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x, ++seen) atomicAdd(&own[bin_of[text[i]]], 1);
  atomicAdd(&counted, seen);
  __syncthreads();
  if (threadIdx.x < BINS) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
  if (blockIdx.x == 0 && threadIdx.x == 0) printf("block %d of %d, %d threads\n", blockIdx.x, gridDim.x, blockDim.x);
}

int main() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "The quick brown fox jumps over the lazy dog. ";
  unsigned char table[256];
  for (int c = 0; c < 256; ++c) table[c] = c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' : 26;
  cudaMemcpyToSymbol(bin_of, table, sizeof table);
  unsigned char* device_text;
  unsigned int *bins, host[BINS], all;
  cudaMalloc(&device_text, text.size());
  cudaMalloc(&bins, sizeof host);
  cudaMemcpy(device_text, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, sizeof host);
  histogram<<<8, 64>>>(device_text, text.size(), bins);
  cudaMemcpy(host, bins, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&all, counted, sizeof all);
  for (int b = 0; b < 26; ++b) printf("%c %u%s", 'a' + b, host[b], b % 9 == 8 ? "\n" : "  ");
  printf("\nothers %u, all %u of %zu; %s\n", host[26], all, text.size(), cudaGetErrorString(cudaGetLastError()));
  cudaFree(device_text);
  cudaFree(bins);
}
