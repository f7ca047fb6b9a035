// SPDX-License-Identifier: Apache-2.0
// A pipeline of two streams: while one chunk is computed, the next is copied. The second stream waits for the first's event.
#include <cstdio>
#include <cstdlib>

#define CHECK(x) check((x), #x, __LINE__)
void check(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
  std::exit(1);
}

__global__ void square(int* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= x[i];
}
__global__ void sum(const int* x, int n, unsigned long long* total) {
  unsigned mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  mine = __reduce_add_sync(0xffffffff, mine);
  if ((threadIdx.x & 31) == 0) atomicAdd(total, (unsigned long long)mine);
}

int main() {
  const int chunks = 6, n = 4096;
  int* host;
  CHECK(cudaMallocHost(&host, chunks * n * sizeof(int)));
  for (int i = 0; i < chunks * n; ++i) host[i] = i % 100;
  int* device[2];
  cudaStream_t stream[2];
  cudaEvent_t done;
  unsigned long long *total, result;
  CHECK(cudaMalloc(&total, sizeof *total));
  CHECK(cudaMemset(total, 0, sizeof *total));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int s = 0; s < 2; ++s) {
    CHECK(cudaStreamCreate(&stream[s]));
    CHECK(cudaMalloc(&device[s], n * sizeof(int)));
  }
  for (int c = 0; c < chunks; ++c) {
    const int s = c % 2;
    CHECK(cudaMemcpyAsync(device[s], host + c * n, n * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
    square<<<8, 128, 0, stream[s]>>>(device[s], n);
    sum<<<8, 128, 0, stream[s]>>>(device[s], n, total);
    CHECK(cudaMemcpyAsync(host + c * n, device[s], n * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
  }
  CHECK(cudaEventRecord(done, stream[0]));
  CHECK(cudaStreamWaitEvent(stream[1], done, 0));
  CHECK(cudaMemcpyAsync(&result, total, sizeof result, cudaMemcpyDeviceToHost, stream[1]));
  CHECK(cudaStreamSynchronize(stream[1]));
  unsigned long long expected = 0;
  for (int i = 0; i < chunks * n; ++i) expected += (i % 100) * (i % 100);
  int wrong = 0;
  for (int i = 0; i < chunks * n; ++i) wrong += host[i] != (i % 100) * (i % 100);
  std::printf("sum %llu, expected %llu, %d wrong\n", result, expected, wrong);
  for (int s = 0; s < 2; ++s) {
    CHECK(cudaStreamDestroy(stream[s]));
    CHECK(cudaFree(device[s]));
  }
  CHECK(cudaEventDestroy(done));
  CHECK(cudaFree(total));
  CHECK(cudaFreeHost(host));
  return 0;
}
