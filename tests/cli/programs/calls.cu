// SPDX-License-Identifier: Apache-2.0
// What programs call on the host's side beside launches and copies: "warpfold run" prints calls.txt, and nvcc compiles it.
#include <cuComplex.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <vector_functions.h>

#include <cstdio>

__managed__ int both_sides = 3;
__device__ int table[4] = {1, 2, 3, 4};

__global__ void fill(int* p, int v, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) p[i] = v + i;
}
__global__ void add_table() { atomicAdd(&both_sides, table[threadIdx.x]); }
__global__ void show(long long b, size_t z) { printf("[%s] %lld %lu %c %5.2f|%-6d|%06x %% %u %e\n", "dev", b, z, 'x', CUDART_PI_F, 42, 0xbeef, blockDim.x, 1.5); }
__global__ void quotient(cuDoubleComplex* x) { *x = cuCdiv(make_cuDoubleComplex(1, 2), *x); }
__global__ void step_out(int* p) { *p = 1; }

void CUDART_CB count(void* hits) { ++*static_cast<int*>(hits); }
void CUDART_CB told(cudaStream_t, cudaError_t status, void* hits) { printf("callback %d %s\n", *static_cast<int*>(hits), cudaGetErrorName(status)); }

int main() {
  const int n = 1000;
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  printf("warps of %d, blocks of %d at most\n", device.warpSize, device.maxThreadsPerBlock);

  int *host, *mapped, *seen, *d;
  cudaHostAlloc(&host, n * sizeof(int), cudaHostAllocDefault);
  cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped);
  cudaHostGetDevicePointer(&seen, mapped, 0);
  cudaMalloc(&d, n * sizeof(int));

  cudaStream_t s[2];
  for (cudaStream_t& one : s) cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaEvent_t filled;
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  int hits = 0;
  fill<<<(n + 255) / 256, 256, 0, s[0]>>>(d, 5, n);
  cudaEventRecord(filled, s[0]);
  cudaStreamWaitEvent(s[1], filled, 0);
  cudaMemcpyAsync(host, d, n * sizeof(int), cudaMemcpyDeviceToHost, s[1]);
  cudaLaunchHostFunc(s[1], count, &hits);
  cudaStreamAddCallback(s[1], told, &hits, 0);
  cudaStreamSynchronize(s[1]);
  fill<<<4, 256>>>(seen, 100, n);
  show<<<1, 1>>>(-5000000000LL, sizeof(double));
  add_table<<<1, 4>>>();
  cudaDeviceSynchronize();
  printf("copied %d, mapped %d, managed %d, hits %d, %s\n", host[7], mapped[999], both_sides, hits, cudaGetErrorName(cudaStreamQuery(s[0])));

  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal);
  fill<<<4, 256, 0, s[0]>>>(d, 9, n);
  cudaMemcpyAsync(host, d, n * sizeof(int), cudaMemcpyDeviceToHost, s[0]);
  cudaStreamEndCapture(s[0], &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphLaunch(ready, s[0]);
  cudaStreamSynchronize(s[0]);
  cuDoubleComplex z = make_cuDoubleComplex(3, -4), *z_there;
  cudaMallocAsync(&z_there, sizeof z, s[0]);
  cudaMemcpyAsync(z_there, &z, sizeof z, cudaMemcpyDefault, s[0]);
  quotient<<<1, 1, 0, s[0]>>>(z_there);
  cudaMemcpyAsync(&z, z_there, sizeof z, cudaMemcpyDefault, s[0]);
  cudaFreeAsync(z_there, s[0]);
  cudaStreamSynchronize(s[0]);
  int grid = 0, block = 0;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0);
  cudaPointerAttributes where;
  cudaPointerGetAttributes(&where, d);
  cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared);
  cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20);
  cudaProfilerStart();
  cudaProfilerStop();
  printf("graph %d, quotient %.2f %.2f, block %% 32 %d, on the device %d\n", host[1], cuCreal(z), cuCimag(z), block % 32, where.type == cudaMemoryTypeDevice);

  fill<<<1, 2048>>>(d, 0, n);
  const cudaError_t first = cudaGetLastError(), second = cudaGetLastError();
  printf("%s, then %s\n", cudaGetErrorString(first), cudaGetErrorName(second));
  step_out<<<1, 1>>>(nullptr);
  const cudaError_t fault = cudaDeviceSynchronize();
  printf("%s stays: %s", cudaGetErrorName(fault), cudaGetErrorName(cudaMalloc(&d, 4)));
  cudaDeviceReset();
  printf("; reset: %s\n", cudaGetErrorName(cudaMalloc(&d, 4)));
}
