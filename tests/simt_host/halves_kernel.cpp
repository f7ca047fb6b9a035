// SPDX-License-Identifier: Apache-2.0
// Compiled twice, plain and instrumented: static shared arrays, shuffles and atomics of the types
// that have constructors.
#include "halves_kernel.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace HALVES_BUILD {
namespace {

__global__ void fold(const __half2* in, const float4* vectors, __half2* pair, __half* one,
                     __nv_bfloat16* warps, float* sum) {
  __shared__ __half halves[64];
  __shared__ __half2 pairs[64];
  __shared__ float4 rows[64];
  __shared__ union {
    uint4 word;
    __half2 parts[4];
  } both;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  __half2 v = in[i];
  pairs[t] = v;
  halves[t] = __low2half(v);
  rows[t] = vectors[i];
  if (t == 0) both.word = make_uint4(0x3C003C00u, 0, 0, 0);  // a pair of ones
  __syncthreads();
  const float4 r = rows[63 - t];
  v = __hmul2(__hadd2(pairs[63 - t], __shfl_down_sync(0xFFFFFFFFu, v, 16)), both.parts[0]);
  const __half h = __shfl_xor_sync(0xFFFFFFFFu, __high2half(v), 1);
  const float all = r.x + r.y + r.z + r.w;
  atomicAdd(sum, all);
  if (t % 32 != 0) return;
  atomicAdd(pair, v);
  atomicAdd(one, h + halves[63 - t]);
  atomicAdd(warps, __float2bfloat16(1));
}

template <class T>
T* device(std::size_t n, const T* from) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  if (from != nullptr) {
    cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice);
  } else {
    cudaMemset(p, 0, n * sizeof(T));
  }
  return p;
}

template <class T>
T back(T* p) {
  T value;
  cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
  cudaFree(p);
  return value;
}

}  // namespace

halves_result run_halves() {
  __half2 halves[256];
  float4 vectors[256];
  for (int i = 0; i < 256; ++i) {
    halves[i] = __floats2half2_rn(1, 2);
    vectors[i] = make_float4(1, 2, 3, 4);
  }
  __half2* const in = device(256, halves);
  float4* const rows = device(256, vectors);
  __half2* const pair = device<__half2>(1, nullptr);
  __half* const one = device<__half>(1, nullptr);
  __nv_bfloat16* const warps = device<__nv_bfloat16>(1, nullptr);
  float* const sum = device<float>(1, nullptr);
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 64;
  const cudaError_t error =
      cudaLaunchKernelEx(&config, fold, static_cast<const __half2*>(in),
                         static_cast<const float4*>(rows), pair, one, warps, sum);
  const __half2 p = back(pair);
  const halves_result result{error,     __low2float(p), __high2float(p),
                             back(one), back(warps),    back(sum)};
  cudaFree(in);
  cudaFree(rows);
  return result;
}

}  // namespace HALVES_BUILD
