// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void lane(unsigned* y) {
  unsigned l;
  asm("mov.u32 %0, %%laneid;" : "=r"(l));
  y[threadIdx.x] = l;
}
