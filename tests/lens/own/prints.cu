// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void places() { printf("block %d of %d, thread %d\n", blockIdx.x, gridDim.x, threadIdx.x); }
