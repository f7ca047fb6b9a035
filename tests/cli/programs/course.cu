// SPDX-License-Identifier: Apache-2.0
// What programs of courses do beside the plain: "warpfold run" prints course.txt, and nvcc compiles it.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

// A place in the result for each lane that wants one, by one atomic a warp. Lanes other than the leader hand on what they have never set.
__device__ int place_for(int* taken) {
  const unsigned active = __activemask();
  const unsigned rank = __popc(active & ((1u << (threadIdx.x & 31)) - 1));
  int first;
  if (rank == 0) first = atomicAdd(taken, __popc(active));
  first = __shfl_sync(active, first, __ffs(active) - 1);
  return first + rank;
}
__global__ void keep_positive(int* kept, int* taken, const int* x, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  if (x[i] > 0) kept[place_for(taken)] = x[i];
}

// One tree for whichever group it is given.
__device__ int sum_of(cg::thread_group group, int* room, int value) {
  const int rank = group.thread_rank();
  for (int half = group.size() / 2; half > 0; half /= 2) {
    room[rank] = value;
    group.sync();
    if (rank < half) value += room[rank + half];
    group.sync();
  }
  return value;
}
__global__ void sums(int* out, const int* x, int n) {
  extern __shared__ int room[];
  const cg::thread_block block = cg::this_thread_block();
  int mine = 0;
  for (int i = block.thread_rank(); i < n; i += block.size()) mine += x[i];
  const int of_block = sum_of(block, room, mine);
  block.sync();
  const auto tile = cg::tiled_partition<16>(block);
  const int of_tile = sum_of(tile, room + tile.meta_group_rank() * 16, mine);
  const cg::thread_group by_number = cg::tiled_partition(cg::thread_group(block), 4);
  if (block.thread_rank() == 0) out[0] = of_block;
  if (tile.thread_rank() == 0) atomicAdd(out + 1, of_tile);
  if (block.thread_rank() == 6) out[2] = 100 * by_number.size() + by_number.thread_rank() + cg::this_thread().size();
}

__global__ void scans(int* out, const int* x) {
  __shared__ int part[64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, part, x, sizeof part);
  cg::wait(block);
  const auto warp = cg::tiled_partition<32>(block);
  const int own = part[block.thread_rank()];
  const int upto = cg::inclusive_scan(warp, own), below = cg::exclusive_scan(warp, own), most = cg::inclusive_scan(warp, own, cg::greater<int>());
  out[block.thread_rank()] = upto * 1000000 + below * 1000 + most;
}

__global__ void add_planes(cudaPitchedPtr p, cudaExtent size, int* sum) {
  const char* row = static_cast<const char*>(p.ptr) + (threadIdx.z * size.height + threadIdx.y) * p.pitch;
  atomicAdd(sum, reinterpret_cast<const int*>(row)[threadIdx.x]);
}
__global__ void large(float* out) {
  extern __shared__ float many[];
  for (int i = threadIdx.x; i < 20000; i += blockDim.x) many[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *out = many[19999];
}
template <class Function>
__global__ void each(int n, Function f) {
  if (threadIdx.x < n) f(threadIdx.x);
}
struct times {
  int* x;
  int factor;
  __device__ void operator()(int i) const { x[i] *= factor; }
};

int main() {
  const int n = 5000;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i % 3 - 1;
  int *d, *out, h[64];
  cudaMalloc(&d, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(out, 0, sizeof h);

  cudaHostRegister(x.data(), n * sizeof(int), cudaHostRegisterDefault);
  int* seen;
  const cudaError_t mapped = cudaHostGetDevicePointer(&seen, x.data(), 0), again = cudaHostRegister(x.data(), 4, cudaHostRegisterDefault);
  cudaGetLastError();
  cudaMemcpyAsync(d, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  cudaHostUnregister(x.data());
  printf("registered: %s, again: %s\n", cudaGetErrorName(mapped), cudaGetErrorName(again));

  int* taken;
  cudaMalloc(&taken, sizeof(int));
  cudaMemset(taken, 0, sizeof(int));
  keep_positive<<<(n + 255) / 256, 256>>>(out, taken, d, n);
  cudaMemcpy(h, taken, sizeof(int), cudaMemcpyDeviceToHost);
  printf("positive: %d, %s\n", h[0], cudaGetErrorName(cudaDeviceSynchronize()));

  std::vector<int> ones(1000, 1);
  cudaMemcpy(d, ones.data(), 1000 * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof h);
  sums<<<1, 128, 128 * sizeof(int)>>>(out, d, 1000);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("block %d, tiles %d, by number %d\n", h[0], h[1], h[2]);
  scans<<<1, 64>>>(out, d);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("scans %d %d %d\n", h[0], h[1], h[63]);

  const cudaExtent size = make_cudaExtent(8 * sizeof(int), 4, 3);
  cudaPitchedPtr planes;
  cudaMalloc3D(&planes, size);
  cudaMemset3D(planes, 0, size);
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(h, 8 * sizeof(int), 8, 4);
  copy.dstPtr = planes;
  copy.dstPos = make_cudaPos(0, 0, 1);
  copy.extent = make_cudaExtent(8 * sizeof(int), 4, 2);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  cudaMemset(out, 0, sizeof(int));
  add_planes<<<1, dim3(8, 4, 3)>>>(planes, size, out);
  cudaMemcpy(h, out, sizeof(int), cudaMemcpyDeviceToHost);
  printf("planes %d\n", h[0]);

  float f;
  large<<<1, 256, 80000>>>(reinterpret_cast<float*>(out));
  const cudaError_t refused = cudaGetLastError();
  cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 80000);
  cudaFuncSetAttribute(large, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  large<<<1, 256, 80000>>>(reinterpret_cast<float*>(out));
  cudaMemcpy(&f, out, sizeof f, cudaMemcpyDeviceToHost);
  int grid = 0, block = 0;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, (void*)keep_positive, 0, 0);
  printf("large: %s, then %g; blocks of whole warps %d\n", cudaGetErrorName(refused), f, block > 0 && block % 32 == 0);

  int *y, factor = 3;
  cudaMallocManaged(&y, 10 * sizeof(int));
  auto [first, second] = std::pair(4, 5);
  y[0] = first, y[1] = second;
  each<<<1, 32>>>(2, times{y, factor});
  cudaDeviceSynchronize();
  printf("functor %d %d\n", y[0], y[1]);

  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  each<<<1, 32, 0, stream>>>(2, times{y, factor});
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, NULL, NULL, 0);
  cudaGraphLaunch(ready, stream);
  cudaStreamSynchronize(stream);
  printf("graph %d, %s\n", y[0], cudaGetErrorName(cudaGetLastError()));
}
