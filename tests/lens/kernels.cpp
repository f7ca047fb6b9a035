// SPDX-License-Identifier: Apache-2.0
// Compiled as instrumented CUDA.
#include "kernels.hpp"

#include <cuda_runtime.h>

#include <stdexcept>

namespace lens_test {
namespace {

using kernel = void (*)(const float*, float*);

/// Every lane stores and loads one T, `Stride` of them apart.
template <class T, unsigned Stride>
__global__ void stride(const float*, float* out) {
  __shared__ T s[32 * Stride];
  s[threadIdx.x * Stride] = T{};
  __syncwarp();
  reinterpret_cast<T*>(out)[threadIdx.x] = s[threadIdx.x * Stride];
}

template <class T>
__global__ void pairs(const float*, float* out) {
  __shared__ T s[32];
  s[threadIdx.x] = T{};
  __syncwarp();
  reinterpret_cast<T*>(out)[threadIdx.x] = s[threadIdx.x / 2];
}

// 1 + tid % 4 rounds: 8 lanes leave after each.
__global__ void lanes_leave_a_loop(const float* in, float* out) {
  float sum = 0;
  for (unsigned k = 0; k <= threadIdx.x % 4; ++k) sum += in[k * 32 + threadIdx.x];  // @leave-load
  out[threadIdx.x] = sum;  // @leave-store
}

// Even lanes make one inner round, then two; odd lanes two, then one. Each lane loads three times, but a
// warp loads four times: rounds of different turns of the outer loop do not go together.
__global__ void uneven_inner_loops(const float* in, float* out) {
  float sum = 0;
  for (unsigned turn = 0; turn < 2; ++turn) {
    const unsigned rounds = (threadIdx.x + turn) % 2 + 1;
    for (unsigned k = 0; k < rounds; ++k) sum += in[k * 32 + threadIdx.x];  // @uneven-load
  }
  out[threadIdx.x] = sum;
}

__global__ void half_returns(const float* in, float* out) {
  if (threadIdx.x % 32 >= 16) return;
  out[threadIdx.x] = in[threadIdx.x];  // @half-move
}

__global__ void four_ways(const float* in, float* out) {
  switch (threadIdx.x % 4) {
    case 0: out[threadIdx.x] = in[threadIdx.x]; break;
    case 1: out[threadIdx.x + 32] = in[threadIdx.x] + 1; break;
    case 2: out[threadIdx.x + 64] = in[threadIdx.x] * 2; break;
    default: out[threadIdx.x + 96] = -in[threadIdx.x]; break;
  }
  out[128 + threadIdx.x] = 0;  // @four-meet
}

__device__ __attribute__((noinline)) float larger(const float* a, const float* b, bool first) {
  if (first) {
    const float v = *a;  // @larger-first
    __asm__ volatile("");  // else clang++ chooses the address, and loads once
    return v;
  }
  return *b;
}

// Two calls of one function, each with lanes that part inside.
__global__ void calls(const float* in, float* out) {
  const unsigned l = threadIdx.x;
  float sum = larger(in + l, in + 32 + l, l % 2 == 0);
  sum += larger(in + l, in + 32 + l, l < 16);
  out[l] = sum;  // @calls-store
}

__device__ __attribute__((noinline)) float lane_sum(float v, const float* in) {
  for (unsigned step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  return v + *in;  // @sum-load
}

// What parts the lanes between two calls of one function ends before the second.
__global__ void parts_between_calls(const float* in, float* out) {
  const float first = lane_sum(in[threadIdx.x], in);
  if (threadIdx.x == 0) out[0] = first;
  out[threadIdx.x + 32] = lane_sum(first, in);  // @between-store
}

struct alignas(16) quad {
  float a, b, c, d;
};
struct alignas(8) couple {
  float a, b;
};

template <class T>
__global__ void moves(const float* in, float* out) {
  const T value = reinterpret_cast<const T*>(in)[threadIdx.x];
  reinterpret_cast<T*>(out)[threadIdx.x] = value;
}

// Neighbours read by one expression are two loads, whatever their alignment.
__global__ void neighbours(const float* in, float* out) {
  out[threadIdx.x] = in[2 * threadIdx.x] + in[2 * threadIdx.x + 1];
}

__global__ void updates(const float* in, float* out) {
  __shared__ int count[4];
  if (threadIdx.x < 4) count[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&count[threadIdx.x % 4], 1);       // @update-shared
  atomicAdd(&out[threadIdx.x % 8], in[0]);     // @update-global
  __syncthreads();
  if (threadIdx.x == 0) out[8] = static_cast<float>(count[0] + count[1] + count[2] + count[3]);
}

// Only the last block shows that odd lanes may end within the branch.
__global__ void a_late_path(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 2 == 1) {
    out[i] = in[i] + 1;
    if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 1) return;
  }
  out[1024 + i] = in[i];  // @late-store
}

__global__ void meetings(const float* in, float* out) {
  float v = in[threadIdx.x];
  __syncthreads();
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  if (threadIdx.x % 32 < 16) v += __shfl_down_sync(0xffffu, v, 4);
  __syncwarp();
  if (__any_sync(0xffffffffu, v > 0)) v += static_cast<float>(__reduce_add_sync(0xffffffffu, 1u));
  const double wide = __shfl_sync(0xffffffffu, static_cast<double>(v), 0);
  __syncthreads();
  out[threadIdx.x] = v + static_cast<float>(wide);
}

// A column of shared memory, then shuffles: what drawings are made of.
__global__ void by_shuffles(const float* in, float* out) {
  float v = in[threadIdx.x];
  for (unsigned step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x == 0) *out = v;
}

__global__ void nothing(const float*, float*) {}

struct named {
  const char* name;
  kernel entry;
};
constexpr named all[] = {
    {"stride<float,1>", stride<float, 1>},   {"stride<float,2>", stride<float, 2>},
    {"stride<float,32>", stride<float, 32>}, {"stride<float,33>", stride<float, 33>},
    {"stride<double,1>", stride<double, 1>}, {"stride<double,2>", stride<double, 2>},
    {"stride<float4,1>", stride<float4, 1>}, {"stride<float4,2>", stride<float4, 2>},
    {"stride<float4,8>", stride<float4, 8>}, {"pairs<double>", pairs<double>},
    {"pairs<float4>", pairs<float4>},        {"lanes_leave_a_loop", lanes_leave_a_loop},
    {"uneven_inner_loops", uneven_inner_loops}, {"half_returns", half_returns},
    {"four_ways", four_ways},                {"calls", calls},
    {"parts_between_calls", parts_between_calls},
    {"moves<quad>", moves<quad>},            {"moves<couple>", moves<couple>},
    {"moves<float4>", moves<float4>},        {"neighbours", neighbours},
    {"updates", updates},                    {"a_late_path", a_late_path},
    {"meetings", meetings},                  {"by_shuffles", by_shuffles},
    {"nothing", nothing},
};

}  // namespace

int run(const std::string& name, unsigned blocks, unsigned threads, const float* in, float* out) {
  for (const named& k : all) {
    if (name != k.name) continue;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    const cudaError_t launched = cudaLaunchKernelEx(&config, k.entry, in, out);
    return launched != cudaSuccess ? launched : cudaDeviceSynchronize();
  }
  throw std::invalid_argument("no kernel " + name);
}

}  // namespace lens_test
