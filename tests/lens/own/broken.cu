// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void broken(cudaTextureObject_t t, float* y) {
  y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
