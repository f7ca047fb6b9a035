// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void sums(unsigned* x) { x[threadIdx.x] = __isShared(x); }
