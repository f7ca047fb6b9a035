// SPDX-License-Identifier: Apache-2.0
// simt only: the dynamic shared memory of the kernels here.
#include <warpfold/device/shared_memory.cuh>

SIMT_DEFINE_DYNAMIC_SHARED(wf_dynamic_shared)
