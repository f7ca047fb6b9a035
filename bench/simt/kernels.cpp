// SPDX-License-Identifier: Apache-2.0
// What simt takes for a million threads: an empty kernel, a tree with nine barriers in shared memory,
// five shuffles, an atomic each, and a launch by itself. The argument is the number of blocks that run at once.
#include <cuda_runtime.h>
#include <simt/machine.hpp>

#include <benchmark/benchmark.h>

#include <vector>

namespace {

constexpr unsigned n = 1u << 20, threads = 256;

__global__ void empty(const float*, float*) {}

__global__ void tree(const float* in, float* out) {
  __shared__ float s[threads];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}

__global__ void shuffle(const float* in, float* out) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

__global__ void atomic(const float* in, float* out) { atomicAdd(out, in[blockIdx.x * blockDim.x + threadIdx.x]); }

void launch(benchmark::State& state, void (*kernel)(const float*, float*), unsigned blocks, float expected, int waits) {
  const std::vector<float> in(n, 1.0f);
  simt::current_options().os_threads = static_cast<unsigned>(state.range(0));
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  for (auto _ : state) {
    float out = 0;
    if (cudaLaunchKernelEx(&config, kernel, in.data(), &out) != cudaSuccess || out != expected) {
      state.SkipWithError("a wrong result");
      return;
    }
  }
  using benchmark::Counter;
  const double all = static_cast<double>(blocks) * threads;
  state.counters["per_thread"] = Counter(all, Counter::kIsIterationInvariantRate | Counter::kInvert);
  if (waits > 0)  // a thread waits at a barrier or shuffle
    state.counters["per_wait"] = Counter(all * waits, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void launch_alone(benchmark::State& s) { launch(s, empty, 1, 0, 0); }
void million_empty(benchmark::State& s) { launch(s, empty, n / threads, 0, 0); }
void million_tree(benchmark::State& s) { launch(s, tree, n / threads, n, 9); }
void million_shuffle(benchmark::State& s) { launch(s, shuffle, n / threads, n, 5); }
void million_atomic(benchmark::State& s) { launch(s, atomic, n / threads, n, 0); }

BENCHMARK(launch_alone)->Arg(1)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(million_empty)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(million_tree)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(million_shuffle)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(million_atomic)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
