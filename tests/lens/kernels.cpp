// SPDX-License-Identifier: Apache-2.0
// Compiled as instrumented CUDA.
#include "kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
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

// Each way reads elsewhere, or clang++ 19 reads once before all of them.
__global__ void four_ways(const float* in, float* out) {
  switch (threadIdx.x % 4) {
    case 0: out[threadIdx.x] = in[threadIdx.x]; break;
    case 1: out[threadIdx.x + 32] = in[threadIdx.x + 32] + 1; break;
    case 2: out[threadIdx.x + 64] = in[threadIdx.x + 64] * 2; break;
    default: out[threadIdx.x + 96] = -in[threadIdx.x + 96]; break;
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

template <class T>
__device__ T opaque(T x) {
  if constexpr (sizeof(T) >= 4) __asm__ volatile("" : "+m"(x));
  return x;
}

__device__ __attribute__((noinline)) float squared(float x) {
  return x * x;  // @op-called
}

__global__ void operations(const float* in, float* out) {
  const float a = opaque(in[threadIdx.x]), b = opaque(in[threadIdx.x + 32]);
  float v = (a + b) * (a - b) / b;  // @op-four
  v = sqrtf(v);                     // @op-root
  v = fmaf(v, a, b);                // @op-fused
  double w = v;
  w = fma(w, w, w) + 1;  // @op-fused-double
  v = fmaxf(v, -a);      // @op-none
  v = v < b ? fabsf(v) : fminf(v, b);  // @op-none-either
  if (threadIdx.x % 32 < 5) v += opaque(1.0f);  // @op-lanes
  for (unsigned k = 0; k < threadIdx.x % 32; ++k) v *= opaque(b);  // @op-loop
  v = squared(v);
  out[threadIdx.x] = v - static_cast<float>(w);  // @op-last
}

// What compilers mend by arithmetic is a conversion all the same.
__global__ void conversions(const float* in, float* out) {
  const float a = opaque(in[threadIdx.x]);
  const double d = opaque(static_cast<double>(a));
  const auto ull = opaque(static_cast<unsigned long long>(a));
  const auto ull2 = opaque(static_cast<unsigned long long>(d));
  const auto ll = opaque(static_cast<long long>(d));
  const auto u = opaque(static_cast<unsigned>(a));
  float* to = out + threadIdx.x * 8;
  to[0] = static_cast<float>(ull);
  to[1] = static_cast<float>(opaque(static_cast<double>(ull2)));
  to[2] = static_cast<float>(ll);
  to[3] = static_cast<float>(opaque(static_cast<double>(ll)));
  to[4] = static_cast<float>(u);
  to[5] = static_cast<float>(opaque(static_cast<double>(u)));
  to[6] = static_cast<float>(static_cast<int>(a));
}

__global__ void halves(const float* in, float* out) {
  __half h = __float2half(in[threadIdx.x]);
  h = h + h;                         // @half-add
  h = __hfma(h, h, h);               // @half-fused
  __half2 two = __half2half2(h);
  two = __hmul2(two, two);           // @half-pair
  two = __hfma2(two, two, two);      // @half-pair-fused
  __nv_bfloat16 b = __float2bfloat16(__low2float(two));
  b = b / b;                         // @half-divided
  out[threadIdx.x] = __bfloat162float(b) + __high2float(two);
}

__global__ void float_updates(const float* in, float* out) {
  atomicAdd(&out[threadIdx.x], in[0]);                            // @float-add
  atomicAdd(reinterpret_cast<double*>(out) + 32 + threadIdx.x, 1.0);  // @double-add
  atomicAdd(reinterpret_cast<int*>(out) + 128, 1);
  atomicExch(&out[256], in[0]);
  atomicAdd(reinterpret_cast<__half2*>(out) + 512 + threadIdx.x, __float2half2_rn(1));  // @half2-add
}

struct word_sum {
  __device__ int operator()(int x) const { return __reduce_add_sync(~0u, x); }
};
struct word_max {
  __device__ int operator()(int x) const { return __reduce_max_sync(~0u, x); }
};
/// A block of words by reductions of its warps, and one of what they gave; all threads take part in both.
template <class Reduce>
__global__ void words(const float* in, float* out) {
  __shared__ int of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int mine = Reduce()(reinterpret_cast<const int*>(in)[threadIdx.x]);
  if (lane == 0) of_warp[warp] = mine;
  __syncthreads();
  const int all = Reduce()(lane < blockDim.x / 32 ? of_warp[lane] : 0);
  if (threadIdx.x == 0) *reinterpret_cast<int*>(out) = all;
}

/// Thread 0 puts two warps' sums together.
__global__ void words_of_two(const float* in, float* out) {
  __shared__ int of_warp[2];
  const int mine = __reduce_add_sync(~0u, reinterpret_cast<const int*>(in)[threadIdx.x]);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) *reinterpret_cast<int*>(out) = of_warp[0] + of_warp[1];
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
    {"operations", operations},              {"conversions", conversions},
    {"halves", halves},                      {"float_updates", float_updates},
    {"words<sum>", words<word_sum>},         {"words<max>", words<word_max>},
    {"words_of_two", words_of_two},          {"nothing", nothing},
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
