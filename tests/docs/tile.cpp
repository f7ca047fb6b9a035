// SPDX-License-Identifier: Apache-2.0
// The dynamic shared memory of examples/lessons/occupancy.cu, which `warpfold explain` defines by itself.
#include <cuda_runtime.h>

SIMT_DEFINE_DYNAMIC_SHARED(tile)
