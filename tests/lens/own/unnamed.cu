// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

namespace {
extern __shared__ int cells[];
}
__global__ void k(int* out) { out[threadIdx.x] = cells[threadIdx.x]; }
