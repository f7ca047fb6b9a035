// SPDX-License-Identifier: Apache-2.0
// Streams and graphs: two places on two streams work at once; a kernel of your own, which reduces a block by the library's
// block level, and a sum of what it gives become a graph that is launched again and again.
//
//     nvcc -std=c++20 streams.cu $(pkg-config --cflags --libs warpfold-gpu)
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include <warpfold/device/levels.cuh>
#include <warpfold/gpu.hpp>

// The largest of squares; its members are WF_HD, so it could be given to wf::reduce as well.
struct largest_square {
  static constexpr bool commutes = true;
  WF_HD float identity() const { return 0; }
  WF_HD float lift(float x, std::int64_t) const { return x * x; }
  WF_HD float combine(float a, float b) const { return a > b ? a : b; }
  WF_HD float finish(float s, std::int64_t) const { return s; }
};

constexpr int threads = 256;

/// out[b] = the largest square of block b's elements. The result of wf::block_reduce is in thread 0.
__global__ void squares_of_blocks(const float* x, int n, float* out) {
  __shared__ wf::block_states<largest_square, threads> room;
  const largest_square r;
  const int i = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  const float s = wf::block_reduce(r, i < n ? r.lift(x[i], i) : r.identity(), room.of_warp);
  if (threadIdx.x == 0) out[blockIdx.x] = r.finish(s, n);
}

#if defined(__SIMT__)
using place = wf::simulated_gpu;  // the same source on a CPU
#else
using place = wf::gpu;
#endif

namespace {
/// Ends the program with CUDA's own text.
void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "streams: %s\n", cudaGetErrorString(e));
  std::exit(1);
}
}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("no GPU: nothing to show"), 0;
  constexpr int n = 100'000, blocks = (n + threads - 1) / threads;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000) - 300;
  float *x = nullptr, *out = nullptr, *of_blocks = nullptr;  // out: sum, maximum, sum of the blocks' squares
  check(cudaMalloc(reinterpret_cast<void**>(&x), n * sizeof(float)));
  check(cudaMalloc(reinterpret_cast<void**>(&out), 3 * sizeof(float)));
  check(cudaMalloc(reinterpret_cast<void**>(&of_blocks), blocks * sizeof(float)));
  check(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  cudaStream_t first = nullptr, second = nullptr;
  check(cudaStreamCreate(&first));
  check(cudaStreamCreate(&second));
  float got[3] = {};
  {
    const place a(first), b(second);  // one for each stream; they end before their streams do
    const std::span<const float> all(x, n), squares(of_blocks, blocks);
    wf::sum(a, all, out);
    wf::max(b, all, out + 1);

    // What is captured does not run. The graph shares the place's scratch memory with the place's other calls.
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(blocks);
    launch.blockDim = dim3(threads);
    launch.stream = first;
    check(cudaLaunchKernelEx(&launch, squares_of_blocks, static_cast<const float*>(x), int{n}, of_blocks));
    wf::sum(a, squares, out + 2);
    check(cudaStreamEndCapture(first, &graph));
    check(cudaGraphInstantiate(&ready, graph, 0));
    for (int k = 0; k < 3; ++k) check(cudaGraphLaunch(ready, first));
    check(cudaStreamSynchronize(first));
    check(cudaStreamSynchronize(second));
    check(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    check(cudaGraphExecDestroy(ready));
    check(cudaGraphDestroy(graph));
  }
  check(cudaStreamDestroy(first));
  check(cudaStreamDestroy(second));
  cudaFree(x);
  cudaFree(out);
  cudaFree(of_blocks);

  std::vector<float> squares;
  for (int b = 0; b < blocks; ++b)
    squares.push_back(wf::reduce(std::span<const float>(host).subspan(static_cast<std::size_t>(b) * threads,
                                                                       static_cast<std::size_t>(b + 1 < blocks ? threads : n - b * threads)),
                                 largest_square{}));
  std::printf("sum %g, maximum %g, sum of the blocks' largest squares %g\n", got[0], got[1], got[2]);
  return got[0] == wf::sum(host) && got[1] == wf::max(host) && got[2] == wf::sum(squares) ? 0 : 1;
}
