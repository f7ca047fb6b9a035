// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void fast(const float* x, float* y) {
  const float v = x[threadIdx.x];
  y[threadIdx.x] = __fdividef(__expf(v) + __logf(v) + __powf(v, 2.0f), rcbrtf(v)) + __float2int_rn(norm3df(v, v, v)) + sinpif(v);
}
