// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void places() { printf("thread %d\n", threadIdx); }
